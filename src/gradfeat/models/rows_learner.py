"""Learners that need their rows in passes only, so that the rows may be anywhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..rows.rows import Rows
from .base import Learner, PredictorT_co
from .head import RidgeHead
from .training_rows import Mapping, Streamed, TrainingRows
from .two_layer import TwoLayer


class RowsLearner(Learner[PredictorT_co]):
    """Fits to rows in memory, or passed over."""

    @abstractmethod
    def fit_rows(self, rows: Rows, *, sample: Block | None = None, seed: int = 0) -> PredictorT_co:
        """The final predictor, from passes over `rows`.

        Parameters
        ----------
        rows : Rows
            What is passed over.
        sample : Block, optional
            A random sample of them, where it is there already.
        seed : int
            Of every random draw.

        Raises
        ------
        SourceError
            When rows cannot be read, or there are none.
        EngineError
            When workers or the cluster fail.
        """


class PassLearner(RowsLearner[PredictorT_co]):
    """Takes the same steps over rows in memory and over rows passed over."""

    @abstractmethod
    def path(self, data: TrainingRows, seed: int = 0) -> Iterator[PredictorT_co]:
        """Fitted predictors after each stage, the final one last."""

    def fit_rows(self, rows: Rows, *, sample: Block | None = None, seed: int = 0) -> PredictorT_co:
        """The last of :meth:`path`."""
        del sample
        *_, last = self.path(Streamed(rows), seed)
        return last


class SumsLearner(PassLearner[TwoLayer]):
    """Ridge on features that no row can change: its sums may be added to, row by row."""

    head: RidgeHead

    @abstractmethod
    def features(self, none: Block, seed: int) -> Mapping:
        """Rows to features; `none` says the widths and the type."""

    @abstractmethod
    def network(
        self, none: Block, a: Float[Tensor, "m c"], offset: Float[Tensor, " c"], seed: int
    ) -> TwoLayer:
        """The net with these coefficients of the features."""

    def path(self, data: TrainingRows, seed: int = 0) -> Iterator[TwoLayer]:
        """One ridge."""
        none = data.template
        mapping = self.features(none, seed)
        a, offset, _ = data.ridge(mapping, self.head, seed, "normal equations")
        yield self.network(none, a, offset, seed)
