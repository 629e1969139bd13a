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
from .rows_learner import PassLearner
from .training_rows import INPUTS, InMemory, TrainingRows
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class LinearRidge(PassLearner[TwoLayer]):
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

    def path(self, data: TrainingRows, seed: int = 0) -> Iterator[TwoLayer]:
        """:meth:`fit_path` on rows in memory or passed over."""
        beta, offset, _ = data.ridge(INPUTS, self.head, seed, "linear model")
        none = beta.new_zeros
        d, c = beta.shape
        yield TwoLayer(none(0, d), none(0), none(0, c), offset, beta, ReLU())
