"""Nystrom centres: kernel ridge on m points, by preconditioned conjugate gradients (FALKON)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.limits import allowed_bytes, refuse_beyond
from ...maths.linear_algebra import upper_times_transpose
from ...maths.streams import stream
from .base import Meter, Solution, Solver, Stop, System, Watch, refine
from .conjugate_gradients import conjugate_gradients
from .low_rank import upper_factor
from .tiles import Tiles, tile_scratch, vector_bytes


@final
@dataclass(frozen=True)
class Nystrom(Solver):
    """min_c |W^{1/2} (K_nm c - y)|^2 + alpha c^T K_mm c over m centres among the points.

    The normal equations (K_mn W K_nm + alpha K_mm) c = K_mn W y are solved by conjugate gradients
    in b, c = T^{-1} A^{-1} b, with K_mm = T^T T and A^T A = (sum w / m) T T^T + alpha I. Jitter
    that makes K_mm factorisable enters the preconditioner only, never the equations; what they do
    not reach in float32 is solved in float64. Time n m an iteration, memory m^2. With all points as
    centres this is full kernel ridge.

    `centres`: m; None is 10 sqrt(n). All points when there are fewer.
    `tolerance`: On the relative residual of the preconditioned normal equations.

    Source: Rudi, Carratino & Rosasco 2017 (FALKON, arXiv 1705.10958), algorithm 1.

    >>> from gradfeat.models.kernels.radial import Laplace
    >>> X = torch.linspace(0, 1, 200).double()[:, None]
    >>> solution = Nystrom(centres=20).solve(System(Laplace(0.5), X, X**2, 1e-3))
    >>> solution.converged, len(solution.Z)
    (True, 20)
    """

    centres: int | None = None
    tolerance: float = 1e-5
    max_iter: int = 200
    memory_limit: int | None = None

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` draws the centres."""
        meter = Meter(len(system.X))
        m = self.count(len(system.X))
        needed = self.bytes(system)
        what = f"Nystrom with {m:,} centres on {len(system.X):,} rows"
        refuse_beyond(needed, self.memory_limit, what, "fit on fewer rows or with fewer centres")
        meter.bytes = needed
        rows = None  # all
        if m < len(system.X):
            order = torch.randperm(len(system.X), generator=stream(seed, "centres"))
            rows = order.to(system.X.device)[:m]
        Z = system.X if rows is None else system.X[rows]
        normal = _NormalEquations(system, Z, allowed_bytes(self.memory_limit) - needed, meter)
        solution = refine(
            normal,
            partial(conjugate_gradients, normal, lambda r: r),
            Stop(self.tolerance, self.max_iter, watch),
            advice="raise max_iter, alpha or the tolerance",
        )
        if solution.converged or system.X.element_size() == 8:
            return replace(solution, index=rows)
        found = self.solve(replace(system, X=system.X.double()), seed=seed, watch=watch)
        Z = system.X if found.index is None else system.X[found.index]
        return replace(found, Z=Z)

    def count(self, n: int) -> int:
        return min(n, int(10 * n**0.5) if self.centres is None else self.centres)

    def bytes(self, system: System) -> int:
        """Bytes that the solve declares before it keeps any tile."""
        X, m = system.X, self.count(len(system.X))
        tiles = min(tile_scratch(system.kernel, X), len(X) ** 2 * 8 * system.kernel.scratch)
        return vector_bytes(system) + 3 * tiles + 4 * 8 * m * m


class _NormalEquations:
    """B^T (K_mn W K_nm + alpha K_mm) B b = B^T K_mn W y, B = T^{-1} A^{-1}."""

    dtype = torch.float64

    def __init__(self, system: System, Z: Tensor, budget: int, meter: Meter) -> None:
        self.system, self.meter, self.Z = system, meter, Z
        X, w, wide = system.X, system.weights, Z.double()
        self._w = None if w is None else w.double()[:, None]
        m, total = len(Z), float(len(X) if w is None else w.double().sum())
        self._K = Tiles(system.kernel, wide, wide, meter, 0).fill_(wide.new_empty(m, m))
        self._T = upper_factor(self._K)
        self._A = upper_factor(upper_times_transpose(self._T) * (total / m), system.alpha)
        self.tiles = Tiles(system.kernel, X, Z, meter, budget)
        # In float64 as residuals are: B multiplies what float32 rounds away, and more than is left.
        self.right_side = self._remainder(
            self._exact_tiles(), system.y.new_zeros(m, system.y.shape[1])
        )

    def _weighted(self, rows: slice, V: Tensor) -> Tensor:
        return V if self._w is None else self._w[rows] * V

    def coefficients(self, b: Float[Tensor, "m c"]) -> Float[Tensor, "m c"]:
        inner = torch.linalg.solve_triangular(self._A, b, upper=True)
        return torch.linalg.solve_triangular(self._T, inner, upper=True)

    def _back(self, V: Tensor) -> Tensor:
        """A^{-T} T^{-T} V."""
        inner = torch.linalg.solve_triangular(self._T.T, V, upper=False)
        return torch.linalg.solve_triangular(self._A.T, inner, upper=False)

    def __call__(self, b: Float[Tensor, "m c"]) -> Float[Tensor, "m c"]:
        c = self.coefficients(b)
        return self._back(self.tiles.sandwich(c, self._weighted) + self._penalty(c))

    def _penalty(self, c: Tensor) -> Tensor:
        return self.system.alpha * (self._K @ c)

    def _remainder(self, tiles: Tiles, c: Tensor) -> Tensor:
        """B^T (K_mn W (y - K_nm c) - alpha K_mm c)."""
        y, c = self.system.y, c.double()

        def errors(rows: slice, fit: Tensor) -> Tensor:
            return self._weighted(rows, y[rows].double() - fit)

        return self._back(tiles.sandwich(c, errors) - self._penalty(c))

    def residual_at(self, b: Float[Tensor, "m c"], rows: Tensor) -> Float[Tensor, "r c"]:
        """The residual at some centres; all are computed."""
        return self.residual(b)[rows]

    def residual(self, b: Float[Tensor, "m c"]) -> Float[Tensor, "m c"]:
        """What is left of the equations; kernels of float32 points in float64."""
        return self._remainder(self._exact_tiles(), self.coefficients(b))

    def _exact_tiles(self) -> Tiles:
        X = self.system.X
        if X.element_size() == 8:
            return self.tiles
        return Tiles(self.system.kernel, X.double(), self.Z.double(), self.meter, 0)
