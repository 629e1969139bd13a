"""Kernel machines on Nystrom centres, fitted to rows that are streamed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import SourceError
from ..maths.blocks import CHUNK_BYTES, Block, collect
from ..maths.limits import refuse_beyond
from ..maths.statistics.combined import Joint
from ..maths.statistics.gradient_sums import GradientOuterProducts
from ..maths.statistics.moments import Moments, raw
from ..maths.statistics.sample import RowSample
from ..rows.rows import Rows
from .base import Kernel
from .predictors import KernelMachine, apply_metric
from .solvers.base import Meter, Solver, System
from .solvers.direct import Adaptive
from .solvers.nystrom import Nystrom
from .solvers.nystrom_direct import (
    CANDIDATES,
    SCRATCH,
    SQUARES,
    NystromDirect,
    centre_factor,
    expansion,
    pivots,
)


@final
@dataclass(frozen=True, eq=False)
class NystromFeatures:
    """phi(x) = T^{-T} k(Z, A x) in the place of x, in float64: phi(x).phi(z) is near k(A x, A z).

    `Z` (m, d): Centres in coordinates A x.
    `T` (m, m): Upper triangular, T^T T = k(Z, Z).
    `A` (d, d) or (d,): Square root of the metric.
    """

    kernel: Kernel
    Z: Float[Tensor, "m d"]
    T: Float[Tensor, "m m"]
    A: Tensor

    @cached_property
    def _copies(self) -> dict[torch.device, tuple[Tensor, Tensor, Tensor]]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return NystromFeatures, (self.kernel, self.Z, self.T, self.A)

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Z, T and A there; copied once, as T may be large."""
        if device not in self._copies:
            self._copies[device] = (self.Z.to(device), self.T.to(device), self.A.to(device))
        return self._copies[device]

    def scratch_per_row(self) -> int:
        """Bytes of a kernel row, of its features and of what they are multiplied from."""
        return (self.kernel.scratch + 3) * len(self.Z) * self.Z.element_size()

    def __call__(self, rows: Block) -> Block:
        Z, T, A = self._on(rows.X.device)
        K = self.kernel(apply_metric(rows.X.double(), A), Z)
        phi = torch.linalg.solve_triangular(T, K, upper=True, left=False)
        return Block(phi, rows.y.double(), rows.w.double())


@final
@dataclass(frozen=True, eq=False)
class ExpansionGradient:
    """Gradient of sum_j c_j k(z_j, u) at u = A x, in the float type of x.

    `Z, c` (m, d), (m, k): Centres in coordinates A x, and their coefficients.
    `A` (d, d) or (d,): Square root of the metric.
    """

    kernel: Kernel
    Z: Float[Tensor, "m d"]
    c: Float[Tensor, "m k"]
    A: Tensor

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n k d"]:
        return self.kernel.gradient(apply_metric(X, self.A.to(X)), self.Z.to(X), self.c.to(X))


#: Rows that products with all centres are made for at once, where scratch allows.
LEAST_ROWS = 256
#: Pieces of a source that does not tell how many there are.
UNKNOWN_PIECES = 2**10


def centres_of(solver: Solver) -> NystromDirect:
    """What a solver comes to on rows that are streamed: centres, solved from sums over rows."""
    match solver:
        case NystromDirect():
            return solver
        case Nystrom(centres=centres, memory_limit=limit):
            return NystromDirect(centres, limit)
        case Adaptive(memory_limit=limit):
            return NystromDirect(memory_limit=limit)
    raise ValueError(
        f"the solver {type(solver).__name__} needs all n x n kernel values, which streamed rows "
        "do not allow: use solver=NystromDirect(centres=...), or hold the rows in memory."
    )


