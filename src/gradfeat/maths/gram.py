"""The smaller of the two Gram matrices of a tall or wide matrix."""

from __future__ import annotations

import torch
from jaxtyping import Float
from scipy.linalg import get_blas_funcs
from torch import Tensor

from .syrk import add_gram_


def smaller_gram(F: Float[Tensor, "n m"]) -> Float[Tensor, "k k"]:
    """F^T F where m <= n, else F F^T: k = min(n, m). **Only the upper triangle is defined.**

    On the CPU by the symmetric rank-k update of BLAS on F's own memory: half the multiplications
    of the plain product.

    Examples
    --------
    >>> smaller_gram(torch.tensor([[1.0, 2.0], [0.0, 1.0], [0.0, 2.0]])).triu().tolist()
    [[1.0, 2.0], [0.0, 9.0]]
    """
    tall = F.shape[1] <= F.shape[0]
    if F.device.type != "cpu":
        return F.mT @ F if tall else F @ F.mT
    columns = F.contiguous().numpy().T  # in the order of columns: BLAS takes it without a copy
    (syrk,) = get_blas_funcs(("syrk",), (columns,))
    return torch.from_numpy(syrk(1.0, columns, trans=0 if tall else 1, lower=1).T)


def add_gram(total: Float[Tensor, "m m"], F: Float[Tensor, "n m"]) -> None:
    """Add F^T F to `total` (float64) in place. **Only its upper triangle is defined.**

    On the CPU by the symmetric rank-k update of BLAS, in float64 on the memory of `total`, while
    other threads run.

    Examples
    --------
    >>> total = torch.zeros(2, 2).double()
    >>> add_gram(total, torch.tensor([[1.0, 2.0]]).double())
    >>> total.triu().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    if F.device.type != "cpu":
        total.add_(F.mT @ F)
    elif F.dtype == total.dtype:
        add_gram_(total, F.contiguous())
    else:
        own = F.new_zeros(total.shape)
        add_gram_(own, F.contiguous())
        total.add_(own)


def mirrored(A: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """`A` with its upper triangle copied below, in place.

    Examples
    --------
    >>> mirrored(torch.tensor([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    for i in range(1, len(A)):
        A[i, :i] = A[:i, i]
    return A
