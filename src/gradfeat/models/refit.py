"""A new head on features that are kept: the last step of Algorithm 1, and of transfer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..rows.rows import Rows
from .base import unit_weights
from .head import Features, RidgeHead, Select
from .two_layer import TwoLayer

#: How beta is found before the features are fitted to what is left.
Linear = Literal["moment", "ridge", "none"]


@dataclass(frozen=True)
class AffineRest:
    """y less alpha + beta.x, in the place of y."""

    offset: Float[Tensor, " c"]
    beta: Float[Tensor, "d c"]

    def __call__(self, rows: Block) -> Block:
        return Block(rows.X, rows.y - rows.X @ self.beta - self.offset, rows.w)


@dataclass(frozen=True)
class NetworkRest:
    """y less `scale` times what a network says, in the place of y."""

    net: TwoLayer
    scale: float = 1.0

    def __call__(self, rows: Block) -> Block:
        return Block(rows.X, torch.sub(rows.y, self.net(rows.X), alpha=self.scale), rows.w)


@dataclass(frozen=True)
class FeatureRows:
    """Features of a network in the place of x, and what its affine part leaves in that of y."""

    net: TwoLayer

    def __call__(self, rows: Block) -> Block:
        rest = rows.y - rows.X @ self.net.beta - self.net.offset
        return Block(self.net.features(rows.X), rest, rows.w)


def features_of(net: TwoLayer) -> Features:
    """The features of `net`, with the scratch of a row."""
    return Features(FeatureRows(net), 2 * len(net.b) * net.W.element_size())


def affine_part(
    rows: Rows, linear: Linear, select: Select = "loo"
) -> tuple[Float[Tensor, " c"], Float[Tensor, "d c"]]:
    """alpha (c,) and beta (d, c) of alpha + beta.x, before anything else is fitted.

    "moment": alpha = mean y, beta = (1/n) sum_i y_i x_i; "ridge": with a penalty chosen as
    `select` says; "none": zero.

    Source: Damian22, Algorithm 1, lines 2 and 3.
    """
    none = rows.template
    if linear == "none":
        return none.X.new_zeros(none.y.shape[1]), none.X.new_zeros(none.X.shape[1], none.y.shape[1])
    if linear == "ridge":
        beta, alpha, _ = RidgeHead(select=select).fit(rows, label="linear part")
        return alpha, beta
    m = rows.moments()
    beta = m.xy / m.weight + torch.outer(m.mean_x, m.mean_y)
    return m.mean_y.to(none.X), beta.to(none.X)


def with_head(net: TwoLayer, rows: Rows, head: RidgeHead, seed: int = 0) -> TwoLayer:
    """`net` with a fitted to what its affine part leaves of y, and the head's intercept added."""
    a, intercept, _ = head.fit(rows, features_of(net), seed=seed)
    return replace(net, a=a, offset=net.offset + intercept)


def refit_head(
    net: TwoLayer, rows: Rows, head: RidgeHead, *, linear: Linear = "none", seed: int = 0
) -> TwoLayer:
    """The features of `net` with a head of their own: sigma and (W, b) kept, the rest fitted anew.

    min over a, intercept of sum_i w_i |y_i - alpha - beta.x_i - intercept - a.sigma(W x_i + b)|^2 +
    penalty |a|^2, with alpha + beta.x from the new rows as `linear` says; one of d coefficients
    needs n of order d rows, which "none" does not (and whose head should have an intercept). The
    number of outputs may differ from that of `net`.

    Source: Damian22, Theorem 3: with features pretrained on a target of the same r directions, a
    new target of degree p needs n of order r^p rows, whatever d is.
    """
    alpha, beta = affine_part(rows, linear)
    a = alpha.new_zeros(len(net.b), len(alpha))
    return with_head(replace(net, a=a, offset=alpha, beta=beta), rows, head, seed)


@dataclass(frozen=True, eq=False)
class Transfer:
    """A net with a new head, and how the head was chosen.

    `net`: The first layer as it was, the head fitted.
    `linear`: Scale s of the linear part; 0 where there is none.
    `left_out` (n, c): What the same head fitted without row i predicts at row i.
    `loss`: Weighted mean squared error of `left_out`, summed over outputs.
    """

    net: TwoLayer
    penalty: float
    linear: float
    left_out: Float[Tensor, "n c"]
    loss: float


def transfer(
    net: TwoLayer,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n k"],
    head: RidgeHead,
    *,
    linear: bool = True,
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> Transfer:
    """Head on the features of `net` and, if that pays, on the inputs themselves: one ridge.

    min over b, beta, a of sum_i w_i |y_i - b - beta.x_i - a.sigma(W x_i + b_0)|^2 + lambda (|a|^2 +
    |beta|^2 / s^2), for s = 0 (no beta), s = 1, and the s at which the inputs have as much variance
    as the features; the s of least leave-one-out error is taken (0 alone where `linear` is False).
    A plain linear part would need n of order d rows; the features need n of order r^p only. Fewer
    rows than neurons or inputs are solved in the dual (n x n) form; weights are positive.

    Source: Damian22, Theorem 3.
    """
    w = unit_weights(X, weights)
    F, Z = (_varying(A, w / w.sum()) for A in (net.features(X), X))
    found = [_at(net, Z, F, y, s, head, w, seed) for s in _scales(F, Z, w, linear=linear)]
    return min(found, key=lambda one: one.loss)


def _varying(A: Tensor, share: Tensor) -> Tensor:
    """A with zeros in the columns whose spread about the mean is rounding."""
    spread = share @ (A - share @ A).square()
    rounding = 64 * torch.finfo(A.dtype).eps * A.abs().amax(0)
    return torch.where(spread.sqrt() > rounding, A, 0.0)


def _scales(F: Tensor, X: Tensor, w: Tensor, *, linear: bool) -> list[float]:
    """0, 1 and sqrt(tr cov F / tr cov X)."""
    of_F, of_X = (float(_variance(A, w / w.sum())) for A in (F, X))
    if not (linear and of_F > 0 and of_X > 0):
        return [0.0, 1.0] if linear and of_X > 0 else [0.0]
    return [0.0, 1.0, (of_F / of_X) ** 0.5]


def _variance(A: Tensor, share: Tensor) -> Tensor:
    return share @ (A - share @ A).square().sum(1)


def _at(
    net: TwoLayer, X: Tensor, F: Tensor, y: Tensor, s: float, head: RidgeHead, w: Tensor, seed: int
) -> Transfer:
    """The fit at one scale of the linear part."""
    path, means, lam = head.path(torch.cat([F, s * X], 1) if s else F, y, w, seed)
    both = path.coefficients(lam)
    a, rest = both[: F.shape[1]], both[F.shape[1] :]
    beta = s * rest if s else X.new_zeros(X.shape[1], y.shape[1])
    new = replace(net, a=a, offset=path.offset - means @ both, beta=beta)
    return Transfer(new, lam, s, path.loo_predictions(lam), path.loo(lam))
