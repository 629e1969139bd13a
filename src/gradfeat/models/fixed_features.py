"""Ridge on features that no row can change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..rows.rows import Rows
from .base import Learner
from .head import Features, RidgeHead
from .two_layer import TwoLayer


class FixedFeatures(Learner[TwoLayer]):
    """A net whose first layer depends on the seed and the widths alone: ridge on its features.

    The sums over rows of such a fit may be added to, row by row.
    """

    head: RidgeHead

    @abstractmethod
    def features(self, none: Block, seed: int) -> Features:
        """Rows to features; `none` says the widths and the type."""

    @abstractmethod
    def network(
        self, none: Block, a: Float[Tensor, "m c"], offset: Float[Tensor, " c"], seed: int
    ) -> TwoLayer:
        """The net with these coefficients of the features."""

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[TwoLayer]:
        """One ridge."""
        none = rows.template
        a, offset, _ = self.head.fit(rows, self.features(none, seed), seed=seed)
        yield self.network(none, a, offset, seed)
