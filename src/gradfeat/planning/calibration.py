"""The rates of a plan, measured on this machine in seconds, or given."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace

from ..estimators.training import sample_rows
from ..maths.limits import available_memory, one_thread
from .counting import WIDE
from .job import Job, PlanError
from .measure import link_rate, product_rate, read_times, resident, sample_time, spectrum_time
from .rates import PassRates, Rate, Rates
from .rehearsal import PassSizes, Rehearsal, rehearsed, timed

#: Seconds that a calibration takes, about; below the second number sides are small.
SECONDS, BRIEF = 5.0, 2.0

#: Most columns and features of a rehearsal, sides of a brief one and of a spectrum (least, most).
COLUMNS, FEATURES, BRIEF_SIDE, SPECTRUM_SIDES = 512, 1024, 32, (64, 1024)

#: Operations that the largest pass of a timed rehearsal takes, about, and numbers of its rows.
FLOPS, BRIEF_FLOPS, MOST_NUMBERS = 5e9, 1e6, 2**22

#: Operations of the spectrum of a symmetric matrix of side m, over m^3: divide and conquer with its
#: reduction and back-transformation. Source: Golub & Van Loan 2013, section 8.3.
SPECTRUM = 9.0

#: Where nothing is measured: share of the peak of products, bytes a second of memory by one thread,
#: bytes of a process.
SHARE, MEMORY_RATE, BASE = 0.6, 4e9, 530 * 10**6


@dataclass(frozen=True)
class Given:
    """Rates that are given in place of measured ones; SI units."""

    peak: float | None = None
    storage: float | None = None
    network: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not 0 < value < float("inf"):
                raise PlanError(f"{name} is {value:g}: give a positive number.")


def calibrate(job: Job, given: Given = Given(), seconds: float = SECONDS) -> Rates:
    """Measure what is not given: the passes of a rehearsal on random rows, in one thread.

    Beyond 512 columns and 1,024 features a rehearsal is smaller, and its seconds are scaled by the
    operations of a row and the bytes of a state. A given peak scales the measured times of
    products.
    """
    base = float(resident())  # before anything is computed
    rehearsal, brief = rehearsed(job), seconds < BRIEF
    with one_thread():
        peak = product_rate(128 if brief else 1024)
        tried = _tried(job, rehearsal, peak, brief=brief)
        sides = [side for one in rehearsal.passes(job) for side in one.sizes.spectra]
        most = 128 if brief else SPECTRUM_SIDES[1]
        spectrum = spectrum_time(round(min(max([SPECTRUM_SIDES[0], *sides]), most)))
        sample = sample_time(job)
    read, read_cpu = read_times(job)
    factor = 1.0 if given.peak is None else peak / given.peak
    products = "operations/s", "float64 products, one thread"
    return Rates(
        _given(given.peak, *products) or Rate(peak, products[0], "measured", products[1]),
        tuple(found.scaled(factor, 1.0) for found in tried),
        Rate(read, "s/row", "measured", "Parquet in the page cache"),
        Rate(read_cpu, "s/row", "measured", "processor time of reading"),
        _storage(given),
        _network(given, job),
        Rate(spectrum, "s/side^3", "measured", "symmetric matrix, one thread"),
        Rate(sample, "s", "measured", "sorted and tested"),
        Rate(base, "bytes", "measured", "of a process that fits"),
        Rate(float(available_memory()), "bytes", "measured", "here"),
        os.cpu_count() or 1,
    )


def assumed(job: Job, given: Given) -> Rates:
    """No measurement: given rates, and shares of them that are assumed.

    Products reach 60 % of the peak; other work goes through memory at 4 GB/s a thread.
    """
    if given.peak is None:
        raise PlanError("without a calibration give --rate, the GFLOPS of one thread.")
    if given.network is None and job.on_cluster:
        raise PlanError("without a calibration give --network, the MB/s of a link.")
    read = 4 * WIDE * (job.columns + job.outputs) / MEMORY_RATE
    size = min(job.rows, sample_rows(job.columns)) * (job.columns + job.outputs)
    return Rates(
        Rate(given.peak, "operations/s", "given", "float64 products, one thread"),
        tuple(_assumed(one.sizes, given.peak) for one in rehearsed(job).passes(job)),
        Rate(read, "s/row", "assumed", "four times through memory"),
        Rate(read, "s/row", "assumed", "processor time of reading"),
        _storage(given),
        _given(given.network, "bytes/s", "a link"),
        Rate(SPECTRUM / (0.3 * given.peak), "s/side^3", "assumed"),
        Rate(1e-6 * size, "s", "assumed", "a microsecond a number"),
        Rate(float(BASE), "bytes", "assumed", "of a process"),
        Rate(float(available_memory()), "bytes", "measured", "here"),
        os.cpu_count() or 1,
    )


def _tried(job: Job, rehearsal: Rehearsal, peak: float, *, brief: bool) -> list[PassRates]:
    """Seconds of each pass, by one rehearsal at the size of the job or a smaller one."""
    small = job.sized(
        min(job.columns, BRIEF_SIDE if brief else COLUMNS),
        min(job.m, BRIEF_SIDE if brief else FEATURES),
        job.outputs,
    )
    here = rehearsal.at(small)
    rows = int((BRIEF_FLOPS if brief else FLOPS) / max(1.0, *(one.flops for one in here)))
    rows = max(1, min(rows, job.piece_rows, MOST_NUMBERS // small.columns))
    found = []
    for one, tried, seen in zip(rehearsal.passes(job), here, timed(small, rows), strict=True):
        row, state = _work(one.sizes) / _work(tried), one.sizes.held / tried.held
        share = tried.flops / max(seen.row, 1e-12) / peak
        found.append(replace(seen, share=share).scaled(row, state))
    return found


def _work(s: PassSizes) -> float:
    """Operations of a row, numbers that go through memory counted tenfold."""
    return s.flops + 10 * s.touched


def _assumed(s: PassSizes, peak: float) -> PassRates:
    row, state = s.flops / (SHARE * peak) + WIDE * s.touched / MEMORY_RATE, s.held / MEMORY_RATE
    return PassRates(row, state, 3 * state, 2 * state, 2 * state, s.flops / row / peak)


def _given(value: float | None, unit: str, about: str) -> Rate | None:
    return None if value is None else Rate(value, unit, "given", about)


def _storage(given: Given) -> Rate | None:
    return _given(given.storage, "bytes/s", "storage, all workers together")


def _network(given: Given, job: Job) -> Rate | None:
    if not job.on_cluster:
        return None
    known = _given(given.network, "bytes/s", "a link")
    return known or Rate(link_rate(), "bytes/s", "measured", "this machine with itself: optimistic")
