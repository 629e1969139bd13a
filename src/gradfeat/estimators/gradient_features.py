"""Gradient features (Algorithm 1 of Damian22 and beyond) as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Literal

from ..maths.activations import Activation, activation
from ..maths.blocks import Block
from ..models.gradient_step import GradientStep
from ..models.search.network_space import StepSetting, gradient_step_space
from ..models.search.search import GridSpace
from .checks import check_choice, check_count, check_head, check_positive
from .network import NetworkClassifier, NetworkRegressor


class GradientFeatureRegressor(NetworkRegressor):
    """Two-layer net whose first layer is learned by gradient steps, and whose head is ridge.

    f(x) = alpha + beta.x + a.sigma(W x + b): the affine part by ridge, W by one step of the
    gradient of the squared error at the antisymmetric start, b drawn anew, a by ridge.

    Parameters
    ----------
    width : int
        Number of neurons (even).
    activation : str or Activation
        "relu", "centred_relu", "truncated_relu", "tanh", "erf", or an Activation object.
    n_steps : int or None
        First-layer steps: the first is the gradient step, further ones follow `update`; 0 is
        random features. None is chosen up to 8 by validation (recommended for prediction).
    step_size : float or None
        Learning rate of a step; None gives rows of W unit root-mean-square norm.
    update : {"agop", "gradient"}
        Rule after the first step: neurons drawn from the AGOP of the present fit, or plain
        gradient steps.
    alpha : float or None
        Penalty of the head, sum_i w_i (y_i - f_i)^2 + alpha |a|^2; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    whiten : bool or None
        Take the steps in whitened inputs, as the theory assumes; None is chosen by validation.
    standardise : bool
        Give every input zero mean and unit spread first.
    search : {"fast", "full"} or None
        Validated search over everything left None (on at most 1,500 or 4,000 training rows, one
        or two sweeps); None searches nothing and takes the starting values.
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the named random streams; None is 0, so that equal estimators give equal fits.

    Attributes
    ----------
    directions_, importances_, eigenvalues_, agop_, n_effective_directions_, settings_
        What the fit reads from the inputs; see :class:`gradfeat.estimators.base.FeatureModel`.

    Source: Damian22, Algorithm 1; Rad24 for the AGOP update.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((1000, 8))
    >>> model = GradientFeatureRegressor(width=256).fit(X, X[:, 0] ** 2)
    >>> int(model.importances_.argmax())
    0
    """

    linear_part = True

    def __init__(
        self,
        *,
        width: int = 1024,
        activation: str | Activation = "relu",
        n_steps: int | None = 1,
        step_size: float | None = None,
        update: Literal["agop", "gradient"] = "agop",
        alpha: float | None = None,
        penalty_by: Literal["loo", "gcv", "validation"] = "loo",
        whiten: bool | None = None,
        standardise: bool = True,
        search: str | None = "fast",
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.n_steps = n_steps
        self.step_size = step_size
        self.update: Literal["agop", "gradient"] = update
        self.alpha = alpha
        self.penalty_by: Literal["loo", "gcv", "validation"] = penalty_by
        self.whiten = whiten
        self.standardise = standardise
        self.search = search
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[StepSetting]:
        del data
        return _space(self)


class GradientFeatureClassifier(NetworkClassifier):
    """Two-layer net whose first layer is learned by gradient steps, and whose head is ridge.

    On +-1 codes, one column a class, with calibrated probabilities.

    f(x) = alpha + beta.x + a.sigma(W x + b): the affine part by ridge, W by one step of the
    gradient of the squared error at the antisymmetric start, b drawn anew, a by ridge.

    Parameters
    ----------
    width : int
        Number of neurons (even).
    activation : str or Activation
        "relu", "centred_relu", "truncated_relu", "tanh", "erf", or an Activation object.
    n_steps : int or None
        First-layer steps: the first is the gradient step, further ones follow `update`; 0 is
        random features. None is chosen up to 8 by validation (recommended for prediction).
    step_size : float or None
        Learning rate of a step; None gives rows of W unit root-mean-square norm.
    update : {"agop", "gradient"}
        Rule after the first step: neurons drawn from the AGOP of the present fit, or plain
        gradient steps.
    alpha : float or None
        Penalty of the head, sum_i w_i (y_i - f_i)^2 + alpha |a|^2; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    whiten : bool or None
        Take the steps in whitened inputs, as the theory assumes; None is chosen by validation.
    standardise : bool
        Give every input zero mean and unit spread first.
    search : {"fast", "full"} or None
        Validated search over everything left None (on at most 1,500 or 4,000 training rows, one
        or two sweeps); None searches nothing and takes the starting values.
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the named random streams; None is 0, so that equal estimators give equal fits.

    Attributes
    ----------
    directions_, importances_, eigenvalues_, agop_, n_effective_directions_, settings_
        What the fit reads from the inputs; see :class:`gradfeat.estimators.base.FeatureModel`.

    Source: Damian22, Algorithm 1; Rad24 for the AGOP update.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GradientFeatureClassifier(width=64).fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """

    linear_part = True

    def __init__(
        self,
        *,
        width: int = 1024,
        activation: str | Activation = "relu",
        n_steps: int | None = 1,
        step_size: float | None = None,
        update: Literal["agop", "gradient"] = "agop",
        alpha: float | None = None,
        penalty_by: Literal["loo", "gcv", "validation"] = "loo",
        whiten: bool | None = None,
        standardise: bool = True,
        search: str | None = "fast",
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.n_steps = n_steps
        self.step_size = step_size
        self.update: Literal["agop", "gradient"] = update
        self.alpha = alpha
        self.penalty_by: Literal["loo", "gcv", "validation"] = penalty_by
        self.whiten = whiten
        self.standardise = standardise
        self.search = search
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[StepSetting]:
        del data
        return _space(self)


def _space(model: GradientFeatureRegressor | GradientFeatureClassifier) -> GridSpace[StepSetting]:
    width, sigma = check_count("width", model.width), activation(model.activation)
    head = check_head(model.alpha, model.penalty_by)
    n_steps = check_count("n_steps", model.n_steps, least=0, allow_none=True)
    inner = GradientStep(
        width,
        sigma,
        step_size=check_positive("step_size", model.step_size),
        update=check_choice("update", model.update, ("agop", "gradient")),
        linear="ridge",
        head=head,
    )
    return gradient_step_space(
        inner, n_steps, check_choice("whiten", model.whiten, (True, False, None))
    )
