"""The two-layer networks as transformers, and with a head for another target."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from ..maths.activations import Activation
from ..models.refit import transfer
from ..models.two_layer import TwoLayer
from .arrays import given_names, like, row_weights, seed_from, to_numpy
from .base import FeatureModel
from .checks import check_head
from .parameters import parameters
from .training import in_memory_training


@parameters
class NetworkMethod(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureModel, ABC):
    """A two-layer net, whose features serve other targets too.

    Parameters
    ----------
    width : int
        Number of neurons.
    activation : str or Activation
        "relu", "centred_relu", "truncated_relu", "tanh", "erf", or an Activation object.
    alpha : float or None
        Penalty of the head, sum_i w_i (y_i - f_i)^2 + alpha |a|^2; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    """

    #: Whether the method's head has a linear part beside the features.
    linear_part: ClassVar[bool]

    width: int = 1024
    activation: str | Activation = "relu"
    alpha: float | None = None
    penalty_by: Literal["loo", "gcv", "validation"] = "loo"

    @property
    def _network(self) -> TwoLayer:
        return cast(TwoLayer, self.predictor_)

    @property
    def _n_features_out(self) -> int:
        return len(self._network.b)

    def transform(self, X: Any) -> Any:
        """Features sigma(W z + b) (n, width) of the rows of X, z the standardised row."""
        X, table = self._table(X, "transform")
        Z = self._scaled_predictor().standardised(table)
        return like(self._network.features(Z).double().cpu().numpy(), X)

    def refit_head(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """A new estimator with the features of this one and a head for another target.

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
        y : array-like (n,) or (n, c)
            The new targets of a regressor, in any number and unit; labels (n,) of a classifier,
            of any kind and number of classes.
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
        check_columns(X, given_names(self))
        new, seed = copy(self), seed_from(self.random_state)
        X, targets = new._validated(X, y, reset=False)
        head, table = check_head(self.alpha, self.penalty_by), to_numpy(X).astype(np.float64)
        weights, how = row_weights(sample_weight, table), {"scale_targets": not self._classes}
        of_new = in_memory_training(
            table, targets, weights, self._where, seed, inputs=self._inputs, **how
        )
        Z, t, w = of_new.block.X, of_new.block.y, of_new.block.w
        found = transfer(self._network, Z, t, head, linear=self.linear_part, weights=w, seed=seed)
        new.predictor_, new._outputs = found.net, of_new.outputs
        new.first_gradient_ = None
        new._summarise(of_new.block, X)
        finite = bool(found.left_out.isfinite().all())
        new._calibrate((found.left_out, t, w) if finite else None)
        return new


def check_columns(X: Any, learnt_on: Sequence[str] | None) -> None:
    """Raise ValueError unless the columns of a data frame X are those `learnt_on`, in order.

    None, or an X without names, passes.
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
