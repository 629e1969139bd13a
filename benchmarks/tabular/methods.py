"""The methods of the suite, each with the module that its process imports before the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import kernels
import networks
import recursive
import trees
from problem import Fitted, Problem


@dataclass(frozen=True)
class Method:
    """A method; `module` is imported before the clock starts, `package` has the version."""

    name: str
    run: Callable[[Problem], Fitted]
    module: str
    package: str


METHODS = (
    Method("gradfeat", recursive.gradfeat, "gradfeat.estimators", "gradfeat"),
    Method("gradfeat-full", recursive.gradfeat_full, "gradfeat.estimators", "gradfeat"),
    Method("xrfm", recursive.xrfm, "xrfm", "xrfm"),
    Method("xrfm-search", recursive.xrfm_search, "xrfm", "xrfm"),
    Method("kernel-ridge", kernels.kernel_ridge, "sklearn.kernel_ridge", "scikit-learn"),
    Method("random-features", kernels.random_features, "sklearn.pipeline", "scikit-learn"),
    Method("nystroem", kernels.nystroem, "sklearn.pipeline", "scikit-learn"),
    Method("mlp", networks.mlp, "sklearn.neural_network", "scikit-learn"),
    Method("realmlp", networks.realmlp, "pytabkit", "pytabkit"),
    Method("tabm", networks.tabm, "pytabkit", "pytabkit"),
    Method("hist", trees.hist, "sklearn.ensemble", "scikit-learn"),
    Method("hist-search", trees.hist_search, "sklearn.ensemble", "scikit-learn"),
    Method("xgboost", trees.xgboost, "xgboost", "xgboost-cpu"),
    Method("xgboost-search", trees.xgboost_search, "xgboost", "xgboost-cpu"),
    Method("catboost", trees.catboost, "catboost", "catboost"),
    Method("catboost-search", trees.catboost_search, "catboost", "catboost"),
)
