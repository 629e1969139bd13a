"""The neuron map as a film: points glide from one panel's places to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from matplotlib import style as mpl_style
from matplotlib.animation import PillowWriter
from matplotlib.figure import Figure

from gradfeat.drawing import style
from gradfeat.drawing.neuron_map import (
    Shade,
    check_panels,
    color_bar,
    draw_neurons,
    draw_stars,
    frame,
    limits,
)
from gradfeat.drawing.panels import panels
from gradfeat.drawing.saving import check_suffix
from gradfeat.maths.files import replace_file

FRAMES_A_SECOND: Final = 12
_STILL, _MOVING = 8, 14  # frames at a panel, and on the way to the next
_DPI = 110


def animate(
    layouts: Sequence[np.ndarray],
    titles: Sequence[str],
    shade: Shade,
    path: str | Path,
    stars: Sequence[np.ndarray | None] | None = None,
) -> None:
    """Write a GIF that rests at each panel and glides to the next; it starts over at the end.

    Parameters
    ----------
    layouts, titles, shade, stars
        As for :func:`~gradfeat.drawing.neuron_map.neuron_panels`; the same neurons, and the same
        stars, in every panel.
    path : str or Path
        Ends in ``.gif``.

    Raises
    ------
    ValueError
        When the suffix is another, or panels differ in their numbers of neurons or stars.
    OSError
        Where the system refuses; an old file stays as it was.
    """
    check_suffix(path, (".gif",))
    stars = stars if stars is not None else [None] * len(layouts)
    check_panels(layouts, titles, shade, stars)
    _check_same(layouts, stars)
    with mpl_style.context("default"), TemporaryDirectory() as folder:
        _write(_Film(layouts, titles, shade, stars), Path(folder) / "film.gif")
        replace_file(path, (Path(folder) / "film.gif").read_bytes())


class _Film:
    """One figure whose points are moved."""

    def __init__(
        self,
        layouts: Sequence[np.ndarray],
        titles: Sequence[str],
        shade: Shade,
        stars: Sequence[np.ndarray | None],
    ) -> None:
        self.layouts, self.titles, self.values = layouts, titles, shade.values
        self.stars = [np.empty((0, 2)) if s is None else s for s in stars]
        self.figure, (self.ax,) = panels(1, 1, (4.2, 3.9))
        frame(self.ax, titles[0], limits(layouts, stars))
        self.dots = draw_neurons(self.ax, layouts[0], shade.values[0], shade)
        self.truth = draw_stars(self.ax, stars[0])
        color_bar(self.figure, [self.ax], shade)
        _settle(self.figure)

    def show(self, k: int, share: float) -> None:
        """`share` of the way from panel k to panel k + 1."""
        s = share * share * (3 - 2 * share)  # starts and ends at rest
        after = min(k + 1, len(self.layouts) - 1)
        mixed = [(1 - s) * a[k] + s * a[after] for a in (self.layouts, self.values, self.stars)]
        self.dots.set_offsets(mixed[0])
        self.dots.set_array(mixed[1])
        self.truth.set_offsets(mixed[2])
        style.headline(self.ax, self.titles[k if share < 0.5 else after])


def _settle(figure: Figure) -> None:
    """Lay out once, so that nothing but points and words moves between frames."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _write(film: _Film, path: Path) -> None:
    writer = PillowWriter(fps=FRAMES_A_SECOND)
    with writer.saving(film.figure, str(path), _DPI):
        for k, share in _moments(len(film.layouts)):
            film.show(k, share)
            writer.grab_frame()


def _moments(n: int) -> Iterator[tuple[int, float]]:
    for k in range(n):
        yield from ((k, 0.0) for _ in range(_STILL * (2 if k == n - 1 else 1)))
        if k < n - 1:
            yield from ((k, step / _MOVING) for step in range(1, _MOVING))


def _check_same(layouts: Sequence[np.ndarray], stars: Sequence[np.ndarray | None]) -> None:
    neurons = {len(layout) for layout in layouts}
    known = {0 if s is None else len(s) for s in stars}
    if len(neurons) > 1 or len(known) > 1:
        raise ValueError(
            f"Panels have {sorted(neurons)} neurons and {sorted(known)} stars: an animation needs "
            "the same ones in every panel."
        )
