"""Conjugate gradients preconditioned by a random low-rank factor of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from .base import Meter, Solution, Solver, Stop, System, Watch, refine
from .conjugate_gradients import Apply, conjugate_gradients
from .low_rank import low_rank
from .tiles import Operator, least_bytes, residual_rows


@final
@dataclass(frozen=True)
class NystromCG(Solver):
    """Conjugate gradients on P^{-1} A with P from a rank-k Nystrom approximation of S K S.

    With S K S ~ U Lambda U^T: P^{-1} = (lambda_k + alpha) U (Lambda + alpha)^{-1} U^T + I - U U^T.

    `rank`: k; None is 3 sqrt(n).
    `sampled`: Estimate the residual in float64 from a sample of rows first, and measure it on all
        only where that is above the tolerance.

    Source: Frangella, Tropp & Udell 2021 (arXiv 2110.02820), eq. 1.3; Diaz, Epperly, Frangella,
    Tropp & Webber 2023 (arXiv 2304.12465) for random pivots.

    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> X = torch.linspace(0, 1, 200).double()[:, None]
    >>> solution = NystromCG().solve(System(Gaussian(0.5), X, X**2, 1e-6))
    >>> solution.converged, solution.trace[-1].iteration < 20
    (True, True)
    """

    rank: int | None = None
    tolerance: float = 1e-5
    max_iter: int = 500
    memory_limit: int | None = None
    sampled: bool = False

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` draws the columns."""
        meter, rank = Meter(len(system.X)), self.columns(len(system.X))
        A = Operator(
            system,
            self.memory_limit,
            meter,
            what=f"preconditioned conjugate gradients of rank {rank:,}",
            instead="lower the rank or raise memory_limit",
            reserved=self._reserved(system),
        )
        F, _ = low_rank(system.kernel, system.X, system.root_weights, rank, seed, meter)
        return refine(
            A,
            partial(conjugate_gradients, A, preconditioner(F, system.alpha)),
            Stop(self.tolerance, self.max_iter, watch),
            advice="raise the rank, max_iter, alpha or the tolerance",
            sample=residual_rows(len(system.X), seed) if self.sampled else None,
        )

    def columns(self, n: int) -> int:
        return min(n, int(3 * n**0.5) if self.rank is None else self.rank)

    def bytes(self, system: System) -> int:
        """The least `memory_limit`: bytes of a solve that keeps no tile of the matrix."""
        return least_bytes(system, self._reserved(system))

    def _reserved(self, system: System) -> int:
        n, entry = len(system.X), system.X.element_size()
        rank = self.columns(n)
        return 2 * n * rank * entry + 5 * 8 * rank**2


def preconditioner(F: Float[Tensor, "n k"], alpha: float) -> Apply:
    """P^{-1} from the factor: r + F M F^T r, M = V ((lambda_k + alpha)/(Lambda + alpha) - 1)
    Lambda^{-1} V^T with F^T F = V Lambda V^T, so that U is never formed.
    """
    if F.shape[1] == 0:
        return lambda r: r
    e, V = torch.linalg.eigh((F.T @ F).double())
    keep = e > len(e) * torch.finfo(F.dtype).eps * e[-1]
    e, V = e[keep], V[:, keep]
    M = (V * (((e[0] + alpha) / (e + alpha) - 1) / e)) @ V.T
    M = M.to(F.dtype)
    return lambda r: r + F @ (M @ (F.T @ r))
