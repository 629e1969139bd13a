"""Fit a network in whitened inputs, return it in the original ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..maths.statistics.affine import inputs_only
from ..maths.whitening import whitening
from .base import unit_weights
from .gradient_step import GradientStep
from .rows_learner import PassLearner
from .training_rows import InMemory, TrainingRows
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class Whitened(PassLearner[TwoLayer]):
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
        return self.path(InMemory(Block(X, y, unit_weights(X, weights))), seed)

    def path(self, data: TrainingRows, seed: int = 0) -> Iterator[TwoLayer]:
        """:meth:`fit_path` on rows in memory or passed over."""
        X, c = data.template.X, data.template.y.shape[1]
        found = whitening(data.moments("moments"), self.shrinkage)
        mean, P = (t.to(X) for t in found)
        for net in self.inner.path(data.mapped(inputs_only(*found, c)), seed):
            W, beta = net.W @ P, P @ net.beta
            yield replace(net, W=W, beta=beta, b=net.b - W @ mean, offset=net.offset - mean @ beta)
