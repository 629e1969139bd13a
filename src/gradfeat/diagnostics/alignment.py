"""How close neurons are to given directions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def cosines(W: Float[Tensor, "m d"], directions: Float[Tensor, "d r"]) -> Float[Tensor, "m r"]:
    """|<w_i, u_j>| / (|w_i| |u_j|) for every neuron and direction; 0 where one of them is zero.

    Parameters
    ----------
    W : Tensor (m, d)
        Neurons, one a row.
    directions : Tensor (d, r)
        One a column, of any length.

    Returns
    -------
    Tensor (m, r)
        In [0, 1].

    Raises
    ------
    ValueError
        When the inputs have different dimensions d.

    Examples
    --------
    >>> W = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> cosines(W, torch.eye(2)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    check_dimensions(W, directions)
    return (unit_rows(W) @ unit_rows(directions.T).T).abs().clamp(max=1)


def unit_rows(W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
    """Rows divided by their norms, also tiny and huge ones; a zero row stays zero.

    Examples
    --------
    >>> unit_rows(torch.tensor([[0.0, 1e-300], [0.0, 0.0]], dtype=torch.float64)).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    largest = W.abs().amax(1, keepdim=True)
    scaled = W / largest.where(largest > 0, 1.0)
    return scaled / torch.linalg.vector_norm(scaled, dim=1, keepdim=True).clamp(min=1)


def check_dimensions(W: Tensor, directions: Tensor) -> None:
    """W (m, d) and directions (d, r) of one d; else ValueError."""
    if W.ndim != 2 or directions.ndim != 2 or W.shape[1] != len(directions):
        raise ValueError(
            f"W has shape {tuple(W.shape)} and the directions {tuple(directions.shape)}: give "
            "(m, d) and (d, r) with the same d."
        )
