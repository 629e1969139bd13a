"""Predictions against the truth: the confusion matrix of classes."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from gradfeat.drawing import style
from gradfeat.drawing.style import class_codes
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import label_of
from gradfeat.table.results import FitReport
from gradfeat.wording import counted, percent

MAX_CLASSES = 20


def confusion_figure(report: FitReport) -> CaptionedFigure:
    """How many rows are right, and the most frequent confusion."""
    draw = partial(confusion, report.y_true, report.y_pred, classes=report.classes)
    return CaptionedFigure("confusion", draw, confusion_caption(report))


def confusion_caption(report: FitReport) -> str:
    """The words alone, for more classes than a matrix can show."""
    counts = confusion_counts(report.y_true, report.y_pred, report.classes)
    right = percent(counts.trace() / counts.sum())
    read = (
        "Each line of cells shows what one true class was predicted as; the diagonal is right. "
        f"{label_of(report, report.best)} is right in {right} of "
        f"{counted(report.n_test, 'test row')}"
    )
    wrong = counts - np.diag(np.diag(counts))
    if not wrong.any():
        return f"{read}, without a single confusion."
    i, j = np.unravel_index(wrong.argmax(), wrong.shape)
    share = percent(float(row_shares(counts)[i, j]))
    return (
        f"{read}; the most frequent confusion is {report.classes[i]} taken for "
        f"{report.classes[j]} ({counted(int(wrong[i, j]), 'row')}, {share} of that class)."
    )


def confusion_counts(
    y_true: np.ndarray, y_pred: np.ndarray, classes: tuple[str, ...]
) -> np.ndarray:
    """C[i, j] = rows of class i predicted as class j."""
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (class_codes(y_true, classes), class_codes(y_pred, classes)), 1)
    return counts


def row_shares(counts: np.ndarray) -> np.ndarray:
    """Counts divided by their row's sum; zero in an empty row."""
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def confusion(
    y_true: np.ndarray, y_pred: np.ndarray, *, classes: tuple[str, ...], ax: Axes | None = None
) -> Axes:
    """Share of each true class (row) that is predicted as each class (column).

    `y_true` and `y_pred` (n,) are positions in `classes`. Up to six classes each cell has its count
    too; up to 20 whole per cent. Raises ValueError for more than 20 classes.
    """
    k = len(classes)
    if k > MAX_CLASSES:
        raise ValueError(
            f"{k} classes were given and at most {MAX_CLASSES} are readable; "
            "list the largest entries of confusion_counts instead."
        )
    ax = style.axes_or_new(ax, float(np.clip(2.6 + 0.25 * k, 2.9, 5.2)))
    counts = confusion_counts(y_true, y_pred, classes)
    shares = row_shares(counts)
    for (i, j), share in np.ndenumerate(shares):
        cell = Rectangle((j - 0.5, i - 0.5), 1, 1, color=style.BLUE, alpha=share, linewidth=0)
        ax.add_patch(cell)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5))
    _cells(ax, counts, shares)
    _finish(ax, classes, k)
    return ax


def _cells(ax: Axes, counts: np.ndarray, shares: np.ndarray) -> None:
    k = len(counts)
    size = style.TEXT if k <= 6 else (style.TINY if k <= 12 else 6.2)
    for (i, j), n in np.ndenumerate(counts):
        if k > 6 and not n:
            continue
        share = f"{100 * shares[i, j]:.0f}"
        text = f"{n:,}\n{share} %" if k <= 6 else share
        color = "white" if shares[i, j] > 0.55 else style.INK
        ax.text(j, i, text, ha="center", va="center", fontsize=size, color=color)


def _finish(ax: Axes, classes: tuple[str, ...], k: int) -> None:
    unit = "count and row %" if k <= 6 else "row %"
    style.dress(ax, f"True against predicted classes ({unit})", "predicted class", "true class")
    names = [style.wrapped(name, 16) for name in classes]
    tilt = 0 if sum(map(len, names)) <= 36 else 45
    ax.set_xticks(range(k), labels=names, rotation=tilt, ha="right" if tilt else "center")
    for label in ax.get_xticklabels():
        label.set_rotation_mode("anchor" if tilt else "default")
    ax.set_yticks(range(k), labels=names)
    ax.tick_params(length=0, labelsize=style.SMALL if k <= 12 else style.TINY)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xticks(np.arange(k + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(k + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
