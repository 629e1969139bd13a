"""What a diagnosis draws: parts of the variance, signal by degree, curvature."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gradfeat.drawing import style
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import inside_whole, span
from gradfeat.table.diagnosis import Curvature, DegreeFinding, DiagnosisReport, Shares
from gradfeat.table.results import Interval
from gradfeat.wording import counted, listed, number, percent

DEGREE_NAMES = {1: "linear", 2: "quadratic", 3: "cubic", 4: "of degree 4"}


def degrees_figure(found: DiagnosisReport) -> CaptionedFigure:
    """Degrees beyond chance, and what would not have been seen."""
    seen = [DEGREE_NAMES[one.degree] for one in found.degrees if one.found]
    words = f"Beyond chance: {listed(seen)}." if seen else "No degree is beyond chance."
    blind = max(found.degrees, key=lambda one: one.visible_from)
    caption = (
        "Each point is the test strength of one degree of the whitened inputs, with lower degrees "
        "taken out; for Gaussian inputs it estimates a share of the variance, for others it is "
        "evidence and no share. Grey is what shuffled and sign-flipped targets give; a point "
        "counts above the bar, which keeps the chance of any signal where there is none to "
        f"{percent(found.level)}. {words} With {counted(found.n_inputs, 'input')} and "
        f"{counted(found.n_tested, 'row')} a strength below {number(blind.visible_from)} at degree "
        f"{blind.degree} would not be seen."
    )
    return CaptionedFigure("degrees", partial(degrees, found.degrees), caption)


def degrees(findings: Sequence[DegreeFinding], *, ax: Axes | None = None) -> Axes:
    """A point for each degree over the band of chance, and the strength that would count."""
    ax = style.axes_or_new(ax, 2.9)
    for i, one in enumerate(findings):
        label = "chance, middle 95 %" if i == 0 else None
        height = one.null_high - one.null_low
        ax.bar(one.degree, height, 0.5, one.null_low, color=style.FAINT, linewidth=0, label=label)
        label = "counts from here" if i == 0 else ""
        ends = (one.degree - 0.25, one.degree + 0.25)
        ax.hlines(one.visible_from, *ends, color=style.QUIET, linewidth=1.2, label=label)
    for found, color, marker in ((False, style.QUIET, "o"), (True, style.VERMILLION, "D")):
        some = [one for one in findings if one.found == found]
        label = "beyond chance" if found and some else None
        ax.plot([one.degree for one in some], [one.strength for one in some], marker, color=color,
                markersize=6.5, markeredgecolor="white", label=label)  # fmt: skip
    ax.axhline(0, color=style.QUIET, linewidth=0.6)
    style.dress(ax, "Signal by degree", "degree", "test strength")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.grid(ax, "y")
    style.key(ax, list(ax.get_legend_handles_labels()[0]), columns=3)
    return ax


def curvature_figure(found: Curvature) -> CaptionedFigure:
    """How many eigenvalues are beyond chance, and the largest."""
    many = int(beyond_chance(found).sum())
    sign, lines = "summed over classes, without sign", "line"
    if found.signed:
        sign, lines = "positive ones bend up, negative ones down", "lines"
    caption = (
        "Eigenvalues of H, the second derivative of the target averaged over the inputs, in "
        f"standard units; {sign}. Grey is what chance gives each in order, the dashed {lines} what "
        f"the largest of them reaches by chance. {many or 'None'} of {len(found.eigenvalues)} "
        f"beyond; the largest is {number(float(max(found.eigenvalues, key=abs)))}."
    )
    return CaptionedFigure("curvature", partial(curvature, found), caption)


def curvature(found: Curvature, *, ax: Axes | None = None) -> Axes:
    """Eigenvalues of H in order, the band that chance gives each, and the threshold for any."""
    ax = style.axes_or_new(ax, 2.9)
    x, beyond = np.arange(1, len(found.eigenvalues) + 1), beyond_chance(found)
    edges = np.r_[x[0] - 0.5, x + 0.5]
    ax.stairs(found.high, edges, baseline=found.low, fill=True, color=style.FAINT,
              label="chance, 95 % of each")  # fmt: skip
    line = {"color": style.QUIET, "linewidth": 0.9, "linestyle": style.DASHES}
    ax.axhline(found.threshold, label="largest by chance", **line)
    if found.signed:
        ax.axhline(-found.threshold, **line)
        ax.axhline(0, color=style.QUIET, linewidth=0.6)
    marks = {"markeredgecolor": "white", "linestyle": "", "clip_on": False}
    ax.plot(x[~beyond], found.eigenvalues[~beyond], "o", color=style.QUIET, markersize=4.5, **marks)
    ax.plot(x[beyond], found.eigenvalues[beyond], "D", color=style.VERMILLION, markersize=6,
            label="beyond chance", **marks)  # fmt: skip
    style.dress(ax, "Mean curvature of the target", "eigenvalue number", "eigenvalue of H")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(0.4, max(len(x), 3) + 0.6)
    style.grid(ax, "y")
    handles = ax.get_legend_handles_labels()[0]
    style.key(ax, [*handles[-1:], *handles[:-1]] if beyond.any() else handles[:2], columns=3)
    return ax


def beyond_chance(curvature: Curvature) -> np.ndarray:
    """Which eigenvalues are larger in size than the threshold: (d,) bool."""
    return np.abs(curvature.eigenvalues) > curvature.threshold


#: Colour of each part, and of what no model explains.
COLORS = {"linear": style.BLUE, "quadratic": style.VERMILLION, "higher": style.GREEN}


def variance_parts_figure(found: Shares) -> CaptionedFigure:
    """What each class of functions adds, and all of them together."""
    caption = (
        "What a linear model explains of rows it has not seen, what quadratic terms add, and what "
        "a flexible model (a recursive feature machine) adds to both; lines are 95 % bootstrap "
        f"intervals over {counted(found.rows, 'row')} in {found.folds} folds. Together they "
        f"explain {inside_whole(found.total.estimate)} ({span(found.total, inside_whole)}); the "
        "rest is noise, or beyond these models and rows."
    )
    return CaptionedFigure("shares", partial(variance_parts, found), caption)


def variance_parts(shares: Shares, *, ax: Axes | None = None) -> Axes:
    """Share of the variance that each part adds, with its 95 % interval; the rest in grey."""
    ax = style.axes_or_new(ax, 2.3)
    for place, part in enumerate(shares.parts):
        _bar(ax, -place, part.share, COLORS[part.name], part.in_words)
    rest = Interval(1 - shares.total.estimate, 1 - shares.total.high, 1 - shares.total.low)
    _bar(ax, -len(shares.parts), rest, style.FAINT, percent(float(np.clip(rest.estimate, 0, 1))))
    names = [*(part.name for part in shares.parts), "not explained"]
    ax.set_yticks(-np.arange(len(names), dtype=float), labels=names)
    style.dress(ax, "Where the target's variance lies", "share of the variance, out of sample")
    ax.set_xlim(0, 1.14)
    style.percents(ax.xaxis)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    style.rows_of_bars(ax)
    return ax


def _bar(ax: Axes, y: float, share: Interval, color: str, words: str) -> None:
    """From zero, with a line over the interval; what is below zero is drawn as zero."""
    ends = np.clip([share.estimate, share.low, share.high], 0, 1)
    ax.barh(y, ends[0], height=0.62, color=color, linewidth=0)
    ax.plot(ends[1:], [y, y], color=style.INK, linewidth=1.4, solid_capstyle="butt")
    ax.annotate(
        words, (float(ends.max()), y), (5, 0), textcoords="offset points", va="center",
        fontsize=style.SMALL, color=style.QUIET,
    )  # fmt: skip
