"""EigenPro: mini-batch gradient steps whose leading eigendirections are damped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.limits import refuse_beyond
from ...maths.streams import stream
from .base import Meter, Solution, Solver, Stop, System, Watch, refine, safe_norms
from .tiles import Operator, least_bytes, tile_side

#: Power iterations for the step size of a batch; a step may be twice the safe one before it harms.
POWER_STEPS = 12


@final
@dataclass(frozen=True)
class EigenPro(Solver):
    """Steps over batches B: r_B = y_B - A_B b; b_B += eta_B r_B; b_S -= eta_B M A_SB r_B.

    M = V diag((1 - lambda_q / lambda_i) / lambda_i) V^T from the q leading eigenpairs of A on a
    random subsample S damps the leading eigenfunctions to the level of the q-th, so that steps can
    be lambda_1 / lambda_q times longer. eta_B = 1 / lambda_1(A_BB - A_BS M A_SB), measured for
    every batch: the error then falls with every step in the norm of (I - sum_i (1 - lambda_q /
    lambda_i) e_i e_i^T)^{-1}. An epoch costs n^2; memory beside the tiles is that of S.

    `subsample`: |S|; None is the smaller of n and 2,000.
    `q`: Eigenpairs; None is a tenth of the subsample.
    `max_iter`: Epochs allowed. Fewer are a regulariser (early stopping).

    Source: Ma & Belkin 2019 (EigenPro 2), arXiv 1806.06144, algorithm 1, where the step of a batch
    is not measured but m / (beta + (m - 1) lambda_q).

    >>> from gradfeat.models.kernels.radial import Laplace
    >>> X = torch.linspace(0, 1, 100).double()[:, None]
    >>> EigenPro(q=20).solve(System(Laplace(0.5), X, X**2, 0.1)).converged
    True
    """

    subsample: int | None = None
    q: int | None = None
    tolerance: float = 1e-4
    max_iter: int = 100
    memory_limit: int | None = None

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` draws the order of the rows, whose first ones are the subsample.

        The points that `watch` sees are X in that order.
        """
        n, meter = len(system.X), Meter(len(system.X))
        size = min(n, 2000 if self.subsample is None else self.subsample)
        q = min(size - 1, size // 10 if self.q is None else self.q)
        what, instead = f"EigenPro with a subsample of {size:,}", "lower the subsample"
        reserved = _reserved(system, size, q)
        needed = least_bytes(system, reserved)
        refuse_beyond(needed, self.memory_limit, f"{what} on {n:,} rows", instead)
        order = torch.randperm(n, generator=stream(seed, "batches")).to(system.X.device)
        weights = None if system.weights is None else system.weights[order]
        mixed = replace(system, X=system.X[order], y=system.y[order], weights=weights)
        A = Operator(mixed, self.memory_limit, meter, what=what, instead=instead, reserved=reserved)
        solution = refine(
            A,
            _Batches(A, _damping(A, size, q)).epochs,
            Stop(self.tolerance, self.max_iter, watch),
            advice="raise q, max_iter or alpha, or use NystromCG; a fit stopped early may be good",
        )
        c = torch.empty_like(solution.c)
        c[order] = solution.c
        return replace(solution, Z=system.X, c=c)


def _reserved(system: System, size: int, q: int) -> int:
    """Eigenvectors of the subsample, what batches see of them, one batch's columns, X mixed."""
    entry = system.X.element_size()
    rows, tile = len(system.X) * (q + system.X.shape[1]), 3 * size * tile_side(system.X)
    return 5 * 8 * size**2 + (rows + tile) * entry


def _damping(A: Operator, size: int, q: int) -> Float[Tensor, "s q"]:
    """D with M = D D^T for the first `size` rows."""
    if q < 1:
        return A.system.X.new_zeros(size, 0)
    S, alpha = A.system.root_weights, A.system.alpha
    sample = A.system.X[:size].double()
    K = A.system.kernel(sample, sample)
    A.meter.evaluated(K.numel())
    K = K if S is None else S[:size] * K * S[:size].T
    K.diagonal().add_(alpha)
    e, V = torch.linalg.eigh(K)
    tail, e, V = e[-q - 1].clamp(min=0), e[-q:], V[:, -q:]
    keep = e > 10 * torch.finfo(A.system.X.dtype).eps * e[-1]
    gain = ((1 - tail / e).clamp(min=0) / e).sqrt()
    return (V * gain)[:, keep].to(A.system.X.dtype)


class _Batches:
    """Steps on A x = r; what a batch needs to know of the damping is measured once and kept."""

    def __init__(self, A: Operator, damping: Float[Tensor, "s q"]) -> None:
        self.A, self.damping = A, damping
        self._seen: dict[int, Tensor] = {}
        self._eta: dict[int, float] = {}

    def epochs(self, r: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Iterates from zero; the residual is that of each batch before its step."""
        x = torch.zeros_like(r)
        while True:
            squares = [self._step_(i, r, x) for i in range(len(self.A.tiles.rows))]
            yield x, torch.stack(squares).sum(0).sqrt()

    def _step_(self, i: int, r: Tensor, x: Tensor) -> Tensor:
        """One step on batch i, in place; the squared residuals of the batch before it."""
        rows, size = self.A.tiles.rows[i], len(self.damping)
        known = i in self._eta
        cross, own, image = self.A.block_row(i, x, 0 if known else size)
        if not known:
            self._seen[i] = cross @ self.damping
            self._eta[i] = 1 / _batch_eigenvalue(own, self._seen[i])
        left = r[rows] - image
        x[rows] += self._eta[i] * left
        x[:size] -= self._eta[i] * (self.damping @ (self._seen[i].T @ left))
        return left.square().sum(0)


def _batch_eigenvalue(block: Tensor, seen: Tensor) -> float:
    """Largest eigenvalue of A_BB - A_BS M A_SB by power iteration."""
    v = block.new_ones(len(block), 1)
    v = v + 0.1 * torch.sin(torch.arange(len(block), device=v.device).to(v))[:, None]
    value = 0.0
    for _ in range(POWER_STEPS):
        v = v / safe_norms(v)
        v = block @ v - seen @ (seen.T @ v)
        value = float(torch.linalg.vector_norm(v))
    return max(value, float(torch.finfo(block.dtype).tiny))
