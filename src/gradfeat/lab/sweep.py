"""The sweep: claim what is missing, keep the workers busy, commit what comes back."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from gradfeat.lab.cells import Value
from gradfeat.lab.experiment import Experiment, Point
from gradfeat.lab.outcomes import Outcome
from gradfeat.lab.store import Store
from gradfeat.lab.work import Call, broken, compute
from gradfeat.rows.workers import Flight, Workers

if TYPE_CHECKING:
    import pandas as pd

#: How often a run asks for cells that another run computes, in seconds.
POLL = 0.2


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    `done, total`: Results that are there, and that were asked for; failures count as done.
    `failed`: Failures among them.
    `cached`: Results that were there before, or that another run computed.
    `elapsed`: Seconds since the start.
    `seconds_left`: At the pace of this run so far; None before its first result.
    """

    done: int
    total: int
    failed: int
    cached: int
    elapsed: float
    seconds_left: float | None


Unit = list[Point]


def units_of(points: Sequence[Point], size: int, along: str | None = None) -> deque[Unit]:
    """Group points in order: at most `size` seeds of one cell together.

    With `along`, cells that differ in this factor alone are one, and seeds that want the same
    values of it come together, so that each unit is some values at some seeds, seed by seed.

    >>> cells = [Point({"n": n}, seed, f"{n}{seed}") for n in (1, 2) for seed in range(3)]
    >>> [[point.key for point in unit] for unit in units_of(cells, 2)]
    [['10', '11'], ['12'], ['20', '21'], ['22']]
    >>> [[point.key for point in unit] for unit in units_of(cells[1:], 2, "n")]
    [['11', '21', '12', '22'], ['20']]
    """
    cells: dict[tuple[Value, ...], dict[int, Unit]] = {}
    for point in points:
        rest = tuple(value for name, value in point.cell.items() if name != along)
        cells.setdefault(rest, {}).setdefault(point.seed, []).append(point)
    units: deque[Unit] = deque()
    for of_seeds in cells.values():
        alike: dict[tuple[Value, ...], list[Unit]] = {}
        for unit in of_seeds.values():
            alike.setdefault(_values(unit, along), []).append(unit)
        for together in alike.values():
            starts = range(0, len(together), size)
            units.extend(list(chain(*together[start : start + size])) for start in starts)
    return units


def spread(units: Sequence[Unit]) -> deque[Unit]:
    """A unit of each cell in turn, from the last on and back and forth through the grid.

    Grids rise from small cells to large ones: in their order the time that is left, told by the
    pace so far, would rise for as long as the run gets on.

    >>> cells = [Point({"n": n}, 0, f"{n}") for n in range(8)]
    >>> [unit[0].key for unit in spread(units_of(cells, 1))]
    ['7', '2', '5', '0', '3', '6', '1', '4']
    """
    cells: dict[tuple[Value, ...], list[Unit]] = {}
    for unit in reversed(units):
        cells.setdefault(tuple(unit[0].cell.values()), []).insert(0, unit)
    golden = (5**0.5 - 1) / 2  # multiples of it, sorted by their fractions, lie far apart
    places = sorted(range(len(cells)), key=lambda place: place * golden % 1)
    turns = zip_longest(*([*cells.values()][place] for place in places))
    return deque(unit for turn in turns for unit in turn if unit)


def _values(unit: Unit, along: str | None) -> tuple[Value, ...]:
    """The values of the factor `along`, at the first seed of a unit."""
    if along is None:
        return ()
    return tuple(point.cell[along] for point in unit if point.seed == unit[0].seed)


