"""Tables and figure of a run: `python benchmarks/tabular/report.py FILE.jsonl`.

Writes results.md and score_against_time.png beside this file (`--to FOLDER`: elsewhere).
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from figure import draw
from lines import Line, read_lines
from score_tables import bold, grid, score_table
from summary import complete, cost, far_below, grouped, mean_ranks
from table_list import TABLES

HERE = Path(__file__).parent
MARGIN = 0.05

HEAD = """# Tabular benchmark

`python benchmarks/tabular/run.py --out {file} --splits {splits} --rows {cap}`, then
`python benchmarks/tabular/report.py {file}`; fits of {dates}.

Each fit has one thread and a process of its own; seconds are the processor's, because other work
shared the machine, whose caches and memory it still slows. {cap:,} training rows at most ("-10k":
10,000) and 4,000 test rows, {splits} random splits. All methods get the same matrix, encoded by
gradfeat's `TableEncoder` on the training rows. A search holds out a fifth of the training rows,
takes the least squared error (Brier score for classes) and refits on all; its time is part of the
fit. Settings tried: kernel ridge, random features and Nystroem 12, MLP 4, hist and XGBoost 12,
CatBoost 6, xrfm 8 one parameter after another; xrfm's default keeps a fifth of the rows for
choosing its rounds, as its documentation shows. Probabilities of kernel ridge, random features
and Nystroem are their outputs for one-hot targets, cut to [.001, 1] and made to sum to one.

Versions: {versions}.
"""

COLUMNS = [
    "method",
    "all",
    "regression",
    "classes: accuracy",
    "classes: log loss",
    "fit s, all tables",
    "fit s, median",
    "predict s, all tables",
    "peak MB",
    "failed",
]


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Tables and figure of a run.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--to", type=Path, default=HERE)
    options = parser.parse_args()
    lines = read_lines(options.file)
    (options.to / "results.md").write_text(document(lines, options.file.name))
    ranked = complete(lines)
    if ranked:
        seconds = {m: cost(x).fit_s for (m,), x in grouped(ranked, "method").items()}
        draw(mean_ranks(ranked), seconds, options.to / "score_against_time.png")


def document(lines: list[Line], file: str) -> str:
    """All of results.md."""
    regression, classes = (_of(lines, task) for task in ("regression", "classification"))
    parts = [
        _head(lines, f"benchmarks/tabular/{file}"),
        "## Mean rank, time, memory",
        _ranks(complete(lines)),
        "![Mean rank against fit time](score_against_time.png)",
        "## Regression: test R2, mean ± standard deviation over splits",
        score_table(regression, "score"),
        "## Classification: test accuracy, mean ± standard deviation over splits",
        score_table(classes, "score"),
        "Log loss:",
        score_table(classes, "log_loss"),
        "Area under the ROC curve (mean of one class against the others):",
        score_table(classes, "auc"),
        f"## Where gradfeat's default is more than {MARGIN} below the best score",
        _far(lines),
        "## Fits that failed",
        _failed(lines),
        "## The tables",
        _tables(lines),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _of(lines: list[Line], task: str) -> list[Line]:
    return [line for line in lines if line["task"] == task]


def _head(lines: list[Line], file: str) -> str:
    dates = sorted({line["date"] for line in lines})
    return HEAD.format(
        file=file,
        splits=1 + max(line["split"] for line in lines),
        cap=max(line["cap"] for line in lines),
        dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))),
        versions=", ".join(sorted({line["version"] for line in lines if "version" in line})),
    )


def _ranks(lines: list[Line]) -> str:
    if not lines:
        return "No table and split was tried with every method."
    classes = _of(lines, "classification")
    ranks = [
        mean_ranks(lines),
        mean_ranks(_of(lines, "regression")),
        mean_ranks(classes),
        mean_ranks(classes, "log_loss"),
    ]
    best = [min(rank.values(), default=math.nan) for rank in ranks]
    costs = {method: cost(fits) for (method,), fits in grouped(lines, "method").items()}

    def cells(method: str) -> list[str]:
        shown = [
            bold(r.get(method, math.nan), b, "{:.2f}") for r, b in zip(ranks, best, strict=True)
        ]
        c = costs[method]
        spent = [f"{c.fit_s:.1f}", f"{c.median_fit_s:.2f}", f"{c.predict_s:.2f}"]
        return [method, *shown, *spent, f"{c.peak_mb:.0f}", str(c.failed)]

    pairs, tables = len(grouped(lines, "table", "split")), len(grouped(lines, "table"))
    note = (
        f"Over {pairs} pairs of {tables} tables and splits that all methods were tried on; 1 is "
        "the best rank, a failed fit takes the last; seconds are sums over tables of means over "
        "splits; memory is the largest peak of a fit above packages and data."
    )
    order = sorted(costs, key=lambda method: ranks[0][method])
    return note + "\n\n" + grid(COLUMNS, [cells(method) for method in order])


def _far(lines: list[Line]) -> str:
    if "gradfeat" not in {line["method"] for line in lines}:
        return "It was not run."
    gaps = far_below(lines, "gradfeat", MARGIN)
    texts = [f"- {g.table}: {g.score:.4f} against {g.best:.4f} ({g.by})" for g in gaps]
    return "\n".join(texts) or "On none."


def _failed(lines: list[Line]) -> str:
    texts = [
        f"- {line['table']}, split {line['split']}, {line['method']}: {line['error']}"
        for line in lines
        if "error" in line
    ]
    return "\n".join(texts) or "None."


def _tables(lines: list[Line]) -> str:
    sizes = {line["table"]: line for line in lines if "rows" in line}
    rows = [
        [t.name, t.task, t.target, t.package, *_size(sizes[t.name])]
        for t in TABLES
        if t.name in sizes
    ]
    return grid(["table", "task", "target", "from", "training rows", "encoded inputs"], rows)


def _size(line: Line) -> tuple[str, str]:
    return f"{line['rows']:,}", str(line["inputs"])


if __name__ == "__main__":
    main()
