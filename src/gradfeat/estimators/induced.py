"""Networks that gradient features induce (Shi23) as scikit-learn estimators."""

from __future__ import annotations

from abc import ABC
from typing import Any, Literal

from ..maths.blocks import Block
from ..models.gradient_features.feature_set import LEAST_MASS, NEURONS
from ..models.induced.network import InducedNetwork
from ..models.losses import Squared, loss
from ..models.search.induced_space import InducedSetting, induced_space
from ..models.search.search import GridSpace
from .checks import MOST, check_choice, check_count, check_head, check_positive, positive_or_none
from .classifier import FeatureClassifier
from .parameters import estimator, parameters
from .refitting import Refittable
from .regressor import FeatureRegressor
from .training import Training


@parameters
class InducedNetworkMethod(Refittable, ABC):
    """The network that gradient features induce.

    Parameters
    ----------
    p : float
        Least share of random neurons whose gradient has to point along a direction, in (0, 1).
    width : float or None
        Half-width of a direction's cone, |cos| > 1 - width, in (0, 1); None is chosen.
    bias_scale : float or None
        |b| of the random neurons, in spreads of w.x: a neuron with b > 0 fires on the rows furthest
        along w. Larger: sharper directions of smaller mass, more noise. None is chosen.
    least_norm : float or None
        Length B_G that a gradient needs to count, for inputs and targets of standard deviation 1.
        None is the level that nothing reaches, in 95 % of samples, when targets are shuffled.
    neurons : int
        Random neurons: half of them propose directions, half measure masses. At least 4/p.
    feature_rows : int
        Rows that gradients are averaged over at most; the head is fitted to all rows.
    biases : int
        Kinks for each direction, sign and side at most.
    linear : {"ridge", "moment", "none"} or None
        Linear part beta.x, fitted before the neurons; None is chosen (ridge or none).
    whiten : bool or None
        Find directions in whitened inputs, in which correlated columns do not pull them together;
        None is chosen.
    alpha : float or None
        Penalty of the head, sum_i w_i (y_i - f_i)^2 + alpha |a|^2, without bounds; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    B_a1, B_a2 : float or None
        Bounds |a_j| <= B_a1 and |a|_2 <= B_a2 of each output's head, in place of the penalty.
    B_b : float or None
        Bound of |b_j| of the network, in standardised (or whitened) units; None is none.
    search : {"fast", "full"} or None
        Validated search over width, bias_scale, linear and whiten where they are None (on at most
        1,500 or 4,000 training rows, one or two sweeps; each trial finds the directions anew on
        its own training rows); None searches nothing and takes the starting values.

    Attributes
    ----------
    gradient_features_ : FoundFeatures
        The gradient feature set of the training rows: directions, signs, masses, intervals.
    """

    p: float = LEAST_MASS
    width: float | None = None
    bias_scale: float | None = None
    least_norm: float | None = None
    neurons: int = NEURONS
    feature_rows: int = 5000
    biases: int = 16
    linear: Literal["ridge", "moment", "none"] | None = None
    whiten: bool | None = None
    alpha: float | None = None
    penalty_by: Literal["loo", "gcv", "validation"] = "loo"
    B_a1: float | None = None
    B_a2: float | None = None
    B_b: float | None = None

    def _with_loss(self, loss_name: str) -> GridSpace[InducedSetting]:
        p = check_positive("p", self.p)
        width = positive_or_none("width", self.width)
        bias_scale = positive_or_none("bias_scale", self.bias_scale)
        least = positive_or_none("least_norm", self.least_norm)
        bounds = {"B_a1": self.B_a1, "B_a2": self.B_a2, "B_b": self.B_b}
        limits: dict[str, Any] = {name: positive_or_none(name, B) for name, B in bounds.items()}
        neurons = check_count("neurons", self.neurons, most=MOST)
        feature_rows = check_count("feature_rows", self.feature_rows, least=2)
        biases = check_count("biases", self.biases, least=2, most=MOST)
        linear = check_choice("linear", self.linear, ("ridge", "moment", "none", None))
        whiten = check_choice("whiten", self.whiten, (True, False, None))
        head = check_head(self.alpha, self.penalty_by)
        of_head = loss(check_choice("loss", loss_name, ("squared", "logistic")))
        if linear is None and of_head != Squared():
            linear = "none"
        asked = {"whiten": whiten, "bias_scale": bias_scale, "width": width, "linear": linear}
        given = {name: value for name, value in asked.items() if value is not None}
        start = InducedSetting(**given)
        inner = InducedNetwork(
            of_head,
            p=p,
            least_norm=None if least is None else (least, least),
            neurons=neurons,
            biases=biases,
            linear=start.linear,
            head=head,
            **{name: B for name, B in limits.items() if B is not None},
        )
        open_ = [name for name in asked if name not in given]
        return induced_space(start, inner, feature_rows, open_)

    def _for_another(self, training: Training, seed: int) -> None:
        """A ridge head, without bounds, on the features sigma(W z + b)."""
        head = check_head(self.alpha, self.penalty_by)
        self._with_network_head(training, head, linear=True, seed=seed)


@estimator
class InducedNetworkRegressor(InducedNetworkMethod, FeatureRegressor):
    """The network that the gradient features of the training rows induce.

    f(x) = alpha + beta.x + sum_j a_j relu(+-w_j.x - b_j): what one gradient step of a wide network
    would find in the training rows (the directions w that the gradients of many random neurons
    share), each with a grid of kinks, and a convex head. No neuron is trained, so it says what the
    first gradients alone are worth. Where no direction is found f is the mean (and linear part).

    Source: Shi23, gradient-feature-induced networks.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((1000, 8))
    >>> model = InducedNetworkRegressor(neurons=400).fit(X, np.maximum(X[:, 0], 0.0))
    >>> model.gradient_features_.n_directions, int(model.importances_.argmax())
    (1, 0)
    """

    def _space(self, block: Block, *, streamed: bool = False) -> GridSpace[InducedSetting]:
        del block, streamed
        return self._with_loss("squared")


@estimator
class InducedNetworkClassifier(InducedNetworkMethod, FeatureClassifier):
    """The network that the gradient features of the training rows induce.

    On +-1 codes, one column a class, with calibrated probabilities.

    f(x) = alpha + beta.x + sum_j a_j relu(+-w_j.x - b_j), as of :class:`InducedNetworkRegressor`.

    Parameters
    ----------
    loss : {"squared", "logistic"}
        Of the head on +-1 codes; "logistic" needs a bound B_a1 or B_a2 and no linear part.

    Source: Shi23, gradient-feature-induced networks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> InducedNetworkClassifier(neurons=400).fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """

    loss: Literal["squared", "logistic"] = "squared"

    def _space(self, block: Block, *, streamed: bool = False) -> GridSpace[InducedSetting]:
        del block, streamed
        return self._with_loss(self.loss)
