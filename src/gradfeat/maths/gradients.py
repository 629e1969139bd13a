"""The average gradient outer product (AGOP)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from .memory import BLOCK_BYTES, rows_per_block


def autodiff_gradient(
    f: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"]
) -> Float[Tensor, "n c d"]:
    """Gradient of each output at each row, by reverse-mode differentiation.

    Rows must not interact inside `f` (no batch normalisation): output i may depend on row i only.

    Examples
    --------
    >>> autodiff_gradient(lambda X: (X**2).sum(1), torch.tensor([[1.0, 3.0]])).tolist()
    [[[2.0, 6.0]]]
    """
    with torch.enable_grad():
        X = X.detach().requires_grad_(True)
        out = f(X)
        columns = out.reshape(len(X), -1).T
        rows = [torch.autograd.grad(c.sum(), X, retain_graph=True)[0] for c in columns]
    return torch.stack(rows, dim=1).detach()


def outer_product(
    J: Float[Tensor, "n c d"], weights: Float[Tensor, " n"], *, centre: bool = False
) -> Float[Tensor, "d d"]:
    """Weighted mean of J_i^T J_i, summed over outputs; `centre` subtracts the mean gradient.

    Examples
    --------
    >>> outer_product(torch.ones(4, 1, 2), torch.ones(4)).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    p = weights / weights.sum()
    if centre:
        J = J - torch.einsum("n,ncd->cd", p, J)
    scaled = (J * p.sqrt()[:, None, None]).flatten(0, 1)
    return scaled.T @ scaled


def agop(
    gradient: Callable[[Tensor], Tensor],
    X: Float[Tensor, "n d"],
    *,
    weights: Float[Tensor, " n"] | None = None,
    centre: bool = False,
    bytes_per_row: int = 0,
    block_bytes: int = BLOCK_BYTES,
) -> Float[Tensor, "d d"]:
    """Average gradient outer product (1/n) sum_i grad f(x_i) grad f(x_i)^T, in row blocks.

    Parameters
    ----------
    gradient : callable (n, d) -> (n, c, d)
        Gradients of a predictor, e.g. ``predictor.gradient`` or
        ``lambda X: autodiff_gradient(f, X)`` for any callable f.
    X : Tensor (n, d)
        Points to average over.
    weights : Tensor (n,), optional
        Row weights (default 1).
    centre : bool
        Covariance of the gradients instead of their second moment.
    bytes_per_row, block_bytes : int
        Scratch that `gradient` needs for one row beyond its result, and the limit for a block.

    Returns
    -------
    Tensor (d, d)
        Symmetric, positive semi-definite; summed over outputs.

    Source: Rad24, the AGOP of "Neural feature ansatz".

    Examples
    --------
    >>> X, beta = torch.eye(2), torch.tensor([3.0, 4.0])
    >>> G = agop(lambda X: autodiff_gradient(lambda X: X @ beta, X), X)
    >>> G.round(decimals=4).tolist()
    [[9.0, 12.0], [12.0, 16.0]]
    """
    weights = X.new_ones(len(X)) if weights is None else weights
    d = X.shape[1]
    total, mean, mass = X.new_zeros(d, d), None, weights.sum()
    step = rows_per_block(max(bytes_per_row, 4 * d * X.element_size()), block_bytes)
    for rows, w in zip(X.split(step), weights.split(step), strict=True):
        J = gradient(rows)
        total += outer_product(J, w) * (w.sum() / mass)
        block_mean = torch.einsum("n,ncd->cd", w / mass, J)
        mean = block_mean if mean is None else mean + block_mean
    if centre and mean is not None:
        total -= mean.T @ mean
    return (total + total.T) / 2
