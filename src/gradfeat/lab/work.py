"""What a worker does: call the trial, time it, and bring back numbers or a traceback."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradfeat.lab.cells import Cell, Value
from gradfeat.lab.experiment import Point
from gradfeat.lab.outcomes import Outcome, outcome_of
from gradfeat.maths.limits import memory_was_refused

#: Of a traceback, so that a store stays small.
LONGEST_ERROR = 20_000


@dataclass(frozen=True)
class Call:
    """Results computed together, and what computes them; all that travels to a worker.

    They are those of one cell at some seeds; where `along` names a factor, at each seed those of
    all `values` of it, whatever value the cell holds. `keys` are those that the results are stored
    under, seed by seed.
    """

    trial: Callable[..., Any] | None
    batch: Callable[..., Any] | None
    cell: Cell
    seeds: tuple[int, ...]
    device: str | None
    along: str | None = None
    values: tuple[Value, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def together(self) -> bool:
        """Whether a batch computes it: more than one result, or no trial for one."""
        return self.several or self.trial is None

    @property
    def several(self) -> bool:
        return len(self.seeds) * max(1, len(self.values)) > 1

    def settings(self) -> dict[str, Any]:
        cell = self.cell if self.along is None else {**self.cell, self.along: list(self.values)}
        return cell | self.where()

    def where(self) -> dict[str, str]:
        return {} if self.device is None else {"device": self.device}

    def points(self) -> list[Point]:
        """What is computed, seed by seed."""
        return [Point(part.cell, part.seeds[0], *part.keys) for part in self.parts()]

    def parts(self) -> list[Call]:
        """A call for each result, seed by seed.

        >>> call = Call(None, print, {"n": 1, "eta": 0}, (5, 6), None, "eta", (0, 1))
        >>> [(part.cell["eta"], part.seeds) for part in call.parts()]
        [(0, (5,)), (1, (5,)), (0, (6,)), (1, (6,))]
        """
        cells = [self.cell]
        if self.along is not None:
            cells = [{**self.cell, self.along: value} for value in self.values]
        settings = [(seed, cell) for seed in self.seeds for cell in cells]
        keys = [(key,) for key in self.keys] or [()] * len(settings)
        return [
            replace(self, cell=cell, seeds=(seed,), values=self._value(cell), keys=key)
            for (seed, cell), key in zip(settings, keys, strict=True)
        ]

    def _value(self, cell: Cell) -> tuple[Value, ...]:
        return () if self.along is None else (cell[self.along],)


def failure(error: BaseException, seconds: float) -> Outcome:
    """An error as an outcome: its traceback without the frames of this file."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
        frame = frame.tb_next
    lines = traceback.format_exception(type(error), error, frame)
    if memory_was_refused(error):
        lines.append("MemoryError: the memory is used up: make the cell smaller or run fewer jobs.")
    return Outcome("{}", (), "".join(lines).strip()[-LONGEST_ERROR:], seconds)


def broken(cell: Cell, seed: int) -> Outcome:
    text = (
        f"the worker process died twice at {cell} with seed {seed}, alone the second time: killed "
        "for its memory, or crashed; make the cell smaller or run fewer jobs"
    )
    return Outcome("{}", (), text, 0.0)


def compute(call: Call) -> list[Outcome]:
    """An outcome for each part of a call; errors of the trial are outcomes too.

    Where a batch fails its parts are computed one by one, so that only the bad ones fail.
    """
    if call.batch is not None and call.together:
        start = time.perf_counter()
        try:
            found = call.batch(**call.settings(), seeds=list(call.seeds))
            return _outcomes(call, list(found), time.perf_counter() - start)
        except (Exception, SystemExit) as error:
            if not call.several:
                return [failure(error, time.perf_counter() - start)]
    outcomes: list[Outcome] = []
    for part in call.parts():
        if part.trial is None:
            outcomes += compute(part)
            continue
        start = time.perf_counter()
        try:
            returned = part.trial(**part.cell, seed=part.seeds[0], **part.where())
            seconds = time.perf_counter() - start
            outcomes.append(outcome_of(returned, [*part.cell, "seed"], seconds))
        except (Exception, SystemExit) as error:
            outcomes.append(failure(error, time.perf_counter() - start))
    return outcomes


def _outcomes(call: Call, results: list[Any], seconds: float) -> list[Outcome]:
    if len(results) != len(call.seeds):
        raise ValueError(
            f"the batch returned {len(results)} results for {len(call.seeds)} seeds: "
            "return one each."
        )
    if call.along is not None:
        results = [result for found in results for result in _of_each_value(call, found)]
    share = seconds / len(results)
    return [outcome_of(result, [*call.cell, "seed"], share) for result in results]


def _of_each_value(call: Call, found: Sequence[Any]) -> list[Any]:
    """The results of one seed, as many as there are values."""
    match found:
        case [*results] if len(results) == len(call.values):
            return results
        case _:
            raise ValueError(
                f"the batch did not return a list of {len(call.values)} results for a seed: "
                f"return one result for each value of {call.along!r}."
            )
