"""Masses of gradient features, and losses beside OPT and the bound, by case study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfeat.catalogue.shared.curves import draw_metric, draw_metrics, only, over_seeds
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import caption, panels
from gradfeat.drawing.series import summary
from gradfeat.drawing.types import Axes, DataFrame, Figure


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:
    """Masses against p on the left; losses, OPT and the bound on the right where trained."""
    table = _placed(table)
    trained = _placed(table.dropna(subset="bound"))
    fig, axes = panels(2 if len(trained) else 1, 2, (5.0, 4.2))
    _draw_masses(axes[0], table, None if theory_table is None else _placed(theory_table))
    if len(trained):
        _draw_losses(axes[1], trained)
    for ax in axes:
        style.key(ax, list(ax.get_legend_handles_labels()[0]), 2)
    caption(
        fig,
        "Expected: planted directions (for parity and b < 0: E[y x]). Points:"
        f" {over_seeds(table)}; masses below p/4 are drawn at p/4. Bars: OPT between two bounds.",
    )
    return fig


def _label(case: str, r: int) -> str:
    match case:
        case "mixture":
            return f"mixture,\n{2 * r} clusters"
        case "parity":
            return f"parity,\n{r} block{'s' if r > 1 else ''}"
        case "single-index":
            return "single\nindex" if r == 1 else f"{r}\nindices"
        case _:
            return case


def _placed(table: DataFrame) -> DataFrame:
    """With a place on the axis for each case and r, in the order of the cases."""
    pairs = sorted({*zip(table["case"], table["r"], strict=True)}, key=_order)
    places = {pair: float(i) for i, pair in enumerate(pairs)}
    at = [places[pair] for pair in zip(table["case"], table["r"], strict=True)]
    return table.assign(place=at)


def _order(pair: tuple[str, int]) -> tuple[int, int]:
    from gradfeat.catalogue.shared.gradient_feature_training import CASES

    return CASES.index(pair[0]), pair[1]


def _name_places(ax: Axes, table: DataFrame) -> None:
    pairs = sorted({*zip(table["case"], table["r"], strict=True)}, key=_order)
    labels = [_label(*pair) for pair in pairs]
    ax.set_xticks(range(len(labels)), labels, fontsize=style.SMALL)
    ax.set_xlim(-0.6, len(labels) - 0.4)


def _draw_masses(ax: Axes, table: DataFrame, predicted: DataFrame | None) -> None:
    style.dress(ax, "Mass of gradient features", "", "share of neurons", "y")
    floor = float(np.min(_columns(table, "p"))) / 4
    names = ("expected, b > 0", "expected, b < 0", "largest other", "largest, no structure")
    marks = style.class_marks(names)
    yes, no = only(table, structure="yes"), only(table, structure="no")
    no = no.assign(any_mass=no[["other_mass", "mass_plus", "mass_minus"]].max(axis=1))
    drawn = ((yes, "mass_plus"), (yes, "mass_minus"), (yes, "other_mass"), (no, "any_mass"))
    for mark, (rows, metric), shift in zip(marks, drawn, (-9, -3, 3, 9), strict=True):
        clipped = rows.assign(**{metric: rows[metric].clip(lower=floor)})
        draw_metric(ax, clipped, "place", metric, mark, shift=shift)
    if predicted is not None:
        _draw_exact(ax, only(predicted, structure="yes"), marks)
    for p in sorted({*table["p"]}):
        series.level(ax, p, f"p = {p:g}", below=True)
    ax.set_yscale("log")
    ax.set_ylim(floor * 0.8, 1)
    _name_places(ax, table)


def _draw_exact(ax: Axes, rows: DataFrame, marks: Sequence[style.Mark]) -> None:
    """A short line at the mass that population gradients give."""
    words = ("population, b > 0", "population, b < 0")
    for mark, metric, label in zip(marks, ("mass_plus", "mass_minus"), words, strict=False):
        place, mass = _columns(rows, "place", metric)
        ax.hlines(mass, place - 0.35, place + 0.05, colors=mark.color, linewidth=1.6, label=label)


def _columns(rows: DataFrame, *names: str) -> tuple[np.ndarray, ...]:
    return tuple(np.array(rows[name].tolist(), dtype=float) for name in names)


def _draw_losses(ax: Axes, table: DataFrame) -> None:
    style.dress(ax, "Trained loss, OPT, and the theorem's bound", "", "hinge loss, test rows", "y")
    words = ("network", "random features", "NTK", "bound (C = 1, eps = 0)")
    metrics = ("loss_network", "loss_features", "loss_ntk", "bound")
    draw_metrics(ax, table, "place", dict(zip(metrics, words, strict=True)), apart=6)
    low, high = summary(table, "place", "opt_lower"), summary(table, "place", "opt_upper")
    (place, bottom), (top,) = _columns(low, "place", "mean"), _columns(high, "mean")
    ax.vlines(
        place - 0.3, bottom, top, colors=style.QUIET, linewidth=5, alpha=0.5,
        label="OPT, lower to upper bound",
    )  # fmt: skip
    series.level(ax, 1.0, "f = 0")
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set_ylim(-0.01, 3 * float(np.max(_columns(table, "bound"))))
    _name_places(ax, table)
