"""Simplified gradient vectors of many neurons from samples, in blocks of rows."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from .limits import rows_per_block

#: Scratch of one block: small enough to stay in a processor's cache, which is faster than larger.
BLOCK_BYTES = 4 * 2**20


def simplified_gradients(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n c"],
    W: Float[Tensor, "m d"],
    b: Float[Tensor, " m"],
    *,
    weights: Float[Tensor, " n"] | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Float[Tensor, "c m d"]:
    """G_j = sum_i v_i y_i x_i 1{w_j.x_i > b_j} / sum_i v_i, for every output and neuron.

    The bias is subtracted (the neuron is relu(w.x - b)); v are the weights, 1/n each without them.
    X and y are used as they are: centre y before, where a constant says nothing. Two matrix
    products a block of rows, in the type of X and on its device; the result comes on top of
    `block_bytes`.

    Source: Shi23, the simplified gradient vector G(w, b) = E[y x 1{w.x > b}].

    >>> X = torch.tensor([[1.0, 0.0], [-1.0, 2.0]])
    >>> W, b = torch.eye(2), torch.zeros(2)
    >>> simplified_gradients(X, torch.tensor([[1.0], [3.0]]), W, b).tolist()
    [[[0.5, 0.0], [-1.5, 3.0]]]
    """
    check_rows(X, y, weights)
    _check_neurons(X, W, b)
    v = torch.ones_like(X[:, 0]) if weights is None else weights.to(X)
    W, b, y = W.to(X), b.to(X), y.to(X) * (v / v.sum())[:, None]
    (n, d), c, m = X.shape, y.shape[1], len(W)
    G = X.new_zeros(m, c * d)
    step = rows_per_block((m + c * d) * X.element_size(), block_bytes)
    for start in range(0, n, step):
        rows = X[start : start + step]
        fires = (rows @ W.T).gt_(b)
        pulled = y[start : start + step, :, None] * rows[:, None, :]
        G.addmm_(fires.T, pulled.flatten(1))
    return G.view(m, c, d).transpose(0, 1)


def check_rows(X: Tensor, y: Tensor, weights: Tensor | None) -> None:
    """Refuse X (n, d) and y (n, c) that are not finite or share no rows, and weights all 0."""
    if not (X.ndim == y.ndim == 2 and len(X) == len(y) > 0 and X.shape[1] > 0 and y.shape[1] > 0):
        raise ValueError(
            f"X and y have shapes {tuple(X.shape)} and {tuple(y.shape)}: give (n, d) and (n, c) "
            "with the same rows, at least one, and a column each."
        )
    if not bool(torch.isfinite(X).all() and torch.isfinite(y).all()):
        raise ValueError("X or y has values that are not finite: drop these rows or fill them.")
    if weights is None:
        return
    total = float(weights.sum())
    if weights.shape != X.shape[:1] or bool((weights < 0).any()) or not 0 < total < math.inf:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, negative or infinite values, or are all "
            f"0: give {len(X)} weights that are not negative, some above 0."
        )


def _check_neurons(X: Tensor, W: Tensor, b: Tensor) -> None:
    """W (m, d) with the inputs of X and one bias a neuron."""
    if W.ndim != 2 or W.shape[1] != X.shape[1] or b.shape != W.shape[:1]:
        raise ValueError(
            f"W and b have shapes {tuple(W.shape)} and {tuple(b.shape)}: give (m, {X.shape[1]}) "
            "and (m,)."
        )
