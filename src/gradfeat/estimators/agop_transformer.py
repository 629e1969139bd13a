"""Supervised dimension reduction onto the leading directions of the AGOP."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils.validation import check_is_fitted

from ..rows.rows import Rows
from .checks import (
    NUMPY,
    check_choice,
    count_or_none,
    given_names,
    has_namespace,
    like,
    set_names,
    to_numpy,
    validated,
)
from .container import Arrays, Contents, State, contents_of, params_from, params_state
from .parameters import parameters
from .rfm import RFMClassifier, RFMRegressor


@parameters
class AGOPTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project standardised inputs onto the leading eigenvectors of an RFM's AGOP.

    transform(X) = ((X - mean) / scale) V_r, V_r the r leading eigenvectors of
    (1/n) sum_i grad f(x_i) grad f(x_i)^T for the RFM f fitted to (X, y).

    `n_components`: r; None is the number of effective directions (95 % of the trace, at least one).
    `task`: What y is; "auto" takes numbers as regression targets and anything else as labels.

    The other parameters are those of :class:`RFMRegressor` and :class:`RFMClassifier`. After the
    fit ``model_`` is the machine, ``components_`` (r, d) are the directions in standardised inputs,
    orthonormal rows, and ``explained_ratio_`` (r,) the share of the AGOP's trace that each carries.

    Source: Rad24; Constantine 2015 (active subspaces).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 8))
    >>> AGOPTransformer(n_components=1).fit_transform(X, X[:, 0] ** 2).shape
    (300, 1)
    """

    n_components: int | None = field(default=None, kw_only=False)
    task: Literal["auto", "regression", "classification"] = "auto"
    kernel: str | None = "laplace"
    bandwidth: float | None = None
    alpha: float | None = None
    n_iter: int = 5
    search: str | None = "fast"
    device: str | None = None
    dtype: str | None = None
    random_state: Any = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.array_api_support = True
        return tags

    def _model(self, y: NDArray[Any]) -> RFMRegressor | RFMClassifier:
        kind = pd.Series(y.ravel()).infer_objects().dtype.kind
        # Of numbers, and of dates, which a regressor refuses: each would be a class of its own.
        regression = self.task == "regression" or (self.task == "auto" and kind in "iufmM")
        own = ("n_components", "task")
        shared = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        return (RFMRegressor if regression else RFMClassifier)(directions=None, **shared)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine to X (n, d) and y, keep its leading directions.

        X may be streamed Rows, with targets and weights of their own; they are numbers,
        and classes only where `task` says so. ValueError for what is not allowed, in one sentence.
        """
        check_choice("task", self.task, ("auto", "regression", "classification"))
        r = count_or_none("n_components", self.n_components)
        if type(X) is Rows:
            self.model_ = self._model(NUMPY).fit(X, y, sample_weight)
            self.n_features_in_ = self.model_.n_features_in_
            set_names(self, given_names(self.model_))
            X = NUMPY
        else:
            X, checked = validated(self, X, y, multi_output=True, ensure_min_samples=2)
            values = to_numpy(checked) if has_namespace(y) else np.asarray(y)
            self.model_ = self._model(values).fit(X, y, sample_weight)
        r = r or max(1, self.model_.n_effective_directions_)
        if r > self.n_features_in_:
            raise ValueError(
                f"n_components is {r} and X has {self.n_features_in_} columns: ask for no more."
            )
        self._describe(r, X)
        return self

    def _describe(self, r: int, X: Any) -> None:
        eigenvalues = to_numpy(self.model_.eigenvalues_)
        total = eigenvalues.sum()
        self.components_ = like(self.model_.leading_directions(r).T, X)
        self.explained_ratio_ = like(eigenvalues[:r] / (total if total > 0 else 1.0), X)
        self._n_features_out = r

    def transform(self, X: Any) -> Any:
        """Coordinates (n, r) of the rows of X along the directions."""
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="components_", method="transform")
        X = validated(self, X, reset=False)
        Z = self.model_.standardised(to_numpy(X).astype(np.float64))
        return like(Z @ to_numpy(self.components_).T, X)

    def to_state(self) -> tuple[State, Arrays]:
        """Parameters and the fitted machine, as JSON-able state and arrays (for saving)."""
        inner, arrays = self.model_.to_state()
        state = {
            "params": params_state(self),
            "model": inner,
            "r": self._n_features_out,
            "classifier": type(self.model_) is RFMClassifier,
            "feature_names": given_names(self),
        }
        return state, arrays

    def to_contents(self) -> Contents:
        """Everything that transforms, for saving: see :func:`gradfeat.save`."""
        return contents_of(self)

    @classmethod
    def from_state(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Inverse of :meth:`to_state`, on the CPU."""
        self = cls(**params_from(state["params"]))
        make = RFMClassifier if state["classifier"] else RFMRegressor
        self.model_ = make.from_state(state["model"], arrays)
        self.n_features_in_ = self.model_.n_features_in_
        set_names(self, state["feature_names"])
        self._describe(int(state["r"]), NUMPY)
        return self

    def to_device(self, device: str) -> Self:
        """A copy whose machine lives on `device`."""
        moved = copy(self)
        moved.model_ = self.model_.to_device(device)
        return moved
