"""Kernel ridge regression with an intercept, by a direct solve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.memory import refuse_beyond
from ..maths.ridge import solve_kernel_ridge
from .base import Kernel, Learner, unit_weights
from .kernel_machine import KernelMachine

#: What to do when a kernel matrix cannot be formed.
INSTEAD = (
    "fit on fewer rows, use dtype='float32', or use random features or gradient features, whose "
    "memory does not grow with the square of the rows"
)


def refuse_large_kernel(X: Tensor, copies: int, memory_limit: int | None) -> None:
    """Raise MemoryError when `copies` n x n matrices of X's type would not fit."""
    n = len(X)
    what = f"a direct kernel solver on {n:,} rows ({copies} matrices of {n:,} x {n:,})"
    refuse_beyond(copies * n * n * X.element_size(), memory_limit, what, INSTEAD)


@final
@dataclass(frozen=True)
class KernelRidge(Learner[KernelMachine]):
    """(K + alpha W^{-1}) c = y - mean y; f(x) = mean y + sum_i c_i k(x, x_i).

    Minimises sum_i w_i |y_i - f(x_i)|^2 + alpha |f - mean y|_H^2.

    Parameters
    ----------
    kernel : Kernel
        k.
    alpha : float
        Penalty, >= 0.
    memory_limit : int, optional
        Bytes that kernel matrices may take (default: 80 % of free memory).

    Raises
    ------
    MemoryError
        Before anything is allocated, when the matrices do not fit.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> X = torch.linspace(0, 1, 5).double()[:, None]
    >>> f = KernelRidge(Gaussian(0.3), alpha=1e-8).fit(X, X**2)
    >>> bool((f(X) - X**2).abs().max() < 1e-4)
    True
    """

    kernel: Kernel
    alpha: float
    memory_limit: int | None = None

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[KernelMachine]:
        """Solve; `seed` is not used (nothing is random)."""
        del seed
        refuse_large_kernel(X, 2, self.memory_limit)
        w = unit_weights(X, weights)
        offset = (w @ y) / w.sum()
        c = solve_kernel_ridge(self.kernel(X, X), y - offset, self.alpha, weights)
        yield KernelMachine(self.kernel, X, c, offset, X.new_ones(X.shape[1]))
