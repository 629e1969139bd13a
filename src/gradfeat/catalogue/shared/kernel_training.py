"""Kernel ridge with a chosen penalty, as the experiments use it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from gradfeat.maths.ridge import kernel_ridge_path
from gradfeat.maths.streams import stream
from gradfeat.models.base import Kernel
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.predictors import KernelMachine
from gradfeat.rows.rows import in_memory

#: Rows on which penalties are compared; a spectrum of more costs more than the fit.
CHOICE_ROWS = 1_000


def tuned_penalty(
    kernels: Sequence[Kernel], X: Float[Tensor, "n d"], y: Float[Tensor, "n c"], seed: int
) -> tuple[Kernel, float]:
    """Kernel and penalty of least leave-one-out error on at most `CHOICE_ROWS` random rows.

    Penalties are 25 log-spaced multiples, 1e-10 to 1e4, of the mean eigenvalue; a penalty chosen
    on m of n rows is the penalty of n rows (it stands beside n times the kernel's eigenvalues).

    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> X = torch.linspace(-1, 1, 50).double()[:, None]
    >>> tuned_penalty([Gaussian(0.001), Gaussian(0.5)], X, X**2, seed=0)[0]
    Gaussian(bandwidth=0.5)
    """
    rows = torch.randperm(len(X), generator=stream(seed, "choice"))[:CHOICE_ROWS].to(X.device)
    found: list[tuple[float, Kernel, float]] = []
    for k in kernels:
        path = kernel_ridge_path(k(X[rows], X[rows]), y[rows])
        penalty = path.best(path.grid())
        found.append((path.loo(penalty), k, penalty))
    _, best, penalty = min(found, key=lambda one: one[0])
    return best, penalty


def tuned_ridge(
    kernels: Sequence[Kernel], X: Float[Tensor, "n d"], y: Float[Tensor, "n c"], seed: int
) -> KernelMachine:
    """Kernel ridge on all rows with the kernel and penalty of :func:`tuned_penalty`."""
    kernel, penalty = tuned_penalty(kernels, X, y, seed)
    return KernelRidge(kernel, penalty).fit(in_memory(X, y))
