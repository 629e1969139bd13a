"""Learners that need their rows in passes only, so that the rows may be anywhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from ..maths.blocks import Block
from ..passes.rows import Rows
from .base import Learner, PredictorT_co
from .training_rows import Streamed, TrainingRows


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
