"""What a first gradient step would find: mass of each direction against what chance reaches."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from gradfeat.drawing import style
from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.figures.comparison import span
from gradfeat.figures.directions import column_weights, order, weight
from gradfeat.table.results import FirstStep, Part
from gradfeat.wording import counted, percent

#: Directions drawn, and columns that name each.
DIRECTIONS, NAMED = 8, 3
_LETTERS = 48  # of the names over a bar

_WHERE: dict[Part, str] = {
    "most": "they fire on most rows: an overall trend",
    "few": "they fire on few rows: something that part of the rows shows, not an overall trend",
    "both": "some fire on most rows and some on few: an overall trend, seen in parts of them too",
}


def first_step_figure(found: FirstStep) -> CaptionedFigure:
    """Masses of all directions, and of the neurons that point along none."""
    caption = (
        "Before any training, each neuron of a wide random network is asked which way its first "
        f"gradient points{_each(found)}, over {counted(found.rows, 'training row')}. A bar is the "
        f"share of {asked(found)} that agree on one direction (up to sign), with its 95 % "
        "interval. Shuffled targets, which say nothing about the inputs, have a bar beyond the "
        f"dashed line in at most 5 % of cases. Of all, {percent(found.short)} are too short to "
        f"tell from chance, and {percent(found.unexplained)} point elsewhere without agreeing."
    )
    return CaptionedFigure("first_step", partial(first_step, found), caption)


def asked(found: FirstStep) -> str:
    """What shares are of: a neuron has one gradient for a quantity, and one for each class."""
    return "random neurons" if found.outputs == 1 else "first gradients"


def _each(found: FirstStep) -> str:
    return "" if found.outputs == 1 else f" for each of {found.outputs} classes"


def step_direction_figure(found: FirstStep, k: int) -> CaptionedFigure:
    """The columns of direction k, its mass, and the rows that its neurons fire on."""
    weights = np.asarray(found.folded, dtype=float)[:, k]
    title = f"Direction {k + 1} of the first gradients"
    mass = found.mass[k]
    caption = (
        f"What direction {k + 1} adds up (blue raises it, orange lowers it). "
        f"{percent(mass.estimate)} of {asked(found)} point along it (95 % interval "
        f"{span(mass, percent)}); {_WHERE[found.parts[k]]}."
    )
    draw = partial(column_weights, found.columns, weights, title, found.signed)
    return CaptionedFigure(f"step_direction{k + 1}", draw, caption)


def first_step(found: FirstStep, *, ax: Axes | None = None) -> Axes:
    """Share of random neurons whose first gradient points along each direction, with p."""
    shown = found.mass[:DIRECTIONS]
    ax = style.axes_or_new(ax, 1.25 + 0.45 * max(len(shown), 1))
    for k, mass in enumerate(shown):
        _bar(ax, k, mass.estimate, (mass.low, mass.high))
        text = f"{percent(mass.estimate)}  ({span(mass, percent)})"
        _words(ax, k, f"{k + 1}: {_name(found, k)}", text)
    if not shown:
        _words(ax, 0, "no direction", "")
    ax.axvline(found.p, color=style.INK, linewidth=0.9, linestyle=style.DASHES)
    ax.annotate(
        f"least share that counts: {percent(found.p)}", (found.p, 0), (4, 3),
        xycoords=("data", "axes fraction"), textcoords="offset points",
        fontsize=style.TINY, color=style.QUIET,
    )  # fmt: skip
    ends = [mass.high for mass in shown]
    ax.set_xlim(0, 1.05 * max([*ends, 5 * found.p]))
    ax.set_ylim(-max(len(shown), 1) + 0.1, 0.62)
    _finish(ax, found)
    return ax


def named_columns(found: FirstStep, k: int) -> list[tuple[str, float, str]]:
    """The columns of direction k with the largest weights, at least a quarter of the largest.

    Name, weight, and the weight in words, which has a sign where the column is a number.
    """
    weights = np.asarray(found.folded, dtype=float)[:, k]
    top = order(weights)[:NAMED]
    least = 0.25 * abs(weights[top[0]])
    words = [weight(float(weights[i]), not found.signed or found.signed[i]) for i in top]
    each = zip(top, words, strict=True)
    return [(found.columns[i], float(weights[i]), w) for i, w in each if abs(weights[i]) >= least]


def _name(found: FirstStep, k: int) -> str:
    """The columns of direction k, as many as the line holds beside the mass."""
    names = [
        f"{style.short(name, _LETTERS - 8)} {words}" for name, _, words in named_columns(found, k)
    ]
    while len(", ".join(names)) > _LETTERS:
        names.pop()
    return ", ".join(names)


def _bar(ax: Axes, k: int, mass: float, ends: tuple[float, float]) -> None:
    ax.barh(-k - 0.1, mass, height=0.3, color=style.VERMILLION, alpha=0.55, linewidth=0)
    ax.plot(ends, [-k - 0.1] * 2, color=style.INK, linewidth=1.4, solid_capstyle="butt")


def _words(ax: Axes, k: int, name: str, text: str) -> None:
    line = {"transform": ax.get_yaxis_transform(), "bbox": style.BACKING}
    ax.text(0, -k + 0.15, name, fontsize=style.SMALL, color=style.INK, **line)
    ax.text(1, -k + 0.15, text, ha="right", fontsize=style.TINY, color=style.QUIET, **line)


def _finish(ax: Axes, found: FirstStep) -> None:
    total = len(found.mass)
    more = f" (the first {DIRECTIONS} of {total})" if total > DIRECTIONS else ""
    style.dress(
        ax, f"Where the first gradients point{more}", f"share of {asked(found)}, with 95 % interval"
    )
    style.percents(ax.xaxis)
    ax.set_yticks([])
    style.rows_of_bars(ax)
