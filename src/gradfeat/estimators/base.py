"""What all estimators share: validation, search, fit, feature summary."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted
from torch import Tensor

from ..maths.blocks import Block
from ..maths.gradients import AGOPSummary, OuterProducts, mean_outer_products
from ..models.base import Predictor
from ..models.gradient_features.found_features import FoundFeatures
from ..models.gradient_step import GradientTest
from ..models.restore import predictor_from
from ..models.search.kernel_space import UNREACHED
from ..models.search.search import FAST, FULL, FinishedFit, MethodSetting, Space
from ..rows.rows import Rows, of_block
from .checks import (
    NUMPY,
    Floats,
    Placement,
    check_choice,
    empty_like,
    given_names,
    kept_like,
    placement,
    row_weights,
    seed_from,
    set_names,
    to_numpy,
    validated,
    warn_ill_scaled,
)
from .class_codes import ClassCodes
from .container import (
    Arrays,
    Contents,
    State,
    as_arrays,
    contents_of,
    params_from,
    params_state,
    under_prefix,
    with_prefix,
)
from .parameters import SharedParameters
from .scaled import ScaledPredictor, Standardiser, TableFunction
from .training import (
    FirstPass,
    Training,
    chunked_training,
    first_pass,
    in_memory_training,
    is_large,
    refuse_copies,
    refuse_other_columns,
    streamed_training,
)

#: Rows over which the AGOP of a fitted model is averaged: the first, a fair sample of them.
AGOP_ROWS = 2000


def _mean_products(predictor: Predictor, rows: Block) -> OuterProducts:
    scratch, outputs = predictor.scratch_per_row(), rows.y.shape[1]
    return mean_outer_products(predictor.gradient, rows.X, rows.w, outputs, scratch)


def column_names(estimator: BaseEstimator) -> list[str]:
    """Names of the input columns; x0, x1, ... where the fit saw none."""
    names = _check_feature_names_in(estimator)
    return [str(name) for name in names] if names is not None else []


class FeatureModel(SharedParameters, BaseEstimator, ABC):
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
        Least number of directions that carry 95 % of the AGOP's trace; 0 for a constant fit. It
        describes the fit and is not tested against a null: a fit to noise has directions too.
    first_gradient_ : GradientTest or None
        Gradient features only: is the first gradient step beyond chance? Its p-values are of the
        linear and quadratic parts of the target, over shuffles: a fit may find a direction that
        they do not see, and held-out scores tell whether it has.
        None after `refit_head`, which takes no step.
    gradient_features_ : FoundFeatures or None
        Induced networks only: the gradient feature set of the training rows.
    settings_ : dict
        The hyper-parameters used, those chosen by the search among them.
    predictor_ : Predictor
        The fitted function of standardised inputs.
    """

    #: Rows beyond which a fit is in float32 unless `dtype` says otherwise; None: never.
    _narrow_beyond: ClassVar[int | None] = None
    #: Whether a fit is sums over rows, for which a large table is read in chunks and not copied.
    _sums_over_rows: ClassVar[bool] = False
    #: Whether equal rows are fitted as one, for a matrix of all pairs. Ridge leaves rows out in its
    #: own fit: copies one by one, as where rows stream.
    _once_each: ClassVar[bool] = False
    #: Whether targets are classes, whose codes keep their scale.
    _classes: ClassVar[bool]

    predictor_: Predictor
    settings_: dict[str, Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    first_gradient_: GradientTest | None
    gradient_features_: FoundFeatures | None
    _inputs: Standardiser
    _outputs: Standardiser
    _where: Placement
    _summary: AGOPSummary
    #: An empty array in whose namespace the fitted arrays are.
    _like: Any
    #: Sums that partial_fit adds to; only where it was called.
    _sums: Any = None

    @abstractmethod
    def _space(self, block: Block, *, streamed: bool = False) -> Space[Any]:
        """What to search over for these rows; raises ValueError for bad parameters."""

    @abstractmethod
    def _validated(self, X: Any, y: Any, *, reset: bool, least: int = 2) -> tuple[Any, Floats]:
        """X (n, d), at least so many rows, and the targets (n, c) that are fitted."""

    @abstractmethod
    def _weighted(self, targets: Floats, w: Floats) -> Floats:
        """Row weights (n,), those of classes included."""

    @abstractmethod
    def _coded(self, found: FirstPass) -> ClassCodes | None:
        """How streamed labels become targets; None: the targets are what comes."""

    @abstractmethod
    def _needs_held_out(self) -> bool:
        """Whether predictions of validation rows are needed even where nothing is searched."""

    @abstractmethod
    def _calibrate(self, held: tuple[Tensor, Tensor, Tensor] | None) -> None:
        """What is learnt from predictions, targets and weights of validation rows."""

    @abstractmethod
    def _function(self) -> TableFunction:
        """What the estimator says of rows, in the units of the table."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, d) and targets or labels y.

        `X`: Inputs (n, d), at least two rows, finite. Streamed rows
            (:func:`gradfeat.rows.from_parquet` and others) carry their targets (or labels, as
            numbers) and weights: settings are then chosen on a sample of them, and the fit streams
            all.
        `y`: Targets of a regressor, (n,) or (n, c); labels (n,) of a classifier, of any
            one kind, ``""`` too. Predictions have their shape and kind.
        `sample_weight`: Non-negative (n,); an integer weight equals repeating the row, and weights
            times a constant are the same weights: a penalty is relative to their mean over distinct
            rows.

        Raises ValueError for inputs or parameters that are not allowed, in one sentence, and
        MemoryError before work starts, when a direct solve cannot fit.
        """
        check_choice("search", self.search, ("fast", "full", None))
        check_choice("standardise", self.standardise, (True, False))
        self._sums = None
        seed = seed_from(self.random_state)
        prepare = self._streamed if type(X) is Rows else self._in_memory
        training = prepare(X, y, sample_weight, seed)
        block, held = training.block, training.rows.held
        space = self._space(block if held is None else held, streamed=held is None)
        effort = FULL if self.search == "full" else FAST
        setting, trial = space.start, None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", UNREACHED)  # the fit itself says so, once
            if self.search is not None and space.open and len(block.X) > 1:
                trial = space.best(block, seed, effort)
                setting = trial.setting
            elif self._needs_held_out() and len(block.X) > 1:
                trial = space.given(block, seed, effort.rows)
        self._inputs, self._outputs = training.inputs, training.outputs
        fitted = space.fit(setting, training.rows, seed)
        self._keep(setting, fitted)
        self._summarise(block, training.like)
        searched = None if trial is None else (trial.predictions, trial.y, trial.w)
        self._calibrate(searched if fitted.held is None else fitted.held)
        return self

    def _keep(self, setting: MethodSetting, fitted: FinishedFit) -> None:
        self.settings_ = setting.named() | dict(fitted.used)
        self.predictor_ = fitted.predictor
        self.first_gradient_ = fitted.first_gradient
        self.gradient_features_ = fitted.gradient_features

    def _in_memory(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Training:
        X, targets = self._validated(X, y, reset=True)
        self._where = placement(X, self.device, self._float_type(X.shape[0]))
        numbers = to_numpy(X)
        w = self._weighted(targets, row_weights(sample_weight, numbers))
        scale = not self._classes
        if self._sums_over_rows and is_large(numbers):
            how = {"standardise": self.standardise, "scale_targets": scale}
            training = chunked_training(numbers, targets, w, self._where, seed, **how)
            return replace(training, like=X)
        refuse_copies(*numbers.shape)
        table = numbers.astype(np.float64)
        warn_ill_scaled(table, column_names(self), standardise=self.standardise)
        inputs = None if self.standardise else Standardiser.identity(table.shape[1])
        training = in_memory_training(
            table, targets, w, self._where, seed, inputs=inputs, scale_targets=scale
        )
        rows = training.rows if self._once_each else of_block(training.block)
        return replace(training, rows=rows, like=X)

    def _streamed(self, rows: Rows, y: Any, sample_weight: Any, seed: int) -> Training:
        """Streamed rows, which carry their targets and weights, after a first pass over them."""
        if y is not None or sample_weight is not None:
            raise ValueError(
                "y or sample_weight came beside rows that are streamed, which carry their own: "
                "name the columns when the rows are opened, as in from_parquet(path, target=...)."
            )
        set_names(self, rows.columns.inputs if rows.named else None)
        self.n_features_in_ = rows.template.X.shape[1]
        found = first_pass(rows, seed, labelled=self._classes, standardise=self.standardise)
        where = placement(None, self.device, self._float_type(int(found.moments.count)))
        self._where, codes = where, self._coded(found)
        scale = self.standardise
        return streamed_training(rows, found, where, seed, standardise=scale, codes=codes)

    def _float_type(self, n: int) -> str | None:
        many = self._narrow_beyond is not None and n > self._narrow_beyond
        return "float32" if self.dtype is None and many else self.dtype

    def _summarise(self, block: Block, X: Any) -> None:
        """What the AGOP over a sample of the rows tells, when it is asked for; in X's namespace."""
        first = block.at(slice(AGOP_ROWS))
        rows = Block(*(t.clone() for t in (first.X, first.y, first.w)))
        self._summary = AGOPSummary(partial(_mean_products, self.predictor_, rows))
        self._like = empty_like(X)

    @property
    def agop_(self) -> Any:
        check_is_fitted(self)
        return kept_like(self._summary.products.matrix().numpy(), self._like)

    @property
    def importances_(self) -> Any:
        check_is_fitted(self)
        return kept_like(self._summary.importances, self._like)

    @property
    def eigenvalues_(self) -> Any:
        check_is_fitted(self)
        return kept_like(self._summary.spectrum[0].numpy(), self._like)

    @property
    def directions_(self) -> Any:
        return kept_like(self._summary.directions(self.n_effective_directions_), self._like)

    @property
    def n_effective_directions_(self) -> int:
        check_is_fitted(self)
        return self._summary.n_effective

    def leading_directions(self, r: int) -> Floats:
        """The r leading eigenvectors (d, r) of ``agop_``, whatever share they carry."""
        check_is_fitted(self)
        return self._summary.directions(r)

    def standardised(self, X: Floats) -> Floats:
        """Inputs (n, d) in the units that directions and importances refer to."""
        check_is_fitted(self)
        return self._inputs(X)

    def to_state(self) -> tuple[State, Arrays]:
        """Parameters and everything fitted, as JSON-able state and arrays (for saving)."""
        found = self.gradient_features_
        arrays = {
            **self._summary.arrays(),
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
            "named": given_names(self) is not None,
            **self._extra_state(),
        }
        return state, arrays

    def to_contents(self) -> Contents:
        """Everything that predicts, for saving: see :func:`gradfeat.save`."""
        return contents_of(self)

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
        set_names(self, state["feature_names"] if state["named"] is True else None)
        self.first_gradient_ = state["first_gradient"] and GradientTest(**state["first_gradient"])
        found = state.get("gradient_features")
        held = under_prefix("gradient_features", arrays)
        self.gradient_features_ = None if found is None else FoundFeatures.restored(found, held)
        self._summary, self._like = AGOPSummary.of_arrays(arrays), empty_like(NUMPY)
        self._restore_extra(state)
        self._scaled_predictor()(torch.zeros(1, len(self._inputs.mean)))
        return self

    def to_device(self, device: str) -> Self:
        """A copy whose predictor lives on `device`."""
        moved = copy(self)
        moved._where = placement(None, device, str(self._where.dtype).removeprefix("torch."))
        tensors = {k: t.to(moved._where.device) for k, t in self.predictor_.tensors().items()}
        moved.predictor_ = predictor_from(self.predictor_.spec(), tensors)
        return moved

    def _scaled_predictor(self) -> ScaledPredictor:
        check_is_fitted(self)
        return ScaledPredictor(self.predictor_, self._inputs, self._outputs, self._where)

    def _check_columns(self, rows: Rows) -> None:
        """Refuse streamed rows with other columns than those of the fit."""
        check_is_fitted(self)
        refuse_other_columns(rows, given_names(self), self.n_features_in_)

    def _table(self, X: Any, method: str) -> tuple[Any, Tensor]:
        """Validated X, also as a float64 tensor (n, d) on the CPU."""
        check_is_fitted(self)
        if type(X) is Rows:
            raise ValueError(
                f"streamed rows came, and {method} takes arrays: use score_rows for scores, or "
                "`gradfeat predict` for files."
            )
        check_same_namespace(X, self, attribute="_like", method=method)
        X = validated(self, X, reset=False)
        return X, torch.as_tensor(to_numpy(X).astype(np.float64))
