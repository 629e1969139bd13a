"""Mean rank against fit time, one point a method, labels that do not touch."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

COLOURS = {"gradfeat": "#c1272d", "xrfm": "#0f5fa8"}
OTHERS = "#5a5a5a"
# Points from the marker, and how the text sits there; the first that is free is taken.
PLACES = (
    (8, 0, "left", "center"),
    (-8, 0, "right", "center"),
    (0, 8, "center", "bottom"),
    (0, -8, "center", "top"),
    (7, 7, "left", "bottom"),
    (7, -7, "left", "top"),
    (-7, 7, "right", "bottom"),
    (-7, -7, "right", "top"),
    (0, 20, "center", "bottom"),
    (0, -20, "center", "top"),
)


def colour(method: str) -> str:
    """Ours, xrfm, all others."""
    return COLOURS.get(method.split("-")[0], OTHERS)


def draw(ranks: dict[str, float], seconds: dict[str, float], path: Path) -> None:
    """Mean rank (better upwards) against seconds for one split of all tables, log axis."""
    figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    methods = [method for method in ranks if seconds[method] > 0]
    points = [(seconds[method], ranks[method]) for method in methods]
    for (x, y), method in zip(points, methods, strict=True):
        ax.plot(x, y, "o", color=colour(method), markersize=8)
    ax.set_xscale("log")
    ax.margins(0.15, 0.1)
    ax.invert_yaxis()
    ax.set_xlabel(
        "fit of one split of every table, searches included (processor seconds, log scale)"
    )
    ax.set_ylabel("mean rank (1 is best)")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.canvas.draw()
    _label(ax, points, methods)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _label(ax: Axes, points: list[tuple[float, float]], methods: list[str]) -> None:
    taken = [_around(ax, point) for point in points]
    for number, (point, method) in enumerate(zip(points, methods, strict=True)):
        others = taken[:number] + taken[number + 1 :]
        taken.append(_placed(ax, point, method, others))


def _around(ax: Axes, point: tuple[float, float]) -> Bbox:
    x, y = ax.transData.transform(point)
    return Bbox.from_extents(x - 6, y - 6, x + 6, y + 6)


def _placed(ax: Axes, point: tuple[float, float], text: str, taken: list[Bbox]) -> Bbox:
    for place in PLACES:
        label = _write(ax, point, text, place)
        box = label.get_window_extent()
        if not any(box.overlaps(other) for other in taken):
            return box
        label.remove()
    return _write(ax, point, text, PLACES[0]).get_window_extent()


def _write(
    ax: Axes, point: tuple[float, float], text: str, place: tuple[int, int, str, str]
) -> Text:
    dx, dy, ha, va = place
    return ax.annotate(
        text,
        point,
        (dx, dy),
        textcoords="offset points",
        ha=ha,
        va=va,
        color=colour(text),
        fontsize=9,
    )
