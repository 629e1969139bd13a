"""The neuron of a direction that a dual point pulls at most, over all biases of a range."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from .neuron_grid import SignedDirections


def steepest(
    directions: SignedDirections, X: Float[Tensor, "n d"], B_b: float, c: Float[Tensor, " n"]
) -> tuple[Float[Tensor, "q2 d"], Float[Tensor, " q2"], Float[Tensor, " q2"]]:
    """w = D and -D, b of sign s with |b| <= B_b, and max over b of |sum_i c_i relu(<w, x_i> - b)|.

    Examples
    --------
    >>> one = SignedDirections(torch.ones(1, 1), torch.tensor([-1]))
    >>> W, b, size = steepest(one, torch.ones(1, 1), 2.0, torch.ones(1))
    >>> b.tolist(), size.tolist()
    ([-2.0, -2.0], [3.0, 1.0])
    """
    D = directions.D.to(X).T
    W = torch.cat([D, -D])
    ends = [sorted((0.0, sign * B_b)) for sign in directions.signs.tolist() * 2]
    best = [
        steepest_bias((X @ w).double(), c.double(), low, high)
        for w, (low, high) in zip(W, ends, strict=True)
    ]
    b, sizes = torch.tensor(best, dtype=torch.float64, device=W.device).T
    return W, b.to(W), sizes


def steepest_bias(
    z: Float[Tensor, " n"], c: Float[Tensor, " n"], low: float, high: float
) -> tuple[float, float]:
    """(b, max) of |sum_i c_i relu(z_i - b)| over low <= b <= high.

    The sum is linear between the z_i, so its largest size is at one of them or at an end.

    Examples
    --------
    >>> z, c = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, -3.0, 1.0])
    >>> steepest_bias(z, c, -1.0, 2.0)
    (-1.0, 2.0)
    """
    z, order = z.sort()
    c = c[order]
    b = torch.cat([z.new_tensor([low, high]), z.clamp(low, high)])
    zero = z.new_zeros(1)
    above = torch.searchsorted(z, b, right=True)  # z[above:] > b
    count = torch.cat([c.flip(0).cumsum(0).flip(0), zero])[above]
    total = torch.cat([(c * z).flip(0).cumsum(0).flip(0), zero])[above]
    sizes = (total - b * count).abs()
    best = int(sizes.argmax())
    return float(b[best]), float(sizes[best])
