"""Recursive feature machines: kernel ridge in a metric learned from its own gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.gradients import BLOCK_BYTES, outer_product
from ..maths.ridge import solve_kernel_ridge
from ..maths.streams import stream
from .base import Gram, Kernel, Learner, row_blocks, unit_weights
from .kernel_machine import KernelMachine, apply_metric
from .kernel_ridge import refuse_large_kernel


@final
@dataclass(frozen=True)
class RFM(Learner[KernelMachine]):
    """Repeat from M = I: (K_M + alpha I) c = y - mean y; M <- AGOP of the fit; refit.

    K_M(x, z) = k(|x - z|_M), |u|_M^2 = u^T M u, AGOP = (1/n) sum_i grad f(x_i) grad f(x_i)^T
    summed over outputs.

    Parameters
    ----------
    kernel : Kernel
        k.
    alpha : float
        Penalty of every solve.
    n_iter : int
        Updates of M; 0 is kernel ridge.
    diagonal : bool
        Keep only the diagonal of the AGOP.
    agop_power : float
        M = AGOP^power before normalisation.
    centre_gradients : bool
        Use the covariance of the gradients.
    normalisation : {"trace", "max"}
        Scale M to trace d (the bandwidth keeps its meaning) or to largest entry 1. A zero or
        non-finite AGOP leaves M as it was.
    agop_rows : int, optional
        Average over a random subset of this many rows (default: all).
    memory_limit : int, optional
        Bytes that kernel matrices may take (default: 80 % of free memory).

    Raises
    ------
    MemoryError
        Before anything is allocated, when the matrices do not fit.

    Source: Rad24, Algorithm 1 (RFM).

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Laplace
    >>> X = torch.randn(200, 5, generator=torch.Generator().manual_seed(0)).double()
    >>> f = RFM(Laplace(4.0), alpha=1e-3, n_iter=3).fit(X, X[:, :1] ** 2)
    >>> bool(f.M[0, 0] > 0.9 * f.M.trace())
    True
    """

    kernel: Kernel
    alpha: float
    n_iter: int = 5
    diagonal: bool = False
    agop_power: float = 1.0
    centre_gradients: bool = False
    normalisation: Literal["trace", "max"] = "trace"
    agop_rows: int | None = None
    memory_limit: int | None = None

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[KernelMachine]:
        """The machines after 0, 1, ..., `n_iter` updates; stop iterating to stop early."""
        refuse_large_kernel(X, 3, self.memory_limit)
        w = unit_weights(X, weights)
        offset = (w @ y) / w.sum()
        rows = self._agop_rows(len(X), seed)
        A = X.new_ones(X.shape[1])
        for update in range(self.n_iter + 1):
            XA = apply_metric(X, A)
            gram = self.kernel.gram(XA)
            c = solve_kernel_ridge(gram.K.clone(), y - offset, self.alpha, weights)
            yield KernelMachine(self.kernel, X, c, offset, A)
            if update < self.n_iter:
                A = self._next_metric(A, self._agop(gram, c, w, rows, X.shape[1]))
            del gram

    def _agop_rows(self, n: int, seed: int) -> Tensor | None:
        if self.agop_rows is None or self.agop_rows >= n:
            return None
        return torch.randperm(n, generator=stream(seed, "agop rows"))[: self.agop_rows]

    def _agop(self, gram: Gram, c: Tensor, w: Tensor, rows: Tensor | None, d: int) -> Tensor:
        """AGOP at `rows` (None: all) in the transformed coordinates, in row blocks."""
        share = w / w.sum() if rows is None else w[rows] / w[rows].sum()
        total, mean = c.new_zeros(d, d), c.new_zeros(c.shape[1], d)
        for block in row_blocks(len(share), c.shape[1] * gram.bytes_per_row, BLOCK_BYTES):
            J = gram.gradient(c, block if rows is None else rows[block])
            total += outer_product(J, share[block]) * share[block].sum()
            mean += torch.einsum("n,ncd->cd", share[block], J)
        return total - mean.T @ mean if self.centre_gradients else total

    def _next_metric(self, A: Tensor, inner: Tensor) -> Tensor:
        """Square root of the normalised AGOP^power; `inner` is the AGOP in coordinates A x."""
        G = apply_metric(apply_metric(inner, A).T, A)
        size = G.diagonal().sum()
        if not (torch.isfinite(size) and size > 0):
            return A
        if self.diagonal:
            m = (G.diagonal() / size).clamp(min=0) ** self.agop_power
            return (m * self._scale(m, m)).sqrt()
        e, V = torch.linalg.eigh((G + G.T) / (2 * size))
        e = e.clamp(min=0) ** self.agop_power
        e = e * self._scale(e, (V * e) @ V.T)
        return ((V * e.sqrt()) @ V.T).contiguous()

    def _scale(self, spectrum: Tensor, M: Tensor) -> Tensor:
        if self.normalisation == "max":
            return 1 / M.abs().max()
        return len(spectrum) / spectrum.sum()
