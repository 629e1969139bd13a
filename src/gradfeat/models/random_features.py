"""Random features: a two-layer net whose first layer is drawn and never trained."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, ReLU
from ..maths.blocks import Block
from .first_layers import RowLaw, draw, draw_first_layer
from .fixed_features import FixedFeatures
from .head import Features, RidgeHead
from .refit import features_of
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class RandomFeatures(FixedFeatures):
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
    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 50).double()[:, None]
    >>> f = RandomFeatures(width=100).fit(in_memory(X, X**2))
    >>> bool((f(X) - X**2).abs().max() < 1e-2)
    True
    """

    width: int = 1024
    activation: Activation = field(default_factory=ReLU)
    rows: RowLaw = "gaussian"
    biases: bool = True
    head: RidgeHead = field(default_factory=RidgeHead)

    def features(self, none: Block, seed: int) -> Features:
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
