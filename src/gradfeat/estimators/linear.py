"""Ridge regression on the inputs as scikit-learn estimators: what fixed inputs can do."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Literal

from ..maths.blocks import Block
from ..models.random_features import LinearRidge
from ..models.search.network_space import NoSetting, fixed_space
from ..models.search.search import GridSpace
from .base import FeatureModel
from .checks import check_head
from .classifier import FeatureClassifier
from .parameters import estimator, parameters
from .partial import FeatureSumsRegressor


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
        Seed of the rows held out by penalty_by="validation".
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
