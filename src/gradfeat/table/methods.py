"""The methods that a comparison fits: to add one, write how it is made and a line in the table.

Nothing heavy is imported here, so that the command line can name the methods at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from gradfeat.errors import TableError
from gradfeat.maths.limits import LONGEST
from gradfeat.table.results import Family

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

    from gradfeat.models.gradient_features.found_features import FoundFeatures

#: Neurons of random features and gradient features, unless asked otherwise.
WIDTH = 1024

#: From where to where options may be, on the command line and in Python; seeds are what every
#: generator in use takes.
WIDTHS, SEEDS, JOBS, SECONDS = (2, 100_000), (0, 2**32 - 1), (1, 1024), (1.0, LONGEST)

#: Training rows up to which leave-one-out chooses the penalty of a head. Beyond them generalised
#: cross-validation does, from the sums over rows themselves: it agrees there, without another pass.
MOST_LEFT_OUT = 22_000


@dataclass(frozen=True)
class MethodInput:
    """What a method is made for.

    `rows` are those of the fit, `outputs` the number of quantities or codes predicted, `fewest`
    the rows of the rarest class (all rows of a regression), and `width` the neurons of random
    features and gradient features. `seconds` are left for the method; `asked` is its share of all
    that were asked for, whatever other methods took.
    """

    rows: int
    fewest: int
    classification: bool
    seed: int
    device: str | None
    folds: BaseCrossValidator
    columns: int
    outputs: int
    seconds: float
    asked: float
    width: int = WIDTH

    @property
    def penalty_by(self) -> Literal["loo", "gcv"]:
        """How the penalty of a ridge head is chosen."""
        return "loo" if self.rows <= MOST_LEFT_OUT else "gcv"

    @property
    def common(self) -> dict[str, Any]:
        """Parameters of every estimator of ours."""
        return {"random_state": self.seed, "device": self.device}


def _itself(estimator: Any) -> Any:
    return estimator


def _none(estimator: Any) -> None:
    del estimator


def _ridge_work(width: int, columns: int) -> float:
    """Features of a row, and an orthogonal factorisation of them."""
    return 2.0 * columns * width + 10.0 * width**2


@dataclass(frozen=True)
class Method:
    """A row of the comparison.

    `name` is for the command line, `label` is printed. `family` says what its features are; those
    that are no reference are gradfeat's own. `share` is its part of the time, relative to the
    others; `work` gives the operations of its fit for each row, where that grows with the rows
    alone; `passes` are about so many over rows that stream. `square`: it forms matrices of rows x
    rows, of rows that are held in memory. `in_memory`: it needs its rows in memory, and is fitted
    to a sample of a table that streams. `threads` of OpenMP, None for all: trees on small tables
    lose more by waiting for each other than they gain.

    Of a fitted estimator `settings` are what its search chose, `model` is what predicts and is
    saved, `features_alone` what the verdict is on: without boosted trees, `unlearned` whether its
    features stayed those of its start, which are fixed whatever `family` says, `first_gradient` a
    test of the first gradient step, `found` the gradient features that the fit is made of; the
    last two are None where there are none.
    """

    name: str
    label: str
    family: Family
    make: Callable[[MethodInput], Any]
    share: float
    work: Callable[[MethodInput], float] = lambda _: 0.0
    passes: int = 3
    square: bool = False
    in_memory: bool = False
    threads: int | None = None
    settings: Callable[[Any], Mapping[str, Any]] = attrgetter("settings_")
    model: Callable[[Any], Any] = _itself
    features_alone: Callable[[Any], Any] = _itself
    unlearned: Callable[[Any], Any] = _none
    first_gradient: Callable[[Any], Any] = _none
    found: Callable[[Any], FoundFeatures | None] = _none


def validation_folds(y: NDArray[Any], classification: bool) -> BaseCrossValidator:
    """Three folds, fewer for fewer rows; classes in proportion where one has a row for each."""
    from sklearn.model_selection import KFold, StratifiedKFold

    k = max(2, min(3, len(y)))
    if classification and np.unique(y, return_counts=True)[1].max() >= k:
        return StratifiedKFold(k)
    return KFold(k)


def log_likelihood(estimator: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Mean log-probability of the labels; a class absent from the training fold has 1e-15.

    Unlike scikit-learn's scorer it is defined for rare classes too.
    """
    P = np.clip(estimator.predict_proba(X), 1e-15, None)
    owned = y[:, None] == estimator.classes_
    return float(np.log(np.where(owned.any(axis=1), (P * owned).sum(axis=1), 1e-15)).mean())


