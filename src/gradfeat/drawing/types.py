"""Types of tables and figures for annotations: to import them from here imports neither library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from pandas import DataFrame as DataFrame
else:
    Axes = Any
    DataFrame = Any
    Figure = Any
