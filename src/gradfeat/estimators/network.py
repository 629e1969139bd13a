"""The two-layer networks as transformers, and with a head for another target."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from ..maths.activations import Activation
from ..models.head import RidgeHead
from ..models.search.calibration import Calibration
from ..models.transfer import Transfer, transfer
from ..models.two_layer import TwoLayer
from .base import FeatureModel, seed_from
from .checks import check_head
from .classifier import FeatureClassifier
from .data import TrainingData, float_types, given_weights, like, to_numpy, training_data
from .regressor import FeatureRegressor


def check_columns(X: Any, learnt_on: Sequence[str] | None) -> None:
    """Raise ValueError unless the columns of a data frame X are those `learnt_on`, in order.

    None, or an X without names, passes.

    Examples
    --------
    >>> check_columns([[1.0, 2.0]], ["a", "b"])
    """
    names = _get_feature_names(X)
    if names is None or learnt_on is None or list(names) == list(learnt_on):
        return
    lacking = [name for name in learnt_on if name not in set(names)]
    further = [name for name in names if name not in set(learnt_on)]
    faults = [f"lacks {_some(lacking)}"] * bool(lacking) + [f"adds {_some(further)}"] * bool(
        further
    )
    raise ValueError(
        f"X {' and '.join(faults) or 'has its columns in another order'}: give the columns that "
        "the features were learnt on, in that order."
    )


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def learned_features(model: FeatureModel, X: Any) -> Any:
    """sigma(W z + b) (n, width) at the standardised rows z of X, in the namespace of X."""
    check_is_fitted(model)
    check_same_namespace(X, model, attribute="agop_", method="transform")
    X = validate_data(model, X, reset=False, dtype=float_types(X))
    Z = model._where.tensor(model._inputs(to_numpy(X).astype(np.float64)))
    return like(network(model).features(Z).double().cpu().numpy(), X)


def network(model: FeatureModel) -> TwoLayer:
    return cast(TwoLayer, model.predictor_)


def refit(
    model: FeatureModel,
    head: RidgeHead,
    X: Any,
    y: NDArray[np.float64],
    sample_weight: ArrayLike | None,
    *,
    linear: bool,
    scale_targets: bool,
) -> tuple[Transfer, TrainingData]:
    """Give `model` (a copy of the source) a head for targets y (n, c) at validated rows X."""
    seed = seed_from(model.random_state)
    data = training_data(
        to_numpy(X).astype(np.float64),
        y,
        given_weights(sample_weight),
        model._where,
        seed,
        standardise=model.standardise,
        scale_targets=scale_targets,
        inputs=model._inputs,
    )
    Z, t, w = data.block.X, data.block.y, data.block.w
    found = transfer(network(model), Z, t, head, linear=linear, weights=w, seed=seed)
    model.predictor_, model._outputs = found.net, data.outputs
    model.first_gradient_ = None
    model._summarise(data.block, X)
    return found, data


class NetworkRegressor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureRegressor, ABC):
    """A two-layer net for numbers, whose features serve other targets too."""

    #: Whether the method's head has a linear part beside the features.
    linear_part: ClassVar[bool]

    width: int
    activation: str | Activation
    alpha: float | None
    penalty_by: Literal["loo", "gcv", "validation"]

    @property
    def _n_features_out(self) -> int:
        return len(network(self).b)

    def transform(self, X: Any) -> Any:
        """Features sigma(W z + b) (n, width) of the rows of X, z the standardised row."""
        return learned_features(self, X)

    def refit_head(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """A new estimator with the features of this one and a head for another target.

        The first layer (W, b) and the scaling of the inputs stay as they were learnt; offset and
        a (and a linear part beta, where leave-one-out over the new rows asks for it) are fitted
        to the new rows by one ridge, with the penalty `alpha`, or one chosen by `penalty_by`.
        This estimator is left as it is, so that it can serve many targets.

        Parameters
        ----------
        X : array-like (n, d)
            At least two rows of the columns that the features were learnt on; n may be far below
            d and the width.
        y : array-like (n,) or (n, c)
            The new targets, in any number and unit.
        sample_weight : array-like (n,), optional
            Non-negative; an integer weight equals repeating the row.

        Returns
        -------
        estimator
            Fitted, of the same class; ``agop_`` and what follows from it are of the new fit.

        Raises
        ------
        ValueError
            For other columns, or inputs that are not allowed, in one sentence.
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Source: Damian22, Theorem 3: a target of degree p on the r learned directions needs n of
        order r^p rows, whatever d is.
        """
        check_is_fitted(self)
        check_columns(X, vars(self).get("feature_names_in_"))
        new = copy(self)
        X, target = new._validated(X, y, reset=False)
        head = check_head(new.alpha, new.penalty_by)
        refit(new, head, X, target, sample_weight, linear=new.linear_part, scale_targets=True)
        return new


class NetworkClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureClassifier, ABC):
    """A two-layer net for classes, whose features serve other labels too."""

    #: Whether the method's head has a linear part beside the features.
    linear_part: ClassVar[bool]

    width: int
    activation: str | Activation
    alpha: float | None
    penalty_by: Literal["loo", "gcv", "validation"]

    @property
    def _n_features_out(self) -> int:
        return len(network(self).b)

    def transform(self, X: Any) -> Any:
        """Features sigma(W z + b) (n, width) of the rows of X, z the standardised row."""
        return learned_features(self, X)

    def refit_head(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """A new estimator with the features of this one and a head for other labels.

        The first layer (W, b) and the scaling of the inputs stay as they were learnt; offset and
        a (and a linear part beta, where leave-one-out over the new rows asks for it) are fitted
        to the new rows by one ridge, with the penalty `alpha`, or one chosen by `penalty_by`;
        probabilities are calibrated on its leave-one-out decisions. This estimator is left as it
        is, so that it can serve many targets.

        Parameters
        ----------
        X : array-like (n, d)
            At least two rows of the columns that the features were learnt on; n may be far below
            d and the width.
        y : array-like (n,)
            The new labels, of any kind and number of classes.
        sample_weight : array-like (n,), optional
            Non-negative; an integer weight equals repeating the row.

        Returns
        -------
        estimator
            Fitted, of the same class; ``classes_`` and ``agop_`` are of the new fit.

        Raises
        ------
        ValueError
            For other columns, or inputs that are not allowed, in one sentence.
        sklearn.exceptions.NotFittedError
            Before `fit`.

        Source: Damian22, Theorem 3: a target of degree p on the r learned directions needs n of
        order r^p rows, whatever d is.
        """
        check_is_fitted(self)
        check_columns(X, vars(self).get("feature_names_in_"))
        new = copy(self)
        X, codes = new._coded(X, y, reset=False)
        head = check_head(new.alpha, new.penalty_by)
        found, data = refit(
            new, head, X, codes, sample_weight, linear=new.linear_part, scale_targets=False
        )
        new._calibration = Calibration.none(len(new.classes_))
        if len(new.classes_) > 1 and bool(found.left_out.isfinite().all()):
            new._calibrate(found.left_out, data.block.y, data.block.w, data.outputs)
        return new
