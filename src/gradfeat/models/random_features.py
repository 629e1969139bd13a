"""Ridge on features that no row can change: a first layer that is drawn, or the inputs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import final

import torch
from torch import Tensor

from ..maths.activations import Activation, ReLU
from ..maths.blocks import Block
from ..maths.step_names import RowLaw
from ..maths.streams import stream
from ..rows.rows import Rows
from .base import OneStage
from .head import INPUTS, Features, Head, RidgeHead, features_of
from .predictors import TwoLayer


def draw(X: Tensor, seed: int, name: str, *shape: int) -> Tensor:
    """Standard normal numbers of X's type from the stream `name`, drawn on the CPU in float64."""
    z = torch.randn(*shape, generator=stream(seed, name), dtype=torch.float64)
    return z.to(device=X.device, dtype=X.dtype)


def draw_first_layer(X: Tensor, width: int, rows: RowLaw, seed: int) -> Tensor:
    """W0 (width, d): rows N(0, I/d), or uniform on the unit sphere."""
    d = X.shape[1]
    W = draw(X, seed, "W0", width, d)
    return W / d**0.5 if rows == "gaussian" else W / W.norm(dim=1, keepdim=True)


class FixedFeatures(OneStage[TwoLayer]):
    """A net whose first layer depends on the seed and the widths alone: ridge on its features.

    The sums over rows of such a fit may be added to, row by row.
    """

    head: RidgeHead

    @abstractmethod
    def features(self, none: Block, seed: int) -> Features:
        """Rows to features; `none` says the widths and the type."""

    @abstractmethod
    def network(self, none: Block, head: Head, seed: int) -> TwoLayer:
        """The net with these coefficients of the features."""

    def fit(self, rows: Rows, *, seed: int = 0) -> TwoLayer:
        none = rows.template
        return self.network(none, self.head.fit(rows, self.features(none, seed), seed=seed), seed)


@final
@dataclass(frozen=True)
class RandomFeatures(FixedFeatures):
    """f(x) = offset + a.sigma(W0 x + b), W0 and b drawn, a by ridge.

    `width`: Number of features.
    `rows`: Rows of W0 from N(0, I/d) or uniform on the unit sphere.
    `biases`: b ~ N(0, 1), or zero.

    Source: Rahimi & Recht 2007; Mei & Montanari 2022.

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

    def network(self, none: Block, head: Head, seed: int) -> TwoLayer:
        a, offset, penalty = head
        return replace(self._drawn(none, seed), a=a, offset=offset, penalty=penalty)

    def _drawn(self, none: Block, seed: int) -> TwoLayer:
        """The net with its first layer drawn, zero so far."""
        (_, d), c, zero = none.X.shape, none.y.shape[1], none.X.new_zeros
        W = draw_first_layer(none.X, self.width, self.rows, seed)
        b = draw(none.X, seed, "b", self.width) if self.biases else zero(self.width)
        return TwoLayer(W, b, zero(self.width, c), zero(c), zero(d, c), self.activation)


@final
@dataclass(frozen=True)
class LinearRidge(FixedFeatures):
    """f(x) = offset + beta.x, sum_i w_i |y_i - f(x_i)|^2 + penalty |beta|^2 at its minimum.

    The least of fixed features: what they can do without any.

    `head`: The penalty, or how it is chosen.

    >>> import torch
    >>> from gradfeat.rows import in_memory
    >>> X = torch.arange(4.0).double()[:, None]
    >>> round(float(LinearRidge(RidgeHead(1e-9)).fit(in_memory(X, 2 * X + 1))(X)[3]), 6)
    7.0
    """

    head: RidgeHead = field(default_factory=RidgeHead)

    def features(self, none: Block, seed: int) -> Features:
        del none, seed
        return INPUTS

    def network(self, none: Block, head: Head, seed: int) -> TwoLayer:
        del none, seed
        beta, offset, penalty = head
        zero = beta.new_zeros
        d, c = beta.shape
        return TwoLayer(zero(0, d), zero(0), zero(0, c), offset, beta, ReLU(), penalty)
