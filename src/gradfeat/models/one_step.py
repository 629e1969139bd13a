"""One gradient step on the first layer, then ridge (Moniri24, Ba22)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, CentredReLU
from ..maths.blocks import Block, FirstLayerGradient, collect
from ..maths.streams import stream
from .base import Learner, unit_weights
from .head import RidgeHead
from .random_features import draw, draw_first_layer
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class OneStep(Learner[TwoLayer]):
    """W = W0 + eta G, G = (1/n) [(a r^T) o sigma'(W0 X^T)] X; then ridge on sigma(X~ W^T).

    a ~ N(0, I/N), W0 rows on the unit sphere, no biases, head
    argmin (1/n)|y~ - F a|^2 + lam |a|^2 without intercept.

    Parameters
    ----------
    width : int
        N.
    eta : float
        Step size (n^alpha in the theory); 0 is random features.
    lam : float
        Ridge penalty.
    activation : Activation
        sigma; the theory wants c_0 = 0.
    residual : {"y", "y - f0"}
        r = y (the printed theory) or y - f_0 (the true gradient).
    sample : {"fresh", "same"}
        Head on rows that the gradient has not seen (``fit`` splits its rows in halves), or on
        the same rows (the result differs several-fold).

    Source: Moniri24, Section 2; Ba et al. 2022.

    Examples
    --------
    >>> X = torch.randn(400, 20, generator=torch.Generator().manual_seed(0)).double()
    >>> net = OneStep(width=100, eta=20.0, lam=0.01).fit(X, X[:, :1])
    >>> net.W.shape
    torch.Size([100, 20])
    """

    width: int
    eta: float
    lam: float
    activation: Activation = field(default_factory=CentredReLU)
    residual: Literal["y", "y - f0"] = "y"
    sample: Literal["fresh", "same"] = "fresh"

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[TwoLayer]:
        """Fit on one sample; with ``sample="fresh"`` half of it is kept for the head."""
        w = unit_weights(X, weights)
        one = two = torch.arange(len(X))
        if self.sample == "fresh":
            order = torch.randperm(len(X), generator=stream(seed, "fresh half"))
            one, two = order[: len(X) // 2], order[len(X) // 2 :]
        net = self.step(X[one], y[one], weights=w[one], seed=seed)
        yield self.fit_head(net, X[two], y[two], w[two])

    def step(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> TwoLayer:
        """The network after the gradient step: W0 + eta G with the initial head."""
        a = draw(X, seed, "a", self.width, y.shape[1]) / self.width**0.5
        W0, b = draw_first_layer(X, self.width, "sphere", seed), X.new_zeros(self.width)
        zero = X.new_zeros(X.shape[1], y.shape[1])
        start = TwoLayer(W0, b, a, zero[0], zero, self.activation)

        def residual(X: Tensor, y: Tensor) -> Tensor:
            return y if self.residual == "y" else y - start(X)

        gradient = FirstLayerGradient(W0, b, a, self.activation.derivative, residual)
        sums = collect(gradient, [Block(X, y, unit_weights(X, weights))])
        W = W0 + self.eta * sums.W / sums.weight
        return TwoLayer(W, b, a, zero[0], zero, self.activation)

    def fit_head(
        self,
        net: TwoLayer,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> TwoLayer:
        """Ridge on the features of `net` at (X, y)."""
        total = float(unit_weights(X, weights).sum())
        head = RidgeHead(penalty=self.lam * total, intercept=False)
        a, _, _ = head.fit(net.features(X), y, weights)
        return TwoLayer(net.W, net.b, a, net.offset, net.beta, net.activation)
