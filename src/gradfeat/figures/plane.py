"""Rows in the plane of the first two directions, coloured by the target."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gradfeat.drawing import style
from gradfeat.drawing.numbers import number
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.first_direction import X_LABEL
from gradfeat.figures.points import class_codes, drawn_rows, inner_limits, most_of, points_drawn

NAMED = 20  # classes in the legend


def target_plane_figure(z: np.ndarray, y: np.ndarray, target: str) -> CaptionedFigure:
    """Where the highest and the lowest quarter lie."""
    low, high = np.nanquantile(y, [0.25, 0.75])
    bottom, top = np.nanmean(z[y <= low], axis=0), np.nanmean(z[y >= high], axis=0)
    caption = (
        f"{points_drawn(z[:, 0], z[:, 1], y)} Bright dots have a high value of {target}. The "
        f"highest quarter centres at ({number(top[0], 2)}, {number(top[1], 2)}), the lowest at "
        f"({number(bottom[0], 2)}, {number(bottom[1], 2)})."
    )
    return CaptionedFigure("plane", partial(target_plane, z, y, target=target), caption)


def target_plane(
    projections: np.ndarray, y: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """Rows on the first two directions, coloured by a numeric target (dark low, bright high).

    Parameters
    ----------
    projections : ndarray (n, 2)
    y : ndarray (n,)
    target : str
    ax : Axes, optional
        Where to draw; new axes if None.
    """
    ax = style.axes_or_new(ax, 3.7)
    rows = drawn_rows(projections[:, 0], projections[:, 1], y)
    rows = rows[np.argsort(y[rows], kind="stable")]
    first, second, shade = projections[rows, 0], projections[rows, 1], y[rows]
    low, high = np.quantile(shade, [0.01, 0.99]) if len(rows) else (0.0, 1.0)
    kw = {"cmap": "viridis", "vmin": low, "vmax": high, "linewidths": 0, "rasterized": True}
    dots = ax.scatter(first, second, c=shade, s=_size(len(rows)), alpha=0.85, **kw)
    name = style.short(target, 30)
    _finish(ax, name, projections[rows])
    bar = ax.figure.colorbar(dots, ax=ax, fraction=0.05, pad=0.03, aspect=28)
    bar.set_label(name, fontsize=style.TEXT, color=style.QUIET)
    bar.ax.tick_params(labelsize=style.SMALL, length=2, width=0.6, color=style.QUIET)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.solids.set(alpha=1)  # pyright: ignore[reportOptionalMemberAccess]
    return ax


def class_plane_figure(
    z: np.ndarray, y: np.ndarray, classes: tuple[str, ...], target: str
) -> CaptionedFigure:
    """Which two classes lie furthest apart."""
    draw = partial(class_plane, z, y, classes=classes, target=target)
    return CaptionedFigure("plane", draw, _class_caption(z, y, classes))


def _class_caption(z: np.ndarray, y: np.ndarray, classes: tuple[str, ...]) -> str:
    most = most_of(NAMED, len(classes), "first classes")
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


def class_plane(
    projections: np.ndarray,
    y: np.ndarray,
    *,
    classes: tuple[str, ...],
    target: str = "class",
    ax: Axes | None = None,
) -> Axes:
    """Rows on the first two directions; a class has its own colour and marker.

    Parameters
    ----------
    projections : ndarray (n, 2)
    y : ndarray (n,)
        Position in `classes` of each row's class.
    classes : tuple of str
    target : str
    ax : Axes, optional
        Where to draw; new axes if None.
    """
    ax = style.axes_or_new(ax, 3.7 + 0.16 * (max(len(classes), 1) // 4))
    codes, marks = class_codes(y, classes), style.class_marks(classes)
    rows = drawn_rows(projections[:, 0], projections[:, 1])
    present = [c for c in range(len(classes)) if (codes == c).any()]
    for c in present:
        mine = rows[codes[rows] == c]
        kw = {"s": _size(len(rows)) + 3, "alpha": 0.7, "linewidths": 0.3, "edgecolors": "white"}
        ax.scatter(
            projections[mine, 0], projections[mine, 1], color=marks[c].color,
            marker=marks[c].marker, rasterized=True, **kw,
        )  # fmt: skip
    _finish(ax, style.short(target, 30), projections[rows])
    _legend(ax, [marks[c] for c in present])
    return ax


def _size(n: int) -> float:
    return float(np.clip(12_000 / max(n, 1), 9, 24))


def _finish(ax: Axes, name: str, points: np.ndarray) -> None:
    style.dress(ax, f"{name} over the first two directions", X_LABEL, "projection on direction 2")
    style.grid(ax)
    if len(points):
        ax.set(xlim=inner_limits(points[:, 0]), ylim=inner_limits(points[:, 1]))


def _legend(ax: Axes, marks: list[style.Mark]) -> None:
    handles = [
        Line2D([], [], linestyle="", marker=m.marker, color=m.color, label=m.label, markersize=5)
        for m in marks[:NAMED]
    ]
    style.key(ax, [*handles])
