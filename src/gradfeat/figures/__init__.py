"""Figures from results: each takes ``ax=`` (or makes one) and returns the axes it drew on.

Beside each plot stands its ``..._figure``: the same plot with its caption, for reports.
"""

from gradfeat.figures.comparison import comparison, losses
from gradfeat.figures.confusion import confusion
from gradfeat.figures.directions import (
    column_weights,
    direction,
    eigenvalues,
    importances,
    loadings,
)
from gradfeat.figures.first_step import first_step
from gradfeat.figures.projections import (
    class_plane,
    class_shares,
    predicted,
    target_curve,
    target_plane,
)
from gradfeat.figures.signal import curvature, degrees, variance_parts
from gradfeat.figures.step_errors import step_errors

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
    "losses",
    "predicted",
    "step_errors",
    "target_curve",
    "target_plane",
    "variance_parts",
]
