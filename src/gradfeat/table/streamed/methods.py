"""The methods that are fitted by passes over the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradfeat.drawing.numbers import listed
from gradfeat.estimators import (
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)
from gradfeat.table.errors import TableError
from gradfeat.table.methods import METHODS, Method, Situation
from gradfeat.table.request import chosen_methods

#: Heads choose their penalty from the sums over rows themselves, without another pass.
PENALTY_BY = "gcv"


def _linear(s: Situation) -> Any:
    make = LinearClassifier if s.classification else LinearRegressor
    return make(penalty_by=PENALTY_BY, random_state=s.seed, device=s.device)


def _random_features(s: Situation) -> Any:
    make = RandomFeaturesClassifier if s.classification else RandomFeaturesRegressor
    return make(width=s.width, penalty_by=PENALTY_BY, random_state=s.seed, device=s.device)


def _gradient_features(s: Situation) -> Any:
    make = GradientFeatureClassifier if s.classification else GradientFeatureRegressor
    return make(
        width=s.width,
        n_steps=None,
        whiten=None,
        penalty_by=PENALTY_BY,
        random_state=s.seed,
        device=s.device,
    )


def _kernel(s: Situation) -> Any:
    make = KernelClassifier if s.classification else KernelRegressor
    return make(kernel=None, random_state=s.seed, device=s.device)


def _rfm(s: Situation) -> Any:
    make = RFMClassifier if s.classification else RFMRegressor
    return make(kernel=None, random_state=s.seed, device=s.device)


_MAKE: dict[str, Callable[[Situation], Any]] = {
    "linear": _linear,
    "random-features": _random_features,
    "kernel": _kernel,
    "gradient-features": _gradient_features,
    "rfm": _rfm,
}


def methods_in_passes(names: tuple[str, ...]) -> tuple[Method, ...]:
    """Methods by name, as they are fitted by passes; where all are asked for, those that can be.

    Raises
    ------
    TableError
        For a name that is not a method, or not one of those.

    Examples
    --------
    >>> [method.label for method in methods_in_passes(("linear",))]
    ['Linear model']
    """
    chosen = chosen_methods(names)
    every = len(chosen) == len(METHODS)
    unable = [method.name for method in chosen if method.name not in _MAKE]
    if unable and not every:
        raise TableError(
            f"{listed(unable)} cannot be fitted by passes over the rows: the methods that can are "
            f"{listed(list(_MAKE))}."
        )
    return tuple(replace(m, make=_MAKE[m.name]) for m in chosen if m.name in _MAKE)


def left_out(names: tuple[str, ...]) -> str:
    """What is not compared, in a sentence; empty where nothing was asked for that is not.

    Examples
    --------
    >>> left_out(("linear",))
    ''
    """
    labels = [method.label for method in chosen_methods(names) if method.name not in _MAKE]
    if not labels:
        return ""
    return f"{listed(labels)} need all rows in memory and were left out."
