"""Seconds of a pass by what they are spent on, here and on graphics cards of published rates."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from .counting import WIDE
from .job import Job
from .rates import Card, PassRates, Rates
from .rehearsal import PassSizes, RehearsedPass
from .traffic import Traffic

#: Seconds of Dask's scheduler for a task.
#: Source: Dask documentation, "Best practices": about a millisecond at most.
TASK = 1e-3

#: Bytes a second at which a worker unpickles the statistic of a task.
LOADING = 2e9

#: How often a fit reads the first piece to see what its rows look like.
LOOKS = 4

#: Share of the published peak that products are assumed to reach, of memory and of the bus.
EFFICIENCY, MEMORY_SHARE, BUS_SHARE = 0.6, 0.7, 0.8


def card_rates(card: Card, sizes: PassSizes, here: PassRates) -> PassRates:
    """Seconds of a kind of pass on a card; sums are merged by the host, as measured here.

    A row takes flops / (0.6 peak) + bytes / (0.7 memory rate): products are followed, not
    overlapped, by what works on single numbers. Gram matrices are computed whole.
    """
    work = sizes.whole
    row = work / (EFFICIENCY * card.float64)
    row += WIDE * sizes.touched / (MEMORY_SHARE * card.memory_rate)
    start = sizes.held / (MEMORY_SHARE * card.memory_rate)
    share = work / row / card.float64
    return PassRates(row, start, here.merge, here.pack, here.unpack, share)


def copy_row(card: Card, job: Job) -> float:
    """Seconds to copy a float64 row to the card."""
    return WIDE * (job.columns + job.outputs + 1) / (BUS_SHARE * card.bus)


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
    compute = _compute(job, one, found, share)
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
    spectra = sum(side**3 for side in one.sizes.spectra) * rates.spectrum.value
    driver = spectra + one.sizes.products / rates.peak.value + found.pack + found.unpack
    total = max(work, reduce) + _tail(job, one, rates, found) + driver
    return Times(compute, read, copy, reduce, driver, total)


def on_card(one: RehearsedPass, here: PassRates, card: Card | None) -> PassRates:
    """Of a pass where it is computed: the one that draws the sample stays on the processor."""
    return here if card is None or one.draws else card_rates(card, one.sizes, here)


def _compute(job: Job, one: RehearsedPass, found: PassRates, share: Share) -> float:
    rows = share.rows * found.row + share.pieces * found.start
    if not job.on_cluster:
        return rows
    inside = (share.pieces - share.segments) * found.merge + share.segments * found.pack
    loads = share.segments * one.sizes.sent / LOADING
    return rows + inside + loads


def _reduce(
    job: Job, one: RehearsedPass, traffic: Traffic, rates: Rates, found: PassRates
) -> float:
    """The slowest of the link of the driver, those of the workers, the scheduler."""
    if not job.on_cluster:
        return traffic.merges * found.merge
    link = rates.link
    client = traffic.arriving / link + traffic.folds * (found.unpack + found.merge)
    first = one.sizes.sent / link * ceil(log2(job.workers + 1))
    return first + max(client, traffic.tasks * TASK)


def _tail(job: Job, one: RehearsedPass, rates: Rates, found: PassRates) -> float:
    """From the last row to the last sum."""
    if not job.on_cluster:
        return found.merge
    way = one.sizes.packed / rates.link
    join = 2 * found.unpack + found.merge + found.pack
    return 2 * (join + way) + way + found.unpack + found.merge
