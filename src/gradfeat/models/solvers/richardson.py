"""Richardson iteration: gradient descent on the kernel machine's coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from torch import Tensor

from ...maths.streams import stream
from .base import Meter, Solution, Solver, Stop, System, Watch, refine, safe_norms
from .tiles import Operator

#: Power iterations for the largest eigenvalue: from below, within a few percent on kernels.
POWER_STEPS = 10


@final
@dataclass(frozen=True)
class Richardson(Solver):
    """a <- a - eta (A a - y), eta = 1 / lambda_1(A): n^2 an iteration, slow where A is flat.

    lambda_1 comes from power iterations (counted in the passes); the iteration converges for any
    eta below 2 / lambda_1, so an estimate that is low by less than half is safe.

    Source: Yao, Rosasco & Caponnetto 2007 (early stopping of this iteration is a regulariser).

    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> X = torch.arange(3.0).double()[:, None]
    >>> Richardson().solve(System(Gaussian(0.1), X, X, 1.0)).converged
    True
    """

    tolerance: float = 1e-5
    max_iter: int = 1000
    memory_limit: int | None = None

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` starts the power iteration."""
        meter = Meter(len(system.X))
        A = Operator(system, self.memory_limit, meter, what="Richardson iteration")
        eta = 1 / largest_eigenvalue(A, seed)
        return refine(
            A,
            partial(richardson, A, eta),
            Stop(self.tolerance, self.max_iter, watch),
            advice="raise max_iter or alpha, or use a solver with a preconditioner (NystromCG)",
        )


def largest_eigenvalue(A: Operator, seed: int) -> float:
    """Largest eigenvalue of A by power iteration; never above the true one but for rounding."""
    X = A.system.X
    v = torch.randn(len(X), 1, generator=stream(seed, "power iteration"), dtype=torch.float64)
    v, value = v.to(X), 1.0
    for _ in range(POWER_STEPS):
        v = v / safe_norms(v)
        image = A(v)
        value = float(torch.linalg.vector_norm(image))
        v = image
    return value or 1.0


def richardson(A: Operator, eta: float, r: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Iterates of A x = r from zero with step eta, and their residual norms."""
    x, left = torch.zeros_like(r), r
    while True:
        x = x + eta * left
        left = r - A(x)
        yield x, torch.linalg.vector_norm(left, dim=0)
