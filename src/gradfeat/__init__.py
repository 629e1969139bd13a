"""Feature learning in two-layer networks and kernel machines."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import (
        AGOPTransformer,
        GradientFeatureClassifier,
        GradientFeatureRegressor,
        KernelClassifier,
        KernelRegressor,
        RandomFeaturesClassifier,
        RandomFeaturesRegressor,
        RFMClassifier,
        RFMRegressor,
    )
    from .estimators.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "AGOPTransformer",
    "GradientFeatureClassifier",
    "GradientFeatureRegressor",
    "KernelClassifier",
    "KernelRegressor",
    "RFMClassifier",
    "RFMRegressor",
    "RandomFeaturesClassifier",
    "RandomFeaturesRegressor",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Import the estimators at their first use: the lab does without them and scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = ".estimators.persistence" if name in ("load", "save") else ".estimators"
    return getattr(import_module(where, __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
