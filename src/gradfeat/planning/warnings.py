"""Warnings of a plan: what is too large or idle, and what to change."""

from __future__ import annotations

from ..maths.memory import readable
from .job import Job
from .traffic import Traffic


def warnings_of(
    job: Job,
    needed: float,
    asking: float,
    traffic: Traffic,
    free: float,
    memory: float | None,
) -> tuple[str, ...]:
    """Sentences on memory and idle threads; `asking` is what the driver needs, in bytes.

    Examples
    --------
    >>> job = Job(rows=10**6, columns=5, method="linear")
    >>> warnings_of(job, 2e9, 2e9, Traffic(0, 16, 16, 15, 0, 0, 0, 0), 4e9, 1e9)
    ('a worker needs 2 GB and 1 GB are given: take smaller pieces (--piece-rows).',)
    """
    allowed = free if memory is None else memory
    said = []
    if needed > allowed:
        have = "are free here" if memory is None else "are given"
        said.append(
            f"a worker needs {readable(needed)} and {readable(allowed)} {have}: "
            f"take {_remedies(job)}."
        )
    if job.on_cluster and asking > free:
        said.append(
            f"the driver needs {readable(asking)} to merge and solve, and "
            f"{readable(free)} are free here: give a smaller width, or run it on a larger machine."
        )
    if traffic.folds < job.slots:
        said.append(
            f"there are {traffic.folds:,} segments for {job.slots:,} threads, so "
            f"{job.slots - traffic.folds:,} have nothing to do: take smaller pieces "
            "(--piece-rows) or fewer workers."
        )
    return tuple(said)


def _remedies(job: Job) -> str:
    found = ["smaller pieces (--piece-rows)"]
    if job.m:
        found.append("a smaller width")
    if job.threads > 1:
        found.append("fewer threads a worker")
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"
