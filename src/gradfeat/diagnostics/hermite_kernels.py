"""The reproducing kernel of the Hermite polynomials of one total degree."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def hermite_kernels(
    s: Float[Tensor, "*shape"],
    squares: Float[Tensor, "*shape"],
    d: int,
    k_max: int,
) -> list[Float[Tensor, "*shape"]]:
    """h_k(x, z) = sum_{|alpha| = k} He_alpha(x) He_alpha(z) / alpha! for k = 0, ..., k_max.

    A polynomial in s = x.z and A = |x|^2 + |z|^2 by
    (k+1) h_{k+1} = s h_k + (2(k-1) + d - A) h_{k-1} + s h_{k-2} - (k-3+d) h_{k-3},
    which is Mehler's kernel sum_k rho^k h_k differentiated in rho. For x, z ~ N(0, I_d) and any f,
    E f(x) f(z) h_k(x, z) is the part of E f^2 at degree k.

    Parameters
    ----------
    s, squares : Tensor (...)
        x.z, and |x|^2 + |z|^2.
    d : int
        Dimension of x and z.
    k_max : int
        Highest degree.

    Returns
    -------
    list of k_max + 1 Tensors (...)

    Source: Mehler 1866.

    Examples
    --------
    >>> x, z = torch.tensor(2.0), torch.tensor(3.0)
    >>> [float(h) for h in hermite_kernels(x * z, x**2 + z**2, 1, 2)]
    [1.0, 6.0, 12.0]
    """
    h = [torch.ones_like(s)]
    for k in range(k_max):
        total = s * h[k]
        if k >= 1:
            total += (2 * (k - 1) + d - squares) * h[k - 1]
        if k >= 2:
            total += s * h[k - 2]
        if k >= 3:
            total -= (k - 3 + d) * h[k - 3]
        h.append(total / (k + 1))
    return h
