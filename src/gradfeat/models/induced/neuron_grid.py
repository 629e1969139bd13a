"""Neurons relu(<w, x> - b) along given directions, on a grid of biases of a given sign."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..base import unit_weights
from ..gradient_features.cones import GradientFeatureSet


@dataclass(frozen=True, eq=False)
class SignedDirections:
    """Pairs (D, s): a direction up to its own sign, and the sign of the biases that go with it.

    Attributes
    ----------
    D : Tensor (d, q)
        Unit columns; the same direction may come twice, once with each sign.
    signs : Tensor (q,)
        +1 or -1.

    Raises
    ------
    ValueError
        When a column is not of length 1, or a sign is not +-1.

    Examples
    --------
    >>> SignedDirections(torch.eye(3)[:, :1], torch.tensor([1])).signs.tolist()
    [1]
    """

    D: Float[Tensor, "d q"]
    signs: Tensor

    def __post_init__(self) -> None:
        if self.D.ndim != 2 or self.signs.shape != self.D.shape[1:]:
            raise ValueError(
                f"directions are of shape {tuple(self.D.shape)} and signs of "
                f"{tuple(self.signs.shape)}: give (d, q) and (q,)."
            )
        far = (self.D.double().norm(dim=0) - 1).abs() > 1e-4
        if bool(far.any()) or not bool((self.signs.abs() == 1).all()):
            raise ValueError(
                "directions must be columns of length 1 and signs +1 or -1: divide each column by "
                "its norm."
            )

    @classmethod
    def of(cls, found: GradientFeatureSet) -> SignedDirections:
        """The pairs of a gradient feature set."""
        columns = [feature.direction for feature in found.features]
        D = torch.stack(columns, 1) if columns else torch.zeros(found.d, 0, dtype=torch.float64)
        return cls(D, torch.tensor([f.sign for f in found.features], dtype=torch.int64))


def grid_neurons(
    directions: SignedDirections,
    X: Float[Tensor, "n d"],
    *,
    biases: int,
    B_b: float = math.inf,
    weights: Float[Tensor, " n"] | None = None,
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """Weights w = +D and -D, and b of the sign s: 0 and quantiles of <w, x> among 0 < s b <= B_b.

    The quantiles are of the rows with <w, x> in that range, so that the neurons' kinks lie as
    densely as the data. With s = -1 the grid goes to the end of the range, where the neuron is
    linear on it; with s = +1 it stops before it, where the neuron is 0.

    Parameters
    ----------
    directions : SignedDirections
        D and s.
    X : Tensor (n, d)
        Rows that the quantiles are of.
    biases : int
        At most this many for each w, at least 2.
    B_b : float
        Bound of |b|.
    weights : Tensor (n,), optional
        Non-negative row weights.

    Returns
    -------
    Tensor (m, d), Tensor (m,)
        w and b of relu(<w, x> - b).

    Raises
    ------
    ValueError
        When `biases` is below 2 or `B_b` is not positive.

    Examples
    --------
    >>> X = torch.tensor([[-1.0], [0.5], [1.0]])
    >>> W, b = grid_neurons(SignedDirections(torch.ones(1, 1), torch.tensor([1])), X, biases=2)
    >>> W[:, 0].tolist(), b.tolist()
    ([1.0, 1.0, -1.0, -1.0], [0.0, 0.5, 0.0, 1.0])
    """
    if biases < 2 or not B_b > 0:
        raise ValueError(f"biases, B_b are {biases}, {B_b}: give 2 or more, and a positive bound.")
    w = unit_weights(X, weights)
    rows, offsets = [X.new_zeros(0, X.shape[1])], [X.new_zeros(0)]
    for D, sign in zip(directions.D.to(X).T, directions.signs.tolist(), strict=True):
        for side in (D, -D):
            b = sign * _grid(sign * (X @ side), w, biases, B_b, reach=sign < 0)
            rows.append(side.expand(len(b), -1))
            offsets.append(b)
    return torch.cat(rows), torch.cat(offsets)


def _grid(
    t: Float[Tensor, " n"], w: Float[Tensor, " n"], count: int, limit: float, *, reach: bool
) -> Float[Tensor, " k"]:
    """0 and weighted quantiles of the t in (0, limit], to the last one if `reach`."""
    kept = (t > 0) & (t <= limit) & (w > 0)
    ends = t.new_zeros(1)
    if not bool(kept.any()):
        return ends
    t, order = t[kept].sort()
    share = w[kept][order].cumsum(0)
    levels = torch.arange(1, count, dtype=t.dtype, device=t.device) / (count - reach)
    at = torch.searchsorted(share, levels * share[-1] * (1 - 1e-6)).clamp(max=len(t) - 1)
    return torch.cat([ends, t[at].unique()])
