"""Ridge regression on the inputs themselves, as a network without neurons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.activations import ReLU
from ..maths.blocks import Block
from .fixed_features import FixedFeatures
from .head import INPUTS, Features, RidgeHead
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class LinearRidge(FixedFeatures):
    """f(x) = offset + beta.x, sum_i w_i |y_i - f(x_i)|^2 + penalty |beta|^2 at its minimum.

    The least of fixed features: what they can do without any.

    Parameters
    ----------
    head : RidgeHead
        The penalty, or how it is chosen.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.rows import in_memory
    >>> X = torch.arange(4.0).double()[:, None]
    >>> round(float(LinearRidge(RidgeHead(1e-9)).fit(in_memory(X, 2 * X + 1))(X)[3]), 6)
    7.0
    """

    head: RidgeHead = field(default_factory=RidgeHead)

    def features(self, none: Block, seed: int) -> Features:
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
