"""Two-layer networks as estimators: ridge on the inputs, random features, gradient features.

They are transformers too, and take a head for another target; to those whose features no row can
change more rows may be added.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if

from ..maths.activations import Activation, activation
from ..maths.blocks import Block, Statistic
from ..maths.statistics.combined import Joint
from ..maths.statistics.moments import Moments
from ..maths.statistics.sample import RowSample
from ..models.gradient_step import GradientStep
from ..models.head import ridge_of
from ..models.predictors import TwoLayer
from ..models.random_features import FixedFeatures, LinearRidge, RandomFeatures
from ..models.search.search import (
    GridSpace,
    NoSetting,
    StepSetting,
    fixed_space,
    gradient_step_space,
    head_used,
)
from .base import AGOP_ROWS, FeatureModel
from .checks import (
    MOST,
    check_choice,
    check_count,
    check_head,
    count_or_none,
    like,
    placement,
    positive_or_none,
    row_weights,
    seed_from,
    to_numpy,
)
from .classifier import FeatureClassifier
from .parameters import estimator, parameters
from .refitting import Refittable
from .regressor import FeatureRegressor
from .scaled import Standardiser
from .training import Training


@parameters
class NetworkMethod(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Refittable, ABC):
    """A two-layer net, whose features serve other targets too.

    Parameters
    ----------
    width : int
        Number of neurons.
    activation : str or Activation
        "relu", "centred_relu", "truncated_relu", "tanh", "erf", "sine", or an Activation object.
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

    def _for_another(self, training: Training, seed: int) -> None:
        """A ridge head on the features sigma(W z + b)."""
        head = check_head(self.alpha, self.penalty_by)
        self._with_network_head(training, head, linear=self.linear_part, seed=seed)


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

    Raises AttributeError with the reason, where they may not.
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

        One row is enough. Only where that is exact: with ``standardise=False``, and ``alpha`` or
        ``penalty_by="gcv"``.

        Raises ValueError after `fit`, or where a parameter of the features was changed between
        calls.
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
        a, offset, penalty = ridge_of(m, learner.head)
        none = sums.none
        net = learner.network(none, (a.to(none.X), offset.to(none.X), penalty), sums.seed)
        self.predictor_ = net
        self._inputs = Standardiser.identity(none.X.shape[1])
        self._outputs = Standardiser.identity(none.y.shape[1])
        self.settings_, self.first_gradient_, self.gradient_features_ = head_used(net), None, None
        self._summarise(sample, X)


def _begin(learner: FixedFeatures, block: Block, seed: int) -> Sums:
    none = block.none
    mapping = learner.features(none, seed)
    statistic = Joint((Moments(mapping.map, mapping.row_bytes), RowSample(AGOP_ROWS, seed)))
    return Sums(learner, seed, statistic, statistic.init(none), none)


@parameters
class LinearMethod(FeatureModel, ABC):
    """Ridge on the inputs.

    Parameters
    ----------
    alpha : float or None
        Penalty; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    search : {"fast", "full"} or None
        There is nothing to search; as of the other estimators.
    random_state : int, RandomState, Generator or None
        Seed of the order of rows: of those held out by penalty_by="validation", and of the folds on
        whose predictions probabilities are calibrated.
    """

    _sums_over_rows: ClassVar[bool] = True

    alpha: float | None = None
    penalty_by: Literal["loo", "gcv", "validation"] = "loo"

    def _space(self, block: Block, *, streamed: bool = False) -> GridSpace[NoSetting]:
        del block, streamed
        return fixed_space(LinearRidge(check_head(self.alpha, self.penalty_by)))


@estimator
class LinearRegressor(LinearMethod, FeatureSumsRegressor):
    """Ridge regression: f(x) = b + beta.z, z the standardised inputs.

    Minimises sum_i w_i (y_i - f_i)^2 + alpha |beta|^2. Here as the method that every other one has
    to beat, on rows in memory or streamed.

    Source: Hoerl & Kennard 1970; Golub, Heath & Wahba 1979 (the penalty).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(LinearRegressor().fit(X, y).score(X, y), 2)
    0.52
    """


