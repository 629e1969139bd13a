"""Words of `diagnose`, `fit` and `predict`; what they do is imported when they run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

#: What every generator in use takes.
LARGEST_SEED = 2**32 - 1

#: A week, in seconds.
LONGEST = 604_800.0

#: Names that --methods takes, without importing them; a test compares.
METHODS = (
    "linear, random-features, kernel, induced-network, gradient-features, rfm, trained-network, "
    "boosting"
)


class TaskName(StrEnum):
    """What the target is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class MissingName(StrEnum):
    """What is done with rows without a target."""

    DROP = "drop"
    REFUSE = "refuse"


def diagnose(
    data: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz), Parquet or JSON lines.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Annotated[TaskName, typer.Option(help="What the target is.")] = TaskName.AUTO,
    out: Annotated[Path, typer.Option(help="Folder for report and results.")] = Path(
        "gradfeat-diagnosis"
    ),
    seed: Annotated[int, typer.Option(help="Of every random draw.", min=0, max=LARGEST_SEED)] = 0,
) -> None:
    """Say what kind of signal a table holds: its degrees, directions, and the rows it needs."""
    from gradfeat.cli.diagnose_tool import diagnose_table

    diagnose_table(data, target, task, out, seed)


def fit(
    data: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV (also .gz), Parquet or JSON lines; of the others also a folder, a "
            "pattern of names, or a URL such as s3://..."
        ),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Annotated[TaskName, typer.Option(help="What the target is.")] = TaskName.AUTO,
    methods: Annotated[
        str | None, typer.Option(help=f"Comma-separated, of {METHODS}; left out: all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report, model and results.")] = Path(
        "gradfeat-out"
    ),
    time: Annotated[
        float,
        typer.Option(
            help="Seconds to spend, about; of a table that is passed over: for choosing settings.",
            min=1.0,
            max=LONGEST,
        ),
    ] = 60.0,
    seed: Annotated[
        int, typer.Option(help="Of the split and every random draw.", min=0, max=LARGEST_SEED)
    ] = 0,
    time_column: Annotated[
        str | None, typer.Option(help="Ordered data: hold out the last rows by this column.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Torch device, e.g. cuda.")] = None,
    ignore: Annotated[
        str, typer.Option(help="Comma-separated columns to leave out, such as those known later.")
    ] = "",
    missing_target: Annotated[
        MissingName, typer.Option(help="Rows without a target.")
    ] = MissingName.DROP,
    width: Annotated[
        int, typer.Option(help="Neurons of random and gradient features.", min=2, max=100_000)
    ] = 1024,
    stream: Annotated[
        bool | None,
        typer.Option(
            help="Pass over the rows in place of holding them; left out: where there are many."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Pass over the rows in so many processes.", min=1, max=1024)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Pass over the rows on a Dask cluster: its address, or local."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder of its own for interrupted passes; left out: OUT/checkpoint."),
    ] = None,
) -> None:
    """Fit learned and fixed features to a table, compare them on held-out rows, write a report.

    Large tables are passed over piece by piece; when interrupted, the same command goes on.
    """
    from gradfeat.cli.streamed_tool import Means
    from gradfeat.cli.tool import fit_table, request_of
    from gradfeat.rows.checkpoint import Checkpoint

    request = request_of(
        data,
        target,
        task,
        methods,
        seconds=time,
        seed=seed,
        time_column=time_column,
        device=device,
        ignore=tuple(name.strip() for name in ignore.split(",") if name.strip()),
        missing_target=missing_target.value,
        width=width,
    )
    kept = Checkpoint(checkpoint or out / "checkpoint")
    fit_table(data, request, Means(stream, jobs, dask, kept), out)


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `gradfeat fit` wrote.")],
    data: Annotated[
        str, typer.Argument(help="A table with the columns of the training table; also a folder.")
    ],
    out: Annotated[Path, typer.Option(help="CSV or .parquet file to write.")],
) -> None:
    """Predict the target for the rows of a table."""
    from gradfeat.cli.tool import predict_table

    predict_table(model, data, out)
