"""Fit a network in whitened inputs, return it in the original ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..maths.whitening import whitening
from .base import Learner, unit_weights
from .gradient_step import GradientStep
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class Whitened(Learner[TwoLayer]):
    """Fit `inner` on z = (C + shrinkage tr(C)/d I)^{-1/2} (x - mean x); C is the covariance of x.

    The theory of the gradient step is for isotropic inputs; on correlated ones the step follows
    the leading principal components instead of the target. The returned net takes x itself.

    Parameters
    ----------
    inner : GradientStep
        The learner.
    shrinkage : float, optional
        Towards isotropy; None is d/n, between 1e-3 and 1, so that noise is not blown up.

    Examples
    --------
    >>> import torch
    >>> X = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> X[:, 1] += 5 * X[:, 0]
    >>> net = Whitened(GradientStep(width=64)).fit(X, X[:, :1])
    >>> bool((net(X) - X[:, :1]).square().mean() < 1e-3)
    True
    """

    inner: GradientStep
    shrinkage: float | None = None

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[TwoLayer]:
        """The inner learner's nets, in the coordinates of X."""
        mean, P = whitening(Block(X, y, unit_weights(X, weights)), self.shrinkage)
        for net in self.inner.fit_path((X - mean) @ P, y, weights=weights, seed=seed):
            W, beta = net.W @ P, P @ net.beta
            yield replace(net, W=W, beta=beta, b=net.b - W @ mean, offset=net.offset - mean @ beta)
