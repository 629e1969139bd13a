"""A fitted estimator together with the encoding of its table, as one file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from importlib.metadata import version
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, assert_all_finite, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gradfeat.errors import ModelFileError
from gradfeat.estimators.checks import (
    classifies,
    finite_numbers,
    gives_probabilities,
    name_of,
    probabilities,
)
from gradfeat.estimators.class_codes import given_labels
from gradfeat.estimators.container import Contents, as_bytes
from gradfeat.estimators.persistence import CLASSES, estimator_from
from gradfeat.maths.ranges import one_of
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.rows.sources.text_options import FOUND, TextOptions, text_options
from gradfeat.table.conformal import stated_columns
from gradfeat.table.encode import TableEncoder
from gradfeat.table.read import as_frame, read_table
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.row_sample import LabelKind, label_kind, typed
from gradfeat.table.target import AS_IS, TargetScale, Transform, target_scale
from gradfeat.table.trusted import SKLEARN, sklearn_contents, sklearn_estimator
from gradfeat.table.unread import NotFinite, refuse_unread, warn_of_unread
from gradfeat.wording import as_names, columns_named

KIND = "TableModel"


def _has_probabilities(model: TableModel) -> bool:
    return classifies(model.estimator) and gives_probabilities(model.estimator)


class TableModel(BaseEstimator):
    """Predicts a column of a table from its other columns: an encoding and an estimator.

    An estimator of scikit-learn's kind for tables of mixed columns: numbers, categories, dates and
    text, with gaps. It is a classifier where `estimator` is one, and a regressor otherwise.

    Parameters
    ----------
    estimator : estimator
        From numbers to the target, or to class codes, of scikit-learn's kind; it is cloned.
    target_transform : {"none", "log"}
        Learn the logarithm of a quantity; predictions are of the quantity itself.
    missing, category, dates : sequence of str, sequence of str, {"", "day-first", "month-first"}
        How cells are read, as of :func:`gradfeat.compare`.

    Attributes
    ----------
    estimator_ : fitted estimator
        The clone.
    encoder : TableEncoder
        From the table to numbers.
    classes_ : array (K,)
        Labels of the classes, sorted; of classifiers alone.
    classes : tuple of str
        The same as text, in the order of the class codes; empty for regression.
    target : str
        Name of the target column.
    feature_names_in_ : array of str
        Columns of the training table.
    about : mapping
        What `gradfeat show` prints: method, scores, rows, seed.
    held : array (m,)
        Scores of held-out rows, rising, for intervals (:mod:`gradfeat.table.conformal`).
    scale : TargetScale
        On which a quantity was learned: predictions are in the units of the target.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> frame = pd.DataFrame({"size": range(40), "kind": ["red", "blue"] * 20})
    >>> y = frame["size"] + 10 * (frame["kind"] == "red")
    >>> model = TableModel(Ridge(alpha=1e-6)).fit(frame, y)
    >>> model.predict(frame.head(2)).round(3).tolist()
    [10.0, 1.0]
    >>> bool(cross_val_score(model, frame, y, cv=4).min() > 0.99)
    True
    """

    estimator_: Any
    encoder: TableEncoder
    target: str
    classes: tuple[str, ...]
    about: Mapping[str, Any]
    held: NDArray[np.float64]
    scale: TargetScale
    dates: DateOrder
    feature_names_in_: NDArray[Any]
    n_features_in_: int

    def __init__(
        self,
        estimator: Any,
        *,
        target_transform: Transform = "none",
        missing: Sequence[str] = (),
        category: Sequence[str] = (),
        dates: DateOrder = "",
    ) -> None:
        self.estimator = estimator
        self.target_transform: Transform = target_transform
        self.missing, self.category, self.dates = missing, category, dates

    @classmethod
    def of(
        cls,
        encoder: TableEncoder,
        fitted: Any,
        target: str,
        classes: Sequence[str] = (),
        about: Mapping[str, Any] | None = None,
        held: NDArray[np.float64] | None = None,
        scale: TargetScale = AS_IS,
        labels: LabelKind = "text",
    ) -> TableModel:
        """The model of an estimator that was fitted to encoded rows (and class codes)."""
        names, values = encoder.columns_, typed(classes, labels)
        model = cls(clone(fitted, safe=False), target_transform=scale.transform)
        model.missing, model.dates = encoder.missing, encoder.dates
        model.category = encoder.category
        model._set(encoder, fitted, target, values, names)
        model.classes = tuple(classes)
        model.about, model.scale = about or {}, scale
        model.held = np.zeros(0) if held is None else held
        return model

    def _set(
        self,
        encoder: TableEncoder,
        fitted: Any,
        target: str,
        labels: NDArray[Any],
        names: Sequence[str],
    ) -> TableModel:
        self.encoder, self.estimator_, self.target = encoder, fitted, target
        self.classes = tuple(str(label) for label in labels)
        self.__dict__.pop("classes_", None)  # of an earlier fit
        if len(labels):
            self.classes_ = labels
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TableModel:
        """Learn how the columns are encoded, and fit the estimator.

        Parameters
        ----------
        X : DataFrame of pandas or polars, pyarrow Table, array (n, d)
            The input columns.
        y : array-like (n,)
            Numbers, or labels of classes.
        sample_weight : array-like (n,), optional
            Handed to the estimator.

        Raises
        ------
        TableError
            For columns that cannot be encoded, or a target without logarithms.
        ValueError
            For a target with gaps, or of another length.
        """
        one_of(get_args(Transform), target_transform=self.target_transform)
        one_of(get_args(DateOrder), dates=self.dates)
        classes = classifies(self.estimator)
        frame, values = as_frame(X), column_or_1d(given_labels(y) if classes else y)
        check_consistent_length(frame, values)
        assert_all_finite(values, input_name="y")
        if classes:
            check_classification_targets(values)
            labels, codes = np.unique(values, return_inverse=True)
        else:
            labels, codes = np.zeros(0), finite_numbers(values, "The target")
        target = name_of(y)
        scale = target_scale(self.target_transform, target, codes.min(), classes)
        category = columns_named(as_names(self.category), [*frame.columns], "to read as levels")
        encoder = TableEncoder(as_names(self.missing), self.dates, category=category).fit(frame)
        warn_of_unread(encoder.unread_, frame, 3)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted: Any = clone(self.estimator)
        fitted = fitted.fit(encoder.transform(frame), scale.learned(codes), **weights)
        self.held, self.scale = np.zeros(0), scale
        self.about = {
            "method": type(fitted).__name__,
            "data": "a data frame",
            "task": "classification" if classes else "regression",
            "train_rows": len(frame),
            "test_rows": 0,
            "scores": [],
            "settings": {},
            "seed": getattr(fitted, "random_state", None),
            "version": version("gradfeat"),
        }
        return self._set(encoder, fitted, target, labels, list(frame.columns))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted targets (n,): numbers, or labels of classes.

        Cells that are not what their column held are missing, which a warning counts by column.

        Raises TableError when the columns are not those of the training table, and for rows whose
        prediction is no finite number.
        """
        return self._labelled(self._finite(X))

    def _labelled(self, f: NDArray[Any]) -> NDArray[Any]:
        return self.classes_[f.argmax(1)] if self.classes else f

    def _encoded(self, data: Any, level: int = 4) -> NDArray[np.float64]:
        check_is_fitted(self)
        frame = as_frame(data)
        encoded, unread = self.encoder.encoded(frame)
        warn_of_unread(unread, frame, level)
        return encoded

    def _finite(self, data: Any) -> NDArray[Any]:
        f = self.outputs(self._encoded(data, 5))
        found = NotFinite.of(f)
        if found.lost:
            found.refuse(FrameTables(as_frame(data)))
        return f

    def outputs(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """In the units of the target (n,), or probabilities of classes (n, K); of encoded rows.

        One that gives no probabilities has one at the predicted class, and zero elsewhere.
        """
        if self.classes:
            return probabilities(self.estimator_, X, len(self.classes))
        f = np.asarray(self.estimator_.predict(X)) if len(X) else np.zeros(0)
        return self.scale.back(f)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n, K) in the order of `classes_`; only where the estimator has them."""
        return self._finite(X)

    @available_if(lambda model: callable(getattr(model.estimator, "decision_function", None)))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The estimator's own, of the encoded rows; there only where it has one."""
        return np.asarray(self.estimator_.decision_function(self._encoded(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2, or the accuracy of a classifier."""
        judge = accuracy_score if classifies(self.estimator) else r2_score
        f = self._labelled(self._finite(X))  # not by predict: warnings name the caller's line
        return float(judge(y, f, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    @property
    def own(self) -> bool:
        """Whether the estimator is gradfeat's, with an AGOP and directions."""
        return type(self.estimator_) in CLASSES.values()

    def read(
        self,
        path: str | os.PathLike[str],
        *,
        separator: str | None = None,
        comment: str | None = None,
        header: bool | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
    ) -> pd.DataFrame:
        """The rows of a file, with cells read as those of the training rows were.

        How the text is written is as of :func:`gradfeat.compare`; what is left out is found.

        Raises
        ------
        SourceError
            Where there is no such file or it cannot be read as a table.
        """
        asked = text_options(separator, comment, header, encoding, sheet)
        return read_table(path, self.encoder.cells, self.text(asked))

    def predictions(
        self, frame: Any, interval: float | None = None, strict: bool = False
    ) -> pd.DataFrame:
        """Predictions for the rows of `frame` as a table; of classes also their probabilities.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, pyarrow Table, array
            Of a file: ``model.read(path)``. Predictions have the index of a DataFrame of pandas.
        interval : float, optional
            Per cent of new rows whose target lies between ``low_TARGET`` and ``high_TARGET``, or
            in ``set_TARGET`` (a JSON list of classes). Only models of comparisons give them.
        strict : bool
            Refuse rows with cells that are not what their column held; else these are missing.

        Raises
        ------
        TableError
            When the columns are not those of the training table, for an interval that the
            held-out rows of the fit are too few for, and for rows whose prediction is no finite
            number.
        """
        rows = as_frame(frame)
        if strict:
            refuse_unread(self.encoder.unread(rows), FrameTables(rows))
        return self.in_columns(self._finite(rows), interval).set_axis(rows.index)

    def in_columns(self, f: NDArray[Any], interval: float | None = None) -> pd.DataFrame:
        """:meth:`predictions`, of :meth:`outputs` ``f``."""
        about = self.target, self.classes, self.scale
        further = {} if interval is None else stated_columns(self.held, interval, f, *about)
        if not self.classes:
            return pd.DataFrame({f"predicted_{self.target}": f, **further})
        labels, columns = self._labelled(f), {}
        if gives_probabilities(self.estimator_):
            columns = {f"probability_{label}": f[:, k] for k, label in enumerate(self.classes)}
        return pd.DataFrame({f"predicted_{self.target}": labels, **columns, **further})

    def text(self, asked: TextOptions = FOUND, *more: str) -> TextOptions:
        """What is known of the text of a table for this model: what is asked, and as it was fitted.

        `more`: names of further columns that will be asked for.
        """
        like = TextOptions.kept(self.about.get("text", {}))
        return replace(asked, wanted=(*self.encoder.columns_, *more), like=like)

    def to_bytes(self) -> bytes:
        return as_bytes(self.to_contents())

    def to_contents(self) -> Contents:
        """Encoder, estimator, labels and scores, for saving: see :func:`gradfeat.save`."""
        check_is_fitted(self)
        if self.classes and self.classes_.dtype.kind in "mM":
            raise ModelFileError("Labels that are dates are not saved: fit to their text.")
        kind = label_kind(pd.Series(self.classes_)) if self.classes else "text"
        state: dict[str, Any] = {"target": self.target, "classes": list(self.classes)}
        state |= {"about": dict(self.about), "shift": self.scale.shift, "labels": kind}
        fitted = self.estimator_
        inner = fitted.to_contents() if self.own else sklearn_contents(fitted)
        whole = Contents(KIND, state, {"held": self.held})
        return whole.including(encoder=self.encoder.to_contents(), estimator=inner)

    @staticmethod
    def from_contents(contents: Contents) -> TableModel:
        """The model that `to_contents` described.

        Raises ModelFileError where a part is missing or cannot be read, or names a foreign type.
        """
        try:
            columns, inner = contents.part("encoder"), contents.part("estimator")
            held, state = contents.arrays["held"], contents.state
            target, classes, about = str(state["target"]), state["classes"], dict(state["about"])
            scale, labels = TargetScale(state["shift"]), state["labels"]
            TextOptions.kept(about.get("text", {}))
        except (KeyError, TypeError) as error:
            raise ModelFileError(
                f"The saved table model lacks a part ({error}): fit and save it again."
            ) from None
        fitted = (sklearn_estimator if inner.kind == SKLEARN else estimator_from)(inner)
        encoder = TableEncoder.from_contents(columns)
        return TableModel.of(encoder, fitted, target, classes, about, held, scale, labels)

    def to_device(self, device: str) -> TableModel:
        """A copy whose estimator lives on `device`.

        Raises ModelFileError where it is scikit-learn's, which knows the CPU alone.
        """
        if not self.own:
            raise ModelFileError(
                f"The model ({self.about.get('method', type(self.estimator_).__name__)}) computes "
                "on the CPU alone: leave the device out."
            )
        moved = copy(self)
        moved.estimator_ = self.estimator_.to_device(device)
        return moved
