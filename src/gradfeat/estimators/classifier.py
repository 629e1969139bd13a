"""The classifier face: one-vs-rest +-1 codes, calibrated probabilities."""

from __future__ import annotations

from abc import ABC
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    column_or_1d,
    validate_data,
)
from torch import Tensor

from ..maths.statistics.score_sums import ClassScores, ClassSums
from ..models.search.calibration import Calibration, fit_calibration, two_sided
from ..rows.rows import Rows
from .base import FeatureModel, seed_from
from .class_weights import with_class_weights
from .data import NUMPY, float_types, given_weights, like, to_numpy
from .rows_data import class_codes, labels_of, passed_rows
from .rows_predictions import RowProbabilities
from .scaling import Standardiser
from .state import State, labels_from, labels_state


class FeatureClassifier(ClassifierMixin, FeatureModel, ABC):
    """Squared loss on +-1 codes; p = softmax(s f + t) with s, t fitted on held-out rows.

    Attributes
    ----------
    classes_ : array (K,)
        Labels as given, sorted.
    """

    #: Weights of the classes, of those estimators that have the parameter.
    class_weight: Any = None

    classes_: NDArray[Any]
    _calibration: Calibration

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, d) and labels y (n,).

        Parameters
        ----------
        X : array-like (n, d), or Rows
            Inputs, at least two rows, finite. Rows that are passed over
            (:func:`gradfeat.rows.from_parquet` and others) carry their labels, as numbers, and
            weights: settings are then chosen on a sample of them, and the fit passes over all.
        y : array-like (n,)
            Labels of any kind; predictions come back in the same labels.
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
        X, codes = self._coded(X, y, reset=True)
        weights = self._row_weights(X, codes, sample_weight)
        data, seed = self._prepare(X, codes, weights, scale_targets=False)
        trial = self._learn(X, data, seed, need_held_out=len(self.classes_) > 1)
        self._calibration = Calibration.none(len(self.classes_))
        if trial is not None:
            self._calibrate(trial.predictions, trial.y, trial.w, data.outputs)
        return self

    def _fit_rows(self, rows: Rows, y: Any, sample_weight: Any) -> Self:
        seed = seed_from(self.random_state)
        found = self._prepare_rows(rows, y, sample_weight, seed, labelled=True)
        codes = class_codes(found, self.class_weight)
        self.classes_ = labels_of(codes.classes.numpy())
        passed = passed_rows(
            rows, found, self._where, seed, standardise=self.standardise, codes=codes
        )
        trial = self._learn(
            NUMPY, passed.data, seed, need_held_out=len(self.classes_) > 1, rows=passed.rows
        )
        self._calibration = Calibration.none(len(self.classes_))
        if trial is not None:
            self._calibrate(trial.predictions, trial.y, trial.w, passed.data.outputs)
        return self

    def _coded(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        """X (n, d) and the labels as +-1 codes: one column for two classes, else one a class."""
        X, y = validate_data(self, X, y, reset=reset, dtype=float_types(X), ensure_min_samples=2)
        labels = column_or_1d(to_numpy(y), warn=True)
        check_classification_targets(labels)
        self.classes_, index = np.unique(labels, return_inverse=True)
        K = len(self.classes_)
        codes = np.where(np.arange(K) == index[:, None], 1.0, -1.0)
        return X, codes[:, 1:] if K == 2 else codes

    def _row_weights(
        self, X: Any, codes: NDArray[np.float64], sample_weight: ArrayLike | None
    ) -> ArrayLike | None:
        """Weights (n,) of the rows times those of their classes; as they came without these."""
        if self.class_weight is None:
            return sample_weight
        given = given_weights(sample_weight)
        w = _check_sample_weight(given, to_numpy(X), dtype=np.float64, ensure_non_negative=True)
        columns = two_sided(codes) if len(self.classes_) == 2 else codes
        labels = self.classes_[columns.argmax(axis=1)]
        return with_class_weights(self.class_weight, labels, w)

    def _calibrate(self, held: Tensor, y: Tensor, w: Tensor, outputs: Standardiser) -> None:
        """Scale and shifts of the probabilities, from predictions of rows held out or left out."""
        decisions, codes = (outputs.inverse(t.double().cpu().numpy()) for t in (held, y))
        labels = two_sided(codes).argmax(axis=1)
        self._calibration = fit_calibration(two_sided(decisions), labels, w.double().cpu().numpy())

    def _log_probabilities(self, X: Any, method: str) -> tuple[Any, NDArray[np.float64]]:
        X, out = self._outputs_at(X, method)
        if len(self.classes_) == 1:
            return X, np.zeros((len(out), 1))
        return X, self._calibration(two_sided(out))

    def decision_function(self, X: Any) -> Any:
        """Log-odds (n,) of the second of two classes; log-probabilities (n, K) of more."""
        X, logp = self._log_probabilities(X, "decision_function")
        return like(logp[:, 1] - logp[:, 0] if len(self.classes_) == 2 else logp, X)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, K), columns in the order of ``classes_``; rows sum to one."""
        X, logp = self._log_probabilities(X, "predict_proba")
        return like(np.exp(logp), X)

    def predict(self, X: Any) -> Any:
        """Most probable label of each row."""
        X, logp = self._log_probabilities(X, "predict")
        labels = self.classes_[logp.argmax(axis=1)]
        return like(labels, X) if labels.dtype.kind in "biuf" else labels

    def score_rows(self, rows: Rows) -> ClassScores:
        """Accuracy and log-loss on rows that are passed over, in one pass.

        Raises
        ------
        ValueError
            Where the rows have other columns than those of the fit.
        SourceError, EngineError
            As of a fit.
        """
        outputs = self._row_predictions(rows)
        if self.classes_.dtype.kind not in "biuf":
            raise ValueError(
                f"the classes are text (such as {self.classes_[0]!r}), and rows that are passed "
                "over have numbers: give score the arrays, or fit to labels that are numbers."
            )
        said = RowProbabilities(outputs, self._calibration, self.classes_)
        return rows.collect(ClassSums(said, self.predictor_.scratch_per_row()), "scores")

    def _extra_state(self) -> State:
        return {"classes": labels_state(self.classes_), "calibration": asdict(self._calibration)}

    def _restore_extra(self, state: State) -> None:
        self.classes_ = labels_from(state["classes"])
        calibration = state["calibration"]
        self._calibration = Calibration(calibration["scale"], tuple(calibration["shift"]))
