"""True against predicted classes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.figures.points import class_codes

MAX_CLASSES = 20


def confusion_counts(
    y_true: np.ndarray, y_pred: np.ndarray, classes: tuple[str, ...]
) -> np.ndarray:
    """C[i, j] = rows of class i predicted as class j.

    Examples
    --------
    >>> confusion_counts(np.array([0, 1]), np.array([0, 0]), ("a", "b")).tolist()
    [[1, 0], [1, 0]]
    """
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

    Up to six classes each cell has its count too; up to 20 whole per cent.

    Parameters
    ----------
    y_true, y_pred : ndarray (n,)
        Position in `classes` of each row's class.
    classes : tuple of str, at most 20
    ax : Axes, optional
        Where to draw; new axes if None.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        For more than 20 classes.
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
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    _cells(ax, counts, shares)
    _finish(ax, classes, k)
    return ax


def _cells(ax: Axes, counts: np.ndarray, shares: np.ndarray) -> None:
    k = len(counts)
    size = style.TEXT if k <= 6 else (style.TINY if k <= 12 else 6.2)
    for (i, j), n in np.ndenumerate(counts):
        if k > 6 and not n:
            continue
        percent = f"{100 * shares[i, j]:.0f}"
        text = f"{n:,}\n{percent} %" if k <= 6 else percent
        color = "white" if shares[i, j] > 0.55 else style.INK
        ax.text(j, i, text, ha="center", va="center", fontsize=size, color=color)


def _finish(ax: Axes, classes: tuple[str, ...], k: int) -> None:
    unit = "count and row %" if k <= 6 else "row %"
    style.dress(ax, f"True against predicted classes ({unit})", "predicted class", "true class")
    names = [style.short(name, 16) for name in classes]
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
