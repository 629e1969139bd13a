"""plan: time, memory, reading and traffic of a fit by passes, before it starts."""

# Apart: options are read and help is shown without what measures and plans.

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import typer

from gradfeat.planning.job import Method, PenaltyBy

rates = partial(typer.Option, rich_help_panel="Rates of the machines")


def plan(
    rows: Annotated[str, typer.Option(help="Rows: 1e9, 10M, 1_000_000.")],
    columns: Annotated[int, typer.Option(help="Numeric inputs, as they reach the fit.")],
    width: Annotated[
        int | None,
        typer.Option(
            help="Neurons, or Nystrom centres; left out: 1024, or as many as a fit takes."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="1: this process; more: workers of a Dask cluster.")
    ] = 1,
    outputs: Annotated[int, typer.Option(help="Targets, or classes beyond two.")] = 1,
    threads_per_worker: Annotated[
        int | None,
        typer.Option(
            help="Threads that compute in each; left out: as many as a fit here takes, "
            "1 in a worker of a cluster."
        ),
    ] = None,
    float_bytes: Annotated[int, typer.Option(help="Stored bytes of a number.")] = 4,
    piece_rows: Annotated[int, typer.Option(help="Rows of a piece.")] = 65_536,
    method: Annotated[Method, typer.Option(help="What is fitted.")] = "gradient-features",
    steps: Annotated[int, typer.Option(help="First-layer steps of gradient features.")] = 1,
    penalty_by: Annotated[
        PenaltyBy, typer.Option(help="How the head's penalty is chosen.")
    ] = "gcv",
    gpu: Annotated[
        str | None, rates(help="Card in every worker: v100, a100, h100, h200, l40s, mi300x.")
    ] = None,
    rate: Annotated[
        float | None, rates(help="GFLOPS of float64 products of one thread of a worker.")
    ] = None,
    read: Annotated[
        float | None, rates(help="MB/s that storage delivers to all workers together.")
    ] = None,
    network: Annotated[float | None, rates(help="MB/s of one link.")] = None,
    memory: Annotated[float | None, rates(help="GB that a worker may take.")] = None,
    calibration: Annotated[bool, rates(help="Measure this machine for about 5 seconds.")] = True,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="How the plan is written.")
    ] = "text",
) -> None:
    """Plan a fit by passes: time, memory, reading and traffic of each, and what bounds it.

    Rates are measured here, or given. For example:

    \b
    gradfeat plan --rows 1e9 --columns 200 --width 2048 --workers 64 --network 1200
    """
    from gradfeat.cli.plan.answer import tell_plan

    tell_plan(
        rows,
        gpu,
        rate,
        read,
        network,
        memory,
        threads_per_worker,
        calibration,
        output == "json",
        columns=columns,
        width=width,
        outputs=outputs,
        method=method,
        steps=steps,
        penalty_by=penalty_by,
        workers=workers,
        float_bytes=float_bytes,
        piece_rows=piece_rows,
    )
