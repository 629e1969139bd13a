"""How much of the neurons given directions cover, by cone and by norm."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def coverage(
    G: Float[Tensor, "m d"],
    b: Float[Tensor, " m"],
    directions: Float[Tensor, "d q"],
    *,
    widths: Sequence[float],
    norms: Sequence[float],
) -> Float[Tensor, "q 2 widths norms"]:
    """Mass of (D, s): share of neurons with |<G, D>| > (1 - g)|G|, |G| >= B_G and s = sign b.

    (D, s) is in S_{p,g,B_G} where the mass is at least p: compare the result with any p.

    Parameters
    ----------
    G, b : Tensor (m, d), (m,)
        Simplified gradients and biases.
    directions : Tensor (d, q)
        Columns of any length above 0.
    widths, norms : sequence of float
        Values of g in (0, 1) and of B_G >= 0.

    Returns
    -------
    Tensor (q, 2, len(widths), len(norms))
        On axis 1: s = +1 (b >= 0), then s = -1.

    Raises
    ------
    ValueError
        When shapes do not fit, a direction is 0, or a number is outside its range.

    Source: Shi23, the gradient feature set.

    Examples
    --------
    >>> G, b = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, -1.0])
    >>> coverage(G, b, torch.eye(2), widths=[0.1], norms=[0.5, 1.5])[:, :, 0].tolist()
    [[[0.5, 0.5], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]]
    """
    _check(G, b, directions, widths, norms)
    lengths = G.norm(dim=1)
    along = (G @ (directions / directions.norm(dim=0)).to(G)).abs()
    signs = torch.stack([b >= 0, b < 0]).to(G)
    long = torch.stack([lengths >= norm for norm in norms], dim=1).to(G)
    inside = [((along > (1 - g) * lengths[:, None]).to(G)) for g in widths]
    masses = [torch.einsum("mq,sm,mn->qsn", part, signs, long) for part in inside]
    return torch.stack(masses, dim=2) / len(G)


def _check(
    G: Tensor, b: Tensor, D: Tensor, widths: Sequence[float], norms: Sequence[float]
) -> None:
    """Shapes, directions with a length, and ranges."""
    if not (G.ndim == D.ndim == 2 and len(G) and b.shape == G.shape[:1] and len(D) == G.shape[1]):
        raise ValueError(
            f"G, b and directions have shapes {tuple(G.shape)}, {tuple(b.shape)} and "
            f"{tuple(D.shape)}: give (m, d), (m,) and (d, q) with at least one neuron."
        )
    if not bool((D.norm(dim=0) > 0).all()):
        raise ValueError("a direction is 0 or not finite: give columns of a length above 0.")
    if not (widths and norms and all(0 < g < 1 for g in widths) and min(norms) >= 0):
        raise ValueError(
            f"widths are {list(widths)} and norms {list(norms)}: give at least one of each, widths "
            "between 0 and 1, norms not negative."
        )
