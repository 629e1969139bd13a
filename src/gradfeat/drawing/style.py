"""Colours, markers and sizes of every figure, and the few strokes that make axes look alike.

Nothing here reads or writes matplotlib's global settings: sizes and colours are given to each
artist, so that a figure looks the same in a notebook, a script and the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter, ScalarFormatter

# Okabe & Ito 2008: eight colours told apart with any of the common colour-vision deficiencies.
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE, BLACK = "#0072B2", "#D55E00", "#CC79A7", "#000000"
GREY = "#7d8794"  # as black is no colour of points on a dark page, which are drawn once for both
INK, QUIET, FAINT = "#1f2430", "#5b6472", "#dfe3e8"

WIDTH: Final = 4.9  # inches: text of 9 points stays readable when 350 CSS pixels wide
TITLE, TEXT, SMALL, TINY = 10.5, 9.0, 8.5, 7.8  # points
DPI: Final = 200  # of rasterised points in a report
MAX_POINTS: Final = 3_000  # drawn in one scatter
DASHES: Final = (0, (4, 3))  # of a level that others are compared with
BACKING: Final = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # words over a grid
_LONG: Final = 300.0  # high/low of an axis that has enough powers of ten
_SHORT: Final = 8.0  # high/low of an axis that needs more than 1, 2, 5
_FEW, _MANY = (1.0, 2.0, 5.0), (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


@dataclass(frozen=True)
class Mark:
    """How one group of points is drawn: colour and marker, so that either alone suffices."""

    label: str
    color: str
    marker: str


_CLASS_COLORS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
_CLASS_MARKERS = ("o", "D", "s", "^", "v", "P", "X", "<")


def class_marks(classes: tuple[str, ...]) -> tuple[Mark, ...]:
    """One mark a class; 7 colours by 8 markers give 56 different ones."""
    return tuple(
        Mark(short(name, 24), _CLASS_COLORS[i % 7], _CLASS_MARKERS[i % 8])
        for i, name in enumerate(classes)
    )


def low_to_high() -> Colormap:
    """Colours of a quantity that are seen on white and on a dark page, told apart by lightness."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low_to_high", (BLUE, GREEN, ORANGE))


def short(text: str, length: int = 28) -> str:
    """`text` on one line, cut in its middle to at most `length` characters, safe to draw.

    Characters that cannot be printed become U+FFFD; ``$`` is escaped so that it never starts
    mathematics.

    >>> short("a_rather_long_name_of_a_column", 13)
    'a_rath…column'
    >>> print(short("price $"))
    price \\$
    """
    line = " ".join(text.split()) or "(no name)"
    if not line.isprintable():
        line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    if len(line) > length:
        head, tail = length // 2, (length - 1) // 2
        line = f"{line[:head]}…{line[-tail:]}"
    return line.replace("$", r"\$")