def _linear(s: MethodInput) -> Any:
    from gradfeat.estimators import LinearClassifier, LinearRegressor

    make = LinearClassifier if s.classification else LinearRegressor
    return make(penalty_by=s.penalty_by, **s.common)


def _random_features(s: MethodInput) -> Any:
    from gradfeat.estimators import RandomFeaturesClassifier, RandomFeaturesRegressor

    make = RandomFeaturesClassifier if s.classification else RandomFeaturesRegressor
    return make(width=s.width, penalty_by=s.penalty_by, **s.common)


def _kernel(s: MethodInput) -> Any:
    from gradfeat.estimators import KernelClassifier, KernelRegressor

    make = KernelClassifier if s.classification else KernelRegressor
    return make(kernel=None, **s.common)


#: Steps that gradient features are taken to take: most take fewer.
GRADIENT_STEPS = 4


def _gradient_features(s: MethodInput) -> Any:
    from gradfeat.estimators import GradientFeatureClassifier, GradientFeatureRegressor

    make = GradientFeatureClassifier if s.classification else GradientFeatureRegressor
    return make(width=s.width, n_steps=None, whiten=None, penalty_by=s.penalty_by, **s.common)


def _induced(s: MethodInput) -> Any:
    from gradfeat.estimators import InducedNetworkClassifier, InducedNetworkRegressor
    from gradfeat.table.budgets import gradient_rows

    make = InducedNetworkClassifier if s.classification else InducedNetworkRegressor
    return make(feature_rows=gradient_rows(s.seconds, s.columns, s.outputs), **s.common)


def _rfm(s: MethodInput) -> Any:
    from gradfeat.estimators import RFMClassifier, RFMRegressor

    make = RFMClassifier if s.classification else RFMRegressor
    return make(kernel=None, **s.common)


#: Neurons and weight decay of the trained network: usual sizes, not searched.
HIDDEN, WEIGHT_DECAY = 256, 1e-3
#: Rows of the rarest class from which on some are held out to stop its training.
HELD_OUT_ROWS = 30


