"""Rates and times that a plan is made of, each with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .kinds import Kind, Shape

#: Where a figure comes from.
Origin = Literal["measured", "given", "published", "assumed"]


@dataclass(frozen=True)
class Figure:
    """A number with its unit and origin."""

    value: float
    unit: str
    origin: Origin
    about: str = ""


@dataclass(frozen=True)
class PassFigures:
    """Seconds of one thread in a kind of pass, and of one thread with a state of it.

    Attributes
    ----------
    row : float
        To add a row.
    start : float
        To begin a piece: a state of no rows, its memory touched for the first time.
    merge, pack, unpack : float
        Of two states, to what is sent, and back.
    share : float
        Of the peak of matrix products, reached by the products of a row.
    """

    row: float
    start: float
    merge: float
    pack: float
    unpack: float
    share: float

    def scaled(self, row: float, state: float) -> PassFigures:
        """For a shape whose rows and states are so many times as large."""
        return PassFigures(
            self.row * row,
            self.start * state,
            self.merge * state,
            self.pack * state,
            self.unpack * state,
            self.share,
        )


@dataclass(frozen=True)
class Figures:
    """All that a plan is made of.

    Attributes
    ----------
    peak : Figure
        Products of float64 matrices by one thread, in operations a second.
    passes : mapping of (Kind, Shape) to PassFigures
        Of every kind of pass of the job, at the shape of the job.
    read_row, read_row_cpu : Figure
        Seconds to read and convert a row by one thread, and processor seconds.
    storage : Figure or None
        Bytes a second that the storage delivers to all workers together; None: no bound.
    network : Figure or None
        Bytes a second of one link; None where nothing is sent.
    spectrum : Figure
        Seconds of the spectrum of a symmetric matrix of side m, over m^3, where the plan is made.
    sample : Figure
        Seconds to sort and test the sample of rows, where the plan is made.
    base : Figure
        Bytes of a process that has computed nothing yet.
    free : Figure
        Bytes of memory that are free here.
    cores : int
        Processors here.
    """

    peak: Figure
    passes: Mapping[tuple[Kind, Shape], PassFigures]
    read_row: Figure
    read_row_cpu: Figure
    storage: Figure | None
    network: Figure | None
    spectrum: Figure
    sample: Figure
    base: Figure
    free: Figure
    cores: int

    def listed(self) -> dict[str, Figure]:
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
        return found | {name: figure for name, figure in more.items() if figure is not None}

    @property
    def link(self) -> float:
        """Bytes a second of one link; endless where nothing is sent."""
        return float("inf") if self.network is None else self.network.value
