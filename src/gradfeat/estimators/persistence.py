"""Which estimators a model file may hold, and how they come back."""

from __future__ import annotations

import os

from .agop_transformer import AGOPTransformer
from .base import FeatureModel
from .container import Contents, ModelFileError
from .gradient_features import GradientFeatureClassifier, GradientFeatureRegressor
from .induced import InducedNetworkClassifier, InducedNetworkRegressor
from .kernel import KernelClassifier, KernelRegressor
from .linear import LinearClassifier, LinearRegressor
from .random_features import RandomFeaturesClassifier, RandomFeaturesRegressor
from .rfm import RFMClassifier, RFMRegressor

Saved = FeatureModel | AGOPTransformer

CLASSES: tuple[type[Saved], ...] = (
    AGOPTransformer,
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    InducedNetworkClassifier,
    InducedNetworkRegressor,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)


def estimator_from(contents: Contents, path: str | os.PathLike[str] = "the model") -> Saved:
    """The estimator of what its ``to_contents`` gave.

    Raises
    ------
    ModelFileError
        For a kind of model, or a part of one, that this version does not know.
    """
    for make in CLASSES:
        if make.__name__ == contents.kind:
            break
    else:
        raise ModelFileError(
            f"{path} holds a {contents.kind!r}, which this gradfeat does not know: use the "
            "version that saved it."
        )
    try:
        return make.from_state(contents.state, contents.arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} holds a {contents.kind} that this gradfeat cannot rebuild ({error})."
        ) from None
