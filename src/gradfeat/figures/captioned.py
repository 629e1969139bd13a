"""A figure as reports show it: the plot, and the words under it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

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
