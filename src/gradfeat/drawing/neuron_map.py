"""Neurons as points in the plane, before and after training, with the true directions as stars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gradfeat.drawing import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Pale grey to full colour: the white edge of a star stands out from both ends.
_RISING: Final = ["#d3d8de", style.SKY, style.BLUE]
_SIGNED: Final = [style.BLUE, style.ORANGE]


@dataclass(frozen=True, eq=False)
class ColorScale:
    """What colours say: one array (m,) a panel, the colour bar's label and its two ends.

    Where `low` is below 0 values are signs, in two colours; set `high` to ``-low`` there.
    """

    values: Sequence[np.ndarray]
    label: str
    low: float = 0.0
    high: float = 1.0

    @property
    def colors(self) -> Colormap:
        """One hue for a size, two colours for a sign."""
        from matplotlib.colors import LinearSegmentedColormap, ListedColormap

        if self.low < 0:
            return ListedColormap(_SIGNED, "signs")
        return LinearSegmentedColormap.from_list("neurons", _RISING)


def draw_neuron_maps(
    figure: Figure,
    axes: Sequence[Axes],
    layouts: Sequence[np.ndarray],
    titles: Sequence[str],
    scale: ColorScale,
    stars: Sequence[np.ndarray] | None = None,
) -> None:
    """Draw panels with the same limits and one colour bar: a point a neuron, a star a direction.

    `layouts`: positions of the neurons in each panel, say of a multidimensional scaling; `scale`:
    values of the neurons in each panel, shown as colours; `stars`: positions of the true directions
    (and their negatives) in each panel.
    """
    stars = stars if stars is not None else [np.empty((0, 2))] * len(layouts)
    ends = _limits([*layouts, *stars])
    for ax, title, layout, values, star in zip(
        axes, titles, layouts, scale.values, stars, strict=True
    ):
        _frame(ax, title, ends)
        _draw_neurons(ax, layout, values, scale)
        _draw_stars(ax, star)
    _color_bar(figure, axes, scale)


def _draw_neurons(ax: Axes, layout: np.ndarray, values: np.ndarray, scale: ColorScale) -> None:
    ax.scatter(
        *layout.T, c=values, s=float(np.clip(4_000 / len(layout), 9, 26)),
        cmap=scale.colors, vmin=scale.low, vmax=scale.high, alpha=0.85,
        linewidths=0.3, edgecolors="white", rasterized=True,
    )  # fmt: skip


def _draw_stars(ax: Axes, stars: np.ndarray) -> None:
    """Large open stars under the points, which may all lie on one."""
    ax.scatter(
        *stars.T, marker="*", s=420, facecolors="#fbe3d5", edgecolors=style.VERMILLION,
        linewidths=1.3, zorder=0.9, clip_on=False, label="true direction" if len(stars) else "",
    )  # fmt: skip


def _frame(ax: Axes, title: str, ends: tuple[float, float, float, float]) -> None:
    """A square panel without ticks: positions of a scaling have no units."""
    style.dress(ax, title)
    ax.set(xlim=ends[:2], ylim=ends[2:], xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="box")
    ax.spines[:].set(visible=True, color=style.FAINT, linewidth=0.8)


def _limits(points: Sequence[np.ndarray]) -> tuple[float, float, float, float]:
    """A square around every point of every panel, with room: left, right, bottom, top."""
    every = np.concatenate(points)
    middle = (every.max(0) + every.min(0)) / 2
    half = 0.55 * float((every.max(0) - every.min(0)).max()) or 1.0
    (x, y) = middle.tolist()
    return x - half, x + half, y - half, y + half


def _color_bar(figure: Figure, axes: Sequence[Axes], scale: ColorScale) -> None:
    """One labelled bar at the right of all panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colors = ScalarMappable(Normalize(scale.low, scale.high), scale.colors)
    bar = figure.colorbar(colors, ax=list(axes), fraction=0.05, pad=0.015, aspect=26, shrink=0.8)
    if scale.low < 0:
        bar.set_ticks([scale.low / 2, scale.high / 2], labels=["-", "+"])
    style.color_bar(bar, scale.label)
