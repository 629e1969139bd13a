"""`gradfeat.diagnose`: what kind of signal a table holds, as an object."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import pandas as pd
from rich.console import RenderableType

from gradfeat.interface.open import Asked
from gradfeat.interface.page import PageOf
from gradfeat.maths.limits import Deadline
from gradfeat.reports import diagnosis_contents, diagnosis_text
from gradfeat.reports.diagnosis import advice, answer
from gradfeat.table.diagnose import diagnose as diagnose_table
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.request import Told, silent
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

    def _files(self) -> dict[str, bytes]:
        return {}


def diagnose(
    table: Any,
    target: str,
    *,
    task: Literal["auto", "regression", "classification"] = "auto",
    time: float = 60.0,
    seed: int = 0,
    time_column: str | None = None,
    group_column: str | None = None,
    ignore: Sequence[str] = (),
    rare_classes: Literal["refuse", "drop", "merge"] = "refuse",
    separator: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    missing: Sequence[str] = (),
    category: Sequence[str] = (),
    dates: DateOrder = "",
    target_transform: Transform = "none",
    stream: bool | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Told = silent,
    deadline: Deadline | None = None,
    command: str = "",
) -> Diagnosis:
    """Say what kind of signal a table holds: its degrees, directions, and the rows it needs.

    A table of more than 5,000 rows (2,000 of a wide one) is told by so many of them, the same
    where rows stream.

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
        Puts the rows in order: models are then tested on stretches of it that they have not seen,
        and what chance gives is found by moving all rows along in time.
    group_column : str, optional
        Names the subject of each row: models are then tested on groups that they have not seen,
        and what chance gives is found by exchanging whole groups, of which 12 are the fewest.
    ignore : sequence of str
        Columns to leave out, such as those known later.
    target_transform : {"none", "log"}
        Look at the logarithm of a quantity.
    rare_classes, separator, comment, header, encoding, sheet, missing, category, dates : optional
        How the table is read: as in :func:`gradfeat.compare`.
    stream, jobs, dask, checkpoint : optional
        Whether and how rows stream: as there.
    progress, deadline, command : optional
        Who is told how far it is, until when, and how the diagnosis can be had again.

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
    call = Asked.of(diagnose, {**locals()})
    with call.reading() as (rows, engine, _):
        found = diagnose_table(rows, call.request, call.steps, engine)
    found = replace(found, remarks=call.told(found.remarks))
    return Diagnosis(found, _checkpoint=call.kept(engine))
