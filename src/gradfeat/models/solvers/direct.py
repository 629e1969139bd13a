"""Direct solve by Cholesky, with fallbacks that are told and never change the penalty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import unwritten
from ...maths.limits import allowed_bytes, refuse_beyond
from ...maths.linear_algebra import Solve, cholesky_
from .base import Meter, Solution, Solver, Steps, Stop, System, Watch, refine
from .nystrom_cg import NystromCG
from .nystrom_direct import NystromDirect
from .tiles import Operator, Tiles, residual_rows, tile_side

#: What to do when a kernel matrix cannot be formed.
INSTEAD = (
    "fit on fewer rows, use solver Nystrom() or EigenPro(), or use random features or gradient "
    "features, whose memory does not grow with the square of the rows"
)
ADVICE, MEASURED = "raise alpha or the tolerance, or use float64", "a measurement of the residual"
#: Corrections of one solve; more than a few cannot help a factor that is not good enough.
CORRECTIONS = 10
#: Tiles that an evaluation holds.
TILES = 12


def direct_bytes(X: Float[Tensor, "n d"], y: Float[Tensor, "n c"]) -> int:
    """Bytes that a direct solve declares: the matrix, a few tiles, vectors."""
    n, tiles = len(X), TILES * min(len(X), tile_side(X)) ** 2
    return (n * n + tiles) * X.element_size() + 12 * 8 * y.numel()


@final
@dataclass(frozen=True)
class Direct(Solver):
    """Cholesky of S K S + alpha I in place: n^3 / 3 multiplications, one n x n matrix.

    Where float32 is not numerically positive definite, or its factor too rough to be refined to the
    tolerance, the matrix is factorised in float64 (in the second case if memory allows); where
    float64 is not either, the answer is least squares over the eigenvectors above rounding. Both
    are said in the message.

    `tolerance`: Refine the solution with float64 residuals until |S y - A b| <= tolerance |S y|
        (None: take it as the factorisation gives it; the trace still tells its residual).
    `sampled`: Estimate the residual from a sample of rows, and measure it on all only where that is
        above the tolerance.

    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> X = torch.arange(3.0).double()[:, None]
    >>> solution = Direct().solve(System(Gaussian(0.1), X, X, 1.0))
    >>> bool((solution.c - X / 2).abs().max() < 1e-12)
    True
    """

    tolerance: float | None = None
    memory_limit: int | None = None
    sampled: bool = False

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` draws the rows of an estimated residual."""
        X, n, meter = system.X, len(system.X), Meter(len(system.X))
        what = f"a direct kernel solver on {n:,} rows (a matrix of {n:,} x {n:,})"
        refuse_beyond(direct_bytes(X, system.y), self.memory_limit, what, INSTEAD)
        stop = Stop(self.tolerance, CORRECTIONS, watch)
        how = {"advice": ADVICE, "sample": residual_rows(n, seed) if self.sampled else None}
        tried: list[Solution] = []
        for one in self._in_types(system):
            solve, note = cholesky_(self._matrix(one, one.X.dtype, meter)), ""
            if solve is None:
                solve, note = self._wider(one, meter)
            measured = Operator(replace(one, kept=None), None, meter, what=MEASURED)
            measured.tiles.budget = 0
            steps: Steps = partial(_once, solve)
            tried.append(refine(measured, steps, stop, note=note, **how))
            del solve, steps  # with their matrix, before there is another
            if tried[-1].converged:
                break
        return replace(tried[-1], Z=X)

    def _in_types(self, system: System) -> Iterator[System]:
        """As it is, then in float64 where that is wider and memory allows it."""
        yield system
        X, y = system.X.double(), system.y
        if system.X.element_size() < 8 and direct_bytes(X, y) <= allowed_bytes(self.memory_limit):
            yield replace(system, X=X, kept=None)

    def _wider(self, system: System, meter: Meter) -> tuple[Solve, str]:
        """What solves a matrix that is not numerically positive definite."""
        narrow = system.X.dtype
        note = "the float32 matrix is not numerically positive definite: float64 was used."
        if narrow != torch.float64:
            solve = cholesky_(self._matrix(system, torch.float64, meter))
            if solve is not None:
                wide = solve
                return lambda r: wide(r.double()).to(narrow), note
        spectral, kept = self._least_squares(system, meter)
        note = (
            "the matrix is not numerically positive definite in float64: least squares over the "
            f"{kept:,} of {len(system.X):,} eigenvectors above rounding was used."
        )
        return lambda r: spectral(r.double()).to(narrow), note

    def _matrix(self, system: System, dtype: torch.dtype, meter: Meter) -> Tensor:
        """S K S + alpha I in one piece."""
        n, X = len(system.X), system.X.to(dtype)
        size = 8 if dtype == torch.float64 else 4
        if dtype != system.X.dtype:
            self._refuse(n, size, n * n * size, "a float64 fallback of the direct solver")
        meter.bytes = max(meter.bytes, n * n * size)
        kept = system.kept if dtype == system.X.dtype else None
        budget = 0 if kept is None else allowed_bytes(self.memory_limit) - meter.bytes
        A = Tiles(system.kernel, X, X, meter, budget, kept).fill_(unwritten(n, n, X))
        S = system.root_weights
        if S is not None:
            A.mul_(S.to(dtype)).mul_(S.to(dtype).T)
        A.diagonal().add_(system.alpha)
        return A

    def _least_squares(self, system: System, meter: Meter) -> tuple[Solve, int]:
        """U e^{-1} U^T over eigenvalues above rounding."""
        n = len(system.X)
        self._refuse(n, 8, 4 * n * n * 8, "the eigenvectors after a failed Cholesky factorisation")
        meter.bytes = max(meter.bytes, 4 * n * n * 8)
        e, U = torch.linalg.eigh(self._matrix(system, torch.float64, meter))
        # Rounding of the kernel's own entries, in the type of the points, and of the eigenvalues.
        noise = n * torch.finfo(torch.float64).eps * float(e[-1])
        if float(e[0]) < -1e4 * noise:
            raise np.linalg.LinAlgError(
                f"the kernel matrix plus alpha = {system.alpha:g} has eigenvalues from "
                f"{float(e[0]):.2g} to {float(e[-1]):.2g}: the kernel is not positive "
                "semi-definite; use another."
            )
        keep = e > noise
        e, U = e[keep], U[:, keep]
        return lambda r: U @ ((U.T @ r) / e[:, None]), int(keep.sum())

    def _refuse(self, n: int, size: int, needed: int, name: str) -> None:
        what = f"{name} on {n:,} rows (matrices of {n:,} x {n:,}, {size} bytes an entry)"
        refuse_beyond(needed, self.memory_limit, what, INSTEAD)


