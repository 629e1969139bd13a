"""What a comparison and a diagnosis share: a page, its figures, and how a notebook shows them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from rich.console import Console, RenderableType

from gradfeat.figures.captioned import CaptionedFigure
from gradfeat.reports.page import embedded, figures_in
from gradfeat.table.atomic import write_atomic, write_folder

#: Columns of the text that stands for an object where no page is shown.
WIDTH = 88


class PageFigures:
    """The figures of a page by their names, each a function of ``ax``.

    Examples
    --------
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
        if name.startswith("_") or name not in self._figures:
            raise AttributeError(f"there is no figure {name!r}: there are {', '.join(self)}.")
        return self._figures[name].draw

    def __iter__(self) -> Any:
        return iter(self._figures)

    def __dir__(self) -> list[str]:
        return list(self._figures)

    def __repr__(self) -> str:
        return f"figures: {', '.join(self)}"


class PageOf(ABC):
    """What was found about a table: a page of text, tables and figures, and numbers."""

    @property
    @abstractmethod
    def table(self) -> pd.DataFrame:
        """The main table of the page."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What was found, in a sentence or two."""

    @property
    @abstractmethod
    def remarks(self) -> tuple[str, ...]:
        """What to know before it is believed."""

    @abstractmethod
    def to_json(self) -> str:
        """All numbers of the page as a JSON object."""

    @abstractmethod
    def _contents(self) -> dict[str, object]:
        """Values of the page's template."""

    @abstractmethod
    def _rendered(self) -> str:
        """The page, as HTML."""

    @abstractmethod
    def _text(self) -> RenderableType:
        """What the terminal shows of it, for ``repr``."""

    @abstractmethod
    def _numbers(self) -> dict[str, str | bytes]:
        """Files beside the page: their names and what is in them."""

    @cached_property
    def _page(self) -> str:
        return self._rendered()

    @cached_property
    def plot(self) -> PageFigures:
        """The figures of the page: ``.plot.NAME(ax=...)`` draws one, ``.plot`` lists them."""
        return PageFigures(figures_in(self._contents()))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, one HTML file that needs no network.

        Raises
        ------
        TableError
            Where the file cannot be written.
        """
        write_atomic(path, self._page)
        return Path(path)

    @abstractmethod
    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the page and all numbers to a folder: all of the files, or none."""

    def _write(self, folder: str | os.PathLike[str]) -> Path:
        write_folder(folder, {**self._numbers(), "report.html": self._page})
        return Path(folder)

    def _repr_html_(self) -> str:
        """The content of the page, for notebooks."""
        return embedded(self._page)

    def __repr__(self) -> str:
        console = Console(file=StringIO(), width=WIDTH, highlight=False)
        with console.capture() as said:
            console.print(self._text())
        return said.get().rstrip()
