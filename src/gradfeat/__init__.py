"""Feature learning in two-layer networks and kernel machines."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .diagnostics.neural_feature_ansatz import neural_feature_ansatz
    from .estimators import (
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
    from .estimators.agop_of import agop
    from .interface.compare import compare
    from .interface.diagnose import diagnose
    from .interface.importances import importances
    from .table.onnx_file import export_onnx
    from .table.saved import load, save
    from .table.table_model import TableModel

__version__ = "0.2.0"

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
    "TableModel",
    "agop",
    "compare",
    "diagnose",
    "export_onnx",
    "importances",
    "load",
    "neural_feature_ansatz",
    "save",
]

#: Functions, and the model of a table, by the module they are in; all other names are estimators.
_FUNCTIONS = {
    "TableModel": ".table.table_model",
    "agop": ".estimators.agop_of",
    "compare": ".interface.compare",
    "diagnose": ".interface.diagnose",
    "export_onnx": ".table.onnx_file",
    "importances": ".interface.importances",
    "load": ".table.saved",
    "neural_feature_ansatz": ".diagnostics.neural_feature_ansatz",
    "save": ".table.saved",
}


def __getattr__(name: str) -> Any:
    """Import the estimators at their first use: the lab does without them and scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_FUNCTIONS.get(name, ".estimators"), __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
