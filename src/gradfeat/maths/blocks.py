"""Row blocks and mergeable statistics: a learner is passes over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce as fold
from typing import Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Block:
    """Some rows of the data: inputs (n, d), targets (n, c), weights (n,)."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, "n c"]
    w: Float[Tensor, " n"]


#: A source of rows that can be iterated more than once; in memory it is a list of one block.
Rows = Iterable[Block]

State = TypeVar("State")


class Statistic(ABC, Generic[State]):
    """A sum over rows: the state of a block, and how two states merge.

    ``merge`` is associative, so blocks, files and workers may be combined in any grouping;
    the result is the same up to rounding.
    """

    @abstractmethod
    def of(self, block: Block) -> State:
        """State of one block."""

    @abstractmethod
    def merge(self, one: State, other: State) -> State:
        """State of the union of two disjoint sets of rows."""


def collect(statistic: Statistic[State], rows: Rows) -> State:
    """State over all blocks of `rows`.

    Raises
    ------
    ValueError
        When there is no block.

    Examples
    --------
    >>> one = Block(torch.ones(2, 1), torch.ones(2, 1), torch.ones(2))
    >>> float(collect(Moments(), [one, one]).weight)
    4.0
    """
    states = [statistic.of(block) for block in rows]
    if not states:
        raise ValueError("there are no rows to fit on: give at least one block of rows.")
    return fold(statistic.merge, states)


@dataclass(frozen=True)
class MomentState:
    """Total weight, means, and centred second moments (sums, not divided by the weight)."""

    weight: Float[Tensor, ""]
    mean_x: Float[Tensor, " d"]
    mean_y: Float[Tensor, " c"]
    xx: Float[Tensor, "d d"]
    xy: Float[Tensor, "d c"]
    yy: Float[Tensor, " c"]


@dataclass(frozen=True)
class Moments(Statistic[MomentState]):
    """First and second moments of [x, y], merged by Chan's update so that no digits cancel.

    Applied to features instead of inputs (``map``) these are the centred normal equations of
    ridge regression: a = (xx + lambda I)^{-1} xy, intercept mean_y - mean_x . a.

    Source: Chan, Golub & LeVeque 1983.
    """

    map: Callable[[Tensor], Tensor] | None = None

    def of(self, block: Block) -> MomentState:
        """Moments of one block."""
        X = block.X if self.map is None else self.map(block.X)
        total = block.w.sum()
        mean_x, mean_y = block.w @ X / total, block.w @ block.y / total
        Xc, yc = X - mean_x, block.y - mean_y
        Xw = Xc * block.w[:, None]
        yy = (block.w[:, None] * yc.square()).sum(0)
        return MomentState(total, mean_x, mean_y, Xw.T @ Xc, Xw.T @ yc, yy)

    def merge(self, one: MomentState, other: MomentState) -> MomentState:
        """Moments of the union."""
        total = one.weight + other.weight
        share, dx, dy = other.weight / total, other.mean_x - one.mean_x, other.mean_y - one.mean_y
        scale = one.weight * share
        return MomentState(
            total,
            one.mean_x + share * dx,
            one.mean_y + share * dy,
            one.xx + other.xx + scale * torch.outer(dx, dx),
            one.xy + other.xy + scale * torch.outer(dx, dy),
            one.yy + other.yy + scale * dy.square(),
        )


@dataclass(frozen=True)
class GradientState:
    """Total weight and the gradients of the loss in W and b, as sums over rows."""

    weight: Float[Tensor, ""]
    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]


@dataclass(frozen=True)
class FirstLayerGradient(Statistic[GradientState]):
    """Gradient step of a two-layer net as a sum over rows.

    G_j = sum_i w_i (a_j . residual_i) sigma'(w_j . x_i + b_j) x_i, and the same without x_i for
    b_j: minus one half of the gradient of sum_i w_i |f(x_i) - y_i|^2, where residual = y - f.

    Attributes
    ----------
    W, b, a : Tensor (m, d), (m,), (m, c)
        The first layer and the head.
    derivative : callable
        sigma'.
    residual : callable (X, y) -> (n, c)
        What the gradient is weighted by: y - f_0, or y (the printed theory).
    """

    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    a: Float[Tensor, "m c"]
    derivative: Callable[[Tensor], Tensor]
    residual: Callable[[Tensor, Tensor], Tensor]

    def of(self, block: Block) -> GradientState:
        """Gradient sums of one block."""
        pull = (block.w[:, None] * self.residual(block.X, block.y)) @ self.a.T
        pull *= self.derivative(block.X @ self.W.T + self.b)
        return GradientState(block.w.sum(), pull.T @ block.X, pull.sum(0))

    def merge(self, one: GradientState, other: GradientState) -> GradientState:
        """Sum."""
        return GradientState(one.weight + other.weight, one.W + other.W, one.b + other.b)
