"""What a worker does: call the trial, time it, and bring back numbers or a traceback."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradfeat.experiments.cells import Cell
from gradfeat.experiments.outcomes import Outcome, outcome_of

#: Of a traceback, so that a store stays small.
LONGEST_ERROR = 20_000


@dataclass(frozen=True)
class Call:
    """One cell, some of its seeds, and what computes them; all that travels to a worker."""

    trial: Callable[..., Any] | None
    batch: Callable[..., Any] | None
    cell: Cell
    seeds: tuple[int, ...]
    device: str | None


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
    """Return an outcome for each seed of a call; errors of the trial are outcomes too.

    Where a batch fails its seeds are computed one by one, so that only the bad ones fail.

    Examples
    --------
    >>> def trial(n, *, seed):
    ...     return {"sum": n + seed}
    >>> [o.metrics for o in compute(Call(trial, None, {"n": 1}, (0, 1), None))]
    ['{"sum": 1}', '{"sum": 2}']
    """
    if call.batch is None or (len(call.seeds) == 1 and call.trial is not None):
        return [_single(call, seed) for seed in call.seeds]
    start = time.perf_counter()
    try:
        return _batched(call, call.seeds, start)
    except (Exception, SystemExit) as error:
        if len(call.seeds) == 1:
            return [failure(error, time.perf_counter() - start)]
        return [_single(call, seed) for seed in call.seeds]


def _device(call: Call) -> dict[str, str]:
    return {} if call.device is None else {"device": call.device}


def _single(call: Call, seed: int) -> Outcome:
    start = time.perf_counter()
    try:
        if call.trial is None:
            return _batched(call, (seed,), start)[0]
        returned = call.trial(**call.cell, seed=seed, **_device(call))
        return outcome_of(returned, [*call.cell, "seed"], time.perf_counter() - start)
    except (Exception, SystemExit) as error:
        return failure(error, time.perf_counter() - start)


def _batched(call: Call, seeds: Sequence[int], start: float) -> list[Outcome]:
    if call.batch is None:
        raise TypeError("there is neither a trial nor a batch")
    results = list(call.batch(**call.cell, seeds=list(seeds), **_device(call)))
    if len(results) != len(seeds):
        raise ValueError(
            f"the batch returned {len(results)} results for {len(seeds)} seeds: return one each."
        )
    share = (time.perf_counter() - start) / len(seeds)
    return [outcome_of(result, [*call.cell, "seed"], share) for result in results]
