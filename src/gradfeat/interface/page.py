"""What a comparison and a diagnosis share: a page, its figures, and how a notebook shows them."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pandas as pd
from rich.console import Console, RenderableType

from gradfeat.drawing.numbers import finite
from gradfeat.figures.captioned import PageFigures, figures_in
from gradfeat.reports.page import embedded, page
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.table.atomic import write_atomic, write_folder
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.results import FitReport

ReportT = TypeVar("ReportT", FitReport, DiagnosisReport)

#: Columns of the text that stands for an object where no page is shown.
WIDTH = 88


@dataclass(frozen=True, eq=False, repr=False)
class PageOf(ABC, Generic[ReportT]):
    """What was found about a table: a page of text, tables and figures, and numbers.

    Attributes
    ----------
    results : FitReport or DiagnosisReport
        All that the page shows, as plain values.
    """

    #: The file of the page's template, filled with :meth:`_contents`.
    _template: ClassVar[str]

    results: ReportT
    _checkpoint: Checkpoint | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def table(self) -> pd.DataFrame:
        """The main table of the page."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What was found, in a sentence or two."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the data and the fits before the verdict is believed."""
        return tuple(remark.text for remark in self.results.remarks)

    @abstractmethod
    def __rich__(self) -> RenderableType:
        """What the terminal shows, for ``print`` of rich and for ``repr``."""

    @abstractmethod
    def _contents(self) -> dict[str, object]:
        """Values of the page's template."""

    @abstractmethod
    def _record(self) -> dict[str, Any]:
        """The results by name, without what stands for single rows."""

    @abstractmethod
    def _files(self) -> Mapping[str, str | bytes]:
        """Files beside the page and its numbers."""

    def to_json(self) -> str:
        """All that the page shows, but for single rows, as a JSON object."""
        record = self._record() | {"remarks": self.remarks}
        return json.dumps(finite(record), indent=1, allow_nan=False)

    @cached_property
    def _page(self) -> str:
        """One HTML file that needs no network; the same results give the same bytes of UTF-8."""
        return page(self._template, self._contents())

    @cached_property
    def plot(self) -> PageFigures:
        """The figures of the page: ``.plot.NAME(ax=...)`` draws one, ``.plot`` lists them."""
        return PageFigures(figures_in(self._contents()))

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, one HTML file that needs no network.

        Raises TableError where the file cannot be written.
        """
        write_atomic(path, self._page)
        return Path(path)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write page, numbers and models to a folder, all of them or none.

        Raises TableError where the folder cannot be written to.
        """
        numbers = {"results.json": self.to_json(), "report.html": self._page}
        write_folder(folder, {**self._files(), **numbers})
        if self._checkpoint is not None:
            self._checkpoint.clear_opened()
        return Path(folder)

    def _repr_html_(self) -> str:
        """The content of the page, for notebooks."""
        return embedded(self._page)

    def __repr__(self) -> str:
        console = Console(file=StringIO(), width=WIDTH, highlight=False)
        with console.capture() as said:
            console.print(self)
        return said.get().rstrip()
