"""A new head on features that are kept: the last step of Algorithm 1, and of transfer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..rows.rows import Rows
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
        """Rows with what is left of their targets."""
        return Block(rows.X, rows.y - rows.X @ self.beta - self.offset, rows.w)


@dataclass(frozen=True)
class NetworkRest:
    """y less what a network says, in the place of y."""

    net: TwoLayer

    def __call__(self, rows: Block) -> Block:
        """Rows with what is left of their targets."""
        return Block(rows.X, rows.y - self.net(rows.X), rows.w)


@dataclass(frozen=True)
class FeatureRows:
    """Features of a network in the place of x, and what its affine part leaves in that of y."""

    net: TwoLayer

    def __call__(self, rows: Block) -> Block:
        """Mapped rows."""
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

    Examples
    --------
    >>> from gradfeat.rows import in_memory
    >>> X = torch.tensor([[1.0], [-1.0]])
    >>> rows = in_memory(X, 2 * X + 1)
    >>> [part.tolist() for part in affine_part(rows, "moment")]
    [[1.0], [[2.0]]]
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
    """`net` with a fitted to what its affine part leaves of y, and the head's intercept added.

    Examples
    --------
    >>> from gradfeat.maths.activations import ReLU
    >>> from gradfeat.rows import in_memory
    >>> one, X = torch.ones(1, 1), torch.tensor([[1.0], [2.0]])
    >>> net = TwoLayer(one, 0 * one[0], one, 0 * one[0], 0 * one, ReLU())
    >>> rows = in_memory(X, 3 * X)
    >>> new = with_head(net, rows, RidgeHead(1e-9, intercept=False))
    >>> round(float(new.a), 3)
    3.0
    """
    a, intercept, _ = head.fit(rows, features_of(net), seed=seed)
    return replace(net, a=a, offset=net.offset + intercept)


def refit_head(
    net: TwoLayer,
    rows: Rows,
    head: RidgeHead,
    *,
    linear: Linear = "none",
    seed: int = 0,
) -> TwoLayer:
    """The features of `net` with a head of their own: sigma and (W, b) kept, the rest fitted anew.

    min over a, intercept of sum_i w_i |y_i - alpha - beta.x_i - intercept - a.sigma(W x_i + b)|^2
    + penalty |a|^2, with alpha + beta.x from the new rows as `linear` says. The number of outputs
    may differ from that of `net`.

    Parameters
    ----------
    net : TwoLayer
        Where the first layer comes from.
    rows : Rows
        Rows and targets of the new problem.
    head : RidgeHead
        How a is fitted; with ``linear="none"`` it should have an intercept.
    linear : {"moment", "ridge", "none"}
        The affine part; one of d coefficients needs n of order d rows, which "none" does not.
    seed : int
        Of the rows that a head chosen by validation holds out.

    Source: Damian22, Theorem 3: with features pretrained on a target of the same r directions,
    a new target of degree p needs n of order r^p rows, whatever d is.

    Examples
    --------
    >>> from gradfeat.models.gradient_step import GradientStep
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(3000, 20, generator=torch.Generator().manual_seed(0)).double()
    >>> net = GradientStep(width=200).fit(in_memory(X, X[:, :1] ** 2))
    >>> new = refit_head(net, in_memory(X[:40], X[:40, :1].abs()), RidgeHead())
    >>> bool((new(X) - X[:, :1].abs()).square().mean() < 0.05)
    True
    """
    alpha, beta = affine_part(rows, linear)
    a = alpha.new_zeros(len(net.b), len(alpha))
    return with_head(replace(net, a=a, offset=alpha, beta=beta), rows, head, seed)
