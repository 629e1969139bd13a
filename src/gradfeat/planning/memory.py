"""Bytes of memory that a worker, and the driver, need in a pass."""

from __future__ import annotations

from ..maths.blocks import CHUNK_BYTES
from .counting import WIDE
from .job import Job
from .rehearsal import RehearsedPass
from .traffic import Traffic

#: Scratch of a statistic, in chunks of the processor's cache.
SCRATCH = 6 * CHUNK_BYTES

#: Matrices of a spectrum held at once: itself, its vectors, workspace.
SPECTRUM = 6


def block_bytes(job: Job) -> int:
    """A block of float64 inputs, targets and weights: 8 (d + c + 1) a row."""
    return WIDE * (job.columns + job.outputs + 1) * job.block_rows


def frame_bytes(job: Job) -> int:
    """Rows as they were stored: from Parquet, and as a data frame."""
    return 2 * job.float_bytes * (job.columns + job.outputs) * job.block_rows


def states_alive(one: RehearsedPass, states: int) -> float:
    """So many states, and of a first pass its hashes and the rows that are let in."""
    held = one.sizes.held
    return states * held + (2 * held if one.draws else 0)


def thread_bytes(job: Job, one: RehearsedPass, traffic: Traffic) -> float:
    """A thread of a cluster's worker: it reads and sums a segment, or merges two sums.

    Two blocks and a frame, level + 2 states, the statistic, scratch; or two states as they came
    and as they are merged. The sums of about three segments wait beside it.
    """
    packed, sent = one.sizes.packed, one.sizes.sent
    rows = 2 * block_bytes(job) + frame_bytes(job)
    fold = rows + states_alive(one, min(traffic.level + 2, 1 + job.pieces)) + packed + SCRATCH
    join = 3 * packed + states_alive(one, 2)
    return max(fold, join) + 2 * sent + 3 * packed


def lane_bytes(job: Job, one: RehearsedPass) -> float:
    """A thread of this process that computes, with the one that reads for it: three blocks.

    One is computed, one waits, one is read; a state is summed, and another waits to be merged.
    """
    rows = min(3, job.pieces) * block_bytes(job) + frame_bytes(job)
    return rows + states_alive(one, 2) + SCRATCH


def merging_bytes(job: Job, one: RehearsedPass, groups: int) -> float:
    """Where sums are merged: one state for each level of the tree, the total, the statistic."""
    levels = max(1, groups).bit_length()
    del job
    return (levels + 2) * one.sizes.held + one.sizes.sent


def solving_bytes(one: RehearsedPass) -> int:
    """Of the spectra after the pass."""
    side = round(max(one.sizes.spectra, default=0))
    return SPECTRUM * WIDE * side * side


def worker_bytes(job: Job, one: RehearsedPass, traffic: Traffic, base: float) -> float:
    """Of one worker; of this process where it is the only one."""
    if job.on_cluster:
        return base + job.threads * thread_bytes(job, one, traffic)
    own = job.threads * lane_bytes(job, one)
    return base + max(own + merging_bytes(job, one, traffic.groups), solving_bytes(one))


def asking_bytes(job: Job, one: RehearsedPass, traffic: Traffic, base: float) -> float:
    """Of the driver, which merges the last sums and solves."""
    if not job.on_cluster:
        return worker_bytes(job, one, traffic, base)
    return base + max(merging_bytes(job, one, traffic.groups), solving_bytes(one))
