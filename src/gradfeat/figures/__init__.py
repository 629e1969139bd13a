"""Figures from results: each takes ``ax=`` (or makes one) and returns the axes it drew on."""

from gradfeat.figures.bars import column_weights, direction, importances, loadings
from gradfeat.figures.comparison import comparison
from gradfeat.figures.confusion import confusion
from gradfeat.figures.curvature import curvature
from gradfeat.figures.degrees import degrees
from gradfeat.figures.first_step import first_step
from gradfeat.figures.plane import class_plane, target_plane
from gradfeat.figures.predicted import predicted
from gradfeat.figures.projection import target_curve
from gradfeat.figures.shares import class_shares
from gradfeat.figures.spectrum import eigenvalues
from gradfeat.figures.step_errors import step_errors
from gradfeat.figures.variance_parts import variance_parts

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
