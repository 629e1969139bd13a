"""Seconds of a pass by what they are spent on."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from .cards import Card, card_rates, copy_row
from .job import Job
from .rates import PassRates, Rates
from .rehearsal import RehearsedPass
from .traffic import Traffic

#: Seconds of Dask's scheduler for a task.
#: Source: Dask documentation, "Best practices": about a millisecond at most.
TASK = 1e-3

#: Bytes a second at which a worker unpickles the statistic of a task.
LOADING = 2e9

#: How often a fit reads the first piece to see what its rows look like.
LOOKS = 4


@dataclass(frozen=True)
class Times:
    """Seconds of one pass, by what they are spent on."""

    compute: float  # of the busiest thread, with the merges that it makes
    read: float  # of the same thread, or of the storage where that is slower
    copy: float  # to the graphics card
    reduce: float  # states on their way, and their merges in the driver; the scheduler
    driver: float  # after the pass, in the driver
    total: float  # all of it, with what overlaps counted once

    @property
    def bound(self) -> str:
        parts = {
            "compute": self.compute,
            "reading": self.read,
            "copy to the card": self.copy,
            "reduction": self.reduce,
            "driver": self.driver,
        }
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True)
class Share:
    """What the busiest thread does: segments, pieces, rows."""

    segments: int
    pieces: int
    rows: int


def busiest(job: Job, traffic: Traffic) -> Share:
    """Segments are spread evenly, and the last wave is as long as the others."""
    segments = ceil(traffic.folds / job.slots)
    pieces = min(job.pieces, segments << traffic.level)
    return Share(segments, pieces, min(job.rows, pieces * job.piece_rows))


def times_of(
    job: Job,
    one: RehearsedPass,
    traffic: Traffic,
    rates: Rates,
    found: PassRates,
    card: Card | None,
) -> Times:
    """Of one pass, by all bounds."""
    share = busiest(job, traffic)
    copy = 0.0 if card is None or one.draws else share.rows * copy_row(card, job)
    compute = _compute(job, one, traffic, found, share)
    read, parse = share.rows * rates.read_row.value, share.rows * rates.read_row_cpu.value
    storage = 0.0 if rates.storage is None else job.stored_bytes / rates.storage.value
    reduce = _reduce(job, one, traffic, rates, found)
    if job.on_cluster:  # a worker reads and computes in turn, on a processor for each thread
        read = max(min(read, parse) if job.threads > 1 else read, storage)
        work = compute + read + copy
    else:
        cores = max(1, rates.cores)
        shared = 0.0 if copy else (compute + parse) * min(job.threads, cores) / cores
        read = max(read, storage)
        first = job.block_rows * rates.read_row.value  # nothing to compute before it has come
        work = max(compute, read, copy, shared) + first
    driver = _driver(one, rates, found)
    total = max(work, reduce) + _tail(job, one, rates, found) + driver
    return Times(compute, read, copy, reduce, driver, total)


def on_card(one: RehearsedPass, here: PassRates, card: Card | None) -> PassRates:
    """Of a pass where it is computed: the one that draws the sample stays on the processor."""
    return here if card is None or one.draws else card_rates(card, one.sizes, here)


def _compute(
    job: Job, one: RehearsedPass, traffic: Traffic, found: PassRates, share: Share
) -> float:
    rows = share.rows * found.row + share.pieces * found.start
    if not job.on_cluster:
        return rows
    inside = (share.pieces - share.segments) * found.merge + share.segments * found.pack
    joins = ceil((traffic.folds - traffic.groups) / job.slots) * _join(found)
    loads = share.segments * one.sizes.sent / LOADING
    return rows + inside + joins + loads


def _join(found: PassRates) -> float:
    return 2 * found.unpack + found.merge + found.pack


def _reduce(
    job: Job, one: RehearsedPass, traffic: Traffic, rates: Rates, found: PassRates
) -> float:
    """The slowest of the link of the driver, those of the workers, the scheduler."""
    if not job.on_cluster:
        return traffic.merges * found.merge
    link = rates.link
    client = traffic.arriving / link + traffic.groups * (found.unpack + found.merge)
    between = traffic.moved / link / job.workers
    first = one.sizes.sent / link * ceil(log2(job.workers + 1))
    return first + max(client, between, traffic.tasks * TASK)


def _tail(job: Job, one: RehearsedPass, rates: Rates, found: PassRates) -> float:
    """From the last row to the last sum."""
    if not job.on_cluster:
        return found.merge
    way = one.sizes.packed / rates.link
    return 2 * (_join(found) + way) + way + found.unpack + found.merge


def _driver(one: RehearsedPass, rates: Rates, found: PassRates) -> float:
    spectra = sum(side**3 for side in one.sizes.spectra) * rates.spectrum.value
    return spectra + one.sizes.products / rates.peak.value + found.pack + found.unpack
