"""Figures from results: each takes ``ax=`` (or makes one) and returns the axes it drew on."""

from gradfeat.plots.bars import column_weights, direction, importances, loadings
from gradfeat.plots.comparison import comparison
from gradfeat.plots.confusion import confusion
from gradfeat.plots.curvature import curvature
from gradfeat.plots.degrees import degrees
from gradfeat.plots.first_step import first_step
from gradfeat.plots.plane import class_plane, target_plane
from gradfeat.plots.predicted import predicted
from gradfeat.plots.projection import target_curve
from gradfeat.plots.shares import class_shares
from gradfeat.plots.spectrum import eigenvalues
from gradfeat.plots.step_errors import step_errors
from gradfeat.plots.variance_parts import variance_parts

__all__ = [
    "class_plane",
    "class_shares",
    "column_weights",
    "comparison",
    "confusion",
    "curvature",
    "degrees",
    "direction",
    "eigenvalues",
    "first_step",
    "importances",
    "loadings",
    "predicted",
    "step_errors",
    "target_curve",
    "target_plane",
    "variance_parts",
]
