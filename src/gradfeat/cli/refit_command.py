"""refit: the features of a saved model serve another column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradfeat.cli.table_commands import LARGEST_SEED


def refit(
    model: Annotated[Path, typer.Argument(help="Gradient features that `gradfeat fit` wrote.")],
    data: Annotated[Path, typer.Argument(help="A table with its columns and the new target.")],
    target: Annotated[str, typer.Option(help="Column to predict now.")],
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    seed: Annotated[int, typer.Option(help="Of the rows held out.", min=0, max=LARGEST_SEED)] = 0,
) -> None:
    """Keep the features of a model, fit its head to another target, score it on held-out rows."""
    from rich.console import Console

    from gradfeat.figures.scores import with_interval
    from gradfeat.table.atomic import write_atomic
    from gradfeat.table.read import read_table
    from gradfeat.table.refit import refit_model
    from gradfeat.table.results import Interval
    from gradfeat.table.table_model import load_table_model

    source = load_table_model(model)
    new = refit_model(source, read_table(data), target, data=data.name, seed=seed)
    write_atomic(out, new.to_bytes())
    console, about = Console(highlight=False), new.about
    console.print(
        f"{about['method']} learned for {source.target}, head for {target}: fitted on "
        f"{about['train_rows']:,} rows of {about['data']}, tested on {about['test_rows']:,}",
        markup=False,
        soft_wrap=True,
    )
    for name, *ends in about["scores"]:
        console.print(f"  {name} {with_interval(Interval(*ends))}", markup=False)
    console.print(f"Model:  {out}", markup=False, soft_wrap=True)
