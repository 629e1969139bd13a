"""Squared distances by one matrix product, without losing digits."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

#: Squared distances up to this many rounding units of |x|^2 are noise of the matrix product.
ROUNDING = 8.0


def squared_distances(
    X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"], out: Float[Tensor, "n m"] | None = None
) -> Float[Tensor, "n m"]:
    """|x_i - z_j|^2 by one matrix product, both sides centred first so that digits do not cancel.

    Distances that rounding cannot tell from zero are zero, so that equal rows are at distance 0
    wherever they stand; ``Z is X`` gives an exactly symmetric matrix with a zero diagonal. `out` is
    memory for the result.

    Examples
    --------
    >>> D = squared_distances(torch.tensor([[0.0], [3.0]]), torch.tensor([[3.0]]))
    >>> [round(value, 4) for value in D[:, 0].tolist()]
    [9.0, 0.0]
    """
    centre, same = Z.mean(0), X is Z
    X, Z = X - centre, Z - centre
    own = X.square().sum(1, keepdim=True) * (1 - ROUNDING * torch.finfo(X.dtype).eps)
    D = torch.addmm(Z.square().sum(1), X, Z.T, alpha=-2, out=out).add_(own).clamp_(min=0)
    return torch.div(D + D.T, 2, out=out).fill_diagonal_(0.0) if same else D
