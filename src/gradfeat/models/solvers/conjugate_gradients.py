"""Conjugate gradients on all outputs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from torch import Tensor

from .base import Meter, Solution, Solver, Stop, System, Watch, refine
from .tiles import Operator

#: V (n, c) -> a symmetric positive definite matrix times V.
Apply = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True)
class ConjugateGradients(Solver):
    """Conjugate gradients on (S K S + alpha I) b = S y: n^2 each, about sqrt(condition) of them.

    Every output has its own step sizes; the products are shared.

    Source: Hestenes & Stiefel 1952.

    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> X = torch.arange(3.0).double()[:, None]
    >>> ConjugateGradients().solve(System(Gaussian(0.1), X, X, 1.0)).converged
    True
    """

    tolerance: float = 1e-5
    max_iter: int = 1000
    memory_limit: int | None = None

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` is not used (nothing is random)."""
        del seed
        meter = Meter(len(system.X))
        A = Operator(system, self.memory_limit, meter, what="conjugate gradients")
        return refine(
            A,
            partial(conjugate_gradients, A, _identity),
            Stop(self.tolerance, self.max_iter, watch),
            advice="raise max_iter or alpha, or use a solver with a preconditioner (NystromCG)",
        )


def _identity(r: Tensor) -> Tensor:
    return r


def conjugate_gradients(
    A: Apply, precondition: Apply, r: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    """Iterates of A x = r from zero, each column on its own, and their residual norms.

    A column whose direction has no positive curvature left (rounding) stays where it is; the
    iteration ends when all do.
    """
    x, z = torch.zeros_like(r), precondition(r)
    p, rz = z, (r * z).sum(0)
    while True:
        Ap = A(p)
        curvature = (p * Ap).sum(0)
        moves = (curvature > 0) & (rz > 0)
        step = torch.where(moves, rz / torch.where(moves, curvature, 1.0), 0.0)
        if not bool(moves.any()):
            return
        x = x + step * p
        r = r - step * Ap
        yield x, torch.linalg.vector_norm(r, dim=0)
        z = precondition(r)
        old, rz = rz, (r * z).sum(0)
        p = z + torch.where(moves, rz / torch.where(moves, old, 1.0), 0.0) * p
