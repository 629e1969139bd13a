"""The regressor face: targets as they come, each standardised inside the fit."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, assert_all_finite
from torch import Tensor

from ..maths.statistics.moments import Moments
from ..maths.statistics.score_sums import Residuals, Scores, scores_of
from ..rows.rows import Rows
from .base import FeatureModel
from .checks import Floats, like, to_numpy, validated
from .container import State
from .scaled import ScaledPredictor
from .training import FirstPass


class FeatureRegressor(RegressorMixin, FeatureModel, ABC):
    """Regression on one or several targets, each standardised inside the fit."""

    _classes: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _validated(self, X: Any, y: Any, *, reset: bool, least: int = 2) -> tuple[Any, Floats]:
        """The shape of the targets is kept for the predictions."""
        how = {"multi_output": True, "y_numeric": True, "ensure_min_samples": least}
        X, y = validated(self, X, y, reset=reset, **how)
        target = to_numpy(y).astype(np.float64)
        assert_all_finite(target, input_name="y")  # None among objects is nan now
        self._y_ndim = target.ndim
        return X, target.reshape(len(target), -1)

    def _weighted(self, targets: Floats, w: Floats) -> Floats:
        del targets
        return w

    def _coded(self, found: FirstPass) -> None:
        self._y_ndim = 1 if len(found.moments.mean_y) == 1 else 2

    def _needs_held_out(self) -> bool:
        return False

    def _calibrate(self, held: tuple[Tensor, Tensor, Tensor] | None) -> None:
        """Nothing to learn from them: predictions are what the predictor says."""

    def _function(self) -> ScaledPredictor:
        return self._scaled_predictor()

    def predict(self, X: Any) -> Any:
        """Predictions (n,) or (n, c), shaped like the targets of the fit."""
        X, table = self._table(X, "predict")
        out = self._function()(table).numpy()
        return like(out[:, 0] if self._y_ndim == 1 else out, X)

    def score_rows(self, rows: Rows) -> Scores:
        """Mean squared error and R^2 on streamed rows, in one pass.

        Raises ValueError where the rows have other columns than those of the fit; else as a fit.
        """
        self._check_columns(rows)
        predict, c = self._function(), len(self._outputs.scale)
        if len(rows.columns.targets) != c:
            raise ValueError(
                f"the rows have {len(rows.columns.targets)} targets and the estimator was fitted "
                f"to {c}: open them with the targets of the fit."
            )
        residuals = Moments(Residuals(predict), self.predictor_.scratch_per_row())
        return scores_of(rows.collect(residuals, "scores"))

    def _extra_state(self) -> State:
        return {"y_ndim": self._y_ndim}

    def _restore_extra(self, state: State) -> None:
        self._y_ndim = int(state["y_ndim"])
