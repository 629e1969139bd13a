"""How a pass is divided among workers, what they send and hold: the rules of the engines."""

from __future__ import annotations

from dataclasses import dataclass

from ..maths.blocks import CHUNK_BYTES
from ..maths.limits import allowed_bytes
from ..models.search.search import FAST
from ..models.solvers.direct import Adaptive
from ..rows.engine import level_for
from ..rows.on_workers import EACH_ON_CLUSTER
from .counting import WIDE
from .job import Job
from .rehearsal import RehearsedPass

#: Scratch of a statistic, in chunks of the processor's cache.
SCRATCH = 6 * CHUNK_BYTES

#: Rows of a table that a fit holds: those that settings are searched on, and those tested on.
TABLE_ROWS = 72_000

#: Share of the rows that a method is fitted to, and how many of them are held at most.
TRAINING, TRAINING_ROWS = 0.75, 22_000

#: Arrays of features of the rows of a trial that its fit holds: those that it learns from and is
#: judged by, centred, and what their factorisation takes.
TRIAL_ARRAYS = 8

#: Matrices of a spectrum held at once: itself, its vectors, workspace.
SPECTRUM = 6


@dataclass(frozen=True)
class Traffic:
    """Segments, merges, bytes and tasks of a pass."""

    level: int  # a segment, which is summed in one go, has 2^level pieces
    folds: int  # segments, whose sums are merged where the plan is made
    merges: int  # of two states
    arriving: int = 0  # bytes of sums to the driver
    sent: int = 0  # bytes of the statistic to workers
    tasks: int = 0  # that the scheduler of a cluster handles

    @property
    def network(self) -> int:
        return self.arriving + self.sent


def traffic_of(job: Job, one: RehearsedPass) -> Traffic:
    pieces = job.pieces
    if not job.on_cluster:
        return Traffic(0, pieces, pieces - 1)
    level = level_for(pieces, job.slots, EACH_ON_CLUSTER)
    folds = -(-pieces // (1 << level))
    packed, sent = round(one.sizes.packed), round(one.sizes.sent)
    return Traffic(level, folds, pieces - 1, folds * packed, sent * job.workers, 1 + folds)


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


def merging_bytes(one: RehearsedPass, traffic: Traffic) -> float:
    """Where sums are merged: one state for each level of the tree, the total, the statistic."""
    levels = max(1, traffic.folds).bit_length()
    return (levels + 2) * one.sizes.held + one.sizes.sent


def held_bytes(job: Job) -> int:
    """Where the fit was asked for: rows that it holds, and features of them in a search.

    What a search had is not given back before the passes.
    """
    rows = min(job.rows, TABLE_ROWS) * (job.columns + job.outputs)
    trial = WIDE * (rows + TRIAL_ARRAYS * min(job.rows, FAST.rows) * job.m)
    return trial + matrix_bytes(job, allowed_bytes(None))


def matrix_bytes(job: Job, allowed: int) -> int:
    """Kernel matrices where all rows to fit are held; centres where one is beyond `allowed`.

    >>> matrix_bytes(Job(rows=4000, columns=20, method="kernel"), 10**9)
    72000000
    """
    n = round(TRAINING * job.rows)
    one = WIDE * n * n
    if n > TRAINING_ROWS or one > allowed:
        return 0
    # An RFM keeps its tiles too, which the gradient takes up again; it iterates on more rows.
    return {"kernel": one, "rfm": 2 * one if n <= Adaptive.few else 0}.get(job.method, 0)


def solving_bytes(one: RehearsedPass) -> int:
    """Of the spectra after the pass."""
    side = round(max(one.sizes.spectra, default=0))
    return SPECTRUM * WIDE * side * side


def worker_bytes(job: Job, one: RehearsedPass, traffic: Traffic, base: float) -> float:
    """Of one worker; of this process where it is the only one."""
    if job.on_cluster:
        return base + job.threads * thread_bytes(job, one, traffic)
    own = job.threads * lane_bytes(job, one) + merging_bytes(one, traffic)
    return base + held_bytes(job) + max(own, solving_bytes(one))


def asking_bytes(job: Job, one: RehearsedPass, traffic: Traffic, base: float) -> float:
    """Of the driver, which merges the last sums and solves."""
    if not job.on_cluster:
        return worker_bytes(job, one, traffic, base)
    return base + held_bytes(job) + max(merging_bytes(one, traffic), solving_bytes(one))
