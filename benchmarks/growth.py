"""Scores against the number of training rows: gradfeat, xRFM, gradient boosting.

    python benchmarks/growth.py --out growth.jsonl [--families multi-index,diamonds]
        [--sizes 250,1000,4000] [--models gradfeat,catboost] [--seeds 1] [--limit 900]
        [--picture growth.png] [--table]

One line of JSON a fit; what is in the file is not fitted again. Every fit has one thread and a
process of its own (`tabular/fit_one.py`): seconds are the processor's, memory is the peak above
packages and data. Training rows are nested, test rows the same 4,000 at every size. Of the
synthetic families the test targets have no noise, so that the best score is 1 (accuracy: that of
the true rule). A table gives the sizes that it has rows for.

`--picture` and `--table` draw and print what the file has, after the fits.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SUITE = Path(__file__).parent / "tabular"
sys.path.append(str(SUITE))

from fit_process import fit_line  # noqa: E402
from lines import read_lines  # noqa: E402
from problem import Array, Problem  # noqa: E402
from table_list import TABLES, flights, mnist  # noqa: E402

SIZES = (250, 1000, 4000, 16_000, 64_000, 256_000, 1_000_000)
MODELS = ("gradfeat", "xrfm", "catboost", "hist", "xgboost")
TEST_ROWS = 4000
Line = dict[str, Any]
Draw = Callable[[np.random.Generator, Array], tuple[Array, Array]]


def multi_index(truth: np.random.Generator, X: Array) -> tuple[Array, Array]:
    """Three directions among 12 columns: sin(2u) v + |w|."""
    u, v, w = np.linalg.qr(truth.standard_normal((12, 3)))[0].T @ X[:, :12].T
    return X[:, :12], np.sin(2 * u) * v + np.abs(w)


def thresholds(truth: np.random.Generator, X: Array) -> tuple[Array, Array]:
    """A sum of 24 steps and a wave over 10 of 15 columns, one column each."""
    columns, cuts = truth.integers(10, size=24), truth.normal(size=24)
    steps = (X[:, columns] > cuts) @ truth.normal(size=24)
    return X[:, :15], steps + np.sin(3 * X[:, 0])


def sparse(truth: np.random.Generator, X: Array) -> tuple[Array, Array]:
    """Ten of 200 columns count: five products of two."""
    del truth
    return X[:, :200], sum(X[:, 2 * i] * X[:, 2 * i + 1] for i in range(5)) + np.tanh(
        X[:, :10].sum(1)
    )


#: Families with columns drawn, what is predicted, and noise in standard deviations of it.
FAMILIES: dict[str, tuple[int, Draw, float]] = {
    "multi-index": (12, multi_index, 0.1),
    "thresholds": (15, thresholds, 0.2),
    "sparse-200": (200, sparse, 0.1),
}
#: Tables with their task.
REAL: dict[str, tuple[Callable[[], pd.DataFrame], bool]] = {
    **{t.name: (t.read, False) for t in TABLES if t.name in ("airfoil", "diamonds")},
    "flights": (flights, False),
    "mnist": (mnist, True),
}


def drawn(name: str, n: int, seed: int) -> Problem:
    """n rows of a family and clean test rows; the first rows are those of fewer."""
    d, f, noise = FAMILIES[name]
    test, train = (np.random.default_rng([seed, part]) for part in (1, 2))
    X_test = test.standard_normal((TEST_ROWS, d))
    X, e = train.standard_normal((n, d)), np.random.default_rng([seed, 3]).standard_normal(n)
    (Z, y), (Z_test, y_test) = (f(np.random.default_rng(seed), rows) for rows in (X, X_test))
    return Problem(Z, y + noise * y_test.std() * e, Z_test, y_test, False)


def taken(name: str, n: int, seed: int) -> Problem | None:
    """n rows of a table and 4,000 (or a quarter of it) to test on; None: it has not so many."""
    from gradfeat.table.encode import TableEncoder

    read, classes = REAL[name]
    frame = read().reset_index(drop=True)
    target = frame.pop("target")
    y = pd.factorize(target, sort=True)[0] if classes else target.to_numpy(float)
    order = np.random.default_rng(seed).permutation(len(frame))
    held = min(TEST_ROWS, len(frame) // 4)
    test, train = order[:held], order[held : held + n]
    if len(train) < n:
        return None
    encoder = TableEncoder().fit(frame.iloc[train])
    X, X_test = (encoder.transform(frame.iloc[rows]) for rows in (train, test))
    return Problem(X, y[train], X_test, y[test], classes)


def problem(name: str, n: int, seed: int) -> Problem | None:
    return drawn(name, n, seed) if name in FAMILIES else taken(name, n, seed)


@dataclass(frozen=True)
class Cell:
    """One fit to be done."""

    family: str
    rows: int
    seed: int
    model: str

    @property
    def key(self) -> tuple[str, int, int, str]:
        return self.family, self.rows, self.seed, self.model


def key(line: Line) -> tuple[str, int, int, str]:
    return line["family"], line["size"], line["seed"], line["model"]


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """All that is asked for, small sizes first."""
    for n in sorted(options.sizes):
        for family in options.families:
            for seed in range(options.seeds):
                for model in options.models:
                    yield Cell(family, n, seed, model)


def fill(options: argparse.Namespace) -> None:
    """Fit what is missing."""
    done = {key(line) for line in read_lines(options.out)}
    short: set[tuple[str, int]] = set()
    with tempfile.TemporaryDirectory() as folder, options.out.open("a") as file:
        path, held = Path(folder) / "rows.npz", None
        for cell in cells(options):
            what = cell.family, cell.rows, cell.seed
            if cell.key in done or what[:2] in short:
                continue
            if held != what:
                found, held = problem(*what), what
                if found is None:
                    short.add(what[:2])
                    continue
                found.save(path)
            line: Line = {"family": cell.family, "size": cell.rows, "seed": cell.seed}
            line |= {"model": cell.model, "date": time.strftime("%Y-%m-%d")}
            line |= fit_line(cell.model, path, options.limit)
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(in_words(line), flush=True)


def in_words(line: Line) -> str:
    name = "{family} {size:,} {seed} {model}".format(**line)
    if "error" in line:
        return f"{name}: {line['error']}"
    return (
        name
        + ": {score:.5f}, fit {fit_s:.1f} s, predict {predict_s:.2f} s, {peak_mb:.0f} MB".format(
            **line
        )
    )


def means(lines: list[Line]) -> pd.DataFrame:
    """Mean over seeds of each family, size and model, without fits that failed."""
    whole = pd.DataFrame([line for line in lines if "error" not in line])
    return whole.groupby(["family", "size", "model"], as_index=False).mean(numeric_only=True)


def table(lines: list[Line]) -> str:
    """Markdown: 1 - score / processor seconds of the fit, a row for each family and size."""
    found, text = means(lines), []
    models = [m for m in MODELS if m in set(found["model"])]
    text.append("| family | rows | " + " | ".join(models) + " |")
    text.append("|---" * (len(models) + 2) + "|")
    for (family, size), part in found.groupby(["family", "size"]):
        of = part.set_index("model")
        least = of["score"].max()
        row = []
        for m in models:
            if m not in of.index:
                row.append("")
                continue
            value = f"{1 - of.score[m]:.4f}"
            row.append(f"{f'**{value}**' if of.score[m] == least else value} / {of.fit_s[m]:.1f}")
        text.append(f"| {family} | {size:,} | " + " | ".join(row) + " |")
    return "\n".join(text)


COLOURS = {"gradfeat": "#c1272d", "xrfm": "#0f5fa8", "catboost": "#2e7d32"}
COLOURS |= {"hist": "#8a6d3b", "xgboost": "#6a51a3"}


def draw(lines: list[Line], path: Path) -> None:
    """1 - score against rows (above) and against processor seconds of the fit (below)."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = means(lines)
    families = list(dict.fromkeys(found["family"]))
    size = (3.1 * len(families) + 0.6, 6.2)
    figure, axes = plt.subplots(2, len(families), figsize=size, layout="constrained", squeeze=False)
    for column, family in enumerate(families):
        for model, part in found[found["family"] == family].groupby("model"):
            part = part.sort_values("size")
            for ax, along in zip(axes[:, column], ("size", "fit_s"), strict=True):
                ax.plot(
                    part[along], 1 - part["score"], "o-", ms=4, color=COLOURS[model], label=model
                )
        axes[0, column].set_title(family)
        axes[0, column].set_xlabel("training rows")
        axes[1, column].set_xlabel("processor seconds of the fit")
        for ax in axes[:, column]:
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.grid(alpha=0.25)
            ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("1 - R2, or error rate")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _options(words: list[str] | None) -> argparse.Namespace:
    def listed(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--families", type=listed, default=[*FAMILIES, *REAL])
    parser.add_argument("--sizes", type=lambda t: [int(n) for n in listed(t)], default=list(SIZES))
    parser.add_argument("--models", type=listed, default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    """Fit, then draw and print."""
    options = _options(words)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    fill(options)
    lines = read_lines(options.out)
    if options.picture is not None:
        draw(lines, options.picture)
    if options.table:
        print(table(lines))


if __name__ == "__main__":
    main()