@dataclass
class Sweep:
    """One run over points, on one store."""

    experiment: Experiment
    store: Store
    points: Sequence[Point]
    asked: dict[str, Any]
    hire: Callable[[], AbstractContextManager[Workers]]
    device: str
    retry_failed: bool
    report: Callable[[Progress], None]

    def __post_init__(self) -> None:
        self._retry_up_to = self.store.last_row() if self.retry_failed else 0
        self._start = time.monotonic()
        self._elsewhere: list[Unit] = []
        self._units: deque[Unit] = deque()
        self._run = self._computed = self._cached = self._failed = 0

    def go(self, arrays: bool = False) -> pd.DataFrame:
        """Compute all that is missing, and return the table of `run`."""
        if self._missing():
            with self._flight() as flight:
                while self._units or self._elsewhere or flight.busy:
                    for call in self._ready(flight):
                        flight.start(call)
                    self._collect(flight)
        else:
            self.store.note(self.experiment, self.asked)
        keys = [point.key for point in self.points]
        table = self.store.table(self.experiment, keys, arrays)
        table.attrs["failures"] = self.store.failures(self.experiment, keys).to_dict("records")
        return table

    def _missing(self) -> bool:
        """Find what is missing and say so; whether it is anything."""
        statuses = self.store.statuses([point.key for point in self.points])
        settled = ("done",) if self._retry_up_to else ("done", "failed")
        there = {key: status for key, status in statuses.items() if status in settled}
        missing = [point for point in self.points if point.key not in there]
        self._cached = len(there)
        self._failed = sum(status == "failed" for status in there.values())
        self._units = spread(self._grouped(missing))
        self._tell()
        return bool(missing)

    def _grouped(self, points: Sequence[Point]) -> deque[Unit]:
        e = self.experiment
        return units_of(points, 1 if e.batch is None else e.batch_size, e.along)

    def _tell(self) -> None:
        done, total = self._cached + self._computed, len(self.points)
        elapsed = time.monotonic() - self._start
        left = elapsed / self._computed * (total - done) if self._computed else None
        self.report(Progress(done, total, self._failed, self._cached, elapsed, left))

    @contextlib.contextmanager
    def _flight(self) -> Iterator[Flight[Call]]:
        """Give what starts calls; what is finished when a run is stopped is saved."""
        self._run = self.store.begin(self.experiment, self.asked)
        try:
            with self.hire() as workers:
                submit = partial(workers.submit, compute)
                flight = Flight(workers, submit, deaths=2, apart=Call.parts)
                try:
                    yield flight
                except BaseException:
                    for call, future in flight.dropped():
                        self._save(call, future.result())
                    raise
        finally:
            self.store.end(self._run)

    def _ready(self, flight: Flight[Call]) -> Iterator[Call]:
        """Claim units for as long as there is room for them."""
        while self._units and flight.room:
            if unit := self._claim(self._units.popleft()):
                first, *others = self._grouped(unit)  # several where another run has some of it
                self._units.extendleft(reversed(others))
                yield self._call(first)

    def _collect(self, flight: Flight[Call]) -> None:
        if self._elsewhere and not (self._units or flight.busy):
            time.sleep(POLL)
        for call, future in flight.finished(POLL if self._elsewhere else None):
            self._save(call, _outcomes(call, future))
        if not self._units:
            self._units.extend(self._elsewhere)
            self._elsewhere.clear()

    def _claim(self, unit: Unit) -> Unit:
        """What of a unit is ours to compute; the rest is counted or put off."""
        claimed = self.store.claim([p.key for p in unit], self._run, self._retry_up_to)
        self._cached += len(claimed.done) + len(claimed.failed)
        self._failed += len(claimed.failed)
        if claimed.done or claimed.failed:
            self._tell()
        if claimed.others:
            self._elsewhere.append([p for p in unit if p.key in claimed.others])
        return [p for p in unit if p.key in claimed.mine]

    def _call(self, unit: Unit) -> Call:
        e = self.experiment
        seeds = tuple(dict.fromkeys(point.seed for point in unit))
        device = self.device if e.takes_device else None
        keys = tuple(point.key for point in unit)
        values = _values(unit, e.along)
        return Call(e.trial, e.batch, unit[0].cell, seeds, device, e.along, values, keys)

    def _save(self, call: Call, outcomes: list[Outcome]) -> None:
        results = list(zip(call.points(), outcomes, strict=True))
        self.store.save(self.experiment, self._run, results, self.device)
        self._computed += len(outcomes)
        self._failed += sum(outcome.error is not None for outcome in outcomes)
        self._tell()


def _outcomes(call: Call, future: Future[list[Outcome]]) -> list[Outcome]:
    try:
        return future.result()
    except BrokenExecutor:
        return [broken(call.cell, call.seeds[0])]
