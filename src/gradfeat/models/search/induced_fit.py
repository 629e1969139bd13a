"""An induced network as a fit of standardised tables: whitening, the rows to search, codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import Block, collect
from ...maths.statistics.moments import Moments
from ...maths.whitening import whitening
from ..base import unit_weights
from ..induced.network import InducedNetwork
from ..induced.neuron_grid import SignedDirections
from ..losses import Squared
from ..two_layer import TwoLayer
from .found_features import FeatureLearner, FoundFeatures
from .logistic_head import codes_of, share


@final
@dataclass(frozen=True)
class InducedFit(FeatureLearner):
    """The induced network of the rows, and the gradient feature set that it is made of.

    Attributes
    ----------
    inner : InducedNetwork
        What is asked of the gradients, the grid and the head.
    whiten : bool
        Whether all of it happens in whitened inputs, in which correlated columns do not pull the
        gradients towards their common direction.
    rows : int
        The first so many rows are those that gradients are averaged over; the head is fitted to
        all.

    Examples
    --------
    >>> import torch
    >>> X = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> net, found = InducedFit(InducedNetwork(neurons=400), True, 500).with_features(X, X[:, :1])
    >>> float(found.mass[0]), bool(abs(found.directions[0, 0]) > 0.99)
    (0.5, True)
    """

    inner: InducedNetwork
    whiten: bool
    rows: int

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[TwoLayer]:
        """One network."""
        yield self.with_features(X, y, weights=weights, seed=seed)[0]

    def with_features(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> tuple[TwoLayer, FoundFeatures]:
        """The network, and its features in the coordinates of X."""
        w = unit_weights(X, weights)
        if not self.whiten:
            return self._fitted(X, y, w, None, seed)
        mean, P = (t.to(X) for t in whitening(collect(Moments(), [Block(X, y, w)])))
        net, found = self._fitted((X - mean) @ P, y, w, P, seed)
        W, beta = net.W @ P, P @ net.beta
        moved = replace(net, W=W, beta=beta, b=net.b - W @ mean, offset=net.offset - mean @ beta)
        return moved, found

    def _fitted(
        self, Z: Tensor, y: Tensor, w: Tensor, P: Tensor | None, seed: int
    ) -> tuple[TwoLayer, FoundFeatures]:
        first = slice(0, self.rows)
        found = self.inner.feature_set(Z[first], y[first], weights=w[first], seed=seed)
        learner = replace(self.inner, directions=SignedDirections.of(found))
        net = self._net(learner, Z, y, w, seed)
        return net, FoundFeatures.of(found, P, len(Z[first]))

    def _net(self, learner: InducedNetwork, Z: Tensor, y: Tensor, w: Tensor, seed: int) -> TwoLayer:
        """The head by the squared loss, or by another one on the +-1 codes behind y."""
        if learner.loss == Squared():
            return learner.fit(Z, y, weights=w, seed=seed)
        codes, shift = codes_of(y)
        f, half = learner.fit(Z, codes, weights=w, seed=seed), share(y.shape[1])
        return replace(f, a=half * f.a, offset=half * f.offset - shift)
