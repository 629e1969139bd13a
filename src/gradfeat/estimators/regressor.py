"""The regressor face: fit, predict."""

from __future__ import annotations

from abc import ABC
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from ..maths.statistics.score_sums import ResidualSums, Scores
from ..rows.rows import Rows
from .base import FeatureModel, seed_from
from .data import NUMPY, float_types, like, to_numpy
from .rows_data import passed_rows
from .state import State


class FeatureRegressor(RegressorMixin, FeatureModel, ABC):
    """Regression on one or several targets, each standardised inside the fit."""

    #: Sums that partial_fit adds to; only where it was called.
    _sums: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, d) and targets y (n,) or (n, c).

        Parameters
        ----------
        X : array-like (n, d), or Rows
            Inputs, at least two rows, finite. Rows that are passed over
            (:func:`gradfeat.rows.from_parquet` and others) carry their targets and weights:
            settings are then chosen on a sample of them, and the fit passes over all.
        y : array-like (n,) or (n, c)
            Targets; predictions have the same shape.
        sample_weight : array-like (n,), optional
            Non-negative; an integer weight equals repeating the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For inputs or parameters that are not allowed, in one sentence.
        MemoryError
            Before work starts, when a direct solve cannot fit.
        """
        match X:
            case Rows():
                return self._fit_rows(X, y, sample_weight)
        vars(self).pop("_sums", None)
        X, target = self._validated(X, y, reset=True)
        data, seed = self._prepare(X, target, sample_weight, scale_targets=True)
        self._learn(X, data, seed, need_held_out=False)
        return self

    def _fit_rows(self, rows: Rows, y: Any, sample_weight: Any) -> Self:
        seed = seed_from(self.random_state)
        found = self._prepare_rows(rows, y, sample_weight, seed, labelled=False)
        vars(self).pop("_sums", None)
        self._y_ndim = 1 if len(found.moments.mean_y) == 1 else 2
        passed = passed_rows(
            rows, found, self._where, seed, standardise=self.standardise, codes=None
        )
        self._learn(NUMPY, passed.data, seed, need_held_out=False, rows=passed.rows)
        return self

    def _validated(
        self, X: Any, y: Any, *, reset: bool, least: int = 2
    ) -> tuple[Any, NDArray[np.float64]]:
        """X (n, d) and the targets (n, c), whose shape is kept for the predictions."""
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=float_types(X),
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least,
        )
        target = to_numpy(y).astype(np.float64)
        self._y_ndim = target.ndim
        return X, target.reshape(len(target), -1)

    def predict(self, X: Any) -> Any:
        """Predictions (n,) or (n, c), shaped like the targets of the fit."""
        X, out = self._outputs_at(X, "predict")
        return like(out[:, 0] if self._y_ndim == 1 else out, X)

    def score_rows(self, rows: Rows) -> Scores:
        """Mean squared error and R^2 on rows that are passed over, in one pass.

        Raises
        ------
        ValueError
            Where the rows have other columns than those of the fit.
        SourceError, EngineError
            As of a fit.
        """
        predict, c = self._row_predictions(rows), len(self._outputs.scale)
        if len(rows.columns.targets) != c:
            raise ValueError(
                f"the rows have {len(rows.columns.targets)} targets and the estimator was fitted "
                f"to {c}: open them with the targets of the fit."
            )
        scratch = self.predictor_.scratch_per_row()
        return rows.collect(ResidualSums(predict, scratch), "scores")

    def _extra_state(self) -> State:
        return {"y_ndim": self._y_ndim}

    def _restore_extra(self, state: State) -> None:
        self._y_ndim = int(state["y_ndim"])
