"""The search space of induced networks, shared by regressor and classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..head import RidgeHead
from ..induced.network import InducedNetwork
from ..losses import loss
from .checks import check_choice, check_count, check_positive
from .induced_fit import InducedFit
from .search import Point, SearchSpace

#: Where a search begins, and what it tries beside that.
START: Point = {"whiten": True, "bias_scale": 1.0, "width": 0.1, "linear": "ridge"}
TRIED: dict[str, Sequence[Any]] = {
    "whiten": (False,),
    "bias_scale": (0.5, 1.5, 2.0),
    "width": (0.05, 0.2),
    "linear": ("none",),
}
#: Losses of the head.
LOSSES = ("squared", "logistic")


@dataclass(frozen=True)
class InducedOptions:
    """Parameters of the estimators; what is None and stands in `TRIED` is searched."""

    p: Any
    width: Any
    bias_scale: Any
    least_norm: Any
    neurons: Any
    feature_rows: Any
    biases: Any
    linear: Any
    whiten: Any
    alpha: Any
    penalty_by: Any
    B_a1: Any
    B_a2: Any
    B_b: Any
    loss: str = "squared"

    def check(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        check_positive("p", self.p, allow_none=False)
        for name in ("width", "bias_scale", "least_norm", "alpha", "B_a1", "B_a2", "B_b"):
            check_positive(name, vars(self)[name])
        check_count("neurons", self.neurons)
        check_count("feature_rows", self.feature_rows, least=2)
        check_count("biases", self.biases, least=2)
        check_choice("linear", self.linear, ("ridge", "moment", "none", None))
        check_choice("whiten", self.whiten, (True, False, None))
        check_choice("penalty_by", self.penalty_by, ("loo", "gcv", "validation"))
        check_choice("loss", self.loss, LOSSES)

    def given(self) -> Point:
        """Those of the searched settings that are not None."""
        linear = "none" if self.linear is None and self.loss != "squared" else self.linear
        asked = {
            "whiten": self.whiten,
            "bias_scale": self.bias_scale,
            "width": self.width,
            "linear": linear,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def learner(self, point: Point) -> InducedFit:
        """The fit at one setting."""
        least, limits = self.least_norm, (self.B_a1, self.B_a2, self.B_b)
        B_a1, B_a2, B_b = (math.inf if bound is None else float(bound) for bound in limits)
        inner = InducedNetwork(
            loss(self.loss),
            p=float(self.p),
            width=float(point["width"]),
            least_norm=None if least is None else (float(least), float(least)),
            neurons=int(self.neurons),
            bias_scale=float(point["bias_scale"]),
            biases=int(self.biases),
            B_a1=B_a1,
            B_a2=B_a2,
            B_b=B_b,
            linear=point["linear"],
            head=RidgeHead(None if self.alpha is None else float(self.alpha), self.penalty_by),
        )
        return InducedFit(inner, point["whiten"], int(self.feature_rows))


def induced_space(options: InducedOptions) -> SearchSpace:
    """Whitening, |b|, the cone's width and the linear part where they are None.

    Raises
    ------
    ValueError
        For a parameter that is not allowed, or a logistic loss without a bound.
    """
    options.check()
    given = options.given()
    start = {**START, **given}
    options.learner(start)  # refuses what does not go together before anything is computed
    axes = {name: values for name, values in TRIED.items() if name not in given}
    return SearchSpace(options.learner, start, axes, stages=None)
