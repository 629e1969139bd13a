"""Fits that more rows may be added to, exactly: the sums over rows are kept."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ..maths.blocks import Block, Statistic
from ..maths.statistics.combined import Joint
from ..maths.statistics.moments import Moments
from ..maths.statistics.sample import RowSample
from ..models.head import ridge_of
from ..models.random_features import FixedFeatures
from .agop_summary import AGOP_ROWS
from .arrays import placement, row_weights, seed_from, to_numpy
from .regressor import FeatureRegressor
from .scaled import Standardiser

#: What a search space is asked with where it only looks at the parameters.
NO_ROWS = Block(torch.zeros(0, 0), torch.zeros(0, 0), torch.zeros(0))


@dataclass(eq=False)
class Sums:
    """Sums over all rows so far, with the widths of the rows."""

    learner: FixedFeatures
    seed: int
    statistic: Statistic[Any, Any, Any]
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
            "the inputs yourself and give standardise=False, or fit to rows that are streamed."
        )
    if model.alpha is None and model.penalty_by != "gcv":
        raise AttributeError(
            f"the penalty is to be chosen by {model.penalty_by!r}, which needs the rows again: "
            "give alpha, or penalty_by='gcv'."
        )
    return True


class FeatureSumsRegressor(FeatureRegressor, ABC):
    """A regressor on features that no row can change, to which more rows may be added."""

    @available_if(exact_in_parts)
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows: the same fit as to all rows so far at once, whatever the batches.

        Parameters
        ----------
        X, y, sample_weight
            As of `fit`; one row is enough.

        Returns
        -------
        self

        Only where that is exact: with ``standardise=False``, and ``alpha`` or
        ``penalty_by="gcv"``.

        Raises
        ------
        ValueError
            After `fit`, or where a parameter of the features was changed between calls.
        """
        space = self._space(NO_ROWS)
        learner = cast(FixedFeatures, space.learner(space.start))
        begun: Sums | None = self._sums
        self._check_begun(learner, begun)
        X, target = self._validated(X, y, reset=begun is None, least=1)
        if begun is not None and target.shape[1] != begun.none.y.shape[1]:
            raise ValueError(
                f"y has {target.shape[1]} columns and had {begun.none.y.shape[1]} before: give "
                "the same targets in every call."
            )
        table = to_numpy(X).astype(np.float64)
        self._where = placement(X, self.device, self.dtype)
        w = row_weights(sample_weight, table)
        block = Block(*(self._where.tensor(values) for values in (table, target, w)))
        self._sums = sums = begun or _begin(learner, block, seed_from(self.random_state))
        sums.state = sums.statistic.update(sums.state, block)
        self._solve(sums, learner, X)
        return self

    def _check_begun(self, learner: FixedFeatures, begun: Sums | None) -> None:
        if begun is not None and replace(learner, head=begun.learner.head) != begun.learner:  # type: ignore[type-var]
            raise ValueError(
                "a parameter of the features was changed after the first rows had come, whose sums "
                "are of the old features: begin with a new estimator."
            )
        if begun is None and "predictor_" in self.__dict__:
            raise ValueError(
                "the estimator was fitted by fit (or read from a file), which keeps no sums to add "
                "to: begin with a new estimator."
            )

    def _solve(self, sums: Sums, learner: FixedFeatures, X: Any) -> None:
        """The fit to all rows so far, in X's namespace."""
        m, sample = sums.statistic.finish(sums.state)
        a, offset, _ = ridge_of(m, learner.head)
        none = sums.none
        self.predictor_ = learner.network(none, a.to(none.X), offset.to(none.X), sums.seed)
        self._inputs = Standardiser.identity(none.X.shape[1])
        self._outputs = Standardiser.identity(none.y.shape[1])
        self.settings_, self.first_gradient_, self.gradient_features_ = {}, None, None
        self._summarise(sample, X)


def _begin(learner: FixedFeatures, block: Block, seed: int) -> Sums:
    none = block.none
    mapping = learner.features(none, seed)
    moments = Moments(mapping.map, mapping.row_bytes)
    statistic = Joint((moments, RowSample(AGOP_ROWS, seed)))
    return Sums(learner, seed, statistic, statistic.init(none), none)
