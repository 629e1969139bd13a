"""What all estimators share: validation, search, fit, feature summary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ..maths.blocks import Block
from ..maths.subspaces import leading_directions
from ..models.base import Predictor
from .data import Placement, TrainingData, placement, to_numpy, training_data, warn_ill_scaled
from .scaling import Standardiser
from .search import SEARCH_ROWS, SearchSpace, Trial, evaluate, search

#: Share of the AGOP's trace that the effective directions carry together.
EFFECTIVE_SHARE = 0.95

#: Float types that validation leaves alone.
FLOATS = (np.float64, np.float32)

#: Rows over which the AGOP of a fitted model is averaged.
AGOP_ROWS = 2000


def seed_from(random_state: Any) -> int:
    """Seed of the named streams: an int is itself, None is 0, a RandomState gives its next number.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> seed_from(None), seed_from(7)
    (0, 7)
    """
    match random_state:
        case None:
            return 0
        case int() | np.integer() if int(random_state) >= 0:
            return int(random_state)
        case np.random.RandomState():
            return int(random_state.randint(2**31 - 1))
        case np.random.Generator():
            return int(random_state.integers(2**31 - 1))
    raise ValueError(
        f"random_state is {random_state!r}: give None, a non-negative integer, or a NumPy "
        "random generator."
    )


class FeatureModel(BaseEstimator, ABC):
    """Base of the estimators: a search space over learners, one fitted predictor.

    Attributes
    ----------
    agop_ : array (d, d)
        AGOP of the fitted function in standardised inputs, (1/n) sum grad f grad f^T.
    importances_ : array (d,)
        Share of the AGOP's trace on each input; sums to one (zeros for a constant fit).
    directions_ : array (d, r)
        Leading eigenvectors of the AGOP, r = ``n_effective_directions_``.
    eigenvalues_ : array (d,)
        Eigenvalues of the AGOP, decreasing.
    n_effective_directions_ : int
        Least number of directions that carry 95 % of the AGOP's trace; 0 for a constant fit.
    settings_ : dict
        The hyper-parameters used, those chosen by the search among them.
    predictor_ : Predictor
        The fitted function of standardised inputs.
    """

    device: str | None
    dtype: str | None
    random_state: Any
    standardise: bool
    search: str | None

    predictor_: Predictor
    settings_: dict[str, Any]
    _inputs: Standardiser
    _outputs: Standardiser
    _where: Placement

    @abstractmethod
    def _space(self, data: Block) -> SearchSpace:
        """What to search over for this training data; raises ValueError for bad parameters."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _prepare(
        self,
        X: Any,
        y: NDArray[np.float64],
        sample_weight: ArrayLike | None,
        *,
        scale_targets: bool,
    ) -> tuple[TrainingData, int]:
        """Validated X (n, d) and targets (n, c) as training data; also the seed."""
        if self.search not in ("fast", "full", None):
            raise ValueError(
                f"search is {self.search!r}: allowed are 'fast', 'full' and None (every setting "
                "given, nothing chosen)."
            )
        self._where = placement(X, self.device, self.dtype)
        seed = seed_from(self.random_state)
        table = to_numpy(X).astype(np.float64)
        names = [str(name) for name in _check_feature_names_in(self)]
        warn_ill_scaled(table, names, standardise=self.standardise)
        data = training_data(
            table,
            y,
            None if sample_weight is None else to_numpy(sample_weight),
            self._where,
            seed,
            standardise=self.standardise,
            scale_targets=scale_targets,
        )
        return data, seed

    def _learn(self, data: TrainingData, seed: int, *, need_held_out: bool) -> Trial | None:
        """Search, fit on all rows, summarise; the chosen setting on held-out rows, if any."""
        space = self._space(data.block)
        trial = self._tune(space, data.block, seed, need_held_out=need_held_out)
        self.settings_ = space.start if trial is None or self.search is None else trial.point
        block, learner = data.block, space.make(self.settings_)
        self.predictor_ = learner.fit(block.X, block.y, weights=block.w, seed=seed)
        self._inputs, self._outputs = data.inputs, data.outputs
        self._summarise(block)
        return trial

    def _tune(
        self, space: SearchSpace, block: Block, seed: int, *, need_held_out: bool
    ) -> Trial | None:
        searched = self.search is not None and (space.axes or space.stages is not None)
        if len(block.X) < 2 or not (searched or need_held_out):
            return None
        rows = SEARCH_ROWS[self.search or "fast"]
        if not searched:
            given = replace(space, stages=None)
            return evaluate(given, space.start, block, seed, rows)
        return search(space, block, seed, rows=rows, sweeps=2 if self.search == "full" else 1)

    def _summarise(self, block: Block) -> None:
        """AGOP over a sample of the rows, its directions and importances."""
        M = self.predictor_.agop(block.X[:AGOP_ROWS], weights=block.w[:AGOP_ROWS])
        values, vectors = leading_directions(M.double().cpu())
        self.agop_, self.eigenvalues_ = M.double().cpu().numpy(), values.numpy()
        total = float(values.sum())
        share = self.eigenvalues_.cumsum() / total if total > 0 else np.zeros(0)
        r = int(np.searchsorted(share, EFFECTIVE_SHARE)) + 1 if total > 0 else 0
        self.n_effective_directions_ = r
        self.directions_ = vectors.numpy()[:, :r]
        self.importances_ = np.diag(self.agop_) / (total if total > 0 else 1.0)

    def leading_directions(self, r: int) -> NDArray[np.float64]:
        """The r leading eigenvectors (d, r) of ``agop_``, whatever share they carry."""
        check_is_fitted(self)
        return leading_directions(torch.as_tensor(self.agop_))[1].numpy()[:, :r]

    def standardised(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inputs (n, d) in the units that directions and importances refer to."""
        check_is_fitted(self)
        return self._inputs(X)

    def _outputs_at(self, X: Any) -> tuple[Any, NDArray[np.float64]]:
        """Validated X, and the outputs (n, c) in the units of the targets."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=FLOATS)
        Z = self._where.tensor(self._inputs(to_numpy(X).astype(np.float64)))
        return X, self._outputs.inverse(self.predictor_(Z).double().cpu().numpy())
