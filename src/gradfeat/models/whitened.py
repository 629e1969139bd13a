"""Fit a network in whitened inputs, return it in the original ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from ..maths.statistics.affine import inputs_only
from ..maths.whitening import whitening
from ..rows.rows import Rows
from .base import Learner
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
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> X[:, 1] += 5 * X[:, 0]
    >>> net = Whitened(GradientStep(width=64)).fit(in_memory(X, X[:, :1]))
    >>> bool((net(X) - X[:, :1]).square().mean() < 1e-3)
    True
    """

    inner: GradientStep
    shrinkage: float | None = None

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[TwoLayer]:
        """The inner learner's nets, in the coordinates of x."""
        X, c = rows.template.X, rows.template.y.shape[1]
        found = whitening(rows.moments(), self.shrinkage)
        mean, P = (t.to(X) for t in found)
        for net in self.inner.fit_path(rows.mapped(inputs_only(*found, c)), seed=seed):
            W, beta = net.W @ P, P @ net.beta
            yield replace(net, W=W, beta=beta, b=net.b - W @ mean, offset=net.offset - mean @ beta)
