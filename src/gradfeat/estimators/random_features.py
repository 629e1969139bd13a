"""Random features as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Literal, Self, cast

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ..maths.activations import Activation, activation
from ..maths.blocks import Block
from ..models.fixed_features import FixedFeatures
from ..models.random_features import RandomFeatures
from ..models.search.network_space import NoSetting, fixed_space
from ..models.search.search import GridSpace
from .checks import check_count, check_head
from .network import NetworkClassifier, NetworkRegressor
from .partial import NO_ROWS, add_rows, exact_in_parts


class RandomFeaturesRegressor(NetworkRegressor):
    """Two-layer net with a frozen random first layer: f(x) = b0 + a.sigma(W0 x + b).

    Parameters
    ----------
    width : int
        Number of neurons.
    activation : str or Activation
        "relu", "centred_relu", "truncated_relu", "tanh", "erf", or an Activation object.
    alpha : float or None
        Penalty of the head, sum_i w_i (y_i - f_i)^2 + alpha |a|^2; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
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

    Source: Rahimi & Recht 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomFeaturesRegressor(width=200).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    linear_part = False

    def __init__(
        self,
        *,
        width: int = 1024,
        activation: str | Activation = "relu",
        alpha: float | None = None,
        penalty_by: Literal["loo", "gcv", "validation"] = "loo",
        standardise: bool = True,
        search: str | None = "fast",
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.alpha = alpha
        self.penalty_by: Literal["loo", "gcv", "validation"] = penalty_by
        self.standardise = standardise
        self.search = search
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[NoSetting]:
        del data
        return _space(self)

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
        learner = self._space(NO_ROWS).learner(NoSetting())
        add_rows(self, cast(FixedFeatures, learner), X, y, sample_weight)
        return self


class RandomFeaturesClassifier(NetworkClassifier):
    """Two-layer net with a frozen random first layer: f(x) = b0 + a.sigma(W0 x + b).

    On +-1 codes, one column a class, with calibrated probabilities.

    Parameters
    ----------
    width : int
        Number of neurons.
    activation : str or Activation
        "relu", "centred_relu", "truncated_relu", "tanh", "erf", or an Activation object.
    alpha : float or None
        Penalty of the head, sum_i w_i (y_i - f_i)^2 + alpha |a|^2; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
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

    Source: Rahimi & Recht 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomFeaturesClassifier(width=200).fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """

    linear_part = False

    def __init__(
        self,
        *,
        width: int = 1024,
        activation: str | Activation = "relu",
        alpha: float | None = None,
        penalty_by: Literal["loo", "gcv", "validation"] = "loo",
        standardise: bool = True,
        search: str | None = "fast",
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.alpha = alpha
        self.penalty_by: Literal["loo", "gcv", "validation"] = penalty_by
        self.standardise = standardise
        self.search = search
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[NoSetting]:
        del data
        return _space(self)


def _space(model: RandomFeaturesRegressor | RandomFeaturesClassifier) -> GridSpace[NoSetting]:
    width, sigma = check_count("width", model.width), activation(model.activation)
    head = check_head(model.alpha, model.penalty_by)
    return fixed_space(RandomFeatures(width, sigma, head=head))
