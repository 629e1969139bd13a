"""The features of a saved table model with a head for another column."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import pandas as pd

from gradfeat.errors import TableError
from gradfeat.estimators.refitting import Refittable
from gradfeat.rows.sources.tables import Tables, held, selected, with_places
from gradfeat.table.first_pass import with_target_read
from gradfeat.table.fitting import predictions
from gradfeat.table.reading.missing import about_codes_for_missing, declared
from gradfeat.table.request import Request
from gradfeat.table.results import UnreadCells, package_versions
from gradfeat.table.row_sample import RowSample, column_of
from gradfeat.table.scores import about_few, held_scores, intervals, resampled
from gradfeat.table.screening import about_equal_rows
from gradfeat.table.split import split_rows
from gradfeat.table.table_model import TableModel
from gradfeat.table.target import Target, Task, about_moments, prepare_target
from gradfeat.table.unread import refuse_unread
from gradfeat.table.verdict import about_classes
from gradfeat.wording import counted


@dataclass(frozen=True, eq=False)
class Refitted:
    """A model with a new head, and what became of cells of the table it was fitted to.

    `remarks` are on cells of the new target; `unread` cells of inputs, with their places, are taken
    as missing.
    """

    model: TableModel
    remarks: tuple[str, ...]
    unread: tuple[UnreadCells, ...]


def refit_model(
    model: TableModel, table: Tables, request: Request, *, strict: bool = False, beside: str = ""
) -> Refitted:
    """Refit the head on training rows of a table, score it on the rows held out.

    The encoding of the columns and the first layer stay those of `model`.

    The target of the `request` is of the kind (a quantity, or classes) that the model predicts;
    what the request says of missing values, rare classes and the seed holds. Where it is `strict`,
    cells of inputs or target that could not be read are refused. `beside` is the file of a model
    that can be refitted where this one cannot.
    """
    source = _source(model, beside)
    request = request.spelt(table.names)
    target, seed = request.target, request.seed
    encoder = copy(model.encoder)
    if request.missing:
        table = declared(table, request.missing)
        encoder.missing = (*encoder.missing, *request.missing)
    frame = held(table, encoder.cells)
    frame, others, remarks, lost = with_target_read(frame, request, read_from=table)
    found = _target(model, frame, target, lost)
    split = split_rows(len(found.values), found.values, found.task, seed=seed)
    X, unread = encoder.encoded(frame)
    X = X[found.rows]
    if strict:
        if lost and remarks:
            raise TableError(f"Strict, and not every target can be read: {' '.join(remarks)}")
        refuse_unread(unread, table)
    y_train = found.values[split.train]
    estimator = source.refit_head(X[split.train], y_train)
    said = predictions(estimator, X[split.test], found)
    y = found.values[split.test].astype(float)
    draws = resampled(y, said, split.units, seed)
    scores = intervals(y, draws, split.units).items()
    about = {
        **model.about,
        "data": request.data,
        "train_rows": len(split.train),
        "test_rows": len(split.test),
        "scores": [[name, s.estimate, s.low, s.high] for name, s in scores],
        "seed": seed,
        "command": request.command,
        "version": package_versions()["gradfeat"],
        "importances": None,
        "settings": dict(estimator.settings_),
        "classes": about_classes(found.values[split.test], said.values, found.classes),
    }
    scores_held = held_scores(found.values[split.test], said)
    new = TableModel.of(
        encoder, estimator, target, found.classes, about, scores_held, labels=found.labels
    )
    gaps = found.rows_dropped - lost
    without = [f"{counted(gaps, 'row')} without a target left out."] if gaps else []
    codes = "" if found.classes else about_codes_for_missing(target, y_train)
    read = selected(frame.iloc[found.rows], [*encoder.columns_, target])
    again = about_equal_rows(RowSample.of(read, seed, len(read)))
    told = (*without, *others, *remarks, *again, *about_few(split.units), *filter(None, [codes]))
    return Refitted(new, told, with_places(unread, table))


def _source(model: TableModel, beside: str) -> Refittable:
    match model.estimator_:
        case Refittable() as source:
            return source
    instead = (
        f"'{beside}', which was written beside it"
        if beside
        else ("one that `gradfeat fit --methods gradient-features,rfm` wrote")
    )
    raise TableError(
        f"The model ({model.about['method']}) has no features apart from its fit: give {instead}."
    )


def _target(model: TableModel, frame: pd.DataFrame, target: str, told: int) -> Target:
    """The new target, as the kind that the model predicts."""
    if target in model.encoder.columns_:
        raise TableError(
            f"The model reads the column {target!r} as an input: give a target that it does "
            f"not, or fit again with --ignore {target!r}."
        )
    task: Task = "classification" if model.classes else "regression"
    found = prepare_target(frame, target, told=told)
    if found.task == task:
        return found
    try:
        return prepare_target(frame, target, task, told)
    except TableError:
        kinds = {"classification": "classes", "regression": "quantities"}
        raise TableError(
            about_moments(target, column_of(frame, target).dropna())
            or f"The target {target!r} holds {kinds[found.task]} and the model predicts "
            f"{kinds[task]}: give a target of its kind, or a model fitted with --task {found.task}."
        ) from None
