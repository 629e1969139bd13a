"""Rates and times that a plan is made of, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