def wrapped(text: str, width: int, most: int = 3) -> str:
    """`text` in lines of about `width` characters, broken after blanks and marks; safe to draw.

    What would take more than `most` lines is cut in its middle.

    >>> wrapped("length_of_the_left_wing", 12)
    'length_of_\\nthe_left_\\nwing'
    """
    lines = [""]
    parts = rf"(?:\\\$|[^\s_.,;:/-]){{0,{width}}}[\s_.,;:/-]?"  # a longer word is broken too
    for part in re.findall(parts, short(text, width * most)):
        if len(lines[-1]) + len(part.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def axes_or_new(ax: Axes | None, height: float) -> Axes:
    """`ax` itself, or the axes of a new figure of the common width and `height` inches."""
    from matplotlib.figure import Figure

    if ax is not None:
        return ax
    return Figure(figsize=(WIDTH, height), layout="constrained").add_subplot()


def dress(
    ax: Axes, title: str, x: str = "", y: str = "", lines: Literal["", "both", "x", "y"] = ""
) -> Axes:
    """Title on the left, axis labels, light spines and ticks, and a grid of these `lines`."""
    headline(ax, fill(title, 54))
    ax.set_xlabel(x, fontsize=TEXT, color=QUIET)
    ax.set_ylabel(y, fontsize=TEXT, color=QUIET)
    ax.tick_params(labelsize=SMALL, labelcolor=INK, color=QUIET, length=2.5, width=0.6)
    ax.tick_params(
        which="minor", labelsize=TINY, labelcolor=INK, color=QUIET, length=1.5, width=0.5
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(color=QUIET, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("x", "y"):
        with suppress(AttributeError):  # an axis of dates, powers or names has no offset
            ax.ticklabel_format(axis=side, useOffset=False)
            axis = ax.xaxis if side == "x" else ax.yaxis
            axis.set_major_formatter(amounts(axis))
    if lines:
        grid(ax, lines)
    return ax


def unit(largest: float) -> tuple[float, str]:
    """What to divide numbers up to `largest` by, and what is written behind them.

    >>> unit(2.5e6), unit(9e5), unit(2e-7), unit(0.0)
    ((1000000.0, 'M'), (1.0, ''), (1e-07, 'e−7'), (1.0, ''))
    """
    if largest == 0 or not np.isfinite(largest):
        return 1.0, ""
    if 1e-4 <= largest < 1e15:  # beyond, only powers of ten are short
        sizes = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
        return next(((size, word) for size, word in sizes if largest >= size), (1.0, ""))
    power = int(np.floor(np.log10(largest)))
    return 10.0**power, f"e{power}".replace("-", "−")


@dataclass(frozen=True)
class Amounts:
    """Ticks with their unit (1.2M), all alike, in place of one offset at the end of the axis.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> _ = ax.set_xticks([0, 5e5, 1e6])
    >>> amounts(ax.xaxis).format_ticks([0, 5e5, 1e6])
    ['0', '0.5M', '1.0M']
    """

    axis: Axis
    plain: ScalarFormatter

    def __call__(self, _: float, place: int) -> str:
        ticks = np.asarray(self.axis.get_majorticklocs(), dtype=np.float64)
        size, word = unit(float(np.abs(ticks).max(initial=0.0)))
        text = self.plain.format_ticks(list(ticks / size))[place]
        return f"{text}{word}" if ticks[place] or not word else "0"


def amounts(axis: Axis) -> Formatter:
    """What writes the ticks of an axis as :class:`Amounts`."""
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    plain = ScalarFormatter(useOffset=False)
    plain.set_scientific(False)
    plain.set_axis(axis)
    return FuncFormatter(Amounts(axis, plain))


def picture(ax: Axes, image: np.ndarray) -> None:
    """A matrix as an image, in shares of its largest entry: red below 0, blue above."""
    most = float(np.abs(image).max()) or 1.0
    ax.imshow(image / most, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")


def picture_bar(figure: Figure, ax: Axes, words: str) -> None:
    """What the colours of a :func:`picture` say, at its right end."""
    bar = figure.colorbar(ax.images[0], ax=ax, fraction=0.05, pad=0.02, ticks=[-1, 0, 1])
    color_bar(bar, words)


def color_bar(bar: Colorbar, label: str) -> None:
    """Label, ticks and numbers of a bar of colours as those of axes, without a frame."""
    bar.set_label(label, fontsize=TEXT, color=QUIET)
    with suppress(AttributeError):  # powers and names have no offset
        bar.ax.ticklabel_format(axis="y", useOffset=False)
        bar.formatter = amounts(bar.ax.yaxis)
        bar.update_ticks()
    bar.ax.tick_params(labelsize=SMALL, labelcolor=INK, length=2, width=0.6, color=QUIET)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def headline(ax: Axes, title: str, pad: float = 8) -> None:
    """The title alone: bold, on the left, `pad` points above the axes."""
    ax.set_title(title, loc="left", fontsize=TITLE, fontweight="bold", color=INK, pad=pad)


def grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Faint lines behind the data along ``x``, ``y`` or ``both``."""
    ax.grid(True, axis=axis, color=FAINT, linewidth=0.6)


def percents(axis: Axis) -> None:
    """Shares are written in whole per cent along this axis."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))


def rows_of_bars(ax: Axes) -> None:
    """Bars or points in rows: lines of the grid across them, nothing at their left side."""
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    grid(ax, "x")


def logarithmic(ax: Axes, axis: Literal["x", "y"]) -> None:
    """A logarithmic axis that has plain numbers between the powers of ten where it is short.

    To be called when the data are drawn and limits set: it depends on them.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (ax.set_xscale if axis == "x" else ax.set_yscale)("log")
    low, high = ax.get_xlim() if axis == "x" else ax.get_ylim()
    if high / low < _LONG:
        side = ax.xaxis if axis == "x" else ax.yaxis
        side.set_major_locator(LogLocator(subs=_FEW if high / low > _SHORT else _MANY))
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        side.set_minor_formatter(NullFormatter())


def tick_at(ax: Axes, levels: Iterable[float], base: float = 10) -> None:
    """A logarithmic x axis with these levels written out and no other ticks."""
    places = sorted({*levels})
    ax.set_xscale("log", base=base)
    ax.set_xticks(places, [f"{place:,.10g}" for place in places])
    ax.minorticks_off()


def key(ax: Axes, handles: list[Artist], columns: int = 4) -> None:
    """Legend between title and axes, in rows of `columns`; the title moves up to make room."""
    if not handles:
        return
    ax.legend(
        handles=handles, ncols=min(columns, len(handles)), fontsize=SMALL, frameon=False,
        labelcolor=INK,
        loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, borderpad=0,
        handlelength=1.4, handletextpad=0.4, columnspacing=1.2, labelspacing=0.35,
    )  # fmt: skip
    lines = -(-len(handles) // columns)
    headline(ax, ax.get_title(loc="left"), 9 + 12.5 * lines)


def drawn_rows(*arrays: np.ndarray) -> np.ndarray:
    """Indices of the rows to draw: finite in every array, at most `MAX_POINTS`, always the same.

    A fixed permutation, not a stride: rows in time order would alias with a stride.
    """
    finite = np.flatnonzero(np.all([np.isfinite(a) for a in arrays], axis=0))
    if len(finite) <= MAX_POINTS:
        return finite
    return np.sort(np.random.default_rng(0).permutation(finite)[:MAX_POINTS])


def points_drawn(*arrays: np.ndarray) -> str:
    """``Each dot is a test row (3,000 of 20,000 drawn).``"""
    shown, total = len(drawn_rows(*arrays)), len(arrays[0])
    if shown == total:
        return "Each dot is a test row."
    return f"Each dot is a test row ({shown:,} of {total:,} drawn)."


def most_of(shown: int, total: int, noun: str) -> str:
    """`` (the 7 most frequent classes of 12)``, and nothing where all are shown."""
    return f" (the {shown} {noun} of {total})" if total > shown else ""


def inner_limits(values: np.ndarray) -> tuple[float, float]:
    """Limits that a few far points cannot stretch: the central 99.6 %, with room."""
    low, high = np.quantile(values, [0.002, 0.998])
    size = max(abs(low), abs(high))  # next to which a range may be rounding alone
    room = 0.05 * (high - low if high - low > 1e-9 * size else size) or 0.5
    return low - room, high + room


@dataclass(frozen=True)
class Bins:
    """Averages in bins of equally many points: `low`, `high` hold 95 % for the mean,
    `q10`, `q90` hold the middle 80 % of the points."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    q10: np.ndarray
    q90: np.ndarray
    counts: np.ndarray


def bin_labels(x: np.ndarray) -> np.ndarray:
    """Bin of each point: quantile bins of about 40 points, 4 to 24 of them; ties stay together."""
    n_bins = int(np.clip(len(x) // 40, 4, 24))
    inner = np.unique(np.quantile(x, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.unique(np.searchsorted(inner, x, side="right"), return_inverse=True)[1]


def binned(x: np.ndarray, y: np.ndarray) -> Bins:
    """Mean of y with its normal 95 % interval, and the 10 and 90 % quantiles, in bins of x."""
    labels = bin_labels(x)
    groups = [labels == b for b in range(labels.max() + 1)]
    counts = np.array([g.sum() for g in groups])
    mean = np.array([y[g].mean() for g in groups])
    half = 1.96 * np.array([y[g].std(ddof=min(g.sum() - 1, 1)) for g in groups]) / counts**0.5
    q10, q90 = np.array([np.quantile(y[g], [0.1, 0.9]) for g in groups]).T
    middle = np.array([np.median(x[g]) for g in groups])
    return Bins(middle, mean, mean - half, mean + half, q10, q90, counts)


def wilson(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Wilson's 95 % interval of a share seen in n rows."""
    z2 = 1.96**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = 1.96 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return centre - half, centre + half


def explained(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """R2 = 1 - sum (y - p)^2 / sum (y - mean y)^2; nan for a constant y."""
    total = float(((y_true - y_true.mean()) ** 2).sum())
    return 1 - float(((y_true - y_pred) ** 2).sum()) / total if total > 0 else float("nan")


def class_codes(y: np.ndarray, classes: tuple[str, ...]) -> np.ndarray:
    """`y`, checked to hold positions in `classes`."""
    codes = np.asarray(y)
    if not len(codes):
        return codes.astype(int)
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= len(classes):
        raise ValueError(
            f"Classes were given as {codes.dtype} values, the first {codes[0]}; all must be "
            f"integers from 0 to {len(classes) - 1}, positions in `classes`."
        )
    return codes
