"""Low-rank factors F F^T of a kernel matrix, by random pivots."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.linear_algebra import upper_cholesky_
from ...maths.streams import stream
from ..base import Kernel
from .base import Meter
from .tiles import Tiles

#: Pivots proposed at a time.
BATCH = 100


def low_rank(
    kernel: Kernel,
    X: Float[Tensor, "n d"],
    S: Float[Tensor, "n 1"] | None,
    rank: int,
    seed: int,
    meter: Meter,
) -> tuple[Float[Tensor, "n k"], Tensor]:
    """F with F F^T close to S K S from `rank` of its columns at most, and the rows chosen.

    Pivots are drawn in proportion to the diagonal of what is left (randomly pivoted Cholesky), a
    batch at a time, until the rank is reached or rounding is left: no near duplicates.

    Source: Chen, Epperly, Tropp & Webber 2023 (arXiv 2207.06503); in blocks with rejection:
    Epperly, Tropp & Webber 2024 (arXiv 2410.03969).
    """
    rank, S = min(rank, len(X)), None if S is None else S.to(X.dtype)
    F, rows = X.new_empty(len(X), rank), torch.empty(0, dtype=torch.long, device=X.device)
    left = kernel.diagonal(X) if S is None else kernel.diagonal(X) * S[:, 0].square()
    floor = 100 * torch.finfo(X.dtype).eps * float(left.max())
    generator = stream(seed, "pivots")
    while len(rows) < rank and float(left.max()) > floor:
        done = len(rows)
        proposed = torch.multinomial(
            left.double().cpu(), min(BATCH, len(X)), replacement=True, generator=generator
        )
        G = _remainder(kernel, X, S, F[:, :done], proposed.to(X.device), meter)
        L, kept = _accepted(G, generator, floor, rank - done)
        if not kept:
            break
        new = proposed[kept].to(X.device)
        C = _columns(kernel, X, S, new, meter).addmm_(F[:, :done], F[new, :done].T, alpha=-1)
        added = torch.linalg.solve_triangular(L.to(X), C.T, upper=False).T
        F[:, done : done + len(new)] = added
        left = left.sub_(added.square().sum(1)).clamp_(min=0)
        left[new] = 0
        rows = torch.cat([rows, new])
    return F[:, : len(rows)], rows


def _columns(kernel: Kernel, X: Tensor, S: Tensor | None, rows: Tensor, meter: Meter) -> Tensor:
    """Columns `rows` of S K S."""
    C = Tiles(kernel, X, X[rows], meter, 0).fill_(X.new_empty(len(X), len(rows)))
    return C if S is None else C.mul_(S).mul_(S[rows].T)


def _remainder(
    kernel: Kernel, X: Tensor, S: Tensor | None, F: Tensor, rows: Tensor, meter: Meter
) -> Tensor:
    """(S K S - F F^T) at `rows`, on the CPU in float64."""
    P = X[rows]
    G = kernel(P, P)
    meter.evaluated(G.numel())
    if S is not None:
        G = S[rows] * G * S[rows].T
    return (G - F[rows] @ F[rows].T).double().cpu()


def _accepted(
    G: Tensor, generator: torch.Generator, floor: float, most: int
) -> tuple[Tensor, list[int]]:
    """Pivots kept by rejection and their Cholesky factor.

    Proposals come with the odds of the diagonal at the start of the batch; keeping each with the
    odds of what is left of its entry gives the pivots of one draw at a time.
    """
    start, G = G.diagonal().clone(), G.clone()
    odds = torch.rand(len(G), generator=generator, dtype=torch.float64) * start
    columns, kept = [], []
    for i in range(len(G)):
        pivot = float(G[i, i])
        if len(kept) < most and pivot > floor and float(odds[i]) <= pivot:
            column = G[:, i] / pivot**0.5
            G -= torch.outer(column, column)
            columns.append(column)
            kept.append(i)
    L = torch.stack([G.new_zeros(len(G)), *columns], 1)[kept, 1:]
    return L.tril(), kept


def upper_factor(K: Float[Tensor, "m m"], alpha: float = 0.0) -> Float[Tensor, "m m"]:
    """Upper T with T^T T = K + alpha I, plus jitter at rounding or as makes it factorisable.

    Only the upper triangle of K is read.
    """
    scale = float(K.diagonal().mean()) + alpha or 1.0
    jitter = len(K) * torch.finfo(K.dtype).eps * scale
    while True:
        shifted = K.clone()
        shifted.diagonal().add_(alpha + jitter)
        T = upper_cholesky_(shifted)
        if T is not None:
            return T
        jitter *= 10
