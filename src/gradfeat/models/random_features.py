"""Random features: a two-layer net whose first layer is drawn and never trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, ReLU
from ..maths.streams import stream
from .base import Learner
from .head import RidgeHead
from .two_layer import TwoLayer

Rows = Literal["gaussian", "sphere"]


def draw(X: Tensor, seed: int, name: str, *shape: int) -> Tensor:
    """Standard normal numbers of X's type from the stream `name`, drawn on the CPU in float64."""
    z = torch.randn(*shape, generator=stream(seed, name), dtype=torch.float64)
    return z.to(device=X.device, dtype=X.dtype)


def draw_first_layer(X: Tensor, width: int, rows: Rows, seed: int) -> Tensor:
    """W0 (width, d): rows N(0, I/d), or uniform on the unit sphere."""
    d = X.shape[1]
    W = draw(X, seed, "W0", width, d)
    return W / d**0.5 if rows == "gaussian" else W / W.norm(dim=1, keepdim=True)


@final
@dataclass(frozen=True)
class RandomFeatures(Learner[TwoLayer]):
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
        W = draw_first_layer(X, self.width, self.rows, seed)
        b = draw(X, seed, "b", self.width) if self.biases else X.new_zeros(self.width)
        F = self.activation(torch.addmm(b, X, W.T))
        a, offset, _ = self.head.fit(F, y, weights, seed)
        beta = X.new_zeros(X.shape[1], y.shape[1])
        yield TwoLayer(W, b, a, offset, beta, self.activation)
