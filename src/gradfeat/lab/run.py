"""Run an experiment: compute what is missing, save each result at once, return the table."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.errors import EngineError, ExperimentError
from gradfeat.lab.cells import coerced, listed
from gradfeat.lab.experiment import Experiment
from gradfeat.lab.store import Store
from gradfeat.lab.sweep import Progress, Sweep
from gradfeat.rows.dask_executor import DaskExecutor
from gradfeat.rows.workers import GivenWorkers, Here, Processes, Workers

if TYPE_CHECKING:
    import pandas as pd


def _check_picklable(name: str, *functions: Callable[..., Any] | None) -> None:
    for function in functions:
        try:
            pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ExperimentError(
                f"the trial of {name!r} cannot be sent to worker processes ({error}): define it at "
                "the top level of a module, or use jobs=1."
            ) from None
        typed_in = getattr(sys.modules["__main__"], "__file__", None) is None
        if function is not None and function.__module__ == "__main__" and typed_in:
            raise ExperimentError(
                f"the trial of {name!r} was typed in and worker processes cannot import it: put "
                "it in a file, or use jobs=1."
            )


@contextlib.contextmanager
def workers_of(experiment: Experiment, executor: Executor | None, jobs: int) -> Iterator[Workers]:
    """Give the workers of a run, and end those that are ours; what fails there is one sentence."""
    if executor is None and jobs > 1:
        _check_picklable(experiment.name, experiment.trial, experiment.batch)
    try:
        with contextlib.closing(_workers(executor, jobs)) as found:
            yield found
    except EngineError as error:
        raise ExperimentError(str(error)) from error


def _workers(executor: Executor | None, jobs: int) -> Workers:
    match executor:
        case None:
            return Processes(jobs, "use jobs=1") if jobs > 1 else Here()
        case DaskExecutor(in_flight=_):  # it knows its workers
            return executor
        case _:
            return GivenWorkers(executor, max(jobs, os.cpu_count() or 1))


@contextlib.contextmanager
def _opened(store: Store | str | os.PathLike[str] | None) -> Iterator[Store]:
    """Give the store; one opened here is closed here."""
    match store:
        case Store():
            yield store
        case _:
            with Store.open(store) as own:
                yield own


def record(
    experiment: Experiment,
    scale: str,
    seeds: int | Sequence[int] | None,
    overrides: Mapping[str, Any],
    device: str,
) -> dict[str, Any]:
    """What was asked for, as plain values that go into `run` again."""
    plain = {
        name: [coerced(name, experiment.factors[name].kind, value) for value in listed(values)]
        for name, values in overrides.items()
    }
    which = None if seeds is None else np.asarray(seeds, dtype=int).tolist()
    return {"scale": scale, "seeds": which, "device": device, "overrides": plain}


def run(
    experiment: Experiment,
    *,
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    jobs: int = 1,
    scale: str = "quick",
    seeds: int | Sequence[int] | None = None,
    device: str = "cpu",
    retry_failed: bool = False,
    arrays: bool = False,
    progress: Callable[[Progress], None] | None = None,
    **overrides: Any,
) -> pd.DataFrame:
    """The table of the requested cells; those that the store lacks are computed.

    A row for each finished cell and seed, in the order of the grid: factors, ``seed``, metrics.
    ``attrs`` hold "experiment", "version", "factors" and "failures" (a list of dicts).

    Every finished result is committed at once: a run that is interrupted or killed goes on where it
    was. A trial that raises is a failure kept in the store with its traceback; the rest goes on.
    Several runs may share a store; none computes what another has or is computing.

    `store`: Where results are kept; None keeps them in memory for this call.
    `executor`: Computes the trials; it is not shut down. Left out: this thread, or processes.
    `jobs`: Worker processes, with one BLAS thread each; about how many workers an `executor` has.
    `scale`: Which grid. `seeds`: How many, or which, instead of those of the scale.
    `device`: Handed to trials that take it. `retry_failed`: Compute earlier failures again.
    `arrays`: Add the arrays to the table, as columns of NumPy arrays.
    `progress`: Called with a `Progress` at the start and after each commit.
    `overrides`: Values, or sequences of them, that replace those of the grid.

    Raises ExperimentError for a request that makes no sense, StoreError for a store that cannot be
    used; what was finished is kept, after Ctrl-C too.

    >>> def trial(n: int, *, seed: int) -> dict[str, float]:
    ...     return {"sum": n + seed}
    >>> demo = Experiment("demo", "What is it?", trial, {"quick": {"n": [1, 2]}}, seeds=2)
    >>> run(demo, n=[1, 5])["sum"].tolist()
    [1, 2, 5, 6]
    """
    if jobs < 1:
        raise ExperimentError(f"jobs is {jobs}: give 1 or more.")
    if device != "cpu" and not experiment.takes_device:
        raise ExperimentError(
            f"experiment {experiment.name!r} runs on the CPU only, and device is {device!r}: leave "
            "device out."
        )
    points = experiment.points(scale, seeds, overrides)
    asked = record(experiment, scale, seeds, overrides, device)
    with _opened(store) as db:
        hire = partial(workers_of, experiment, executor, jobs)
        report = progress or (lambda _: None)
        return Sweep(experiment, db, points, asked, hire, device, retry_failed, report).go(arrays)
