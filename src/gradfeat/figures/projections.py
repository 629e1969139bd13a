"""The target along the first direction, over the plane of the first two, and as predicted."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from gradfeat.drawing import style
from gradfeat.drawing.style import (
    Bins,
    bin_labels,
    binned,
    class_codes,
    drawn_rows,
    explained,
    inner_limits,
    most_of,
    points_drawn,
    wilson,
)
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import label_of
from gradfeat.table.results import FitReport
from gradfeat.wording import number, percent

X_LABEL = "projection on direction 1 (standard units)"
#: Classes with a curve.
SHOWN = 7
_FEW = 60  # rows: with fewer, bins follow single rows and explain them by construction


def target_curve_figure(x: np.ndarray, y: np.ndarray, target: str) -> CaptionedFigure:
    """From where to where the mean runs, and what the direction accounts for."""
    draw = partial(target_curve, x, y, target=target)
    return CaptionedFigure("curve", draw, _curve_caption(x, y, target))


def _curve_caption(x: np.ndarray, y: np.ndarray, target: str) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    read = f"{points_drawn(x, y)} The line is the mean of neighbouring rows."
    if not known.any():
        return f"{read} No row has both values."
    x, y = x[known], y[known]
    bins = binned(x, y)
    low, high = int(bins.mean.argmin()), int(bins.mean.argmax())
    found = (
        f"{read} The mean of {target} runs from {number(bins.mean[low])} (at "
        f"{number(bins.x[low], 2)}) to {number(bins.mean[high])} (at {number(bins.x[high], 2)})"
    )
    if len(y) < _FEW:
        return f"{found}."
    share = percent(explained(y, bins.mean[bin_labels(x)]))
    return f"{found}; where a row lies on this one direction accounts for {share} of the variance."


def target_curve(
    projection: np.ndarray, y: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """A numeric target against a projection: points, mean in bins, 95 % and middle-80 % bands.

    Rows of `projection` (n,) and `y` (n,) that are not finite are left out; at most 3,000 are
    drawn, all count in the curve. `target` is the name of y, with its unit if it has one.

    >>> x = np.linspace(-2, 2, 200)
    >>> target_curve(x, x**2, target="rentals").get_ylabel()
    'rentals'
    """
    ax = style.axes_or_new(ax, 3.3)
    rows = drawn_rows(projection, y)
    alpha = float(np.clip(260 / max(len(rows), 1), 0.16, 0.6))
    kw = {"s": 9, "color": style.BLUE, "alpha": alpha, "linewidths": 0, "rasterized": True}
    ax.scatter(projection[rows], y[rows], **kw)
    finite = np.isfinite(projection) & np.isfinite(y)
    if finite.any():
        _mean(ax, binned(projection[finite], y[finite]))
        ax.set(xlim=inner_limits(projection[finite]), ylim=inner_limits(y[finite]))
    name = style.short(target, 30)
    style.dress(ax, f"{name} along the first learned direction", X_LABEL, name)
    style.grid(ax)
    style.key(ax, ax.get_legend_handles_labels()[0])
    return ax


def _mean(ax: Axes, bins: Bins) -> None:
    color = style.VERMILLION
    ax.fill_between(
        bins.x, bins.q10, bins.q90, color=style.ORANGE, alpha=0.2, linewidth=0,
        label="middle 80 % of rows",
    )  # fmt: skip
    ax.fill_between(
        bins.x, bins.low, bins.high, color=color, alpha=0.4, linewidth=0, label="95 % for the mean"
    )
    halo = [withStroke(linewidth=4.2, foreground="white")]
    ax.plot(bins.x, bins.mean, color=color, linewidth=2.2, path_effects=halo, label="mean")
    ax.plot(bins.x, bins.mean, "o", color=color, markersize=4, markeredgecolor="white")


def class_shares_figure(
    x: np.ndarray, y: np.ndarray, classes: tuple[str, ...], target: str
) -> CaptionedFigure:
    """The commonest class at either end."""
    draw = partial(class_shares, x, y, classes=classes, target=target)
    return CaptionedFigure("shares", draw, _shares_caption(x, y, classes))


def _shares_caption(x: np.ndarray, y: np.ndarray, classes: tuple[str, ...]) -> str:
    most = most_of(SHOWN, len(classes), "most frequent classes")
    read = (
        f"{points_drawn(x)} Each curve is the share of one class among neighbouring rows, with "
        f"its 95 % band{most}."
    )
    codes, known = class_codes(y, classes), np.isfinite(x)
    if not known.any():
        return f"{read} No row has a projection."
    labels, codes = bin_labels(x[known]), codes[known]
    ends = [_commonest(codes[labels == b], classes) for b in (0, labels.max())]
    return f"{read} Most frequent at the left end is {ends[0]}, at the right end {ends[1]}."


def _commonest(codes: np.ndarray, classes: tuple[str, ...]) -> str:
    counts = np.bincount(codes, minlength=len(classes))
    return f"{classes[counts.argmax()]} ({percent(counts.max() / counts.sum())})"


def class_shares(
    projection: np.ndarray,
    y: np.ndarray,
    *,
    classes: tuple[str, ...],
    target: str = "class",
    ax: Axes | None = None,
) -> Axes:
    """Share of each class in bins of a projection, with Wilson's 95 % bands.

    The seven most frequent classes are drawn; `y` (n,) are positions in `classes`. Below the curves
    each row is a point at its `projection` (n,), in its class's colour.
    """
    ax = style.axes_or_new(ax, 3.5)
    codes, marks = class_codes(y, classes), style.class_marks(classes)
    counts = np.bincount(codes, minlength=len(classes))
    shown = sorted(np.argsort(-counts, kind="stable")[:SHOWN].tolist())
    finite = np.isfinite(projection)
    if finite.any():
        _curves(ax, projection[finite], codes[finite], marks, shown)
        _strip(ax, projection, codes, marks, shown)
    title = f"Classes of {style.short(target, 24)} along the first learned direction"
    style.dress(ax, title, X_LABEL, "share of rows in this class")
    ax.set_ylim(-0.31, 1.02)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    style.percents(ax.yaxis)
    style.grid(ax)
    style.key(ax, ax.get_legend_handles_labels()[0])
    return ax


def _curves(
    ax: Axes, x: np.ndarray, codes: np.ndarray, marks: tuple[style.Mark, ...], shown: list[int]
) -> None:
    labels = bin_labels(x)
    counts = np.bincount(labels)
    middle = np.array([np.median(x[labels == b]) for b in range(len(counts))])
    for c in shown:
        share = np.bincount(labels, weights=codes == c, minlength=len(counts)) / counts
        low, high = wilson(share, counts)
        color = marks[c].color
        ax.fill_between(middle, low, high, color=color, alpha=0.16, linewidth=0)
        ax.plot(
            middle, share, color=color, marker=marks[c].marker, label=marks[c].label,
            markersize=4.5, markeredgecolor="white", linewidth=1.8,
            markevery=np.flatnonzero(share > 0.01),
        )  # fmt: skip


def _strip(
    ax: Axes, x: np.ndarray, codes: np.ndarray, marks: tuple[style.Mark, ...], shown: list[int]
) -> None:
    """One thin row of points for each class, under the curves."""
    rows = drawn_rows(x)
    height = 0.24 / len(shown)
    jitter = np.random.default_rng(0).uniform(-0.38, 0.38, len(rows)) * height
    for place, c in enumerate(shown):
        mine = codes[rows] == c
        y = -0.05 - height * (place + 0.5) + jitter[mine]
        kw = {"s": 5, "alpha": 0.35, "linewidths": 0, "rasterized": True}
        ax.scatter(x[rows][mine], y, color=marks[c].color, **kw)
    ax.set_xlim(inner_limits(x[rows]))


NAMED = 20  # classes in the legend
LEAST_ROWS = 10  # of a class, for a centre that says where it lies


def target_plane_figure(z: np.ndarray, y: np.ndarray, target: str) -> CaptionedFigure:
    """Where the highest and the lowest quarter lie."""
    low, high = np.nanquantile(y, [0.25, 0.75])
    bottom, top = np.nanmean(z[y <= low], axis=0), np.nanmean(z[y >= high], axis=0)
    caption = (
        f"{points_drawn(z[:, 0], z[:, 1], y)} Blue dots have a low, orange ones a high value of "
        f"{target}. The highest quarter centres at ({number(top[0], 2)}, {number(top[1], 2)}), "
        f"the lowest at ({number(bottom[0], 2)}, {number(bottom[1], 2)})."
    )
    return CaptionedFigure("plane", partial(target_plane, z, y, target=target), caption)


def target_plane(
    projections: np.ndarray, y: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """Rows at `projections` (n, 2) on the first two directions, from blue to orange by y (n,)."""
    ax = style.axes_or_new(ax, 3.7)
    rows = drawn_rows(projections[:, 0], projections[:, 1], y)
    rows = rows[np.argsort(y[rows], kind="stable")]
    first, second, shade = projections[rows, 0], projections[rows, 1], y[rows]
    low, high = np.quantile(shade, [0.01, 0.99]) if len(rows) else (0.0, 1.0)
    kw = {"cmap": style.low_to_high(), "vmin": low, "vmax": high, "alpha": 0.85, "linewidths": 0}
    dots = ax.scatter(first, second, c=shade, s=_size(len(rows)), rasterized=True, **kw)
    name = style.short(target, 30)
    _finish(ax, name, projections[rows])
    bar = ax.figure.colorbar(dots, ax=ax, fraction=0.05, pad=0.03, aspect=28)
    style.color_bar(bar, name)
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
    present, rows = np.unique(codes, return_counts=True)
    if len(present) < 2:
        return f"{read} Only one class occurs."
    present = present[rows >= LEAST_ROWS]
    if len(present) < 2:
        return f"{read} Fewer than two classes have {LEAST_ROWS} test rows, to compare centres."
    centres = np.array([np.nanmean(z[codes == c], axis=0) for c in present])
    apart = np.linalg.norm(centres[:, None] - centres, axis=-1)
    a, b = np.unravel_index(apart.argmax(), apart.shape)
    first, second = classes[present[a]], classes[present[b]]
    fewer = f" with {LEAST_ROWS} test rows or more" if (rows < LEAST_ROWS).any() else ""
    return (
        f"{read} Of all pairs of classes{fewer} {first} and {second} lie furthest apart: "
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
    """Rows at `projections` (n, 2) on the first two directions, each class in colour and marker.

    `y` (n,) are positions in `classes`.
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


