"""Ridge regression on the inputs themselves, as a network without neurons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.activations import ReLU
from ..maths.blocks import Block
from .base import unit_weights
from .head import RidgeHead
from .rows_learner import SumsLearner
from .training_rows import INPUTS, InMemory, Mapping
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class LinearRidge(SumsLearner):
    """f(x) = offset + beta.x, sum_i w_i |y_i - f(x_i)|^2 + penalty |beta|^2 at its minimum.

    The least of fixed features: what they can do without any.

    Parameters
    ----------
    head : RidgeHead
        The penalty, or how it is chosen.

    Examples
    --------
    >>> import torch
    >>> X = torch.arange(4.0).double()[:, None]
    >>> round(float(LinearRidge(RidgeHead(1e-9)).fit(X, 2 * X + 1)(X)[3]), 6)
    7.0
    """

    head: RidgeHead = field(default_factory=RidgeHead)

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[TwoLayer]:
        """One ridge."""
        return self.path(InMemory(Block(X, y, unit_weights(X, weights))), seed)

    def features(self, none: Block, seed: int) -> Mapping:
        """The inputs as they are."""
        del none, seed
        return INPUTS

    def network(
        self, none: Block, a: Float[Tensor, "d c"], offset: Float[Tensor, " c"], seed: int
    ) -> TwoLayer:
        """The net without neurons."""
        del none, seed
        zero = a.new_zeros
        d, c = a.shape
        return TwoLayer(zero(0, d), zero(0), zero(0, c), offset, a, ReLU())
