"""The scikit-learn face of gradfeat."""

from .agop_transformer import AGOPTransformer
from .induced import InducedNetworkClassifier, InducedNetworkRegressor
from .kernel import KernelClassifier, KernelRegressor
from .network import (
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
)
from .rfm import RFMClassifier, RFMRegressor

__all__ = [
    "AGOPTransformer",
    "GradientFeatureClassifier",
    "GradientFeatureRegressor",
    "InducedNetworkClassifier",
    "InducedNetworkRegressor",
    "KernelClassifier",
    "KernelRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "RFMClassifier",
    "RFMRegressor",
    "RandomFeaturesClassifier",
    "RandomFeaturesRegressor",
]
