"""Directions on the sphere that many vectors point along, up to sign."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

#: Rounds of moving a direction to its members, and the cosine's gap at which it stands still.
ROUNDS, STILL = 50, 1e-12
#: Two cones that overlap are two where at most this share of the rarer one lies between them.
VALLEY = 0.5
#: Rounds in which each direction moves to the vectors nearest to it, at the end.
MOVES = 5
#: Cosines held at a time.
COSINES = 2**20


def direction_clusters(U: Float[Tensor, "k d"], width: float, least: int) -> Float[Tensor, "q d"]:
    """Unit directions D, strongest first, with at least `least` vectors in |<u, D>| > 1 - width.

    Greedy cover: the vector with most others about it (in a cone of |cos| > (1 - width)^2, as two
    members at the edge of one cone are to each other) is moved to the leading eigenvector of its
    own cone until it stands still; its members are set aside, and so on. What is left around a
    cone is no direction of its own: one whose cone overlaps with an earlier one's is kept only if
    there is a valley between the two.

    Parameters
    ----------
    U : Tensor (k, d)
        Unit vectors.
    width : float
        The cone's g, in (0, 1).
    least : int
        Members that a direction needs, at least 1, none of them claimed by an earlier direction.

    Source: Shi23 (cones up to sign); the algorithm is ours.

    Examples
    --------
    >>> U = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    >>> direction_clusters(U, 0.1, 2).abs().tolist()
    [[1.0, 0.0]]
    """
    free = torch.ones(len(U), dtype=torch.bool, device=U.device)
    D, candidates = U[:0], free.clone()
    about = _neighbours(U, U, (1 - width) ** 2)
    while bool(candidates.any()):
        start = int(about.where(candidates, -1).argmax())
        if about[start] < least:
            break
        v = _settled(U[free], U[start], 1 - width)
        inside = (U @ v).abs() > 1 - width
        tried = inside & free
        tried[start] = True
        candidates &= ~tried
        if int((inside & free).sum()) < least:
            continue
        free &= ~inside
        about = about - _neighbours(U, U[tried], (1 - width) ** 2)
        if all(_apart(U, v, kept, 1 - width) for kept in D):
            D = torch.cat([D, v[None]])
    return _to_their_members(U, D, 1 - width)


def _neighbours(
    U: Float[Tensor, "k d"], Z: Float[Tensor, "l d"], cosine: float
) -> Float[Tensor, " k"]:
    """How many rows of Z lie within the cone about each row of U, in blocks of rows."""
    rows = max(1, COSINES // max(1, len(Z)))
    counts = [((part @ Z.T).abs() > cosine).sum(1) for part in U.split(rows)]
    return torch.cat(counts).to(U) if counts else U.new_zeros(0)


def _settled(U: Float[Tensor, "k d"], v: Float[Tensor, " d"], cosine: float) -> Float[Tensor, " d"]:
    """The leading eigenvector of its own cone's members, from v (a wider cone the first time)."""
    reach = cosine**2
    for _ in range(ROUNDS):
        along = U @ v
        moved = U.T @ along.where(along.abs() > reach, 0)
        moved = moved / moved.norm() if bool(moved.norm() > 0) else v
        still, v = bool((moved @ v).abs() > 1 - STILL), moved
        if still and reach == cosine:
            break
        reach = cosine
    return v


def _apart(
    U: Float[Tensor, "k d"], v: Float[Tensor, " d"], kept: Float[Tensor, " d"], cosine: float
) -> bool:
    """Whether the two cones are disjoint, or fewer vectors lie between v and `kept` than at both.

    Angles in the plane of the two directions, in units of the angle between them: 0 at `kept`, 1
    at v; a quarter to three quarters is between.
    """
    v = v * torch.sign(v @ kept)
    c = float(v @ kept)
    if c <= 2 * cosine**2 - 1:
        return True
    inside = ((U @ v).abs() > cosine) | ((U @ kept).abs() > cosine)
    along, across = U[inside] @ kept, U[inside] @ (v - c * kept) / math.sqrt(max(1 - c * c, 1e-30))
    at = torch.atan2(across * along.sign(), along.abs()) / math.acos(min(c, 1.0) - 1e-15)
    first, between, second = (int(((at - x).abs() <= 0.25).sum()) for x in (0.0, 0.5, 1.0))
    return between <= VALLEY * min(first, second)


def _to_their_members(
    U: Float[Tensor, "k d"], D: Float[Tensor, "q d"], cosine: float
) -> Float[Tensor, "q d"]:
    """Each direction at the leading eigenvector of the vectors that are nearest to it."""
    if not len(D):
        return D
    moved = D
    for _ in range(MOVES):
        along = U @ moved.T
        best, nearest = along.abs().max(1)
        mine: Bool[Tensor, "k q"] = torch.nn.functional.one_hot(nearest, len(D)).bool()
        held = along.where(mine & (best > cosine)[:, None], 0)
        moved = torch.nn.functional.normalize(held.T @ U, dim=1)
    return moved
