"""What all estimators share: validation, search, fit, feature summary."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
from torch import Tensor

from ..maths.blocks import Block
from ..maths.subspaces import leading_directions
from ..models.base import Predictor
from ..models.first_gradient import GradientTest
from ..models.gradient_features.found_features import FoundFeatures
from ..models.restore import predictor_from
from ..models.search.kernel_space import UNREACHED
from ..models.search.search import FAST, FULL, SettingT, Space, Trial
from ..rows.rows import Rows, of_block
from .data import (
    Placement,
    TrainingData,
    float_types,
    given_weights,
    like,
    placement,
    to_numpy,
    training_data,
    warn_ill_scaled,
)
from .rows_data import FirstPass, first_pass
from .rows_predictions import RowPredictions, check_rows
from .scaling import Standardiser
from .state import (
    Arrays,
    State,
    as_arrays,
    params_from,
    params_state,
    under_prefix,
    with_prefix,
)

#: Share of the AGOP's trace that the effective directions carry together.
EFFECTIVE_SHARE = 0.95

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


def column_names(estimator: BaseEstimator) -> list[str]:
    """Names of the input columns; x0, x1, ... where the fit saw none."""
    names = _check_feature_names_in(estimator)
    return [str(name) for name in names] if names is not None else []


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
        Least number of directions that carry 95 % of the AGOP's trace; 0 for a constant fit,
        and where the first gradient is not informative.
    first_gradient_ : GradientTest or None
        Gradient features only: is the first gradient step beyond chance?
        None after `refit_head`, which takes no step.
    gradient_features_ : FoundFeatures or None
        Induced networks only: the gradient feature set of the training rows.
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

    #: Rows beyond which a fit is in float32 unless `dtype` says otherwise; None: never.
    _narrow_beyond: ClassVar[int | None] = None

    predictor_: Predictor
    settings_: dict[str, Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    first_gradient_: GradientTest | None
    gradient_features_: FoundFeatures | None
    _inputs: Standardiser
    _outputs: Standardiser
    _where: Placement
    _passing: bool = False

    @abstractmethod
    def _space(self, data: Block) -> Space[Any]:
        """What to search over for this training data; raises ValueError for bad parameters."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _check_search(self) -> None:
        if self.search not in ("fast", "full", None):
            raise ValueError(
                f"search is {self.search!r}: allowed are 'fast', 'full' and None (every setting "
                "given, nothing chosen)."
            )

    def _prepare(
        self,
        X: Any,
        y: NDArray[np.float64],
        sample_weight: ArrayLike | None,
        *,
        scale_targets: bool,
    ) -> tuple[TrainingData, int]:
        """Validated X (n, d) and targets (n, c) as training data; also the seed."""
        self._check_search()
        self._passing = False
        self._where = placement(X, self.device, self._float_type(X.shape[0]))
        seed = seed_from(self.random_state)
        table = to_numpy(X).astype(np.float64)
        names = column_names(self)
        warn_ill_scaled(table, names, standardise=self.standardise)
        data = training_data(
            table,
            y,
            given_weights(sample_weight),
            self._where,
            seed,
            standardise=self.standardise,
            scale_targets=scale_targets,
        )
        return data, seed

    def _float_type(self, n: int) -> str | None:
        many = self._narrow_beyond is not None and n > self._narrow_beyond
        return "float32" if self.dtype is None and many else self.dtype

    def _prepare_rows(
        self, rows: Rows, target: Any, sample_weight: Any, seed: int, *, labelled: bool
    ) -> FirstPass:
        """The first pass over rows that carry their targets and weights."""
        self._check_search()
        self._passing = True
        if target is not None or sample_weight is not None:
            raise ValueError(
                "y or sample_weight came beside rows that are passed over, which carry their own: "
                "name the columns when the rows are opened, as in from_parquet(path, target=...)."
            )
        vars(self).pop("feature_names_in_", None)
        if rows.named:
            self.feature_names_in_ = np.array(rows.columns.inputs, dtype=object)
        self.n_features_in_ = rows.template.X.shape[1]
        found = first_pass(rows, seed, labelled=labelled)
        n = int(found.moments.count)
        self._where = placement(None, self.device, self._float_type(n))
        return found

    def _learn(
        self,
        X: Any,
        data: TrainingData,
        seed: int,
        *,
        need_held_out: bool,
        rows: Rows | None = None,
    ) -> Trial[Any] | None:
        """Search, fit on all rows, summarise; the chosen setting on held-out rows, if any.

        With `rows` the data are a sample of them: settings are chosen and the fit is summarised on
        the sample, and the fit itself passes over the rows.
        """
        space, block = self._space(data.block), data.block
        trial = self._tune(space, block, seed, need_held_out=need_held_out)
        setting = space.start if trial is None or self.search is None else trial.setting
        training = of_block(block) if rows is None else rows.with_sample(block)
        fitted = space.fit(setting, training, seed)
        self.settings_, self.predictor_ = setting.named(), fitted.predictor
        self.first_gradient_ = fitted.first_gradient
        self.gradient_features_ = fitted.gradient_features
        self._inputs, self._outputs = data.inputs, data.outputs
        self._summarise(block, X)
        return trial

    def _tune(
        self, space: Space[SettingT], block: Block, seed: int, *, need_held_out: bool
    ) -> Trial[SettingT] | None:
        searched = self.search is not None and space.open
        if len(block.X) < 2 or not (searched or need_held_out):
            return None
        effort = FULL if self.search == "full" else FAST
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", UNREACHED)  # the fit itself says so, once
            if not searched:
                return space.given(block, seed, effort.rows)
            return space.best(block, seed, effort)

    def _summarise(self, block: Block, X: Any) -> None:
        """AGOP over a sample of the rows, its directions and importances, in X's namespace."""
        M = self.predictor_.agop(block.X[:AGOP_ROWS], weights=block.w[:AGOP_ROWS])
        self._describe(M.double().cpu(), X)

    def _describe(self, M: Tensor, X: Any) -> None:
        values, vectors = leading_directions(M)
        total = float(values.sum())
        share = values.numpy().cumsum() / total if total > 0 else np.zeros(0)
        test = self.first_gradient_
        found = total > 0 and (test is None or test.informative)
        r = int(np.searchsorted(share, EFFECTIVE_SHARE)) + 1 if found else 0
        self.n_effective_directions_ = r
        self.agop_ = like(M.numpy(), X)
        self.eigenvalues_ = like(values.numpy(), X)
        self.directions_ = like(vectors.numpy()[:, :r], X)
        self.importances_ = like(M.diagonal().numpy() / (total if total > 0 else 1.0), X)

    def leading_directions(self, r: int) -> NDArray[np.float64]:
        """The r leading eigenvectors (d, r) of ``agop_``, whatever share they carry."""
        check_is_fitted(self)
        return leading_directions(torch.as_tensor(to_numpy(self.agop_)))[1].numpy()[:, :r]

    def standardised(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inputs (n, d) in the units that directions and importances refer to."""
        check_is_fitted(self)
        return self._inputs(X)

    def to_state(self) -> tuple[State, Arrays]:
        """Parameters and everything fitted, as JSON-able state and arrays (for saving)."""
        found = self.gradient_features_
        arrays = {
            "agop": to_numpy(self.agop_),
            **with_prefix("predictor", as_arrays(self.predictor_.tensors())),
            **with_prefix("inputs", self._inputs.arrays()),
            **with_prefix("outputs", self._outputs.arrays()),
            **with_prefix("gradient_features", {} if found is None else found.arrays()),
        }
        state = {
            "params": params_state(self),
            "predictor": self.predictor_.spec(),
            "settings": self.settings_,
            "first_gradient": None
            if self.first_gradient_ is None
            else asdict(self.first_gradient_),
            "gradient_features": None if found is None else found.numbers(),
            "dtype": str(self._where.dtype).removeprefix("torch."),
            "n_features": self.n_features_in_,
            "feature_names": column_names(self),
            "named": "feature_names_in_" in vars(self),
            **self._extra_state(),
        }
        return state, arrays

    @abstractmethod
    def _extra_state(self) -> State:
        """What the subclass adds to the state."""

    @abstractmethod
    def _restore_extra(self, state: State) -> None:
        """Read back :meth:`_extra_state`."""

    @classmethod
    def from_state(cls, state: State, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Inverse of :meth:`to_state`, on the CPU."""
        self = cls(**params_from(state["params"]))
        tensors = {k: torch.as_tensor(a) for k, a in under_prefix("predictor", arrays).items()}
        self.predictor_ = predictor_from(state["predictor"], tensors)
        self.settings_ = state["settings"]
        self._where = placement(None, "cpu", state["dtype"])
        self._inputs = Standardiser(**under_prefix("inputs", arrays))
        self._outputs = Standardiser(**under_prefix("outputs", arrays))
        self.n_features_in_ = state["n_features"]
        if state["named"]:
            self.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        test = state["first_gradient"]
        self.first_gradient_ = None if test is None else GradientTest(**test)
        found = state.get("gradient_features")
        held = under_prefix("gradient_features", arrays)
        self.gradient_features_ = None if found is None else FoundFeatures.restored(found, held)
        self._describe(torch.as_tensor(arrays["agop"]), arrays["agop"])
        self._restore_extra(state)
        return self

    def to_device(self, device: str) -> Self:
        """A copy whose predictor lives on `device`."""
        moved = copy(self)
        moved._where = placement(None, device, str(self._where.dtype).removeprefix("torch."))
        tensors = {k: t.to(moved._where.device) for k, t in self.predictor_.tensors().items()}
        moved.predictor_ = predictor_from(self.predictor_.spec(), tensors)
        return moved

    def _row_predictions(self, rows: Rows) -> RowPredictions:
        """Predictions for passes over `rows`, which must have the columns of the fit."""
        check_is_fitted(self)
        named = "feature_names_in_" in vars(self)
        check_rows(rows, column_names(self), self.n_features_in_, named)
        where = self._where
        return RowPredictions(
            self.predictor_, self._inputs, self._outputs, where.dtype, where.device
        )

    def _outputs_at(self, X: Any, method: str) -> tuple[Any, NDArray[np.float64]]:
        """Validated X, and the outputs (n, c) in the units of the targets."""
        check_is_fitted(self)
        match X:
            case Rows():
                raise ValueError(
                    f"rows that are passed over came, and {method} takes arrays: use score_rows "
                    "for scores, or `gradfeat predict` for files."
                )
        check_same_namespace(X, self, attribute="agop_", method=method)
        X = validate_data(self, X, reset=False, dtype=float_types(X))
        Z = self._where.tensor(self._inputs(to_numpy(X).astype(np.float64)))
        return X, self._outputs.inverse(self.predictor_(Z).double().cpu().numpy())
