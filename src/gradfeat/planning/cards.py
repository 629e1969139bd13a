"""Graphics cards by their published rates; nothing of it is measured here."""

from __future__ import annotations

from dataclasses import dataclass

from .counting import WIDE
from .job import Job, PlanError
from .rates import PassRates
from .rehearsal import PassSizes

#: Share of the published peak that products are assumed to reach, of memory and of the bus.
EFFICIENCY, MEMORY_SHARE, BUS_SHARE = 0.6, 0.7, 0.8


@dataclass(frozen=True)
class Card:
    """A card: operations and bytes a second, bytes."""

    name: str
    #: Peak of matrix products, of tensor cores where there are such for the type.
    float64: float
    float32: float
    memory: float  # bytes
    memory_rate: float  # bytes a second
    bus: float  # bytes a second from the host, one direction


#: Source: NVIDIA data sheets: V100 (2020, SXM2), A100 80GB (2021, SXM), H100 (2023, SXM), H200
#: (2024, SXM), L40S (2023; float64 at 1/64 of float32, Ada whitepaper); AMD Instinct MI300X (2023).
#: float64 of A100, H100, H200 and MI300X is that of their matrix cores. The bus is PCIe 3.0, 4.0 or
#: 5.0 x16: 16, 32 or 64 GB/s a direction.
CARDS = {
    "v100": Card("V100", 7.8e12, 15.7e12, 32e9, 0.9e12, 16e9),
    "a100": Card("A100", 19.5e12, 19.5e12, 80e9, 2.039e12, 32e9),
    "h100": Card("H100", 67e12, 67e12, 80e9, 3.35e12, 64e9),
    "h200": Card("H200", 67e12, 67e12, 141e9, 4.8e12, 64e9),
    "l40s": Card("L40S", 1.43e12, 91.6e12, 48e9, 0.864e12, 32e9),
    "mi300x": Card("MI300X", 163.4e12, 163.4e12, 192e9, 5.3e12, 64e9),
}


def card_of(name: str) -> Card:
    if (found := CARDS.get(name.lower())) is None:
        raise PlanError(f"gpu is {name!r}: give one of {', '.join(CARDS)}.")
    return found


def card_rates(card: Card, sizes: PassSizes, here: PassRates) -> PassRates:
    """Seconds of a kind of pass on a card; sums are merged by the host, as measured here.

    A row takes flops / (0.6 peak) + bytes / (0.7 memory rate): products are followed, not
    overlapped, by what works on single numbers. Gram matrices are computed whole.

    Examples
    --------
    >>> from gradfeat.planning.rehearsal import rehearsed
    >>> job, here = Job(rows=100, columns=50), PassRates(1.0, 1.0, 1.0, 1.0, 1.0)
    >>> 0 < card_rates(card_of("a100"), rehearsed(job).passes(job)[-1].sizes, here).row < 1e-6
    True
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
