"""The classifier face: one-vs-rest +-1 codes, calibrated probabilities."""

from __future__ import annotations

from abc import ABC
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from ..maths.statistics.score_sums import ClassScores, ClassSums
from ..models.search.calibration import Calibration, fit_calibration, two_sided
from ..rows.rows import Rows
from .base import FeatureModel
from .checks import Floats, like, to_numpy, validated
from .class_codes import ClassCodes, class_codes, given_labels, labels_of, with_class_weights
from .container import State, labels_from, labels_state
from .scaled import ClassProbabilities
from .training import FirstPass


class FeatureClassifier(ClassifierMixin, FeatureModel, ABC):
    """Squared loss on +-1 codes; p = softmax(s f + t) with s, t fitted on held-out rows.

    Attributes
    ----------
    classes_ : array (K,)
        Labels as given, sorted.
    """

    _classes: ClassVar[bool] = True

    #: Weights of the classes, of those estimators that have the parameter.
    class_weight: Any = None

    classes_: NDArray[Any]
    _calibration: Calibration

    def _validated(self, X: Any, y: Any, *, reset: bool, least: int = 2) -> tuple[Any, Floats]:
        """The labels as +-1 codes: one column for two classes, else one a class."""
        X, y = validated(self, X, given_labels(y), reset=reset, ensure_min_samples=least)
        labels = column_or_1d(to_numpy(y), warn=True)
        check_classification_targets(labels)
        self.classes_, index = np.unique(labels, return_inverse=True)
        K = len(self.classes_)
        codes = np.where(np.arange(K) == index[:, None], 1.0, -1.0)
        return X, codes[:, 1:] if K == 2 else codes

    def _weighted(self, targets: Floats, w: Floats) -> Floats:
        columns = two_sided(targets) if len(self.classes_) == 2 else targets
        return with_class_weights(self.class_weight, self.classes_[columns.argmax(axis=1)], w)

    def _coded(self, found: FirstPass) -> ClassCodes:
        codes = class_codes(found.labels, found.sample.y.dtype, self.class_weight)
        self.classes_ = labels_of(codes.classes.numpy())
        return codes

    def _needs_held_out(self) -> bool:
        return len(self.classes_) > 1

    def _calibrate(self, held: tuple[Tensor, Tensor, Tensor] | None) -> None:
        found = Calibration.none(len(self.classes_))
        absent = two_sided(self._outputs.mean[None])[0] <= -1  # all codes of a class are -1
        self._calibration = found.without(absent) if len(self.classes_) > 1 else found
        if held is None or len(self.classes_) == 1:
            return
        decisions, codes, w = (t.double().cpu().numpy() for t in held)
        decisions, codes = self._outputs.inverse(decisions), self._outputs.inverse(codes)
        labels = two_sided(codes).argmax(axis=1)
        self._calibration = fit_calibration(two_sided(decisions), labels, w).without(absent)

    def _function(self) -> ClassProbabilities:
        return ClassProbabilities(self._scaled_predictor(), self._calibration, self.classes_)

    def _log_probabilities(self, X: Any, method: str) -> tuple[Any, Floats]:
        X, table = self._table(X, method)
        return X, self._function()(table).numpy()

    def decision_function(self, X: Any) -> Any:
        """Log-odds (n,) of the second of two classes; log-probabilities (n, K) of more."""
        X, logp = self._log_probabilities(X, "decision_function")
        return like(logp[:, 1] - logp[:, 0] if len(self.classes_) == 2 else logp, X)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, K), columns in the order of ``classes_``; rows sum to one."""
        X, logp = self._log_probabilities(X, "predict_proba")
        return like(np.exp(logp), X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms (n, K) of :meth:`predict_proba`, which do not vanish where these do."""
        X, logp = self._log_probabilities(X, "predict_log_proba")
        return like(logp, X)

    def predict(self, X: Any) -> Any:
        """Most probable label of each row."""
        X, logp = self._log_probabilities(X, "predict")
        labels = self.classes_[logp.argmax(axis=1)]
        return like(labels, X) if labels.dtype.kind in "biuf" else labels

    def score_rows(self, rows: Rows) -> ClassScores:
        """Accuracy and log-loss on streamed rows, in one pass.

        Raises ValueError where the rows have other columns than those of the fit; else as a fit.
        """
        self._check_columns(rows)
        if self.classes_.dtype.kind not in "biuf":
            raise ValueError(
                f"the classes are text (such as {self.classes_[0]!r}), and streamed rows have "
                "numbers: give score the arrays, or fit to labels that are numbers."
            )
        return rows.collect(
            ClassSums(self._function(), self.predictor_.scratch_per_row()), "scores"
        )

    def _extra_state(self) -> State:
        return {"classes": labels_state(self.classes_), "calibration": asdict(self._calibration)}

    def _restore_extra(self, state: State) -> None:
        self.classes_ = labels_from(state["classes"])
        calibration = state["calibration"]
        self._calibration = Calibration(calibration["scale"], tuple(calibration["shift"]))
