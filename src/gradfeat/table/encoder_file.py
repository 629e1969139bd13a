"""A fitted table encoder as contents of a model file, and back."""

# Apart: what is fitted does not know how it is kept.

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gradfeat.estimators.container import Contents, ModelFileError
from gradfeat.table.reading.clock import ClockPlan, DurationPlan
from gradfeat.table.reading.dates import DatePlan
from gradfeat.table.reading.levels import Levels, Text, TwoLevels
from gradfeat.table.reading.number_formats import NumberFormat
from gradfeat.table.reading.numbers import NumberPlan
from gradfeat.table.reading.plan import ColumnPlan, Encoded
from gradfeat.table.results import ColumnNote

#: What a model file calls an encoder.
KIND = "TableEncoder"

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
    missing: tuple[str, ...]


def to_contents(state: State) -> Contents:
    """The plain values, with the kind of each plan."""
    about = {
        "plans": [{"plan": type(plan).__name__} | asdict(plan) for plan in state.plans],
        "encoded": [asdict(part) for part in state.encoded],
        "notes": [asdict(note) for note in state.notes],
        "missing": list(state.missing),
    }
    return Contents(KIND, about, {})


def from_contents(contents: Contents) -> State:
    """Return what `to_contents` took.

    Raises
    ------
    ModelFileError
        Where a part is missing or unknown.
    """
    about = contents.state
    try:
        return State(
            plans=tuple(_plan(plan) for plan in about["plans"]),
            encoded=tuple(Encoded(**part) for part in about["encoded"]),
            notes=tuple(ColumnNote(**note) for note in about["notes"]),
            missing=tuple(about["missing"]),
        )
    except (KeyError, TypeError) as error:
        raise ModelFileError(
            f"The saved table encoder lacks a part of its state ({error}): fit and save it again."
        ) from error


def _plan(about: dict[str, Any]) -> ColumnPlan:
    """JSON has lists for tuples, and objects for formats of numbers."""
    values = {key: value for key, value in about.items() if key != "plan"}
    for key in {"levels", "years"} & values.keys():
        values[key] = tuple(values[key])
    for key in {"format", "otherwise"} & values.keys():
        values[key] = values[key] and NumberFormat(**values[key])
    return _PLANS[about["plan"]](**values)
