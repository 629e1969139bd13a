"""`gradfeat.compare`: learned against fixed features on a table, as an object."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gradfeat.interface.open import UserTable, given
from gradfeat.interface.plain_values import finite
from gradfeat.reports import render
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.table.atomic import write_folder
from gradfeat.table.compare import Compared
from gradfeat.table.compare import compare as compare_table
from gradfeat.table.methods import METHODS, WIDTH
from gradfeat.table.request import Request
from gradfeat.table.results import FitReport
from gradfeat.table.run_options import RunOptions
from gradfeat.table.steps import Steps, Told, silent
from gradfeat.table.table_model import TableModel


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison of methods on a table found.

    Attributes
    ----------
    results : FitReport
        All that the page shows, as plain values.
    best : TableModel
        Of the method with the best test score.
    learner : TableModel or None
        Of the best method of gradfeat's own; None where all of them failed.
    """

    results: FitReport
    best: TableModel
    learner: TableModel | None
    _checkpoint: Checkpoint | None = None

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write page, numbers and model to a folder, all of them or none.

        Raises
        ------
        TableError
            Where the folder cannot be written to.
        """
        files: dict[str, str | bytes] = {
            "results.json": json.dumps(_plain(self.results), indent=1, allow_nan=False),
            "report.html": render(self.results),
        }
        if self.learner is not None:
            files["model.gradfeat"] = self.learner.to_bytes()
        write_folder(folder, files)
        if self._checkpoint is not None:
            self._checkpoint.clear_opened()


def compare(
    table: Any,
    target: str,
    *,
    task: Literal["auto", "regression", "classification"] = "auto",
    methods: Sequence[str] | None = None,
    time: float = 60.0,
    seed: int = 0,
    time_column: str | None = None,
    device: str | None = None,
    ignore: Sequence[str] = (),
    missing_target: Literal["drop", "refuse"] = "drop",
    width: int = WIDTH,
    stream: bool | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Told = silent,
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
        Seconds to spend, about.
    seed : int
        Of the split and every random draw.
    time_column : str, optional
        Ordered data: hold out the last rows by this column.
    device : str, optional
        Torch device.
    ignore : sequence of str
        Columns to leave out.
    missing_target : {"drop", "refuse"}
        Rows without a target.
    width : int
        Neurons of random and gradient features.
    stream : bool, optional
        Read the rows by pieces in place of holding them; left out: where they are many.
    jobs : int, optional
        Stream the rows in so many processes.
    dask : str, optional
        Stream the rows on a Dask cluster: its address, or ``local``.
    checkpoint : path, optional
        Folder in which interrupted passes are kept until :meth:`Comparison.save`.
    progress : callable (str, float, str), optional
        Told the name of a step, the share of the work that is done, and further words.
    command : str
        How the comparison can be had again, in words of the page.

    Raises
    ------
    TableError
        For a table, target or option that cannot be used, in one sentence.
    SourceError, EngineError
        Where rows cannot be read, or workers fail.
    """
    steps, asked = Steps(progress), given(table)
    run = RunOptions(
        stream, jobs, dask, None if checkpoint is None else Checkpoint(Path(checkpoint))
    )
    request = Request(
        data=asked.name,
        target=target,
        task=task,
        methods=tuple(m.name for m in METHODS) if methods is None else tuple(methods),
        seconds=time,
        seed=seed,
        time_column=time_column,
        device=device,
        command=command,
        missing_target=missing_target,
        ignore=tuple(ignore),
        width=width,
    )
    found = _compared(asked, request, run, steps)
    return Comparison(found.report, found.best, found.learner, run.checkpoint)


def _compared(asked: UserTable, request: Request, run: RunOptions, steps: Steps) -> Compared:
    steps.begin("Reading", 0.0)
    rows, why = asked.open(run)
    steps.begin("Reading", 0.0, asked.in_words(rows, request.target, why))
    with run.engine(steps) if why else nullcontext((None, "")) as (engine, computes):
        return compare_table(rows, request, steps, engine, computes)


def _plain(report: FitReport) -> dict[str, Any]:
    """The report without its arrays of rows, for other programs; what is not finite is null."""
    record = dataclasses.asdict(dataclasses.replace(report, y_true=np.zeros(0), y_pred=np.zeros(0)))
    del record["y_true"], record["y_pred"]
    if record["directions"] is not None:
        del record["directions"]["projections"]
    return finite(record)
