"""A fitted table encoder as bytes and back, without pickle."""

# Apart: what is fitted does not know how it is kept.

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict, dataclass
from typing import Any

from gradfeat.table.errors import TableError
from gradfeat.table.reading.clock import ClockPlan, DurationPlan
from gradfeat.table.reading.dates import DatePlan
from gradfeat.table.reading.levels import Levels, Text, TwoLevels
from gradfeat.table.reading.number_formats import NumberFormat
from gradfeat.table.reading.numbers import NumberPlan
from gradfeat.table.reading.plan import ColumnPlan, Encoded
from gradfeat.table.results import ColumnNote

FORMAT = 3

_PLANS = {
    plan.__name__: plan
    for plan in (ClockPlan, DatePlan, DurationPlan, Levels, NumberPlan, Text, TwoLevels)
}


@dataclass(frozen=True)
class State:
    """What an encoder knows; plain values only."""

    plans: tuple[ColumnPlan, ...]
    encoded: tuple[Encoded, ...]
    notes: tuple[ColumnNote, ...]


def dump(state: State) -> bytes:
    """Return a zip file of ``state.json``."""
    about = {
        "format": FORMAT,
        "plans": [{"plan": type(plan).__name__} | asdict(plan) for plan in state.plans],
        "encoded": [asdict(part) for part in state.encoded],
        "notes": [asdict(note) for note in state.notes],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.json", json.dumps(about))
    return buffer.getvalue()


def load(data: bytes) -> State:
    """Return what `dump` wrote.

    Raises
    ------
    TableError
        Where the bytes are cut, altered or of another format.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            about = json.loads(archive.read("state.json"))
        version = about["format"]
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError) as error:
        raise TableError(
            "The saved table encoder is damaged (cut short or altered): fit and save it again."
        ) from error
    if version != FORMAT:
        raise TableError(
            f"The saved table encoder has format {version!r} and this version reads {FORMAT}: "
            "load it with the version that wrote it, or fit it again."
        )
    try:
        return State(
            plans=tuple(_plan(plan) for plan in about["plans"]),
            encoded=tuple(Encoded(**part) for part in about["encoded"]),
            notes=tuple(ColumnNote(**note) for note in about["notes"]),
        )
    except (KeyError, TypeError) as error:
        raise TableError(
            "The saved table encoder lacks a part of its state: fit and save it again."
        ) from error


def _plan(about: dict[str, Any]) -> ColumnPlan:
    """JSON has lists for tuples, and objects for formats of numbers."""
    values = {key: value for key, value in about.items() if key != "plan"}
    for key in {"levels", "years"} & values.keys():
        values[key] = tuple(values[key])
    for key in {"format", "otherwise"} & values.keys():
        values[key] = values[key] and NumberFormat(**values[key])
    return _PLANS[about["plan"]](**values)
