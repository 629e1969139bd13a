"""What the lines of a run add up to: means over splits, ranks, seconds, memory.

A failed fit has no score: it shares the last rank of its table and split.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median, stdev

from lines import Line
from scipy.stats import rankdata

Groups = dict[tuple[str, ...], list[Line]]


def grouped(lines: Iterable[Line], *names: str) -> Groups:
    """Lines by their values of `names`, as text, in order of appearance."""
    groups: Groups = defaultdict(list)
    for line in lines:
        groups[tuple(str(line[name]) for name in names)].append(line)
    return dict(groups)


def complete(lines: list[Line]) -> list[Line]:
    """The fits of tables and splits that every method of the run was tried on."""
    methods = {line["method"] for line in lines}
    cells = grouped(lines, "table", "split").values()
    return [line for cell in cells if {x["method"] for x in cell} == methods for line in cell]


def mean_ranks(lines: list[Line], by: str = "score") -> dict[str, float]:
    """Rank in each table and split (1 is best, ties shared), mean over splits, then tables."""
    sign = 1.0 if by == "log_loss" else -1.0
    ranks: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cell in grouped(lines, "table", "split").values():
        values = [sign * line[by] if by in line else math.inf for line in cell]
        for line, rank in zip(cell, rankdata(values), strict=True):
            ranks[line["method"], line["table"]].append(float(rank))
    by_method: dict[str, list[float]] = defaultdict(list)
    for (method, _), found in ranks.items():
        by_method[method].append(fmean(found))
    return {method: fmean(found) for method, found in by_method.items()}


def mean(lines: list[Line], column: str = "score") -> float:
    """Mean over splits; nan where one failed."""
    return fmean(line.get(column, math.nan) for line in lines) if lines else math.nan


def spread(lines: list[Line]) -> float:
    """Standard deviation of the scores over splits; nan for one split or a failed one."""
    scores = [line.get("score", math.nan) for line in lines]
    return stdev(scores) if len(scores) > 1 and not any(map(math.isnan, scores)) else math.nan


@dataclass(frozen=True)
class Cost:
    """Seconds for one split of every table, median fit, largest memory, failed fits."""

    fit_s: float
    median_fit_s: float
    predict_s: float
    peak_mb: float
    failed: int


def cost(lines: list[Line]) -> Cost:
    """Cost of one method; failed fits count in `failed` alone."""
    done = [line for line in lines if "score" in line]
    tables = grouped(done, "table").values()
    return Cost(
        sum(mean(table, "fit_s") for table in tables),
        median([line["fit_s"] for line in done]) if done else math.nan,
        sum(mean(table, "predict_s") for table in tables),
        max((line["peak_mb"] for line in done), default=math.nan),
        len(lines) - len(done),
    )


@dataclass(frozen=True)
class Gap:
    """A table on which a method's mean score is far below that of the best, or missing."""

    table: str
    score: float
    best: float
    by: str


def far_below(lines: list[Line], method: str, margin: float) -> list[Gap]:
    """Tables on which `method` is more than `margin` below the best mean score, or failed."""
    gaps = []
    for (table,), part in grouped(lines, "table").items():
        scores = {name: mean(fits) for (name,), fits in grouped(part, "method").items()}
        known = {name: score for name, score in scores.items() if not math.isnan(score)}
        if method in scores and known:
            by = max(known, key=lambda name: known[name])
            if not scores[method] >= known[by] - margin:
                gaps.append(Gap(table, scores[method], known[by], by))
    return gaps
