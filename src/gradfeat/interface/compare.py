"""`gradfeat.compare`: learned against fixed features on a table, as an object."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from rich.console import RenderableType

from gradfeat.errors import ModelFileError
from gradfeat.figures.comparison import failed, ranked
from gradfeat.interface.importances import losses
from gradfeat.interface.open import Asked
from gradfeat.interface.page import PageOf
from gradfeat.maths.files import with_link
from gradfeat.maths.limits import Deadline
from gradfeat.reports import fit_contents, terminal_table, words
from gradfeat.reports.fit import shares_of_slope
from gradfeat.table.compare import compare as compare_table
from gradfeat.table.methods import WIDTH
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.request import Told, silent
from gradfeat.table.results import FitReport, MethodResult
from gradfeat.table.saved import FEATURES, MODEL
from gradfeat.table.table_model import TableModel
from gradfeat.table.target import Transform


@dataclass(frozen=True)
class ModelFiles:
    """Files of models, and what is to be said of each.

    Attributes
    ----------
    files : mapping of name to bytes
        ``model.gradfeat``, the best model; ``features.gradfeat``, the best that learns features,
        where that is another. One that cannot be saved is not there.
    said : mapping of name to str
        For each of the two the method in it, or why there is none.
    """

    files: Mapping[str, bytes]
    said: Mapping[str, str]

    def places(self, out: Path) -> list[str]:
        """Where models and report are in a folder, and models of an earlier fit still there."""
        heads, lines = {MODEL: "Model:   ", FEATURES: "Features:"}, []
        for name, head in heads.items():
            path, said = with_link(out / name), self.said[name]
            old = f"; {path} is of an earlier fit" if (out / name).exists() else ""
            lines.append(f"{head} {path} ({said})" if name in self.files else f"{head} {said}{old}")
        return [*lines, f"Report:   {with_link(out / 'report.html')}"]

    def use(self, out: Path) -> list[str]:
        """How to predict with the best model, on the command line and in Python."""
        if MODEL not in self.files:
            return []
        path = str(out / MODEL)
        return [
            "",
            "Predict new rows, on the command line or in Python:",
            f"  gradfeat predict {shlex.quote(path)} NEW.csv --out predictions.csv",
            "",
            "  import gradfeat",
            f"  model = gradfeat.load({path!r})",
            "  print(model.predictions(model.read('NEW.csv')))",
        ]


def files_of(best: TableModel, learner: TableModel | None) -> ModelFiles:
    """What is saved of the best model and of the best that learns features."""
    said, files = {}, {}
    asked = {MODEL: best, FEATURES: learner}
    if learner is None:
        said[FEATURES] = "none: no method learned features"
    if learner is best:
        said[FEATURES] = "none beside the model, which learns features itself"
    for name, model in asked.items():
        if model is None or name in said:
            continue
        try:
            files[name], said[name] = model.to_bytes(), model.about["method"]
        except ModelFileError as error:
            said[name] = f"none: {model.about['method']} was not saved, {error}"
    return ModelFiles(files, said)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(PageOf[FitReport]):
    """What a comparison of methods on a table found; a notebook shows it as a page.

    Attributes
    ----------
    best : TableModel
        Of the method with the best test score.
    learner : TableModel or None
        Of the best method that learns features; None where none does. It may be `best` itself.
    """

    _template = "report.html.j2"

    best: TableModel
    learner: TableModel | None

    @property
    def table(self) -> pd.DataFrame:
        """A row a method, best first: its scores with the ends of their 95 % intervals."""
        methods = [*ranked(self.results.methods), *failed(self.results.methods)]
        return pd.DataFrame([_row(method) for method in methods])

    @property
    def verdict(self) -> str:
        """The best method with its score, and whether learning features helps here."""
        return words.outcome(self.results)

    @property
    def failures(self) -> Sequence[str]:
        """Methods that could not be fitted, and why."""
        return words.not_fitted(self.results)

    @cached_property
    def model_files(self) -> ModelFiles:
        """The files of models that :meth:`save` writes, and what is to be said of them."""
        return files_of(self.best, self.learner)

    @property
    def importances(self) -> pd.DataFrame:
        """A row an input column: what the model that `results.importances` names loses without it.

        ``loss`` of the ``score`` where its test rows are shuffled, with a 95 % interval, largest
        first; columns that were shuffled together share a ``group`` and a loss. Beside it
        ``share_of_slope``: where the slope of the best learner is.
        """
        found, shares = losses(self.results.importances), shares_of_slope(self.results)
        return found.assign(share_of_slope=[shares.get(name) for name in found["column"]])

    def __rich__(self) -> RenderableType:
        return terminal_table(self.results)

    def _contents(self) -> dict[str, object]:
        return fit_contents(self.results)

    def _record(self) -> dict[str, Any]:
        record = dataclasses.asdict(self.results)
        del record["y_true"], record["y_pred"]
        if record["directions"]:
            del record["directions"]["projections"]
        return record

    def _files(self) -> dict[str, bytes]:
        return {"comparison.csv": self.table.to_csv(index=False).encode(), **self.model_files.files}


def _row(method: MethodResult) -> dict[str, object]:
    """A method as plain values by column."""
    row: dict[str, object] = {"method": method.name, "features": method.family}
    for name, score in method.scores.items():
        row |= {name: score.estimate, f"{name}_low": score.low, f"{name}_high": score.high}
    settings = ", ".join(f"{k} {v}" for k, v in method.settings.items())
    more = {"seconds": method.fit_seconds, "rows": method.rows_used, "settings": settings}
    return row | more | {"error": method.error}


def compare(
    table: Any,
    target: str,
    *,
    task: Literal["auto", "regression", "classification"] = "auto",
    methods: Sequence[str] | None = None,
    time: float = 60.0,
    seed: int = 0,
    time_column: str | None = None,
    group_column: str | None = None,
    device: str | None = None,
    ignore: Sequence[str] = (),
    missing_target: Literal["drop", "refuse"] = "drop",
    width: int = WIDTH,
    keep_identifiers: bool = False,
    target_transform: Transform = "none",
    missing: Sequence[str] = (),
    category: Sequence[str] = (),
    dates: DateOrder = "",
    stream: bool | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    rare_classes: Literal["refuse", "drop", "merge"] = "refuse",
    separator: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    progress: Told = silent,
    deadline: Deadline | None = None,
    command: str = "",
) -> Comparison:
    """Fit learned and fixed features to a table and compare them on held-out rows.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow Table, str or path
        A text is a file, a folder, a pattern of names or a URL.
    target : str
        Column to predict.
    task : {"auto", "regression", "classification"}
        What the target is.
    methods : sequence of str, optional
        Names of methods; left out: all.
    time : float
        Seconds to spend, all in: reading, fits, figures and page.
    seed : int
        Of the split and every random draw.
    time_column : str, optional
        Ordered data: hold out the last rows by this column, an input too unless ignored.
    group_column : str, optional
        Rows of subjects that come again: hold out whole groups by this column, in memory.
    device : str, optional
        Torch device.
    ignore : sequence of str
        Columns to leave out.
    missing_target : {"drop", "refuse"}
        Rows without a target: of an empty cell, or a text of blanks alone, which is no class.
    width : int
        Neurons of random and gradient features.
    keep_identifiers : bool
        Learn from columns that only tell which row it is, too.
    target_transform : {"none", "log"}
        Learn the logarithm of a quantity; predictions and scores are of the quantity itself.
    missing : sequence of str
        Values that are missing ones: ``-999``, or ``height=0`` in one column; kept with the model.
    category : sequence of str
        Columns that are read as levels, such as codes 12E4 and 1.10; the target's as classes.
    dates : {"", "day-first", "month-first"}
        How dates such as 3/4/2021 are read where the column does not tell.
    stream : bool, optional
        Read the rows by pieces in place of holding them; left out: where they are many.
    jobs : int, optional
        Stream the rows in so many processes.
    dask : str, optional
        Stream the rows on a Dask cluster: its address, or ``local``.
    checkpoint : path, optional
        Folder in which interrupted passes are kept until :meth:`Comparison.save`.
    rare_classes : {"refuse", "drop", "merge"}
        Classes of a single row: left out, or taken together as ``other``.
    separator, comment, header, encoding : optional
        Of delimited text: a character, or ``"tab"`` or ``"blanks"``; what comments begin with;
        whether the first line names the columns (without, they are ``column_1``, ...); of its
        characters. Left out: found.
    sheet : str, optional
        Of a workbook; left out: the first that can be seen.
    progress : callable (str, float, str), optional
        Told the name of a step, the share of the work that is done, and further words.
    deadline : Deadline, optional
        When these seconds are over; left out: counted from this call.
    command : str
        How the comparison can be had again, in words of the page; left out: this call.

    Raises
    ------
    TableError
        For a table, target or option that cannot be used, in one sentence.
    SourceError, EngineError
        Where rows cannot be read, or workers fail.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> a, b = np.random.default_rng(0).standard_normal((2, 120))
    >>> table = pd.DataFrame({"a": a, "b": b, "y": 2 * a})
    >>> found = compare(table, "y", time=1, methods=["linear", "boosting"])
    >>> found.table["method"].tolist(), bool(found.table["R2"][0] > 0.99)
    (['linear', 'boosting'], True)
    >>> bool(abs(found.best.predict(table) - table["y"]).max() < 0.1)
    True
    >>> "importances" in dir(found.plot)
    True
    """
    call = Asked.of(compare, {**locals()})
    with call.reading() as (rows, engine, computes):
        found = compare_table(rows, call.request, call.steps, engine, computes)
    kept = call.kept(engine)
    report = dataclasses.replace(found.report, remarks=call.told(found.report.remarks))
    return Comparison(report, found.best, found.learner, _checkpoint=kept)