def _trained_network(s: MethodInput) -> Any:
    """Both layers by Adam; a tenth of the rows says when to stop, where there are enough.

    Columns are first brought to one, so that the squares of extreme values do not overflow.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    from gradfeat.table.budgets import epochs

    options: dict[str, Any] = {
        "hidden_layer_sizes": (HIDDEN,),
        "alpha": WEIGHT_DECAY,
        "early_stopping": s.fewest >= HELD_OUT_ROWS,
        "max_iter": epochs(s.asked, s.rows, s.columns, s.outputs, HIDDEN),
        "random_state": s.seed,
    }
    if s.classification:
        return make_pipeline(MaxAbsScaler(), StandardScaler(), MLPClassifier(**options))
    network = make_pipeline(MaxAbsScaler(), StandardScaler(), MLPRegressor(**options))
    return TransformedTargetRegressor(network, transformer=StandardScaler())


#: Rows of the rarest class from which on boosting holds some out to stop.
STOPPING_ROWS = 4


def _boosting(s: MethodInput) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedShuffleSplit

    from gradfeat.table.budgets import boosting_size

    make = HistGradientBoostingClassifier if s.classification else HistGradientBoostingRegressor

    def some_trees(X: NDArray[np.float64], trees: int) -> None:
        y = np.arange(len(X)) % (max(2, s.outputs) if s.classification else len(X))
        model = make(random_state=0, max_iter=trees).set_params(early_stopping=False)
        model.fit(X, y)

    trees, searched = boosting_size(s.seconds, s.columns, s.rows, some_trees)
    # scikit-learn holds out rows of each class to stop early, which rare classes do not have.
    codes = max(2, s.outputs) if s.classification else 0
    stops = not codes or (s.fewest >= STOPPING_ROWS and s.rows >= 20 * codes)
    # Steps leave (1 - rate)^trees of a target that each meets in full: of 10 at 0.1 a third.
    rates = {max(rate, 4 / trees) for rate in ((0.05, 0.15) if searched and stops else (0.1,))}
    grid: dict[str, list[Any]] = {"learning_rate": sorted(rates)}
    if searched and not stops:
        grid["max_iter"] = [trees // 4, trees // 2, trees]
    scoring = log_likelihood if s.classification else "neg_mean_squared_error"
    model = make(random_state=s.seed, max_iter=trees).set_params(early_stopping=stops)
    once = StratifiedShuffleSplit if codes and stops else ShuffleSplit
    folds = s.folds if searched else once(1, test_size=0.2, random_state=s.seed)
    return GridSearchCV(model, grid, cv=folds, scoring=scoring)


def _boosted(search: Any) -> dict[str, Any]:
    """The rate that was chosen, and the rounds: whether it had time for as many as it wanted."""
    from gradfeat.table.budgets import TREES

    model = search.best_estimator_
    cut = model.n_iter_ == search.estimator.max_iter < TREES[-1]
    rounds = f"{model.n_iter_}{', all that its time allowed' if cut else ''}"
    return {"learning_rate": search.best_params_["learning_rate"], "rounds": rounds}


TREE_THREADS = max(1, (os.cpu_count() or 1) // 4)

METHODS = (
    Method(
        "linear",
        "Linear model",
        "fixed",
        _linear,
        1.0,
        work=lambda s: _ridge_work(s.columns, 0),
        passes=2,
    ),
    Method(
        "random-features",
        "Random features",
        "fixed",
        _random_features,
        1.0,
        work=lambda s: _ridge_work(s.width, s.columns),
        passes=2,
    ),
    Method("kernel", "Kernel ridge", "fixed", _kernel, 2.0, square=True),
    Method(
        "induced-network",
        "Induced network",
        "learned",
        _induced,
        2.0,
        in_memory=True,
        found=attrgetter("gradient_features_"),
    ),
    Method(
        "gradient-features",
        "Gradient features",
        "learned",
        _gradient_features,
        3.0,
        work=lambda s: GRADIENT_STEPS * _ridge_work(s.width, s.columns),
        passes=3 * GRADIENT_STEPS,
        first_gradient=attrgetter("first_gradient_"),
    ),
    Method(
        "rfm",
        "Recursive feature machine",
        "learned",
        _rfm,
        6.0,
        square=True,
        features_alone=methodcaller("without_trees"),
        unlearned=lambda rfm: rfm.settings_["metric_rows"] == 0,
    ),
    Method(
        "boosting",
        "Gradient boosting",
        "reference",
        _boosting,
        2.0,
        in_memory=True,
        threads=TREE_THREADS,
        settings=_boosted,
        model=attrgetter("best_estimator_"),
    ),
    # Last: its least fit takes longest, and boosting says more of what can be reached.
    Method(
        "trained-network",
        "Trained network (Adam)",
        "reference",
        _trained_network,
        2.0,
        in_memory=True,
        settings=lambda _: {},
    ),
)

#: Libraries of boosted trees whose names people try, and what stands here for them.
BOOSTERS = frozenset({"xgboost", "lightgbm", "catboost", "gbm", "trees"})
BOOSTED = "; boosting is boosted trees"


def chosen_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods by name, in the order of the comparison.

    >>> [m.label for m in chosen_methods(["rfm", "linear"])]
    ['Linear model', 'Recursive feature machine']
    """
    known = [m.name for m in METHODS]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise TableError(
            f"The methods asked for include {', '.join(map(repr, unknown)) or 'none'}: allowed are "
            f"{', '.join(known)}{BOOSTED if BOOSTERS & {*unknown} else ''}."
        )
    return tuple(m for m in METHODS if m.name in names)
