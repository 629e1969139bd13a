"""Fits that more rows may be added to, exactly: the sums over rows are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import _check_sample_weight

from ..maths.blocks import Block, Statistic
from ..maths.statistics.joint import Joint
from ..maths.statistics.moments import Moments
from ..maths.statistics.sample import RowSample
from ..models.fixed_features import FixedFeatures
from ..models.head import ridge_of
from .base import AGOP_ROWS, seed_from
from .data import given_weights, placement, to_numpy
from .regressor import FeatureRegressor
from .scaling import Standardiser

#: What a search space is asked with where it only looks at the parameters.
NO_ROWS = Block(torch.zeros(0, 0), torch.zeros(0, 0), torch.zeros(0))


@dataclass(eq=False)
class Sums:
    """Sums over all rows so far, with the widths of the rows."""

    learner: FixedFeatures
    seed: int
    statistic: Statistic[Any, Any]
    state: Any
    none: Block


def exact_in_parts(model: Any) -> bool:
    """Whether rows may be added one after the other with the result of all at once.

    Raises
    ------
    AttributeError
        With the reason, where they may not.
    """
    if model.standardise:
        raise AttributeError(
            "standardise is True, and partial_fit cannot know the spread of rows to come: scale "
            "the inputs yourself and give standardise=False, or fit to rows that are passed over."
        )
    if model.alpha is None and model.penalty_by != "gcv":
        raise AttributeError(
            f"the penalty is to be chosen by {model.penalty_by!r}, which needs the rows again: "
            "give alpha, or penalty_by='gcv'."
        )
    return True


def add_rows(
    model: FeatureRegressor, learner: FixedFeatures, X: Any, y: Any, sample_weight: Any
) -> None:
    """Add rows to the sums that `model` keeps, and solve: the fit to all rows so far.

    Raises
    ------
    ValueError
        Where features were changed between calls, or the estimator was fitted otherwise.
    """
    begun: Sums | None = vars(model).get("_sums")
    _check_begun(model, learner, begun)
    X, target = model._validated(X, y, reset=begun is None, least=1)
    if begun is not None and target.shape[1] != begun.none.y.shape[1]:
        raise ValueError(
            f"y has {target.shape[1]} columns and had {begun.none.y.shape[1]} before: give "
            "the same targets in every call."
        )
    block = _block(model, X, target, sample_weight)
    sums = begun or _begin(learner, block, seed_from(model.random_state))
    sums.state = sums.statistic.update(sums.state, block)
    model._sums = sums
    m, sample = sums.statistic.finish(sums.state)
    a, offset, _ = ridge_of(m, learner.head)
    model.predictor_ = learner.network(sums.none, a.to(block.X), offset.to(block.X), sums.seed)
    d, c = block.X.shape[1], block.y.shape[1]
    model._inputs, model._outputs = Standardiser.identity(d), Standardiser.identity(c)
    model.settings_, model.first_gradient_, model.gradient_features_ = {}, None, None
    model._summarise(sample, X)


def _check_begun(model: FeatureRegressor, learner: FixedFeatures, begun: Sums | None) -> None:
    if begun is not None and replace(learner, head=begun.learner.head) != begun.learner:  # type: ignore[type-var]
        raise ValueError(
            "a parameter of the features was changed after the first rows had come, whose sums "
            "are of the old features: begin with a new estimator."
        )
    if begun is None and "predictor_" in vars(model):
        raise ValueError(
            "the estimator was fitted by fit (or read from a file), which keeps no sums to add "
            "to: begin with a new estimator."
        )


def _block(model: FeatureRegressor, X: Any, target: Any, sample_weight: Any) -> Block:
    model._where = placement(X, model.device, model.dtype)
    table = to_numpy(X).astype(np.float64)
    w = _check_sample_weight(
        given_weights(sample_weight), table, dtype=np.float64, ensure_non_negative=True
    )
    return Block(*(model._where.tensor(values) for values in (table, target, w)))


def _begin(learner: FixedFeatures, block: Block, seed: int) -> Sums:
    none = block.none
    mapping = learner.features(none, seed)
    moments = Moments(mapping.map, mapping.row_bytes)
    statistic = Joint((moments, RowSample(AGOP_ROWS, seed)))
    return Sums(learner, seed, statistic, statistic.init(none), none)
