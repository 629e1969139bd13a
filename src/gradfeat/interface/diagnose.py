"""`gradfeat.diagnose`: what kind of signal a table holds, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import pandas as pd
from rich.console import RenderableType

from gradfeat.interface.open import RunOptions, given, refuse_beyond_memory
from gradfeat.interface.page import PageOf
from gradfeat.maths.deadline import Deadline, within
from gradfeat.reports import diagnosis_contents, diagnosis_text
from gradfeat.reports.diagnosis import advice, answer
from gradfeat.rows.processors import quickest_threads
from gradfeat.rows.sources.tables import held
from gradfeat.rows.sources.text_options import text_options
from gradfeat.table.diagnose import diagnose as diagnose_table
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.reading.masked import declared
from gradfeat.table.request import Request, Steps, Told, silent
from gradfeat.table.target import Transform


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(PageOf[DiagnosisReport]):
    """What kind of signal about a target a table holds; a notebook shows it as a page."""

    _template = "diagnosis.html.j2"

    @property
    def table(self) -> pd.DataFrame:
        """A row a Hermite degree: its strength, from where it counts, p-value, evidence."""
        return pd.DataFrame([asdict(one) for one in self.results.degrees])

    @property
    def shares(self) -> pd.DataFrame:
        """A row a part of the variance: linear, quadratic, higher; with 95 % intervals."""
        parts = self.results.shares.parts
        rows = [{"part": one.name, **asdict(one.share)} for one in parts]
        return pd.DataFrame(rows).assign(found=[one.found for one in parts])

    @property
    def directions(self) -> pd.DataFrame:
        """Correlations of the columns (rows of the frame) with each direction that was found."""
        found = self.results.directions
        names = [f"direction{k + 1}" for k in range(found.number)]
        return pd.DataFrame(found.loadings, index=pd.Index(found.columns), columns=names)

    @property
    def verdict(self) -> str:
        """What was found, in two sentences."""
        return answer(self.results)

    @property
    def advice(self) -> str:
        """What follows for the choice of a method."""
        return advice(self.results)

    def __rich__(self) -> RenderableType:
        return diagnosis_text(self.results)

    def _contents(self) -> dict[str, object]:
        return diagnosis_contents(self.results)

    def _record(self) -> dict[str, Any]:
        return asdict(self.results)

    def _files(self) -> dict[str, str | bytes]:
        return {}


def diagnose(
    table: Any,
    target: str,
    *,
    task: Literal["auto", "regression", "classification"] = "auto",
    time: float = 60.0,
    seed: int = 0,
    time_column: str | None = None,
    ignore: Sequence[str] = (),
    rare_classes: Literal["refuse", "drop", "merge"] = "refuse",
    separator: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    dates: DateOrder = "",
    target_transform: Transform = "none",
    progress: Told = silent,
    deadline: Deadline | None = None,
    command: str = "",
) -> Diagnosis:
    """Say what kind of signal a table holds: its degrees, directions, and the rows it needs.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow Table, str or path
        A text is a file, a folder, a pattern of names or a URL.
    target : str
        Column to predict.
    task : {"auto", "regression", "classification"}
        What the target is.
    time : float
        Seconds to spend, all in: searches of models end in time for the page.
    seed : int
        Of every random draw.
    time_column : str, optional
        Puts the rows in order: models are then tested on stretches of it that they have not seen.
    ignore : sequence of str
        Columns to leave out, such as those known later.
    rare_classes : {"refuse", "drop", "merge"}
        Classes of a single row: left out, or taken together as ``other``.
    separator, comment, header, encoding : optional
        Of delimited text: a character, or ``"tab"`` or ``"blanks"``; what comments begin with;
        whether the first line names the columns (without, they are ``column_1``, ...); of its
        characters. Left out: found.
    missing : sequence of str
        Values that are missing ones: ``-999``, or ``height=0`` in one column.
    dates : {"", "day-first", "month-first"}
        How dates such as 3/4/2021 are read where the column does not tell.
    target_transform : {"none", "log"}
        Look at the logarithm of a quantity.
    progress : callable (str, float, str), optional
        Told the name of a step, the share of the work that is done, and further words.
    deadline : Deadline, optional
        When these seconds are over; left out: counted from this call.
    command : str
        How the diagnosis can be had again, in words of the page; left out: this call.

    Raises
    ------
    TableError
        For a table or target that cannot be used, or fewer than 50 rows, in one sentence.
    SourceError
        For rows that cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.random.default_rng(0).standard_normal((2, 300))
    >>> found = diagnose(pd.DataFrame({"a": a, "b": b, "y": a**2}), "y")
    >>> found.results.exponent
    2
    >>> found.directions.index[found.directions["direction1"].abs().argmax()]
    'a'
    """
    options = {**locals()}
    steps, asked = Steps(progress, deadline or Deadline.after(time)), given(table)
    text = text_options(separator, comment, header, encoding)
    steps.begin("Reading", 0.0)
    if asked.path is not None:
        why = "a diagnosis reads all of them before it draws at most 5,000 rows"
        refuse_beyond_memory(asked.path, why, "give a part of the rows, such as one of its files")
    wanted = (str(target), *filter(None, [time_column]), *ignore)
    text = replace(text, wanted=wanted, verbatim=(str(target),))
    rows, _ = asked.open(RunOptions(stream=False), text)
    steps.begin("Reading", 0.0, asked.in_words(rows, target, ""))
    request = Request(
        asked.name,
        str(target),
        task,
        seed=seed,
        time_column=time_column,
        command=command or asked.call(diagnose, options),
        ignore=tuple(ignore),
        missing=tuple(missing),
        dates=dates,
        rare_classes=rare_classes,
        target_transform=target_transform,
    )
    frame = held(declared(rows, missing) if missing else rows)
    until = steps.page_begins(time, frame.shape[1])
    with within(until, steps.tell), quickest_threads():
        return Diagnosis(diagnose_table(frame, request, steps, rows))
