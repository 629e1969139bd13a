"""Search spaces of the two-layer networks, shared by regressors and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...maths.activations import activation
from ..base import Learner
from ..gradient_step import GradientStep
from ..head import RidgeHead
from ..random_features import RandomFeatures
from ..two_layer import TwoLayer
from ..whitened import Whitened
from .checks import check_choice, check_count, check_positive
from .search import Point, SearchSpace

#: Most first-layer steps that a search tries.
MAX_STEPS = 8


@dataclass(frozen=True)
class HeadOptions:
    """Width, activation and head of a two-layer net."""

    width: Any
    activation: Any
    alpha: Any
    penalty_by: Any

    def check(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        check_count("width", self.width)
        activation(self.activation)
        check_positive("alpha", self.alpha)
        check_choice("penalty_by", self.penalty_by, ("loo", "gcv", "validation"))

    def head(self) -> RidgeHead:
        """The ridge head."""
        alpha = None if self.alpha is None else float(self.alpha)
        return RidgeHead(alpha, self.penalty_by)


def random_features_space(options: HeadOptions) -> SearchSpace:
    """Nothing to search: the head chooses its penalty itself."""
    options.check()

    def make(point: Point) -> RandomFeatures:
        del point
        return RandomFeatures(
            int(options.width), activation(options.activation), head=options.head()
        )

    return SearchSpace(make, {}, {}, stages=None)


def gradient_features_space(
    options: HeadOptions,
    n_steps: Any,
    step_size: Any,
    update: Any,
    whiten: Any,
) -> SearchSpace:
    """Number of steps and whitening where they are None; the head chooses its penalty itself."""
    options.check()
    check_count("n_steps", n_steps, least=0, allow_none=True)
    check_positive("step_size", step_size)
    check_choice("update", update, ("agop", "gradient"))
    check_choice("whiten", whiten, (True, False, None))

    def make(point: Point) -> Learner[TwoLayer]:
        steps = MAX_STEPS if n_steps is None else n_steps
        inner = GradientStep(
            int(options.width),
            activation(options.activation),
            n_steps=point.get("n_steps", steps),
            step_size=None if step_size is None else float(step_size),
            update=update,
            linear="ridge",
            head=options.head(),
        )
        return Whitened(inner) if point["whiten"] else inner

    axes: dict[str, Sequence[Any]] = {"whiten": (False,)} if whiten is None else {}
    start = {"whiten": True if whiten is None else whiten}
    stages = ("n_steps", 1) if n_steps is None else None
    return SearchSpace(make, start, axes, stages, first_gradient=True)
