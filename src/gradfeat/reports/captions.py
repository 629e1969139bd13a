"""Under every figure: how to read it, and what this one says, in numbers of this report."""

from __future__ import annotations

import numpy as np

from gradfeat.drawing.numbers import count, listed, number, percent, plain, signed
from gradfeat.figures.confusion import confusion_counts, row_shares
from gradfeat.figures.intervals import span
from gradfeat.figures.plane import NAMED
from gradfeat.figures.points import bin_labels, binned, class_codes, drawn_rows, explained
from gradfeat.figures.shares import SHOWN
from gradfeat.reports.answer import best_method, best_of, first_score, label_of, leading_columns
from gradfeat.table.results import Directions, FitReport

_FEW = 60  # rows: with fewer, bins follow single rows and explain them by construction


def points_drawn(*arrays: np.ndarray) -> str:
    """``Each dot is a test row (3,000 of 20,000 drawn, all counted).``"""
    shown, total = len(drawn_rows(*arrays)), len(arrays[0])
    if shown == total:
        return "Each dot is a test row."
    return f"Each dot is a test row ({shown:,} of {total:,} drawn)."


def comparison(report: FitReport) -> str:
    read = (
        f"Each point is a method's score on the same {count(report.n_test, 'test row')}, the bar "
        "its 95 % bootstrap interval."
    )
    best = best_method(report)
    found = [f"{best.label} leads with {first_score(best)}."] if best else []
    names = {"learned": "learned features", "fixed": "fixed features"}
    for family, words in names.items():
        method = best_of(report, family)
        if method and best and method.name != best.name:
            found.append(f"The best method with {words} is {method.label}: {first_score(method)}.")
    return " ".join([read, *found])


def eigenvalues(directions: Directions) -> str:
    values = np.asarray(directions.eigenvalues, dtype=float)
    read = (
        "Each bar is the share of the learned function's squared slope that lies along one "
        "direction of the inputs, the dark line its 95 % bootstrap interval."
    )
    found = f"The first direction carries {percent(float(values[0]))}"
    if len(values) > 1:
        found += f", the first two {percent(float(values[:2].sum()))}"
    inside = span(directions.n_effective, plain)
    tail = f" (95 % interval {inside})" if inside else ""
    effective = plain(directions.n_effective.estimate)
    return (
        f"{read} {found}; the number of effective directions, left of the orange line, is "
        f"{effective}{tail}."
    )


def direction(directions: Directions, index: int) -> str:
    weights = np.nan_to_num(np.asarray(directions.folded, dtype=float)[:, index])
    order = np.argsort(-np.abs(weights), kind="stable")[:3]
    top = [f"{directions.columns[i]} ({signed(float(weights[i]))})" for i in order]
    share = percent(float(directions.eigenvalues[index]))
    return (
        "Columns with bars to the right (blue) raise a row's position along this direction, those "
        f"to the left (orange) lower it. Direction {index + 1} carries {share} of the AGOP and "
        f"rests mainly on {listed(top)}."
    )


def importances(directions: Directions) -> str:
    top = leading_columns(directions)
    read = (
        "How much of the learned function's squared slope falls on each original column, the "
        "parts of an encoded column added up."
    )
    if not top:
        return f"{read} No column carries as much as 1 %."
    names, total = listed([name for name, _ in top]), sum(share for _, share in top)
    verb = "carry" if len(top) > 1 else "carries"
    return f"{read} Here {names} {verb} {percent(total)}."


def target_curve(x: np.ndarray, y: np.ndarray, target: str) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    read = f"{points_drawn(x, y)} The line is the mean of neighbouring rows."
    if not known.any():
        return f"{read} No row has both values."
    x, y = x[known], y[known]
    bins = binned(x, y)
    low, high = int(bins.mean.argmin()), int(bins.mean.argmax())
    fitted = bins.mean[bin_labels(x)]
    found = (
        f"{read} The mean of {target} runs from {number(bins.mean[low])} (at "
        f"{number(bins.x[low], 2)}) to {number(bins.mean[high])} (at {number(bins.x[high], 2)})"
    )
    if len(y) < _FEW:
        return f"{found}."
    share = percent(explained(y, fitted))
    return f"{found}; where a row lies on this one direction accounts for {share} of the variance."


