"""What a fitted estimator has learned of the inputs, for another target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from ..models.head import RidgeHead, transfer
from ..models.predictors import TwoLayer
from ..models.search.search import head_used
from ..wording import listing
from .base import FeatureModel
from .checks import given_names, row_weights, seed_from, to_numpy
from .training import Training, in_memory_training


class Refittable(FeatureModel, ABC):
    """An estimator whose features serve other targets too."""

    @abstractmethod
    def _for_another(self, training: Training, seed: int) -> None:
        """Fit this copy to the rows of another target, keeping what was learned of the inputs."""

    def refit_head(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """A new estimator with the features of this one and a head for another target.

        What was learned of the inputs stays, and their scaling. Of a network that is the first
        layer (W, b): offset and a (and a linear part beta, where leave-one-out over the new rows
        asks for it) are fitted to the new rows by one ridge, with the penalty `alpha`, or one
        chosen by `penalty_by`; probabilities are calibrated on its leave-one-out decisions. Of a
        recursive feature machine it is its AGOP: kernel ridge is fitted in that metric, with
        directions, kernel, bandwidth and penalty chosen on held-out rows. This estimator is left as
        it is, so that it can serve many targets; ``agop_`` and what follows from it are of the new
        fit, of the same class.

        `X`: At least two rows (n, d) of the columns that the features were learnt on; n may be far
            below d and the width.
        `y`: The new targets of a regressor, (n,) or (n, c), in any number and unit; labels (n,) of
            a classifier, of any kind and number of classes.
        `sample_weight`: Non-negative (n,); an integer weight equals repeating the row.

        Raises ValueError for other columns, or inputs that are not allowed, and scikit-learn's
        NotFittedError before `fit`.

        Source: Damian22, Theorem 3: a target of degree p on the r learned directions needs n of
        order r^p rows, whatever d is.
        """
        check_is_fitted(self)
        _check_columns(X, given_names(self))
        new, seed = copy(self), seed_from(self.random_state)
        X, targets = new._validated(X, y, reset=False)
        table = to_numpy(X).astype(np.float64)
        weights, how = row_weights(sample_weight, table), {"scale_targets": not self._classes}
        training = in_memory_training(
            table, targets, weights, self._where, seed, inputs=self._inputs, **how
        )
        new._outputs = training.outputs
        new._for_another(training, seed)
        new._summarise(training.block, X)
        return new

    def _with_network_head(
        self, training: Training, head: RidgeHead, *, linear: bool, seed: int
    ) -> None:
        """Keep the first layer of a network."""
        Z, t, w = training.block.X, training.block.y, training.block.w
        net = cast(TwoLayer, self.predictor_)
        found = transfer(net, Z, t, head, linear=linear, weights=w, seed=seed)
        self.predictor_, self.first_gradient_ = found.net, None
        self.settings_ = {**self.settings_, **head_used(found.net)}
        finite = bool(found.left_out.isfinite().all())
        self._calibrate((found.left_out, t, w) if finite else None)


def _check_columns(X: Any, learnt_on: Sequence[str] | None) -> None:
    """Raise ValueError unless the columns of a data frame X are those `learnt_on`, in order.

    None, or an X without names, passes.
    """
    names = _get_feature_names(X)
    if names is None or learnt_on is None or list(names) == list(learnt_on):
        return
    lacking = [name for name in learnt_on if name not in set(names)]
    further = [name for name in names if name not in set(learnt_on)]
    pairs = (("lacks", lacking), ("adds", further))
    faults = [f"{verb} {listing(columns)}" for verb, columns in pairs if columns]
    raise ValueError(
        f"X {' and '.join(faults) or 'has its columns in another order'}: give the columns that "
        "the features were learnt on, in that order."
    )
