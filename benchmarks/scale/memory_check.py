"""The largest resident size of `gradfeat fit --stream` against what `gradfeat plan` says of it.

    python benchmarks/scale/data.py rows --rows 2000000 --columns 40
    python benchmarks/scale/memory_check.py rows --rows 2000000 --columns 40 --widths 256 1024

Both commands run as processes of their own. `--time` is long, so that the fit streams on a busy
machine too; the sizes come early in a fit, whatever the number of rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = [sys.executable, "-m", "gradfeat"]


def planned(rows: int, columns: int, method: str, width: int) -> float:
    """Bytes of the one process."""
    sizes = ["--rows", str(rows), "--columns", str(columns)]
    sizes += ["--method", method, *([] if method == "linear" else ["--width", str(width)])]
    said = subprocess.check_output([*COMMAND, "plan", *sizes, "--penalty-by", "loo",
                                    "--format", "json"])  # fmt: skip
    return float(json.loads(said)["worker_memory_bytes"])


def measured(folder: Path, method: str, width: int) -> float:
    """Bytes of the largest resident size of a fit."""
    with tempfile.TemporaryDirectory() as out:
        words = ["fit", folder, "--target", "y", "--stream", "--methods", method, "--quiet",
                 "--width", width, "--time", 100_000, "--out", out]  # fmt: skip
        child = os.spawnv(os.P_NOWAIT, sys.executable, [*COMMAND, *map(str, words)])
        _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"the fit ended with {status}")
    return used.ru_maxrss * 1024.0


def main() -> None:
    """A line a method and width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--columns", type=int, required=True)
    parser.add_argument("--methods", nargs="+", default=["gradient-features"])
    parser.add_argument("--widths", type=int, nargs="+", default=[256])
    args = parser.parse_args()
    for method in args.methods:
        for width in args.widths:
            said = planned(args.rows, args.columns, method, width)
            seen = measured(args.folder, method, width)
            print(f"{method} {width}: {said / 1e6:.0f} MB planned, {seen / 1e6:.0f} MB taken, "
                  f"{said / seen:.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
