"""Write bikeshare.csv from the copy of the UCI Bike Sharing data in the ISLP package.

Run ``pip install --no-deps ISLP`` and then ``python examples/data/make_bikeshare.py``.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd


def make_bikeshare(source: Path, out: Path) -> None:
    """Drop the columns that add up to the target, and take its logarithm."""
    frame = pd.read_csv(source)
    log_bikers = np.log1p(frame["bikers"]).round(6)
    frame = frame.drop(columns=["casual", "registered", "bikers"])
    frame.assign(log_bikers=log_bikers).to_csv(out, index=False, lineterminator="\n")


if __name__ == "__main__":
    here = Path(__file__).parent
    # The package's folder is found without importing it: importing needs all it depends on.
    make_bikeshare(Path(str(files("ISLP") / "data" / "Bikeshare.csv")), here / "bikeshare.csv")
    print(here / "bikeshare.csv")
