"""Directions that many first gradients point along, up to sign, with their mass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from scipy.special import betaincinv
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
    there is a valley between the two. No member of a direction is claimed by an earlier one.

    Source: Shi23 (cones up to sign); the algorithm is ours.
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


#: Share of p that a candidate needs among the neurons that propose directions.
PROPOSED = 0.5


@dataclass(frozen=True, eq=False)
class GradientFeature:
    """A member (D, s) of the set, and what was measured of it.

    `direction` (d,): D, of length 1; its own sign means nothing (the largest entry is positive).
    `sign`: s = sign of the neurons' b, +1 or -1.
    `mass`: Share of all neurons with this sign, |G| >= B_G and |<G, D>| > (1 - g)|G|.
    `low, high`: 95 % interval of the mass over the draw of neurons (Clopper-Pearson), the rows
        being given.
    `norm`: Median |G| of these neurons. Over B_G it says how far they are above the rows' noise.
    """

    direction: Tensor
    sign: int
    mass: float
    low: float
    high: float
    norm: float


@dataclass(frozen=True, eq=False)
class GradientFeatureSet:
    """S_{p,g,B_G}: the features found, largest mass first, and what was asked for.

    `features`: (D, +1) and (D, -1) are two of them.
    `p, width`: Least mass p and the cone's width g.
    `least_norm`: B_G for s = +1 and for s = -1.
    `unexplained`: Share of neurons with |G| >= B_G in no feature's cone; a mean over outputs.
    `short`: Share of neurons with |G| < B_G; a mean over outputs.
    """

    features: tuple[GradientFeature, ...]
    p: float
    width: float
    least_norm: tuple[float, float]
    unexplained: float
    short: float
    d: int

    @property
    def directions(self) -> Tensor:
        """(d, q): distinct up to the sign of x and of b, largest mass first."""
        kept: list[Tensor] = []
        for feature in self.features:
            if all(abs(float(feature.direction @ D)) <= 1 - self.width for D in kept):
                kept.append(feature.direction)
        return self._columns(kept)

    @property
    def every(self) -> Tensor:
        """(d, q): the direction of each feature, a column of float64 on the CPU."""
        return self._columns([feature.direction for feature in self.features])

    def _columns(self, D: list[Tensor]) -> Tensor:
        return torch.stack(D, dim=1) if D else torch.zeros(self.d, 0, dtype=torch.float64)


def clustered(
    G: Float[Tensor, "m d"],
    b: Float[Tensor, " m"],
    *,
    p: float,
    width: float,
    least_norm: tuple[float, float],
) -> GradientFeatureSet:
    """Directions D with Pr[|<G, D>| > (1 - g)|G|, |G| >= B_G, sign b = s] >= p, both s apart.

    Candidates come from the first half of the neurons, masses from the second half, and those with
    mass >= p there are kept: the search cannot flatter the masses. Cones overlap where directions
    are close, and a neuron in both then counts for both. Where G spreads without clusters, only
    cones that still hold p are features, and of those a choice that does not overlap: in few inputs
    that is no high bar (evenly spread directions have mass g in any cone for d = 3).

    `G, b`: Simplified gradients of neurons drawn independently, and their biases.
    `least_norm`: B_G for b >= 0 and for b < 0, in the units of G, above 0.

    Source: Shi23, the gradient feature set.
    """
    _check_gradients(G, b, least_norm)
    check_question(p, width, len(G))
    G, b, half = G.double().cpu(), b.cpu(), len(G) // 2
    norms = G.norm(dim=1)
    bound = torch.tensor(least_norm, dtype=G.dtype)[(b < 0).long()]
    U, long = G / norms.clamp(min=1e-300)[:, None], norms >= bound
    least = max(1, math.ceil(PROPOSED * p * half))
    features, explained = [], torch.zeros(len(G) - half, dtype=torch.bool)
    for sign in (1, -1):
        mine = long & ((b < 0) == (sign < 0))
        D = direction_clusters(U[:half][mine[:half]], width, least)
        inside = ((U[half:] @ D.T).abs() > 1 - width) & mine[half:, None]
        for v, members in zip(D, inside.T, strict=True):
            feature = _measured(v, sign, members, norms[half:])
            if feature.mass >= p:
                features.append(feature)
                explained |= members
    unexplained = float((long[half:] & ~explained).double().mean())
    short = float((~long[half:]).double().mean())
    ranked = tuple(sorted(features, key=lambda f: -f.mass))
    return GradientFeatureSet(ranked, p, width, least_norm, unexplained, short, G.shape[1])


def _measured(
    v: Float[Tensor, " d"], sign: int, members: Bool[Tensor, " m"], norms: Float[Tensor, " m"]
) -> GradientFeature:
    """One direction with the share of its members, the share's interval, and their norm."""
    count, total = int(members.sum()), len(members)
    low = betaincinv(count, total - count + 1, 0.025) if count else 0.0
    high = betaincinv(count + 1, total - count, 0.975) if count < total else 1.0
    norm = float(norms[members].median()) if count else math.nan
    v = v * torch.sign(v[v.abs().argmax()])
    return GradientFeature(v, sign, count / total, float(low), float(high), norm)


def united(sets: Sequence[GradientFeatureSet]) -> GradientFeatureSet:
    """One set of several outputs: a direction that two find has the larger of its masses."""
    if not sets:
        raise ValueError("there are no sets to unite: give at least one.")
    kept: list[GradientFeature] = []
    for new in sorted((f for one in sets for f in one.features), key=lambda f: -f.mass):
        cone = 1 - sets[0].width
        if all(new.sign != f.sign or abs(float(new.direction @ f.direction)) <= cone for f in kept):
            kept.append(new)
    unexplained = sum(one.unexplained for one in sets) / len(sets)
    short = sum(one.short for one in sets) / len(sets)
    return replace(sets[0], features=tuple(kept), unexplained=unexplained, short=short)


def check_question(p: float, width: float, neurons: int) -> None:
    """ValueError unless p and width are in (0, 1) and half of the neurons can show a mass of p."""
    if not (0 < p < 1 and 0 < width < 1):
        raise ValueError(f"p is {p} and width {width}: give both between 0 and 1.")
    if neurons * p < 4:
        raise ValueError(
            f"{neurons} neurons cannot show a mass of {p}: give at least {-(-4 // p):.0f}."
        )


def _check_gradients(G: Tensor, b: Tensor, least_norm: tuple[float, float]) -> None:
    if G.ndim != 2 or b.shape != G.shape[:1] or not bool(torch.isfinite(G).all()):
        raise ValueError(
            f"G and b have shapes {tuple(G.shape)} and {tuple(b.shape)}, or G has values that are "
            "not finite: give finite (m, d) and (m,)."
        )
    if not min(least_norm) > 0:
        raise ValueError(f"least_norm is {least_norm}: give two norms above 0.")
