"""Figures as reports show them: a plot and the words under it, and all those of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from matplotlib.axes import Axes


@final
@dataclass(frozen=True)
class CaptionedFigure:
    """A plot with its caption, both of the same result.

    ``name`` tells the figures of a page apart, ``draw`` makes the plot on ``ax`` (left out: on new
    axes), ``caption`` says how to read it and what this one says, in numbers of the result.
    """

    name: str
    draw: Callable[..., Axes]
    caption: str


def figures_in(contents: Mapping[str, object]) -> dict[str, CaptionedFigure]:
    """All figures among the values of a page, by their names."""
    found: dict[str, CaptionedFigure] = {}
    for value in contents.values():
        match value:
            case CaptionedFigure(name=name):
                found[name] = value
            case [*several]:
                found |= figures_in({str(k): one for k, one in enumerate(several)})
            case _:
                pass
    return found


class PageFigures:
    """The figures of a page by their names, each a function of ``ax``.

    >>> from matplotlib import pyplot
    >>> plot = PageFigures({"line": CaptionedFigure("line", lambda ax=None: ax, "A line.")})
    >>> plot
    figures: line
    >>> plot.line(ax=pyplot.gca()) is pyplot.gca()
    True
    """

    def __init__(self, figures: Mapping[str, CaptionedFigure]) -> None:
        self._figures = figures

    def __getattr__(self, name: str) -> Callable[..., Axes]:
        if name.startswith("_"):  # pickle asks for some before there are figures
            raise AttributeError(name)
        if name not in self._figures:
            raise AttributeError(f"there is no figure {name!r}: there are {', '.join(self)}.")
        return self._figures[name].draw

    def __iter__(self) -> Any:
        return iter(self._figures)

    def __dir__(self) -> list[str]:
        return list(self._figures)

    def __repr__(self) -> str:
        return f"figures: {', '.join(self)}"
