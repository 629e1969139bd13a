"""Cholesky factorisation on a matrix's own memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs
from torch import Tensor

#: y (n, c) -> A^{-1} y.
Solve = Callable[[Tensor], Tensor]


def cholesky_(A: Float[Tensor, "n n"]) -> Solve | None:
    """y -> A^{-1} y, or None where A is not positive definite. Overwrites a triangle of A.

    On the CPU LAPACK works in place on A's own memory, with neither copies nor a cleared half; A
    must not be changed while the solve is in use.

    Examples
    --------
    >>> solve = cholesky_(4 * torch.eye(2))
    >>> None if solve is None else solve(torch.ones(2, 1)).tolist()
    [[0.25], [0.25]]
    >>> cholesky_(-torch.eye(2)) is None
    True
    """
    if A.device.type != "cpu":
        L, failed = torch.linalg.cholesky_ex(A)
        return None if failed else lambda y: torch.cholesky_solve(y, L).contiguous()
    factor, solve = get_lapack_funcs(("potrf", "potrs"), (A.numpy(),))
    F, failed = factor(A.numpy().T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    return lambda y: torch.from_numpy(np.ascontiguousarray(solve(F, y.numpy(), lower=1)[0]))


def upper_cholesky_(A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"] | None:
    """Upper triangular T with T^T T = A, or None where A is not positive definite.

    Reads the upper triangle of A. On the CPU T takes the memory of A: half the time of a factor in
    memory of its own.
    """
    if A.device.type != "cpu":
        T, failed = torch.linalg.cholesky_ex(A, upper=True)
        return None if failed else T
    (factor,) = get_lapack_funcs(("potrf",), (A.numpy(),))
    F, failed = factor(A.numpy().T, lower=1, clean=1, overwrite_a=1)
    return None if failed else torch.from_numpy(F.T)


def upper_times_transpose(T: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Upper triangle of T T^T for an upper triangular T (below it is not defined).

    A sixth of the multiplications of the plain product on the CPU.
    """
    if T.device.type != "cpu":
        return T @ T.T
    (lauum,) = get_lapack_funcs(("lauum",), (T.numpy(),))
    return torch.from_numpy(np.ascontiguousarray(lauum(T.numpy().T, lower=1)[0].T))
