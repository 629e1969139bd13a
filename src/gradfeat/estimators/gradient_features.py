"""Gradient features (Algorithm 1 of Damian22 and beyond) as scikit-learn estimators."""

# Apart: a pair of estimators a file.
from __future__ import annotations

from abc import ABC
from typing import ClassVar, Literal

from ..maths.activations import activation
from ..maths.blocks import Block
from ..models.gradient_step import GradientStep
from ..models.search.network_space import StepSetting, gradient_step_space
from ..models.search.search import GridSpace
from .checks import check_choice, check_count, check_head, count_or_none, positive_or_none
from .classifier import FeatureClassifier
from .network import NetworkMethod
from .parameters import estimator, parameters
from .regressor import FeatureRegressor


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
        width, sigma = check_count("width", self.width), activation(self.activation)
        head = check_head(self.alpha, self.penalty_by)
        n_steps = count_or_none("n_steps", self.n_steps, least=0)
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
