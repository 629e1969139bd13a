"""Gradients of an expansion at its own points, from tiles of which half is evaluated."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from ..base import OwnTiles

#: (X_i, X_j, k(X_i, X_j), memory for the result) -> dk/ds at these pairs.
Slopes = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def tile_gradient(
    slopes: Slopes, X: Float[Tensor, "n d"], c: Float[Tensor, "n c"], tiles: OwnTiles
) -> Float[Tensor, "n c d"]:
    """G_i = 2 sum_j s_ij c_j (x_i - x_j) for symmetric slopes s_ij, each evaluated once.

    With W = [c, c x] the sums over j are one product s W of 1 + d columns an output; a tile of s
    serves its own rows and, transposed, those of its mirror image.

    Examples
    --------
    >>> class One:
    ...     rows = [slice(0, 2)]
    ...     def __call__(self, i, j):
    ...         return torch.ones(2, 2)
    >>> X = torch.tensor([[0.0], [1.0]])
    >>> tile_gradient(lambda x, z, K, out: K, X, torch.ones(2, 1), One())[:, 0, 0].tolist()
    [-2.0, 2.0]
    """
    k, d = c.shape[1], X.shape[1]
    centred = X - X.mean(0)
    W = torch.cat([c, (c[:, :, None] * centred[:, None, :]).flatten(1)], 1).T.contiguous()
    room = X.new_empty(max(rows.stop - rows.start for rows in tiles.rows) ** 2)
    parts, out = [X[rows] for rows in tiles.rows], torch.zeros_like(W)
    for i, rows in enumerate(tiles.rows):
        for j in range(i, len(tiles.rows)):
            columns = tiles.rows[j]
            K = tiles(i, j)
            s = slopes(parts[i], parts[j], K, room[: K.numel()].view(K.shape))
            out[:, rows].addmm_(W[:, columns], s.T)
            if j > i:
                out[:, columns].addmm_(W[:, rows], s)
    total, pulled = out[:k].T, out[k:].view(k, d, -1).permute(2, 0, 1)
    return 2 * (total[:, :, None] * centred[:, None, :] - pulled)
