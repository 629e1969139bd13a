"""A plan from the words of the command: parse, measure, print."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from importlib import import_module
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gradfeat.cli.guard import Refused
from gradfeat.cli.terminal import Terminal
from gradfeat.maths.limits import processors, readable
from gradfeat.planning.calibration import Given, assumed, calibrate
from gradfeat.planning.job import Job, PlanError
from gradfeat.planning.plan import Plan, plan_of
from gradfeat.planning.rates import Rate, card_of
from gradfeat.wording import counted, finite

_LETTERS = {"": 0, "k": 3, "m": 6, "b": 9, "g": 9, "t": 12}


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


def tell_plan(
    rows: str,
    gpu: str | None,
    rate: float | None,
    read: float | None,
    network: float | None,
    memory: float | None,
    threads: int | None,
    calibration: bool,
    as_json: bool,
    **job: Any,
) -> None:
    """Print the plan of a `Job` of so many rows; rates are measured here where none is given."""
    try:
        given = Given(
            peak=_in_units("--rate", rate, 1e9),
            storage=_in_units("--read", read, 1e6),
            network=_in_units("--network", network, 1e6),
        )
        threads = threads or (processors() if int(job["workers"]) == 1 else 1)
        wanted = Job(rows=row_count(rows), threads=threads, **job)
        import_module("gradfeat.interface.compare")  # what it imports counts in its memory
        card = None if gpu is None else card_of(gpu)
        most = _in_units("--memory", memory, 1e9)
        rates = (calibrate if calibration else assumed)(wanted, given)
        plan = plan_of(wanted, rates, card, most)
    except PlanError as error:
        raise Refused(str(error)) from None
    console = Terminal()
    if as_json:
        console.say(json.dumps(finite(plan.as_json()), indent=1))
        return
    for part in plan_text(plan):
        match part:
            case str():
                console.print(part, markup=False)
            case _:
                console.print(part)


_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))

#: Seconds below which it does not matter how many.
LEAST = 1e-3


def lasting(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> lasting(0.0123), lasting(75.0), lasting(9000.0), lasting(3e5), lasting(1e-9)
    ('0.012 s', '75 s', '2.5 h', '3.47 d', '< 1 ms')
    """
    for unit, name in _UNITS:
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    if 0 < seconds < LEAST:
        return "< 1 ms"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == 0 else f"{seconds:.2g} s"


def many(value: float) -> str:
    """A count in three digits.

    >>> many(954.0), many(15_259.0), many(3.2e7), many(4e15)
    ('954', '15.3 k', '32 M', '4 P')
    """
    for size, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


def plan_text(plan: Plan) -> Iterator[RenderableType]:
    yield Text(_header(plan))
    yield ""
    yield _times(plan)
    yield ""
    yield _sizes(plan)
    yield ""
    yield Text(_total(plan))
    for sentence in plan.warnings:
        yield Text(f"Warning: {sentence}", style="bold")
    yield ""
    yield _rates(plan)
    yield ""
    yield Text("Assumed: " + " ".join(plan.assumptions))


def _header(plan: Plan) -> str:
    job = plan.job
    width = f", width {job.m:,}" if job.m else ""
    by = f", penalty by {job.penalty_by}" if job.method not in ("rfm", "kernel") else ""
    return (
        f"{job.method}{width}{by}: {job.rows:,} rows x {job.columns:,} columns, "
        f"{readable(job.stored_bytes)} a pass, {_place(job)}"
        f"{'' if plan.card is None else f', cards: {plan.card.name}'}."
    )


def _place(job: Job) -> str:
    threads = counted(job.threads, "thread")
    if not job.on_cluster:
        return f"in this process with {threads}"
    return f"on {job.workers:,} workers of {threads}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(columns[0], overflow="fold")
    for name in columns[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _times(plan: Plan) -> Table:
    card = plan.card is not None
    copy = ["copy"] if card else []
    table = _table("pass", "time", "compute", "read", *copy, "reduce", "driver", "bound by")
    for one in plan.passes:
        t = one.times
        spent = (t.total, t.compute, t.read, *([t.copy] if card else []), t.reduce, t.driver)
        table.add_row(one.label, *map(lasting, spent), t.bound)
    table.add_row("beside the passes", lasting(plan.other))
    return table


def _sizes(plan: Plan) -> Table:
    table = _table("pass", "flop", "of peak", "rows/s", "sent", "tasks", "a worker")
    for one in plan.passes:
        sent = readable(one.traffic.network) if one.traffic.network else "-"
        tasks = f"{one.traffic.tasks:,}" if one.traffic.tasks else "-"
        rates = (many(one.flops), f"{one.share:.0%}", many(plan.rows_a_second(one)))
        table.add_row(one.label, *rates, sent, tasks, readable(one.memory))
    return table


def _total(plan: Plan) -> str:
    asks = f", {readable(plan.asking)} here" if plan.job.on_cluster else ""
    return (
        f"Together {lasting(plan.seconds)}, {many(plan.job.rows / plan.seconds)} rows/s; "
        f"{readable(plan.memory)} a worker{asks}."
    )


def _rates(plan: Plan) -> Table:
    table = _table("rate or size", "value", "origin")
    for name, rate in plan.rates.listed().items():
        table.add_row(f"{name} ({rate.about})" if rate.about else name, _value(rate), rate.origin)
    if plan.card is not None:
        table.add_row(
            f"{plan.card.name}: float64, memory, bus",
            f"{plan.card.float64 / 1e12:.3g} Tflop/s, {plan.card.memory_rate / 1e12:.2g} TB/s, "
            f"{plan.card.bus / 1e9:g} GB/s",
            "published",
        )
    return table


def _value(rate: Rate) -> str:
    match rate.unit:
        case "operations/s":
            return f"{rate.value / 1e9:.3g} Gflop/s"
        case "bytes/s":
            return f"{readable(rate.value)}/s"
        case "bytes":
            return readable(rate.value)
        case "s/row":
            return f"{many(1 / rate.value)} rows/s"
        case "s/side^3":
            return f"{lasting(rate.value * 1000**3)} at 1,000"
    return lasting(rate.value)
