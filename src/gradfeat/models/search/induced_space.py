"""What a search of gradient-feature-induced networks varies, and the fit of one setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, final

from ...maths.blocks import Block
from ...maths.statistics.moments import Whitening, whitening_of
from ...rows.rows import Rows, in_memory, of_block
from ..base import OneStage
from ..gradient_features.found_features import FoundFeatures
from ..gradient_step import in_original
from ..head import Linear
from ..induced.network import InducedNetwork, SignedDirections
from ..losses import Squared
from ..predictors import TwoLayer
from .calibration import codes_of, logit_share
from .search import FinishedFit, GridSpace, MethodSetting, head_used


@final
@dataclass(frozen=True)
class InducedFit(OneStage[TwoLayer]):
    """The induced network of the rows, and the gradient feature set that it is made of.

    `inner`: What is asked of the gradients, the grid and the head.
    `whiten`: Whether all of it happens in whitened inputs, in which correlated columns do not pull
        the gradients towards their common direction.
    `rows`: The first so many rows are those that gradients are averaged over; the head is fitted to
        all.
    """

    inner: InducedNetwork
    whiten: bool
    rows: int

    def fit(self, rows: Rows, *, seed: int = 0) -> TwoLayer:
        return self.with_features(rows, seed=seed)[0]

    def with_features(self, rows: Rows, *, seed: int = 0) -> tuple[TwoLayer, FoundFeatures]:
        """The network, and its features in the coordinates of X."""
        block = rows.block("an induced network")
        if not self.whiten:
            return self._fitted(block, None, seed)
        turn = whitening_of(block)
        whitened = Block(turn(block.X), block.y, block.w)
        net, found = self._fitted(whitened, turn, seed)
        return in_original(net, turn), found

    def _fitted(
        self, block: Block, turn: Whitening | None, seed: int
    ) -> tuple[TwoLayer, FoundFeatures]:
        first = block.at(slice(self.rows))
        found = self.inner.feature_set(of_block(first), seed=seed)
        learner = replace(self.inner, directions=SignedDirections.of(found))
        return self._net(learner, block, seed), FoundFeatures.of(found, turn, len(first.X))

    def _net(self, learner: InducedNetwork, block: Block, seed: int) -> TwoLayer:
        """The head by the squared loss, or by another one on the +-1 codes behind y."""
        if learner.loss == Squared():
            return learner.fit(of_block(block), seed=seed)
        codes, shift = codes_of(block.y)
        f = learner.fit(in_memory(block.X, codes, block.w), seed=seed)
        half = logit_share(codes.shape[1])
        return replace(f, a=half * f.a, offset=half * f.offset - shift)


@final
@dataclass(frozen=True)
class InducedSetting(MethodSetting):
    """Coordinates and sizes of the gradient features, and the linear part."""

    whiten: bool = True
    bias_scale: float = 1.0
    width: float = 0.1
    linear: Linear = "ridge"

    def named(self) -> dict[str, Any]:
        return asdict(self)


#: What a search tries beside the start.
TRIED: dict[str, Sequence[Any]] = {
    "whiten": (False,),
    "bias_scale": (0.5, 1.5, 2.0),
    "width": (0.05, 0.2),
    "linear": ("none",),
}


def induced_space(
    start: InducedSetting, inner: InducedNetwork, feature_rows: int, searched: Sequence[str]
) -> GridSpace[InducedSetting]:
    """Induced networks like `inner`, over the fields of the setting that are `searched`."""

    def make(setting: InducedSetting) -> InducedFit:
        network = replace(
            inner, width=setting.width, bias_scale=setting.bias_scale, linear=setting.linear
        )
        return InducedFit(network, setting.whiten, feature_rows)

    axes = {name: values for name, values in TRIED.items() if name in searched}
    return GridSpace(make, start, axes, finish=_with_features)


def _with_features(learner: InducedFit, rows: Rows, seed: int) -> FinishedFit:
    net, found = learner.with_features(rows, seed=seed)
    return FinishedFit(net, gradient_features=found, used=head_used(net))