def class_shares(x: np.ndarray, y: np.ndarray, classes: tuple[str, ...]) -> str:
    read = (
        f"{points_drawn(x)} Each curve is the share of one class among neighbouring rows, with "
        f"its 95 % band{_most(SHOWN, len(classes), 'most frequent classes')}."
    )
    codes, known = class_codes(y, classes), np.isfinite(x)
    if not known.any():
        return f"{read} No row has a projection."
    labels, codes = bin_labels(x[known]), codes[known]
    ends = [_commonest(codes[labels == b], classes) for b in (0, labels.max())]
    return f"{read} Most frequent at the left end is {ends[0]}, at the right end {ends[1]}."


def _most(shown: int, total: int, noun: str) -> str:
    return f" (the {shown} {noun} of {total})" if total > shown else ""


def _commonest(codes: np.ndarray, classes: tuple[str, ...]) -> str:
    counts = np.bincount(codes, minlength=len(classes))
    return f"{classes[counts.argmax()]} ({percent(counts.max() / counts.sum())})"


def target_plane(z: np.ndarray, y: np.ndarray, target: str) -> str:
    read = f"{points_drawn(z[:, 0], z[:, 1], y)} Bright dots have a high value of {target}."
    low, high = np.nanquantile(y, [0.25, 0.75])
    bottom, top = np.nanmean(z[y <= low], axis=0), np.nanmean(z[y >= high], axis=0)
    return (
        f"{read} The highest quarter centres at ({number(top[0], 2)}, {number(top[1], 2)}), the "
        f"lowest at ({number(bottom[0], 2)}, {number(bottom[1], 2)})."
    )


def class_plane(z: np.ndarray, y: np.ndarray, classes: tuple[str, ...]) -> str:
    most = _most(NAMED, len(classes), "first classes")
    read = f"{points_drawn(z[:, 0], z[:, 1])} Colour and marker tell the class{most}."
    codes = class_codes(y, classes)
    present = np.unique(codes)
    if len(present) < 2:
        return f"{read} Only one class occurs."
    centres = np.array([np.nanmean(z[codes == c], axis=0) for c in present])
    apart = np.linalg.norm(centres[:, None] - centres, axis=-1)
    a, b = np.unravel_index(apart.argmax(), apart.shape)
    first, second = classes[present[a]], classes[present[b]]
    return (
        f"{read} Of all pairs of classes {first} and {second} lie furthest apart: "
        f"{number(float(apart.max()), 2)} standard units between their centres."
    )


def predicted(report: FitReport) -> str:
    y, p = np.asarray(report.y_true, float), np.asarray(report.y_pred, float)
    known = np.isfinite(y) & np.isfinite(p)
    error = float(np.median(np.abs(y - p)[known]))
    return (
        f"{points_drawn(y, p)} On the dashed line the prediction is exact. "
        f"{label_of(report, report.best)} reaches R2 {number(explained(y[known], p[known]))}; half "
        f"of all rows are predicted to within {number(error)}."
    )


def confusion(report: FitReport) -> str:
    counts = confusion_counts(report.y_true, report.y_pred, report.classes)
    right = percent(counts.trace() / counts.sum())
    read = (
        "Each line of cells shows what one true class was predicted as; the diagonal is right. "
        f"{label_of(report, report.best)} is right in {right} of {count(report.n_test, 'test row')}"
    )
    wrong = counts - np.diag(np.diag(counts))
    if not wrong.any():
        return f"{read}, without a single confusion."
    i, j = np.unravel_index(wrong.argmax(), wrong.shape)
    share = percent(float(row_shares(counts)[i, j]))
    return (
        f"{read}; the most frequent confusion is {report.classes[i]} taken for "
        f"{report.classes[j]} ({count(int(wrong[i, j]), 'row')}, {share} of that class)."
    )
