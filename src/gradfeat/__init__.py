"""Feature learning in two-layer networks and kernel machines."""

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
