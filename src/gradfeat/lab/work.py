"""What a worker does: call the trial, time it, and bring back numbers or a traceback."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradfeat.lab.cells import Cell, Value
from gradfeat.lab.outcomes import Outcome, outcome_of

#: Of a traceback, so that a store stays small.
LONGEST_ERROR = 20_000


@dataclass(frozen=True)
class Call:
    """Results computed together, and what computes them; all that travels to a worker.

    They are those of one cell at some seeds; where `along` names a factor, at each seed those of
    all `values` of it, whatever value the cell holds.
    """

    trial: Callable[..., Any] | None
    batch: Callable[..., Any] | None
    cell: Cell
    seeds: tuple[int, ...]
    device: str | None
    along: str | None = None
    values: tuple[Value, ...] = ()

    def parts(self) -> list[Call]:
        """Return a call for each result, seed by seed.

        Examples
        --------
        >>> call = Call(None, print, {"n": 1, "eta": 0}, (5, 6), None, "eta", (0, 1))
        >>> [(part.cell["eta"], part.seeds) for part in call.parts()]
        [(0, (5,)), (1, (5,)), (0, (6,)), (1, (6,))]
        """
        if self.along is None:
            return [replace(self, seeds=(seed,)) for seed in self.seeds]
        return [
            replace(self, cell={**self.cell, self.along: value}, seeds=(seed,), values=(value,))
            for seed in self.seeds
            for value in self.values
        ]


def failure(error: BaseException, seconds: float) -> Outcome:
    """Return the outcome of an error: its traceback without the frames of this file.

    Examples
    --------
    >>> failure(ValueError("no"), 0.0).error
    'ValueError: no'
    """
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
        frame = frame.tb_next
    lines = traceback.format_exception(type(error), error, frame)
    return Outcome("{}", (), "".join(lines).strip()[-LONGEST_ERROR:], seconds)


def broken(cell: Cell, seed: int) -> Outcome:
    """Return the outcome of a trial whose worker died.

    Examples
    --------
    >>> broken({"n": 1}, 0).error[:24]
    'the worker process died '
    """
    text = (
        f"the worker process died twice at {cell} with seed {seed}, alone the second time: killed "
        "for its memory, or crashed; make the cell smaller or run fewer jobs"
    )
    return Outcome("{}", (), text, 0.0)


def compute(call: Call) -> list[Outcome]:
    """Return an outcome for each part of a call; errors of the trial are outcomes too.

    Where a batch fails its parts are computed one by one, so that only the bad ones fail.

    Examples
    --------
    >>> def trial(n, *, seed):
    ...     return {"sum": n + seed}
    >>> [o.metrics for o in compute(Call(trial, None, {"n": 1}, (0, 1), None))]
    ['{"sum": 1}', '{"sum": 2}']
    """
    parts = call.parts()
    if call.batch is None or (len(parts) == 1 and call.trial is not None):
        return [_single(part) for part in parts]
    start = time.perf_counter()
    try:
        return _batched(call, start)
    except (Exception, SystemExit) as error:
        if len(parts) == 1:
            return [failure(error, time.perf_counter() - start)]
        return [_single(part) for part in parts]


def _device(call: Call) -> dict[str, str]:
    return {} if call.device is None else {"device": call.device}


def _single(part: Call) -> Outcome:
    start = time.perf_counter()
    try:
        if part.trial is None:
            return _batched(part, start)[0]
        returned = part.trial(**part.cell, seed=part.seeds[0], **_device(part))
        return outcome_of(returned, [*part.cell, "seed"], time.perf_counter() - start)
    except (Exception, SystemExit) as error:
        return failure(error, time.perf_counter() - start)


def _batched(call: Call, start: float) -> list[Outcome]:
    if call.batch is None:
        raise TypeError("there is neither a trial nor a batch")
    cell = call.cell if call.along is None else {**call.cell, call.along: list(call.values)}
    results = list(call.batch(**cell, seeds=list(call.seeds), **_device(call)))
    if len(results) != len(call.seeds):
        raise ValueError(
            f"the batch returned {len(results)} results for {len(call.seeds)} seeds: "
            "return one each."
        )
    if call.along is not None:
        results = [result for found in results for result in _of_each_value(call, found)]
    share = (time.perf_counter() - start) / len(results)
    return [outcome_of(result, [*call.cell, "seed"], share) for result in results]


def _of_each_value(call: Call, found: Sequence[Any]) -> list[Any]:
    """Return the results of one seed, as many as there are values."""
    match found:
        case [*results] if len(results) == len(call.values):
            return results
        case _:
            raise ValueError(
                f"the batch did not return a list of {len(call.values)} results for a seed: "
                f"return one result for each value of {call.along!r}."
            )
