"""Gradient features of a sample: what first gradients from random neurons point along."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.linear_algebra import row_basis
from ...maths.simplified_gradients import check_rows, simplified_gradients
from ...maths.streams import null_draws, stream
from .cones import GradientFeatureSet, check_question, clustered, united

#: Null data sets of each kind: the fifth largest level of 199 is passed by chance in 5/200 = 2.5 %
#: of data sets, for each sign of b. (So is the largest of 39, which varies 2.5 times as much.)
DRAWS, RANK = 199, 5
#: Null data sets whose gradients are held at once.
AT_ONCE = 40
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
) -> tuple[float, float]:
    """B_G(s): of the upper p-quantile of |G| over neurons what 5 of 199 null data sets reach.

    A null data set is y shuffled, or y with random signs, centred again; the quantile's share p is
    of all neurons (of which the first 2/p are looked at), and the largest output counts.
    Where the sample's own quantile lies below B_G no cone, however wide, holds mass p, which fails
    by chance in 5/200 of samples a sign, 5 % both. All neurons share the rows,
    and without structure they agree (those that nearly always fire all give the mean of y x): so it
    is the level over samples that has to be held, and no number of neurons replaces it. Shuffles
    are exact where y is independent of x; signs where y is symmetric given x, when y^2 may depend
    on x.

    Source: Fisher 1935 (shuffles), Wu 1986 (signs); the rule is ours, Shi23 leaves B_G open.
    """
    few = min(len(W), math.ceil(MEMBERS / p))
    W, b, nulls = W[:few], b[:few], null_draws(len(X), DRAWS, seed)
    v = torch.ones_like(X[:, 0]) if weights is None else weights.to(X)
    orders, signs = nulls.orders.to(X.device), nulls.signs.to(X)
    levels = X.new_full((2, DRAWS), torch.finfo(X.dtype).tiny)
    for r in y.to(X).T:
        for drawn in (r[orders], r[:, None] * signs):
            centred = drawn - (v @ drawn) / v.sum()
            parts = [
                simplified_gradients(X, part, W, b, weights=v).norm(dim=2)
                for part in centred.split(AT_ONCE, dim=1)
            ]
            levels = torch.maximum(levels, _levels(torch.cat(parts), b, math.ceil(p * few)))
    plus, minus = (levels.topk(RANK, dim=1).values[:, -1] * ABOVE).tolist()
    return plus, minus


def _levels(
    norms: Float[Tensor, "draws m"], b: Float[Tensor, " m"], rank: int
) -> Float[Tensor, "2 draws"]:
    """The `rank`-th largest norm among the neurons with b >= 0 and among those with b < 0."""
    signed = torch.stack([norms.where(b >= 0, 0), norms.where(b < 0, 0)])
    return signed.topk(rank, dim=2).values[:, :, -1]


#: Defaults: the least mass p, neurons drawn.
LEAST_MASS, NEURONS = 0.02, 2000


def first_neurons(
    m: int, d: int, generator: torch.Generator, *, weight_scale: float, bias_scale: float
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """w ~ N(0, weight_scale^2 I), b = +bias_scale and -bias_scale in turn: m neurons relu(w.x - b).

    One size of b, so that all neurons of a sign fire about equally often and one B_G a sign can
    tell their gradients from noise; under b ~ N(0, s^2) the noise of those that nearly always fire
    hides the gradients of those that rarely do, which hold the features. Only the ratio of the
    scales matters: a neuron with b > 0 fires where w.x/weight_scale is above it.
    """
    W = weight_scale * torch.randn(m, d, generator=generator, dtype=torch.float64)
    b = torch.full((m,), bias_scale, dtype=torch.float64)
    b[1::2] *= -1
    return W, b


def gradient_feature_set(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n c"],
    *,
    p: float = LEAST_MASS,
    width: float = 0.1,
    least_norm: tuple[float, float] | None = None,
    neurons: int = NEURONS,
    weight_scale: float | None = None,
    bias_scale: float = 2.0,
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> GradientFeatureSet:
    """S_{p,g,B_G} = {(D, s): Pr_{w,b}[|<G, D>| > (1-g)|G|, |G| >= B_G, sign b = s] >= p}.

    G(w, b) = mean of r x 1{w.x > b} with r = y at mean 0 and standard deviation 1 (each output;
    several give the union of their sets). X is used as it is, in its own inner product: give
    standardised columns, and whitened ones where correlated columns should not pull G towards
    their common direction (D is then a direction of the whitened inputs).

    Neurons with b < 0 fire nearly always, so their G is about E[r x]: (D, -1) with D along E[r x]
    belongs to the set wherever y has a linear part; neurons with b > 0 fire on the few rows
    furthest along w and so single out parts of the data. The cosine of D to its limit at many rows
    is about (1 - (B_G/norm)^2)^{1/2} or more.

    `X, y`: Inputs and targets.
    `p, width`: Least mass and the cone's g.
    `least_norm`: B_G for s = +1 and s = -1, in units of x (y of standard deviation 1). None:
        :func:`null_norm`, by which at most 5 % of samples without structure have a feature.
    `neurons`: Drawn; half of them propose directions, the other half measures masses. At least 4/p.
    `weight_scale`: Of w; None is 1/(mean |x|^2)^{1/2}, so that w.x has standard deviation 1.
    `bias_scale`: |b|. Larger: fewer rows a neuron, sharper directions of smaller mass, more noise.
        At 2 and the other defaults all planted directions come within cosine .95 for four Gaussian
        components (orthogonal means of length 4, d = 20, n = 5,000; 5, d = 50, n = 10,000); where
        features are weak beside the rest of x, as for three parity blocks half uniform, 1.5 finds
        them and 2 does not.
    `weights`: Row weights; a row of weight 0 is as one that is not there.
    `seed`: Of neurons and null draws.

    Source: Shi23 (definition); size of b, B_G and clustering are ours.

    >>> X = torch.randn(1000, 5, generator=torch.Generator().manual_seed(0)).double()
    >>> found = gradient_feature_set(X, X[:, :1].sign(), neurons=400)
    >>> [f.sign for f in found.features][:1], bool(found.directions[0, 0].abs() > 0.95)
    ([-1], True)
    """
    check_rows(X, y, weights)
    check_question(p, width, neurons)
    for name, size in (("weight_scale", weight_scale), ("bias_scale", bias_scale)):
        if size is not None and not 0 < size < math.inf:
            raise ValueError(f"{name} is {size}: give a finite number above 0.")
    first = first_gradients(
        X,
        y,
        p=p,
        least_norm=least_norm,
        neurons=neurons,
        weight_scale=weight_scale,
        bias_scale=bias_scale,
        weights=weights,
        seed=seed,
    )
    sets = [clustered(g, first.b, p=p, width=width, least_norm=first.least_norm) for g in first.G]
    return united(sets)


@dataclass(frozen=True, eq=False)
class FirstGradients:
    """What a set is read from.

    `G` (c, m, d): Simplified gradients of random neurons, for each output.
    `least_norm`: B_G for s = +1 and s = -1.
    """

    G: Float[Tensor, "c m d"]
    b: Float[Tensor, " m"]
    least_norm: tuple[float, float]


def first_gradients(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n c"],
    *,
    p: float,
    least_norm: tuple[float, float] | None = None,
    neurons: int,
    weight_scale: float | None = None,
    bias_scale: float,
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> FirstGradients:
    """G(w, b) of random neurons and the least norm, with the meanings of `gradient_feature_set`."""
    v = torch.ones_like(X[:, 0]) if weights is None else weights.to(X)
    X, r, v = X[v > 0], standardised(y[v > 0].to(X), v[v > 0]), v[v > 0]
    spread = float((v @ X.square()).sum() / v.sum()) ** 0.5
    scale = 1 / max(spread, 1e-300) if weight_scale is None else weight_scale
    draw = stream(seed, "gradient feature neurons")
    W, b = first_neurons(neurons, X.shape[1], draw, weight_scale=scale, bias_scale=bias_scale)
    W, b, V = W.to(X), b.to(X), row_basis(X)
    if V is not None:  # gradients lie in the span of the rows
        X, W = X @ V, W @ V
    G = simplified_gradients(X, r, W, b, weights=v)
    if least_norm is None:
        least_norm = null_norm(X, r, W, b, p=p, weights=v, seed=seed)
    return FirstGradients(G if V is None else G @ V.T, b, least_norm)


def standardised(y: Float[Tensor, "n c"], v: Float[Tensor, " n"]) -> Float[Tensor, "n c"]:
    """(y - weighted mean)/weighted standard deviation; a constant output becomes 0."""
    share = v / v.sum()
    mean = share @ y
    r = y - mean
    r = r - share @ r  # what rounding of a large mean left
    spread = (share @ r.square()).sqrt()
    varies = spread > torch.finfo(y.dtype).eps * mean.abs()
    return torch.where(varies, r / spread.where(varies, 1), 0)
