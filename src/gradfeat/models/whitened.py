"""Fit a network in whitened inputs, return it in the original ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from ..maths.blocks import Block
from ..maths.statistics.affine import inputs_only
from ..maths.whitening import Whitening, WholeWhitening, whitening, whitening_of
from ..rows.rows import Rows, of_block
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
        found, whitened = self._whitened(rows)
        for net in self.inner.fit_path(whitened, seed=seed):
            yield in_original(net, found)

    def _whitened(self, rows: Rows) -> tuple[Whitening, Rows]:
        held = rows.held
        if held is not None and len(held.X) < held.X.shape[1]:
            thin = whitening_of(held, self.shrinkage)
            return thin, of_block(Block(thin(held.X), held.y, held.w))
        X, c = rows.template.X, rows.template.y.shape[1]
        found = whitening(rows.moments(), self.shrinkage)
        return WholeWhitening(*(t.to(X) for t in found)), rows.mapped(inputs_only(*found, c))


def in_original(net: TwoLayer, found: Whitening) -> TwoLayer:
    """A net of whitened inputs as the same function of the inputs.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.maths.activations import ReLU
    >>> from gradfeat.maths.whitening import WholeWhitening
    >>> one = torch.ones(1, 1)
    >>> net = TwoLayer(one, 0 * one[0], one, 0 * one[0], one, ReLU())
    >>> in_original(net, WholeWhitening(one[0], 2 * one))(3 * one).tolist()
    [[8.0]]
    """
    W, beta = found.turned(net.W), found.turned(net.beta.T).T
    b, offset = net.b - W @ found.mean, net.offset - found.mean @ beta
    return replace(net, W=W, beta=beta, b=b, offset=offset)