def predicted_figure(report: FitReport) -> CaptionedFigure:
    """R2 and the error that half of all rows stay within."""
    y, p = np.asarray(report.y_true, float), np.asarray(report.y_pred, float)
    known = np.isfinite(y) & np.isfinite(p)
    error = float(np.median(np.abs(y - p)[known]))
    caption = (
        f"{points_drawn(y, p)} On the dashed line the prediction is exact. "
        f"{label_of(report, report.best)} reaches R2 {number(explained(y[known], p[known]))}; half "
        f"of all rows are predicted to within {number(error)}."
    )
    return CaptionedFigure("predicted", partial(predicted, y, p, target=report.target), caption)


def predicted(
    y_true: np.ndarray, y_pred: np.ndarray, *, target: str = "target", ax: Axes | None = None
) -> Axes:
    """Test rows (n,), predicted against true, with the line of perfect prediction and R2.

    At most 3,000 rows are drawn; R2 is of all.
    """
    ax = style.axes_or_new(ax, 3.6)
    rows = drawn_rows(y_true, y_pred)
    alpha = float(np.clip(350 / max(len(rows), 1), 0.2, 0.7))
    kw = {"s": 10, "color": style.BLUE, "alpha": alpha, "linewidths": 0, "rasterized": True}
    ax.scatter(y_true[rows], y_pred[rows], **kw)
    if len(rows):
        _identity(ax, y_true[rows], y_pred[rows])
        _r2(ax, y_true, y_pred)
    name = style.short(target, 30)
    title = "Predicted against true values, rows never trained on"
    style.dress(ax, title, f"true {name}", f"predicted {name}")
    style.grid(ax)
    style.key(ax, ax.get_legend_handles_labels()[0])
    return ax


def _identity(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    low = float(min(x.min(), y.min()))
    high = float(max(x.max(), y.max()))
    room = 0.04 * (high - low) or 0.5
    ends = (low - room, high + room)
    line = {"color": style.VERMILLION, "linewidth": 1.2, "linestyle": (0, (5, 3))}
    ax.plot(ends, ends, label="perfect prediction", **line)
    ax.set(xlim=ends, ylim=ends)


def _r2(ax: Axes, y_true: np.ndarray, y_pred: np.ndarray) -> None:
    known = np.isfinite(y_true) & np.isfinite(y_pred)
    text = f"R² = {number(explained(y_true[known], y_pred[known]))}"
    kw = {"transform": ax.transAxes, "va": "top", "fontsize": style.TITLE, "fontweight": "bold"}
    ax.text(0.04, 0.96, text, color=style.INK, **kw)
