"""Neurons as points in the plane, before and after training, with the true directions as stars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gradfeat.drawing import style
from gradfeat.drawing.panels import panels, shared_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


# Pale grey to full colour: the white edge of a star stands out from both ends.
_RISING: Final = ["#d3d8de", style.SKY, style.BLUE]
_SIGNED: Final = [style.BLUE, style.SKY, "#d3d8de", style.ORANGE, "#8f5a00"]


@dataclass(frozen=True, eq=False)
class Shade:
    """What colours say: one array (m,) a panel, the colour bar's label and its two ends.

    Where `low` is below 0 the two signs have colours of their own; set `high` to ``-low`` there.
    """

    values: Sequence[np.ndarray]
    label: str
    low: float = 0.0
    high: float = 1.0

    @property
    def colors(self) -> Colormap:
        """One hue for a size, two for a sign."""
        from matplotlib.colors import LinearSegmentedColormap

        ends = _SIGNED if self.low < 0 else _RISING
        return LinearSegmentedColormap.from_list("shade", ends)


def neuron_panels(
    layouts: Sequence[np.ndarray],
    titles: Sequence[str],
    shade: Shade,
    stars: Sequence[np.ndarray | None] | None = None,
) -> Figure:
    """Panels side by side with the same limits: a point a neuron, a star a true direction.

    Parameters
    ----------
    layouts : sequence of ndarray (m, 2)
        Positions of the neurons in each panel, say of a multidimensional scaling.
    titles : sequence of str
    shade : Shade
        Values of the neurons in each panel, shown as colours.
    stars : sequence of ndarray (s, 2) or None, optional
        Positions of the true directions (and their negatives) in each panel.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        When the numbers of panels or of neurons differ, or a position is not a pair of finite
        numbers.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> shade = Shade([np.array([0.1, 0.9])], "|cos| with the truth")
    >>> figure = neuron_panels([square], ["before"], shade, [square])
    >>> [ax.get_title(loc="left") for ax in figure.axes][:1]
    ['before']
    """
    stars = stars if stars is not None else [None] * len(layouts)
    check_panels(layouts, titles, shade, stars)
    figure, axes = panels(len(layouts), len(layouts), (2.9, 3.0))
    for ax, title in zip(axes, titles, strict=True):
        frame(ax, title, limits(layouts, stars))
    for ax, layout, values, star in zip(axes, layouts, shade.values, stars, strict=True):
        draw_neurons(ax, layout, values, shade)
        draw_stars(ax, star)
    color_bar(figure, axes, shade)
    shared_key(figure, axes)
    return figure


def draw_neurons(ax: Axes, layout: np.ndarray, values: np.ndarray, shade: Shade) -> PathCollection:
    """The points of one panel."""
    return ax.scatter(
        *layout.T, c=values, s=float(np.clip(4_000 / len(layout), 9, 26)),
        cmap=shade.colors, vmin=shade.low, vmax=shade.high, alpha=0.85,
        linewidths=0.3, edgecolors="white", rasterized=True,
    )  # fmt: skip


def draw_stars(ax: Axes, stars: np.ndarray | None) -> PathCollection:
    """Large open stars under the points, which may all lie on one; none: no points."""
    at = np.empty((0, 2)) if stars is None else stars
    return ax.scatter(
        *at.T, marker="*", s=420, facecolors="#fbe3d5", edgecolors=style.VERMILLION,
        linewidths=1.3, zorder=0.9, clip_on=False, label="true direction" if len(at) else "",
    )  # fmt: skip


def frame(ax: Axes, title: str, ends: tuple[float, float, float, float]) -> None:
    """A square panel without ticks: positions of a scaling have no units."""
    style.dress(ax, title)
    ax.set(xlim=ends[:2], ylim=ends[2:], xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="box")
    ax.spines[:].set(visible=True, color=style.FAINT, linewidth=0.8)


def limits(
    layouts: Sequence[np.ndarray], stars: Sequence[np.ndarray | None]
) -> tuple[float, float, float, float]:
    """A square around every point of every panel, with room: left, right, bottom, top."""
    every = np.concatenate([*layouts, *(s for s in stars if s is not None)])
    middle = (every.max(0) + every.min(0)) / 2
    half = 0.55 * float((every.max(0) - every.min(0)).max()) or 1.0
    (x, y) = middle.tolist()
    return x - half, x + half, y - half, y + half


def color_bar(figure: Figure, axes: Sequence[Axes], shade: Shade) -> None:
    """One labelled bar at the right of all panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colors = ScalarMappable(Normalize(shade.low, shade.high), shade.colors)
    bar = figure.colorbar(colors, ax=list(axes), fraction=0.05, pad=0.015, aspect=26, shrink=0.8)
    bar.set_label(shade.label, fontsize=style.TEXT, color=style.QUIET)
    bar.ax.tick_params(labelsize=style.SMALL, length=2, width=0.6, color=style.QUIET)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def check_panels(
    layouts: Sequence[np.ndarray],
    titles: Sequence[str],
    shade: Shade,
    stars: Sequence[np.ndarray | None],
) -> None:
    """Equal numbers of everything, positions that are pairs of finite numbers; else ValueError."""
    sizes = [len(layouts), len(titles), len(shade.values), len(stars)]
    if len(set(sizes)) > 1 or not sizes[0]:
        raise ValueError(
            "Layouts, titles, values and stars are for {}, {}, {} and {} panels: give as many of "
            "each, at least 1.".format(*sizes)
        )
    for layout, values, star in zip(layouts, shade.values, stars, strict=True):
        if values.shape != layout.shape[:1] or not len(layout):
            raise ValueError(
                f"A panel has positions of shape {layout.shape} and values of shape "
                f"{values.shape}: give (m, 2) and (m,), m at least 1."
            )
        for at in (layout, star):
            if at is not None and (at.ndim != 2 or at.shape[1] != 2 or not np.isfinite(at).all()):
                raise ValueError(
                    f"Positions of shape {at.shape} were given: they must be (m, 2) and finite."
                )
