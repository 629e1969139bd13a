"""The solver that suits the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ...maths.memory import allowed_bytes, refuse_beyond
from .base import Solution, Solver, System, Watch
from .direct import Direct, direct_bytes
from .nystrom_cg import NystromCG
from .nystrom_direct import NystromDirect

#: Where not even an iteration fits.
INSTEAD = (
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
        refuse_beyond(quick.bytes(system), self.memory_limit, what, INSTEAD)
        solution = quick.solve(system, seed=seed, watch=watch)
        if solution.converged or not fits:
            return solution
        return direct.solve(system, seed=seed, watch=watch)
