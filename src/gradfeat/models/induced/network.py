"""The network that gradient features induce: found directions, a grid of biases, a convex head."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.activations import ReLU
from ...maths.blocks import unit_weights
from ...rows.rows import Rows, in_memory
from ..base import OneStage
from ..bounded.interior_point import bounded_head
from ..gradient_features.cones import GradientFeatureSet
from ..gradient_features.feature_set import LEAST_MASS, NEURONS, gradient_feature_set
from ..head import Linear, RidgeHead, affine_part
from ..losses import Loss, Squared
from ..predictors import TwoLayer


@dataclass(frozen=True, eq=False)
class SignedDirections:
    """Pairs (D, s): a direction up to its own sign, and the sign, +1 or -1, of the biases with it.

    The columns of `D` (d, q) are of length 1; one may come twice, once with each sign.
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
        return cls(found.every, torch.tensor([f.sign for f in found.features], dtype=torch.int64))


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
    densely as the data: at most `biases` (2 or more) for each w. With s = -1 the grid goes to the
    end of the range, where the neuron is linear on it; with s = +1 it stops before it, where it is
    0.
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


@final
@dataclass(frozen=True)
class InducedNetwork(OneStage[TwoLayer]):
    """f(x) = offset + sum_j a_j relu(<w_j, x> - b_j), w_j = +-D for gradient features (D, s).

    D and s are found on the training rows (:func:`gradient_feature_set`) or given; the b_j lie on
    a grid of sign s (:func:`grid_neurons`); a minimises the mean loss under |a_j| <= B_a1,
    |a|_2 <= B_a2, each output by itself. Without bounds a is fitted by ridge (squared loss). Where
    no feature is found the network is the mean of y (plus the linear part): there is nothing else
    that it could honestly say.

    `loss`: Squared, hinge or logistic (labels +-1).
    `p, width, least_norm, neurons, bias_scale`: As in :func:`gradient_feature_set`.
    `biases`: Points of the grid for each w.
    `B_a1, B_a2, B_b`: Bounds of the class; infinite for none.
    `linear`: Whether alpha + beta.x is fitted first (squared loss); "none" leaves the offset alone.
    `head`: Penalty where there are no bounds; its `intercept` says in both cases whether there is
        an offset.
    `directions`: Given ones, in place of those found.
    `tolerance`: Certified gap of the bounded head, as a share of the loss of a = 0.

    Source: Shi23, the gradient-feature-induced networks (definition); the grid is ours.

    >>> X = torch.randn(2000, 10, generator=torch.Generator().manual_seed(0)).double()
    >>> y = torch.relu(X[:, :1]) + X[:, :1]
    >>> f = InducedNetwork(biases=8).fit(in_memory(X, y))
    >>> bool((f(X) - y).square().mean() < 0.05 * y.var())
    True
    """

    loss: Loss = field(default_factory=Squared)
    p: float = LEAST_MASS
    width: float = 0.1
    least_norm: tuple[float, float] | None = None
    neurons: int = NEURONS
    bias_scale: float = 2.0
    biases: int = 16
    B_a1: float = math.inf
    B_a2: float = math.inf
    B_b: float = math.inf
    linear: Linear = "none"
    head: RidgeHead = field(default_factory=RidgeHead)
    directions: SignedDirections | None = None
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if self.loss == Squared():
            return
        if not self._bounded or self.linear != "none":
            raise ValueError(
                f"the loss is {self.loss!r}, B_a1, B_a2 are {self.B_a1}, {self.B_a2} and linear is "
                f"{self.linear!r}: give a finite bound and linear='none', or the squared loss."
            )

    @property
    def _bounded(self) -> bool:
        return math.isfinite(min(self.B_a1, self.B_a2))

    def fit(self, rows: Rows, *, seed: int = 0) -> TwoLayer:
        block = rows.block("an induced network")
        X, y, w = block.X, block.y, block.w
        found = self.found(rows, seed=seed)
        W, b = grid_neurons(found, X, biases=self.biases, B_b=self.B_b, weights=w)
        alpha, beta = affine_part(rows, self.linear)
        rest = y - X @ beta - alpha
        F = torch.relu(torch.addmm(-b, X, W.T))
        a, offset, penalty = self._head(F, rest, w, seed)
        return TwoLayer(W, -b, a, alpha + offset, beta, ReLU(), penalty)

    def found(self, rows: Rows, *, seed: int = 0) -> SignedDirections:
        """The directions that :meth:`fit` uses on these rows."""
        if self.directions is not None:
            return self.directions
        return SignedDirections.of(self.feature_set(rows, seed=seed))

    def feature_set(self, rows: Rows, *, seed: int = 0) -> GradientFeatureSet:
        """The gradient feature set of these rows at this learner's settings."""
        block = rows.block("an induced network")
        return gradient_feature_set(
            block.X,
            block.y,
            p=self.p,
            width=self.width,
            least_norm=self.least_norm,
            neurons=self.neurons,
            bias_scale=self.bias_scale,
            weights=block.w,
            seed=seed,
        )

    def _head(
        self, F: Tensor, y: Tensor, w: Tensor, seed: int
    ) -> tuple[Tensor, Tensor, float | None]:
        """a (m, c), the offsets (c,) and the penalty, where it is ridge."""
        if F.shape[1] == 0:
            mean = w @ y / w.sum()
            return y.new_zeros(0, y.shape[1]), mean if self.head.intercept else 0 * mean, None
        if not self._bounded:
            return self.head.fit(in_memory(F, y, w), seed=seed)
        fits = [
            bounded_head(
                F,
                column,
                self.loss,
                B1=self.B_a1,
                B2=self.B_a2,
                weights=w,
                offset=self.head.intercept,
                tolerance=self.tolerance,
            )
            for column in y.T
        ]
        a = torch.stack([fit.a.to(F) for fit in fits], 1)
        return a, y.new_tensor([f.offset for f in fits]), None