@final
@dataclass(frozen=True, eq=False)
class NystromRows:
    """Rows that are streamed, and those of them among which centres are drawn.

    `sample`: A random sample of them, on the CPU, in their float type.
    `known`: Number of rows, where it was counted.
    `seed`: Draws the centres.
    """

    rows: Rows
    sample: Block
    known: int | None
    seed: int

    @cached_property
    def count(self) -> int:
        """Number of rows of positive weight; takes a pass where it is not known."""
        if self.known is not None:
            return self.known
        if self.rows.known is not None:
            return int(self.rows.known.count)
        return int(self.rows.collect(Moments(one_column), "number of rows").count)

    def ridge(
        self, kernel: Kernel, alpha: float, solver: NystromDirect, A: Tensor, label: str
    ) -> KernelMachine:
        """min_c sum_i w_i |y_i - mean y - sum_j c_j k(A z_j, A x_i)|^2 + alpha c^T K_mm c.

        One pass, named `label`. With K_mm = T^T T and features phi(x) = T^{-T} k(Z, x): (Phi^T W
        Phi + alpha I) theta = Phi^T W (y - mean y), c = T^{-1} theta; centres Z by randomly pivoted
        Cholesky among the sample, as many as `solver` says.
        """
        system = System(kernel, apply_metric(self.sample.X, A), self.sample.y, alpha)
        chosen = pivots(system, self._centres(system, solver), self.seed, Meter(len(system.X)))
        Z = self.sample.X[chosen]
        wide = apply_metric(Z.double(), A.double())
        features = NystromFeatures(kernel, wide, centre_factor(system, wide), A.double())
        m = self.rows.collect(Moments(features, row_bytes(features.scratch_per_row())), label)
        c, _ = expansion(features.T, raw(m).xx, m.xy, alpha)
        # In the order of rows, as other processes get it: the order decides on rounding.
        return KernelMachine(kernel, Z, c.to(Z).contiguous(), m.mean_y.to(Z), A)

    def _centres(self, system: System, solver: NystromDirect) -> int:
        """How many at most; the states of pieces that wait to be merged count as memory."""
        squares = SQUARES + (self.rows.source.count or UNKNOWN_PIECES).bit_length() + 1
        n = self.count if solver.centres is None else None
        m = solver.count(system, n, squares)
        what = f"Nystrom with {m:,} centres on streamed rows"
        instead = "ask for fewer centres or raise memory_limit"
        refuse_beyond(solver.bytes(system, m, squares), solver.memory_limit, what, instead)
        return m

    def agop(
        self, machine: KernelMachine, most: int | None, *, centre: bool, label: str
    ) -> Float[Tensor, "d d"]:
        """AGOP (float64) of `machine` in coordinates A x: of all rows, or `most` of the sample."""
        gradient = ExpansionGradient(
            machine.kernel, apply_metric(machine.Z, machine.A), machine.c, machine.A
        )
        scratch = row_bytes(machine.scratch_per_row())
        products = GradientOuterProducts(gradient, scratch, centre)
        if most is None:
            return self.rows.collect(products, label)
        return collect(products, [self.sample.at(slice(most))])


def sampled(rows: Rows, size: int = CANDIDATES, seed: int = 0) -> NystromRows:
    """Rows and a sample of them: the one they carry, or `size` rows by their hash, in a pass."""
    known, found = None, rows.sample
    if found is None:
        both = Joint((RowSample(size, seed), Moments(one_column)))
        found, moments = rows.collect(both, "sample")
        known = int(moments.count)
    if not len(found.X):
        raise SourceError("no row has a positive weight: give at least one.")
    return NystromRows(rows, Block(found.X.cpu(), found.y.cpu(), found.w.cpu()), known, seed)


def one_column(rows: Block) -> Block:
    """Rows with their first input alone: to count them."""
    return Block(rows.X[:, :1], rows.y, rows.w)


def row_bytes(scratch: int) -> int:
    """Bytes that a statistic is told a row takes, which takes `scratch`.

    Products with many centres are slow for few rows: where as many as fit in a processor's cache
    are fewer than 256, there are 256 in a chunk, or what 64 MB hold.
    """
    rows = max(1, CHUNK_BYTES // scratch, min(LEAST_ROWS, SCRATCH // scratch))
    return CHUNK_BYTES // rows
