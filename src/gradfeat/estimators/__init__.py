"""The scikit-learn face of gradfeat."""

from .agop_transformer import AGOPTransformer
from .gradient_features import GradientFeatureClassifier, GradientFeatureRegressor
from .induced import InducedNetworkClassifier, InducedNetworkRegressor
from .kernel import KernelClassifier, KernelRegressor
from .linear import LinearClassifier, LinearRegressor
from .random_features import RandomFeaturesClassifier, RandomFeaturesRegressor
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