@estimator
class LinearClassifier(LinearMethod, FeatureClassifier):
    """Ridge regression on +-1 codes, one column a class, with calibrated probabilities.

    f(x) = b + beta.z, z the standardised inputs. Here as the method that every other one has to
    beat, on rows in memory or streamed.

    Source: Hoerl & Kennard 1970; Golub, Heath & Wahba 1979 (the penalty).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearClassifier().fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """


@parameters
class RandomFeaturesMethod(NetworkMethod, ABC):
    """A frozen random first layer, and a ridge head."""

    _sums_over_rows: ClassVar[bool] = True
    linear_part = False

    def _space(self, block: Block, *, streamed: bool = False) -> GridSpace[NoSetting]:
        del block, streamed
        width, sigma = check_count("width", self.width, most=MOST), activation(self.activation)
        head = check_head(self.alpha, self.penalty_by)
        return fixed_space(RandomFeatures(width, sigma, head=head))


@estimator
class RandomFeaturesRegressor(RandomFeaturesMethod, FeatureSumsRegressor):
    """Two-layer net with a frozen random first layer: f(x) = b0 + a.sigma(W0 x + b).

    Source: Rahimi & Recht 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomFeaturesRegressor(width=200).fit(X, y).predict(X[:2]).shape
    (2,)
    """


@estimator
class RandomFeaturesClassifier(RandomFeaturesMethod, FeatureClassifier):
    """Two-layer net with a frozen random first layer: f(x) = b0 + a.sigma(W0 x + b).

    On +-1 codes, one column a class, with calibrated probabilities.

    Source: Rahimi & Recht 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomFeaturesClassifier(width=200).fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """


@parameters
class GradientFeatureMethod(NetworkMethod, ABC):
    """A first layer learned by gradient steps, and a ridge head.

    Parameters
    ----------
    width : int
        Number of neurons (even).
    n_steps : int or None
        First-layer steps: the first is the gradient step, further ones follow `update`; 0 is
        random features. None is chosen up to 8 by validation (recommended for prediction).
    step_size : float or None
        Learning rate of a step; None gives rows of W unit root-mean-square norm.
    update : {"agop", "gradient"}
        Rule after the first step: neurons drawn from the AGOP of the present fit, or plain
        gradient steps.
    whiten : bool or None
        Take the steps in whitened inputs, as the theory assumes; None is chosen by validation.
    """

    _sums_over_rows: ClassVar[bool] = True
    linear_part = True

    n_steps: int | None = 1
    step_size: float | None = None
    update: Literal["agop", "gradient"] = "agop"
    whiten: bool | None = None

    def _space(self, block: Block, *, streamed: bool = False) -> GridSpace[StepSetting]:
        del block, streamed
        width, sigma = check_count("width", self.width, most=MOST), activation(self.activation)
        head = check_head(self.alpha, self.penalty_by)
        n_steps = count_or_none("n_steps", self.n_steps, least=0, most=MOST)
        size = positive_or_none("step_size", self.step_size)
        update = check_choice("update", self.update, ("agop", "gradient"))
        whiten = check_choice("whiten", self.whiten, (True, False, None))
        inner = GradientStep(width, sigma, step_size=size, update=update, linear="ridge", head=head)
        return gradient_step_space(inner, n_steps, whiten)


@estimator
class GradientFeatureRegressor(GradientFeatureMethod, FeatureRegressor):
    """Two-layer net whose first layer is learned by gradient steps, and whose head is ridge.

    f(x) = alpha + beta.x + a.sigma(W x + b): the affine part by ridge, W by one step of the
    gradient of the squared error at the antisymmetric start, b drawn anew, a by ridge.

    Source: Damian22, Algorithm 1; Rad24 for the AGOP update.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((1000, 8))
    >>> model = GradientFeatureRegressor(width=256).fit(X, X[:, 0] ** 2)
    >>> int(model.importances_.argmax())
    0
    """


@estimator
class GradientFeatureClassifier(GradientFeatureMethod, FeatureClassifier):
    """Two-layer net whose first layer is learned by gradient steps, and whose head is ridge.

    On +-1 codes, one column a class, with calibrated probabilities.

    f(x) = alpha + beta.x + a.sigma(W x + b), as of :class:`GradientFeatureRegressor`.

    Source: Damian22, Algorithm 1; Rad24 for the AGOP update.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GradientFeatureClassifier(width=64).fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """
