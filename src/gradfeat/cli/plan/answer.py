"""A plan from the words of the command: parse, measure, print."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from gradfeat.cli.guard import Refused
from gradfeat.cli.plan.text import plan_text
from gradfeat.cli.terminal import Terminal
from gradfeat.interface.plain_values import finite
from gradfeat.planning.calibration import Given, assumed, calibrate
from gradfeat.planning.job import Job, Method, PenaltyBy, PlanError
from gradfeat.planning.plan import Plan, plan_of
from gradfeat.planning.times import Card, card_of

_LETTERS = {"": 0, "k": 3, "m": 6, "b": 9, "g": 9, "t": 12}


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """The words of the command."""

    rows: str
    columns: int
    width: int | None
    outputs: int
    method: Method
    steps: int
    penalty_by: PenaltyBy
    workers: int
    threads: int
    float_bytes: int
    piece_rows: int
    gpu: str | None
    rate: float | None
    read: float | None
    network: float | None
    memory: float | None
    calibration: bool

    def job(self) -> Job:
        """What is to be planned."""
        return Job(
            rows=row_count(self.rows),
            columns=self.columns,
            method=self.method,
            width=self.width,
            outputs=self.outputs,
            steps=self.steps,
            penalty_by=self.penalty_by,
            workers=self.workers,
            threads=self.threads,
            float_bytes=self.float_bytes,
            piece_rows=self.piece_rows,
        )

    def given(self) -> Given:
        """Rates that are not measured."""
        return Given(
            peak=_in_units("--rate", self.rate, 1e9),
            storage=_in_units("--read", self.read, 1e6),
            network=_in_units("--network", self.network, 1e6),
        )

    def card(self) -> Card | None:
        """The card in every worker."""
        return None if self.gpu is None else card_of(self.gpu)


def row_count(words: str) -> int:
    """A whole number as people write it."""
    found = re.fullmatch(
        r"\s*([0-9][0-9_,]*\.?[0-9]*(?:[eE]\+?\d{1,3})?)\s*([kmbgtKMBGT]?)\s*", words
    )
    try:
        value = Decimal("x" if found is None else re.sub("[_,]", "", found[1]))
        value *= 10 ** _LETTERS[found[2].lower() if found else ""]
    except InvalidOperation:
        value = Decimal("0.5")
    if value != value.to_integral_value():
        raise PlanError(f"rows is {words!r}: give a whole number, such as 1e9, 10M or 1_000_000.")
    return int(value)


def _in_units(name: str, value: float | None, unit: float) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise PlanError(f"{name} is {value:g}: give a positive number.")
    return None if value is None else value * unit


def planned(wanted: PlanRequest) -> Plan:
    """The plan."""
    job, given, card = wanted.job(), wanted.given(), wanted.card()
    memory = _in_units("--memory", wanted.memory, 1e9)
    rates = calibrate(job, given) if wanted.calibration else assumed(job, given)
    return plan_of(job, rates, card, memory)


def tell_plan(wanted: PlanRequest, *, as_json: bool) -> None:
    """Print the plan."""
    try:
        plan = planned(wanted)
    except PlanError as error:
        raise Refused(str(error)) from None
    console = Terminal()
    if as_json:
        console.print(json.dumps(finite(plan.as_json()), indent=1), markup=False, soft_wrap=True)
        return
    for part in plan_text(plan):
        match part:
            case str():
                console.print(part, markup=False)
            case _:
                console.print(part)
