"""predict and refit: what a saved model says of other rows, and its features for another column."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from gradfeat.figures.scores import with_interval
from gradfeat.rows.sources.open import tables
from gradfeat.table.atomic import write_atomic
from gradfeat.table.notes import unread_sentence
from gradfeat.table.predict import Predictor, write_predictions
from gradfeat.table.read import read_table
from gradfeat.table.refit import refit_model
from gradfeat.table.results import Interval
from gradfeat.table.table_model import load_table_model


def predict_table(model: Path, data: str, out: Path) -> None:
    """Write predictions for the rows of a table as CSV, or Parquet where `out` says so."""
    table_model, console = load_table_model(model), Console(highlight=False)
    predictor = Predictor(table_model)
    rows = write_predictions(predictor.frames(tables(data)), out)
    console.print(
        f"{rows:,} predictions of {table_model.target}: {out}", markup=False, soft_wrap=True
    )
    if predictor.unread:
        console.print(unread_sentence(predictor.unread), markup=False, soft_wrap=True)


def refit_table(model: Path, data: Path, target: str, out: Path, seed: int) -> None:
    """Fit the head of a model to another column, write the new model, print its scores."""
    source = load_table_model(model)
    frame = read_table(data, source.encoder.cells)
    new = refit_model(source, frame, target, data=data.name, seed=seed)
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
