"""How close neurons are to given directions."""

from __future__ import annotations

import math

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


def largest_cosine(
    W: Float[Tensor, "m d"], directions: Float[Tensor, "d r"]
) -> Float[Tensor, " m"]:
    """max_j |cos(w_i, u_j)|: each neuron with the direction it is closest to.

    Parameters, Raises: as :func:`cosines`.

    Examples
    --------
    >>> largest_cosine(torch.tensor([[3.0, -4.0]]).double(), torch.eye(2).double()).tolist()
    [0.8]
    """
    return cosines(W, directions).amax(1)


def share_within(
    W: Float[Tensor, "m d"], directions: Float[Tensor, "d r"], degrees: float
) -> float:
    """Share of neurons at an angle of at most `degrees` to a direction or its negative.

    Parameters
    ----------
    W, directions : Tensor
        As in :func:`cosines`; a zero neuron is within no angle below 90.
    degrees : float
        From 0 to 90.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When `degrees` is outside 0 to 90, there is no neuron, or dimensions differ.

    Examples
    --------
    >>> W = torch.tensor([[1.0, 0.0], [-1.0, 0.1], [0.0, 1.0]])
    >>> round(share_within(W, torch.tensor([[1.0], [0.0]]), degrees=10), 4)
    0.6667
    """
    if not 0 <= degrees <= 90:
        raise ValueError(f"The angle is {degrees} degrees: give one from 0 to 90.")
    if not len(W):
        raise ValueError("There are no neurons: give a matrix W with at least one row.")
    check_dimensions(W, directions)
    across = sines(unit_rows(W), unit_rows(directions.T))
    return float((across <= math.sin(math.radians(degrees))).any(1).double().mean())


def sines(U: Float[Tensor, "m d"], V: Float[Tensor, "r d"]) -> Float[Tensor, "m r"]:
    """Sines of the angles between unit rows, from |u - (u.v) v|: small angles keep their digits.

    Examples
    --------
    >>> U, V = torch.tensor([[0.6, 0.8], [1.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> sines(U.double(), V.double()).round(decimals=6).tolist()
    [[0.8], [0.0]]
    """
    columns = [torch.linalg.vector_norm(U - (U @ v)[:, None] * v, dim=1) for v in V]
    zero = (V == 0).all(1)
    return torch.stack(columns, dim=1).where((U != 0).any(1)[:, None] & ~zero, 1.0).clamp(max=1)


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
