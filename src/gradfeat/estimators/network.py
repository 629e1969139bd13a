"""The two-layer networks as transformers, and with a head for another target."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Literal, cast

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..maths.activations import Activation
from ..models.two_layer import TwoLayer
from .checks import check_head, like
from .parameters import parameters
from .refitting import Refittable
from .training import Training


@parameters
class NetworkMethod(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Refittable, ABC):
    """A two-layer net, whose features serve other targets too.

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