def _once(solve: Solve, r: Tensor) -> Iterator[tuple[Tensor, None]]:
    yield solve(r), None


#: Where not even an iteration fits.
EVEN_LESS = (
    "fit on fewer rows, raise memory_limit, or use gradient features, whose memory does not grow "
    "with the square of the rows"
)
#: A factorisation of n rows takes the time of about n / 150 products, on CPUs and in float32.
LEAST_ITER, ROWS_PER_ITER = 20, 150


@final
@dataclass(frozen=True)
class Adaptive(Solver):
    """Cholesky of few rows; of many, conjugate gradients on a randomly pivoted low-rank factor.

    Beyond `most` rows Nystrom centres: an answer on fewer points, in time that grows with n alone.
    Where the iterations do not reach the tolerance and the matrix fits, Cholesky after all.
    Residuals are estimated in float64 from a sample of rows, and corrected where that shows a need.

    `tolerance`: Relative residual of an iteration. The fitted values are off by no more than this
        share of the targets' norm, as K <= K + alpha I.
    `few`: Rows up to which Cholesky is used.
    `most`: Rows beyond which Nystrom centres are used (None: never).
    `max_iter`: Iterations allowed before Cholesky is tried; None: about as many as take its time.

    >>> import torch
    >>> from gradfeat.models.kernels.radial import Laplace
    >>> X = torch.linspace(0, 1, 200).double()[:, None]
    >>> Adaptive(few=100).solve(System(Laplace(0.5), X, X**2, 1e-3)).converged
    True
    """

    tolerance: float = 1e-3
    few: int = 6000
    most: int | None = None
    max_iter: int | None = None
    memory_limit: int | None = None

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` draws pivots and the rows of estimated residuals."""
        n = len(system.X)
        if self.most is not None and n > self.most:
            centres = NystromDirect(memory_limit=self.memory_limit)
            return centres.solve(system, seed=seed, watch=watch)
        fits = direct_bytes(system.X, system.y) <= allowed_bytes(self.memory_limit)
        direct = Direct(self.tolerance, self.memory_limit, sampled=True)
        if n <= self.few and fits:
            return direct.solve(system, seed=seed, watch=watch)
        quick = NystromCG(
            rank=int(3 * n**0.5),
            tolerance=self.tolerance,
            max_iter=max(LEAST_ITER, n // ROWS_PER_ITER)
            if self.max_iter is None
            else self.max_iter,
            memory_limit=self.memory_limit,
            sampled=True,
        )
        what = f"kernel ridge on {n:,} rows"
        refuse_beyond(quick.bytes(system), self.memory_limit, what, EVEN_LESS)
        solution = quick.solve(system, seed=seed, watch=watch)
        if solution.converged or not fits:
            return solution
        return direct.solve(system, seed=seed, watch=watch)
