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
    data: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz), Parquet or JSON lines.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    task: Annotated[TaskName, typer.Option(help="What the target is.")] = TaskName.AUTO,
    methods: Annotated[
        str | None, typer.Option(help=f"Comma-separated, of {METHODS}; left out: all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report, model and results.")] = Path(
        "gradfeat-out"
    ),
    time: Annotated[
        float, typer.Option(help="Seconds to spend, about.", min=1.0, max=LONGEST)
    ] = 60.0,
    seed: Annotated[
        int, typer.Option(help="Of the split and every random draw.", min=0, max=LARGEST_SEED)
    ] = 0,
    time_column: Annotated[
        str | None, typer.Option(help="Ordered data: hold out the last rows by this column.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Torch device, e.g. cuda.")] = None,
) -> None:
    """Fit learned and fixed features to a table, compare them on held-out rows, write a report."""
    from gradfeat.cli.tool import fit_table

    fit_table(data, target, task, methods, out, time, seed, time_column, device)


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `gradfeat fit` wrote.")],
    data: Annotated[Path, typer.Argument(help="A table with the columns of the training table.")],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
) -> None:
    """Predict the target for the rows of a table."""
    from gradfeat.cli.tool import predict_table

    predict_table(model, data, out)
