"""Random features: a two-layer net whose first layer is drawn and never trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, ReLU
from ..maths.blocks import Block
from .base import unit_weights
from .first_layers import Rows, draw, draw_first_layer
from .head import RidgeHead
from .refit import features_of
from .rows_learner import SumsLearner
from .training_rows import InMemory, Mapping
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class RandomFeatures(SumsLearner):
    """f(x) = offset + a.sigma(W0 x + b), W0 and b drawn, a by ridge.

    Parameters
    ----------
    width : int
        Number of features.
    activation : Activation
        sigma.
    rows : {"gaussian", "sphere"}
        Rows of W0 from N(0, I/d) or uniform on the unit sphere.
    biases : bool
        b ~ N(0, 1), or zero.
    head : RidgeHead
        How a is fitted.

    Source: Rahimi & Recht 2007; Mei & Montanari 2022.

    Examples
    --------
    >>> import torch
    >>> X = torch.linspace(-1, 1, 50).double()[:, None]
    >>> f = RandomFeatures(width=100).fit(X, X**2)
    >>> bool((f(X) - X**2).abs().max() < 1e-2)
    True
    """

    width: int = 1024
    activation: Activation = field(default_factory=ReLU)
    rows: Rows = "gaussian"
    biases: bool = True
    head: RidgeHead = field(default_factory=RidgeHead)

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[TwoLayer]:
        """Draw the first layer, fit the head."""
        return self.path(InMemory(Block(X, y, unit_weights(X, weights))), seed)

    def features(self, none: Block, seed: int) -> Mapping:
        """sigma(W0 x + b)."""
        return features_of(self._drawn(none, seed))

    def network(
        self, none: Block, a: Float[Tensor, "m c"], offset: Float[Tensor, " c"], seed: int
    ) -> TwoLayer:
        """The net with these coefficients."""
        return replace(self._drawn(none, seed), a=a, offset=offset)

    def _drawn(self, none: Block, seed: int) -> TwoLayer:
        """The net with its first layer drawn, zero so far."""
        (_, d), c, zero = none.X.shape, none.y.shape[1], none.X.new_zeros
        W = draw_first_layer(none.X, self.width, self.rows, seed)
        b = draw(none.X, seed, "b", self.width) if self.biases else zero(self.width)
        return TwoLayer(W, b, zero(self.width, c), zero(c), zero(d, c), self.activation)
