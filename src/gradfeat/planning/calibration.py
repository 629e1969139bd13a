"""The figures of a plan, measured on this machine in seconds, or given."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..maths.memory import available_memory
from ..rows.blas import one_thread
from . import flops
from .figures import Figure, Figures, PassFigures
from .job import Job, PlanError
from .kinds import WIDE, Kind, Shape
from .measure import link_rate, product_rate, read_times, resident, sample_time, spectrum_time
from .passes import passes_of
from .trial import try_kind

#: Seconds that a calibration takes, about; below the second number sides are small.
SECONDS, BRIEF = 5.0, 2.0

#: Sides of a trial at most, and of a spectrum.
SIDE, SPECTRUM_SIDE = 2048, 1024

#: Where nothing is measured: share of the peak of products, bytes a second of memory by one thread,
#: bytes of a process.
SHARE, MEMORY_RATE, BASE = 0.6, 4e9, 400 * 10**6


@dataclass(frozen=True)
class Given:
    """Figures that are given in place of measured ones; SI units.

    Attributes
    ----------
    peak : float, optional
        Matrix products of one thread, operations a second.
    storage : float, optional
        Bytes a second that the storage delivers, to all workers together.
    network : float, optional
        Bytes a second of a link.

    Raises
    ------
    PlanError
        For what is not positive.
    """

    peak: float | None = None
    storage: float | None = None
    network: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 < value < float("inf"):
                raise PlanError(f"{name} is {value:g}: give a positive number.")


def kinds_of(job: Job) -> list[tuple[Kind, Shape]]:
    """The kinds of passes of a job, each once."""
    return list(dict.fromkeys((p.kind, p.shape) for p in passes_of(job)))


def calibrate(job: Job, given: Given = Given(), seconds: float = SECONDS) -> Figures:
    """Measure what is not given: the real statistics on random rows, one thread each.

    Sides beyond 2,048 are tried at 2,048 and scaled by the formulas of the passes.

    Parameters
    ----------
    job : Job
        What is to be planned.
    given : Given
        What is known already; a given peak scales the measured times of products.
    seconds : float
        To take, about.

    Examples
    --------
    >>> figures = calibrate(Job(rows=1000, columns=3, method="linear"), seconds=0.01)
    >>> figures.peak.origin, figures.peak.value > 0
    ('measured', True)
    """
    kinds, brief = kinds_of(job), seconds < BRIEF
    with one_thread():
        peak = product_rate(128 if brief else 1024)
        each = 0.6 * seconds / len(kinds)
        tried = {(k, s): _tried(k, s, job, each, peak) for k, s in kinds}
        side = max((n for p in passes_of(job) for n in p.spectra), default=1)
        spectrum = spectrum_time(min(side, 128 if brief else SPECTRUM_SIDE))
        sample = sample_time(job)
    read, read_cpu = read_times(job)
    factor = 1.0 if given.peak is None else peak / given.peak
    return Figures(
        _or_given(given.peak, peak, "operations/s", "float64 products, one thread"),
        {key: found.scaled(factor, 1.0) for key, found in tried.items()},
        Figure(read, "s/row", "measured", "Parquet in the page cache"),
        Figure(read_cpu, "s/row", "measured", "processor time of reading"),
        _storage(given),
        _network(given, job),
        Figure(spectrum, "s/side^3", "measured", "symmetric matrix, one thread"),
        Figure(sample, "s", "measured", "sorted and tested"),
        _base(),
        Figure(float(available_memory()), "bytes", "measured", "here"),
        os.cpu_count() or 1,
    )


def assumed(job: Job, given: Given) -> Figures:
    """No measurement: given rates, and shares of them that are assumed.

    Products reach 60 % of the peak; other work goes through memory at 4 GB/s a thread.

    Raises
    ------
    PlanError
        Where a rate is missing that nothing can be assumed for.

    Examples
    --------
    >>> job = Job(rows=1000, columns=3, method="linear")
    >>> assumed(job, Given(peak=1e10)).peak.origin
    'given'
    """
    if given.peak is None:
        raise PlanError("without a calibration give --rate, the GFLOPS of one thread.")
    if given.network is None and job.on_cluster:
        raise PlanError("without a calibration give --network, the MB/s of a link.")
    read = 4 * WIDE * (job.columns + job.outputs) / MEMORY_RATE
    size = min(job.rows, 22_000) * (job.columns + job.outputs)
    return Figures(
        Figure(given.peak, "operations/s", "given", "float64 products, one thread"),
        {(k, s): _assumed(k, s, given.peak) for k, s in kinds_of(job)},
        Figure(read, "s/row", "assumed", "four times through memory"),
        Figure(read, "s/row", "assumed", "processor time of reading"),
        _storage(given),
        None if given.network is None else Figure(given.network, "bytes/s", "given", "a link"),
        Figure(flops.eigenvalues(1) / (0.3 * given.peak), "s/side^3", "assumed"),
        Figure(1e-6 * size, "s", "assumed", "a microsecond a number"),
        Figure(float(BASE), "bytes", "assumed", "of a process"),
        Figure(float(available_memory()), "bytes", "measured", "here"),
        os.cpu_count() or 1,
    )


def _tried(kind: Kind, s: Shape, job: Job, seconds: float, peak: float) -> PassFigures:
    small = s.capped(SIDE)
    found = try_kind(kind, small, job.block_rows, seconds, peak)
    row = (kind.flops(s) + 10 * kind.touched(s)) / (kind.flops(small) + 10 * kind.touched(small))
    return found.scaled(row, kind.held(s) / kind.held(small))


def _assumed(kind: Kind, s: Shape, peak: float) -> PassFigures:
    row = kind.flops(s) / (SHARE * peak) + WIDE * kind.touched(s) / MEMORY_RATE
    state = kind.held(s) / MEMORY_RATE
    return PassFigures(row, state, 3 * state, 2 * state, 2 * state, kind.flops(s) / row / peak)


def _or_given(given: float | None, measured: float, unit: str, about: str) -> Figure:
    if given is not None:
        return Figure(given, unit, "given", about)
    return Figure(measured, unit, "measured", about)


def _storage(given: Given) -> Figure | None:
    if given.storage is None:
        return None
    return Figure(given.storage, "bytes/s", "given", "storage, all workers together")


def _network(given: Given, job: Job) -> Figure | None:
    if not job.on_cluster:
        return None
    if given.network is not None:
        return Figure(given.network, "bytes/s", "given", "a link")
    return Figure(link_rate(), "bytes/s", "measured", "this machine with itself: optimistic")


def _base() -> Figure:
    if (held := resident()) is None:
        return Figure(float(BASE), "bytes", "assumed", "of a process")
    return Figure(float(held), "bytes", "measured", "of this process")
