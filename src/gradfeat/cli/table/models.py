"""predict, refit and show: what a saved model says, of which rows, and from which columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from gradfeat.cli.table.card import directions, shares_of_slope, slopes_table
from gradfeat.cli.terminal import Format, Terminal, check_output, records_in
from gradfeat.estimators.container import rebuilding
from gradfeat.figures.comparison import with_interval
from gradfeat.maths.files import refused, replace_file, with_link
from gradfeat.reports import losses_table
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import Tables, with_places
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.conformal import interval_sentence
from gradfeat.table.predict import Predictor, refuse_format, write_predictions
from gradfeat.table.refit import refit_model
from gradfeat.table.request import Request
from gradfeat.table.results import Importances, Interval, UnreadCells
from gradfeat.table.saved import FEATURES, MODEL, fitted_on, load_table_model, model_file
from gradfeat.table.table_model import TableModel
from gradfeat.table.unread import unread_sentence
from gradfeat.wording import counted, finite, layout_sentence


def predict_table(
    model: Path,
    data: str,
    out: Path,
    keep: Sequence[str],
    interval: float | None,
    text: TextOptions,
    strict: bool,
) -> None:
    """Write predictions for the rows of a table as CSV, or in the format that `out` says.

    ``-`` is the standard output, to which all of them are written once they are there.
    """
    refuse_format(out)
    printed = str(out) in ("-", "/dev/stdout")
    table_model, console = load_table_model(model), Terminal(stderr=printed)
    if not printed:
        check_output(out, data, model_file(model))
    predictor = Predictor(table_model, keep, interval, strict)
    table = _further(data, table_model, table_model.text(text))
    with TemporaryDirectory() as folder:
        rows = write_predictions(predictor.frames(table), Path(folder, "rows") if printed else out)
        if printed:
            with Path(folder, "rows").open(encoding="utf-8") as written:
                copyfileobj(written, sys.stdout)
    where = "the standard output" if printed else with_link(out)
    console.say(f"{counted(rows, 'prediction')} of {table_model.target}: {where}")
    if interval is not None:
        about = table_model.target, table_model.classes, len(table_model.held)
        console.say(interval_sentence(*about, interval))
    _print_reading(console, table, with_places(predictor.unread, table))


def refit_table(model: Path, data: str, request: Request, out: Path, strict: bool) -> None:
    """Fit the head of a model to another column, write the new model, print its scores."""
    source = load_table_model(model, FEATURES, MODEL)
    file = model_file(model, FEATURES, MODEL)
    check_output(out, data, file)
    target = request.target
    table = _further(data, source, source.text(request.text, target))
    other = file.with_name(FEATURES)
    beside = str(other) if other.is_file() and other != file else ""
    found = refit_model(source, table, request, strict=strict, beside=beside)
    saved = found.model.to_bytes()
    with refused(out):
        replace_file(out, saved)
    console, about = Terminal(), found.model.about
    console.say(
        f"{about['method']} learned for {source.target}, head for {target}: {fitted_on(about)}"
    )
    for name, *ends in about["scores"]:
        console.print(f"  {name} {with_interval(Interval(*ends))}", markup=False)
    for sentence in (*filter(None, [about["classes"]]), *found.remarks):
        console.say(sentence)
    _print_reading(console, table, found.unread)
    console.say(f"Model:  {with_link(out)}")


def _further(data: str, model: TableModel, text: TextOptions) -> Tables:
    """A table for a fitted model: objects of JSON may lack columns that had gaps in training."""
    return tables(data, text=text).with_absent(model.encoder.with_missing)


def _print_reading(console: Terminal, table: Tables, unread: Sequence[UnreadCells]) -> None:
    """How the text was found to be written, and the cells that could not be read."""
    if table.remarks:
        console.say(layout_sentence(table.remarks))
    if unread:
        console.say(unread_sentence(unread))


def show_model(model: Path, form: Format) -> None:
    """Print what a model is, how well it did, and which columns it reads."""
    with rebuilding(model):
        found = load_table_model(model)
        lines, columns = list(_about(found)), _columns(found)
    match form:
        case Format.JSON:
            about = {k: v for k, v in found.about.items() if k not in ("text", "importances")}
            whole = {"target": found.target, "classes": found.classes, **about, "columns": columns}
            sys.stdout.write(json.dumps(finite(whole), indent=1) + "\n")
        case Format.CSV:
            sys.stdout.write(records_in(columns, form))
        case Format.TEXT:
            console = Terminal()
            for line in lines:
                console.print(line, markup=False)


def _about(table_model: TableModel) -> Iterator[Any]:
    """Lines and tables that tell of a model, from what its file keeps."""
    about = table_model.about
    yield f"{about['method']} for {table_model.target} ({about['task']}), {fitted_on(about)}"
    for name, *ends in about["scores"]:
        yield f"  {name} {with_interval(Interval(*ends))}"
    yield from [f"  {about['classes']}"] if about.get("classes") else []
    settings = ", ".join(f"{k} {v}" for k, v in about["settings"].items())
    seed = "" if about["seed"] is None else f"; seed {about['seed']}"
    yield f"  settings: {settings or 'none chosen'}{seed}"
    own = table_model.own
    shares = shares_of_slope(table_model) if own else {}
    if about.get("importances"):
        yield from ("", losses_table(Importances.from_record(about["importances"]), shares))
    elif own:
        yield from ("", slopes_table(shares))
    if own:
        yield f"\n{directions(table_model)}"


def _columns(model: TableModel) -> list[dict[str, Any]]:
    """A record a column: how it is read, and what the model loses without it."""
    shares = shares_of_slope(model) if model.own else {}
    needed = model.about.get("importances")
    groups = Importances.from_record(needed).losses if needed else ()
    lost = {
        name: {"loss": one.loss.estimate, "low": one.loss.low, "high": one.loss.high}
        for one in groups
        for name in one.columns
    }
    nothing = dict.fromkeys(("loss", "low", "high"))
    return [
        asdict(note) | lost.get(note.name, nothing) | {"share_of_slope": shares.get(note.name)}
        for note in model.encoder.notes_
    ]
