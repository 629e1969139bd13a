"""The norm that simplified gradients reach without structure: B_G by default."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.null_draws import null_draws
from ...maths.simplified_gradients import BLOCK_BYTES, simplified_gradients

#: Null data sets of each kind: the largest level of 39 is passed by chance in 1/40 = 2.5 % of data
#: sets, for each sign of b.
DRAWS = 39
#: Neurons looked at in units of 1/p: so many of them lie above the quantile.
MEMBERS = 2
#: The level is raised by so much: of few rows a null data set is often the sample itself over
#: again, and must not be passed by rounding.
ABOVE = 1 + 1e-5


def null_norm(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n c"],
    W: Float[Tensor, "m d"],
    b: Float[Tensor, " m"],
    *,
    p: float,
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
    block_bytes: int = BLOCK_BYTES,
) -> tuple[float, float]:
    """B_G(s) = max over null data sets of the upper p-quantile of |G| over neurons, s = sign b.

    A null data set is y shuffled, or y with random signs, centred again; the quantile's share p is
    of all neurons, and the largest output counts. Where the sample's own quantile lies below B_G no
    cone, however wide, holds mass p: with 39 null data sets of a kind that fails by chance in 1/40
    of samples a sign, 5 % both. All neurons share the rows, and without structure they agree (those
    that nearly always fire all give the mean of y x): so it is the level over samples that has to
    be held, and no number of neurons replaces it. Shuffles are exact where y is independent of x;
    signs where y is symmetric given x, when y^2 may depend on x. B_G is the larger of the two.

    Parameters
    ----------
    X, y, W, b : Tensor (n, d), (n, c), (m, d), (m,)
        As for :func:`gradfeat.maths.simplified_gradients.simplified_gradients`; at most the first
        2/p neurons are looked at.
    p : float
        Mass that nothing may reach without structure, in (0, 1).
    weights : Tensor (n,), optional
        Row weights.
    seed : int
        Of the shuffles and signs.
    block_bytes : int
        Scratch of one block of rows; 39 x 2/p x d numbers come on top.

    Returns
    -------
    tuple of float
        For b >= 0 and for b < 0, in units of x times y, above 0.

    Source: Fisher 1935 (shuffles), Wu 1986 (signs); the rule is ours, Shi23 leaves B_G open.

    Examples
    --------
    >>> g = torch.Generator().manual_seed(0)
    >>> X, y, W = (torch.randn(*s, generator=g) for s in ((400, 4), (400, 1), (200, 4)))
    >>> plus, minus = null_norm(X, y, W, torch.tensor([1.0, -1.0]).repeat(100), p=0.1)
    >>> 0.05 < plus < minus < 0.3  # (d/n)^{1/2} = 0.1
    True
    """
    few = min(len(W), math.ceil(MEMBERS / p))
    W, b, nulls = W[:few], b[:few], null_draws(len(X), DRAWS, seed)
    v = torch.ones_like(X[:, 0]) if weights is None else weights.to(X)
    orders, signs = nulls.orders.to(X.device), nulls.signs.to(X)
    levels = X.new_full((2, DRAWS), torch.finfo(X.dtype).tiny)
    for r in y.to(X).T:
        for drawn in (r[orders], r[:, None] * signs):
            centred = drawn - (v @ drawn) / v.sum()
            G = simplified_gradients(X, centred, W, b, weights=v, block_bytes=block_bytes)
            levels = torch.maximum(levels, _levels(G.norm(dim=2), b, math.ceil(p * few)))
    plus, minus = (levels.amax(1) * ABOVE).tolist()
    return plus, minus


def _levels(
    norms: Float[Tensor, "draws m"], b: Float[Tensor, " m"], rank: int
) -> Float[Tensor, "2 draws"]:
    """The `rank`-th largest norm among the neurons with b >= 0 and among those with b < 0."""
    signed = torch.stack([norms.where(b >= 0, 0), norms.where(b < 0, 0)])
    return signed.topk(rank, dim=2).values[:, :, -1]
