"""Random features as scikit-learn estimators."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from ..maths.activations import activation
from ..maths.blocks import Block
from ..models.random_features import RandomFeatures
from ..models.search.network_space import NoSetting, fixed_space
from ..models.search.search import GridSpace
from .checks import check_count, check_head
from .classifier import FeatureClassifier
from .network import NetworkMethod
from .parameters import estimator, parameters
from .partial import FeatureSumsRegressor


@parameters
class RandomFeaturesMethod(NetworkMethod, ABC):
    """A frozen random first layer, and a ridge head."""

    _sums_over_rows: ClassVar[bool] = True
    linear_part = False

    def _space(self, block: Block, *, streamed: bool = False) -> GridSpace[NoSetting]:
        del block, streamed
        width, sigma = check_count("width", self.width), activation(self.activation)
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
