"""The scikit-learn face of gradfeat."""

from .agop_transformer import AGOPTransformer
from .fixed_features import (
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
)
from .gradient_features import GradientFeatureClassifier, GradientFeatureRegressor
from .induced import InducedNetworkClassifier, InducedNetworkRegressor
from .kernel import KernelClassifier, KernelRegressor
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
