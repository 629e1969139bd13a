"""What is to be fitted, to how many rows, by how many workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..rows.source import PIECE_ROWS

#: Methods that pass over rows.
Method = Literal["gradient-features", "random-features", "linear", "rfm", "kernel"]
METHODS: tuple[Method, ...] = get_args(Method)

#: How the penalty of a ridge head is chosen.
PenaltyBy = Literal["gcv", "loo"]

#: Neurons unless a width is given.
WIDTH = 1024

#: Nystrom centres at most, and rows times their square, unless a number is given.
MOST_CENTRES, CENTRE_WORK = 2000, 10**12

#: Largest numbers that are planned for.
LARGEST_ROWS, LARGEST_SIDE = 10**15, 10**6


class PlanError(ValueError):
    """A fit that cannot be planned: one sentence with what came and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A fit by passes.

    >>> job = Job(rows=10**6, columns=50, method="linear", workers=4)
    >>> job.pieces, job.slots, job.stored_bytes
    (16, 4, 204000000)
    """

    #: n, d and c.
    rows: int
    columns: int
    method: Method = "gradient-features"  # one of :data:`METHODS`
    #: m, neurons or Nystrom centres; None: 1,024 neurons, or as many centres as a fit takes.
    width: int | None = None
    outputs: int = 1
    steps: int = 1  # first-layer steps of gradient features
    #: How the penalty of a ridge head is chosen; kernel machines have a given one in passes.
    penalty_by: PenaltyBy = "gcv"
    #: Processes, and threads that compute in each; one worker is this process, more are those of a
    #: Dask cluster.
    workers: int = 1
    threads: int = 1
    float_bytes: int = 4  # bytes of a stored number; all are float64 once they are read
    piece_rows: int = PIECE_ROWS  # rows of a piece

    def __post_init__(self) -> None:
        _check("rows", self.rows, 2, LARGEST_ROWS)
        for name in ("columns", "outputs"):
            _check(name, getattr(self, name), 1, LARGEST_SIDE)
        for name in ("workers", "threads", "piece_rows"):
            _check(name, getattr(self, name), 1, 10**9)
        _check("steps", self.steps, 1, 100)
        _check("float bytes", self.float_bytes, 1, 8)
        if self.method not in METHODS:
            raise PlanError(f"method is {self.method!r}: give one of {', '.join(METHODS)}.")
        if self.width is not None:
            _check("width", self.width, 2, LARGEST_SIDE)
        if self.method == "gradient-features" and self.m % 2:
            raise PlanError(
                f"width is {self.width}: gradient features pair their neurons, give an even number."
            )

    def sized(self, columns: int, features: int, outputs: int) -> Job:
        return replace(self, columns=columns, width=features or None, outputs=outputs)

    @property
    def m(self) -> int:
        """Neurons or centres; 0 of a linear model."""
        match self.method:
            case "linear":
                return 0
            case "rfm" | "kernel":
                return self.width or self._centres
        return self.width or WIDTH

    @property
    def _centres(self) -> int:
        """What :class:`~gradfeat.models.solvers.nystrom_direct.NystromDirect` comes to."""
        most = min(int(10 * self.rows**0.5), MOST_CENTRES, int((CENTRE_WORK / self.rows) ** 0.5))
        return max(1, min(self.rows, most))

    @property
    def pieces(self) -> int:
        return -(-self.rows // self.piece_rows)

    @property
    def block_rows(self) -> int:
        return min(self.rows, self.piece_rows)

    @property
    def slots(self) -> int:
        return self.workers * self.threads

    @property
    def on_cluster(self) -> bool:
        """Whether workers are other processes than the one that asks."""
        return self.workers > 1

    @property
    def stored_bytes(self) -> int:
        """Bytes that a pass reads: every number as it is stored, uncompressed."""
        return self.rows * (self.columns + self.outputs) * self.float_bytes


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        what = "a whole number" if most > 8 else "a number of bytes"
        raise PlanError(f"{name} is {value:,}: give {what} from {least:,} to {most:,}.")
