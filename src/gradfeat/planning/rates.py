"""Rates and times that a plan is made of, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .job import PlanError

#: Where a rate comes from.
Origin = Literal["measured", "given", "published", "assumed"]


@dataclass(frozen=True)
class Rate:
    """A number with its unit and origin."""

    value: float
    unit: str
    origin: Origin
    about: str = ""


@dataclass(frozen=True)
class PassRates:
    """Seconds of one thread in a kind of pass, and of one thread with a state of it."""

    row: float  # to add a row
    start: float  # to begin a piece: a state of no rows, its memory touched for the first time
    #: Of two states, to what is sent, and back.
    merge: float
    pack: float
    unpack: float
    share: float = 0.0  # of the peak of matrix products, reached by the products of a row

    def scaled(self, row: float, state: float) -> PassRates:
        """For a shape whose rows and states are so many times as large."""
        return PassRates(
            self.row * row,
            self.start * state,
            self.merge * state,
            self.pack * state,
            self.unpack * state,
            self.share,
        )


@dataclass(frozen=True)
class Rates:
    """All that a plan is made of."""

    peak: Rate  # products of float64 matrices by one thread, in operations a second
    passes: tuple[PassRates, ...]  # of every pass of the job, in order
    #: Seconds to read and convert a row by one thread, and processor seconds.
    read_row: Rate
    read_row_cpu: Rate
    #: Bytes a second that the storage delivers to all workers together; None: no bound.
    storage: Rate | None
    network: Rate | None  # bytes a second of one link; None where nothing is sent
    #: Seconds of the spectrum of a symmetric matrix of side m, over m^3, where the plan is made.
    spectrum: Rate
    sample: Rate  # seconds to sort and test the sample of rows, where the plan is made
    base: Rate  # bytes of a process that has computed nothing yet
    free: Rate  # bytes of memory that are free here
    cores: int  # processors here

    def listed(self) -> dict[str, Rate]:
        """Those that are single numbers and come in, by name."""
        found = {
            "peak": self.peak,
            "reading": self.read_row,
            "spectrum": self.spectrum,
            "sample": self.sample,
            "base memory": self.base,
            "free memory": self.free,
        }
        more = {"network": self.network, "storage": self.storage}
        return found | {name: rate for name, rate in more.items() if rate is not None}

    @property
    def link(self) -> float:
        """Bytes a second of one link; endless where nothing is sent."""
        return float("inf") if self.network is None else self.network.value


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
