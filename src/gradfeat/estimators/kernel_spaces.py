"""Search spaces of the kernel methods, shared by regressors and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..maths.blocks import Block
from ..maths.memory import allowed_bytes
from ..models.kernel_ridge import KernelRidge, refuse_large_kernel
from ..models.kernels.named import kernel
from ..models.rfm import RFM
from ..models.solvers.base import Solver
from ..models.solvers.direct import Direct, direct_bytes
from ..models.solvers.named import NAMES, solver
from ..models.solvers.nystrom import Nystrom
from .bandwidth import median_distance
from .checks import check_choice, check_count, check_positive
from .search import Point, SearchSpace

KERNELS = ("laplace", "matern32", "gaussian")
FACTORS = (0.5, 2.0, 4.0)
ALPHAS = (1e-4, 1e-3, 1e-1, 1.0, 10.0)
START_ALPHA = 1e-2


@dataclass(frozen=True)
class KernelChoice:
    """Kernel, bandwidth and penalty: values given are kept, None is searched."""

    kernel: str | None
    bandwidth: float | None
    alpha: float | None

    def check(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        kernel(self.kernel or "laplace", 1.0)
        check_positive("bandwidth", self.bandwidth)
        check_positive("alpha", self.alpha, zero=True)

    def start_and_axes(self, data: Block) -> tuple[Point, dict[str, Sequence[Any]]]:
        """Where a search begins, and what it varies."""
        base = median_distance(data.X) if self.bandwidth is None else float(self.bandwidth)
        start: Point = {
            "kernel": self.kernel or "laplace",
            "bandwidth": base,
            "alpha": START_ALPHA if self.alpha is None else float(self.alpha),
        }
        axes: dict[str, Sequence[Any]] = {}
        if self.alpha is None:
            axes["alpha"] = ALPHAS
        if self.kernel is None:
            axes["kernel"] = KERNELS
        if self.bandwidth is None:
            axes["bandwidth"] = [base * factor for factor in FACTORS]
        return start, axes


def chosen_solver(name: str | None, data: Block, memory_limit: int | None) -> tuple[str, Solver]:
    """Solver by name; None is direct where its matrix is allowed, else Nystrom centres.

    Raises
    ------
    ValueError
        For a name that is not known.
    """
    if name is not None:
        check_choice("solver", name, (*NAMES, None))
        return name, solver(name, memory_limit)
    if direct_bytes(data.X, data.y) <= allowed_bytes(memory_limit):
        return "direct", Direct(memory_limit=memory_limit)
    return "nystrom", Nystrom(memory_limit=memory_limit)


def kernel_ridge_space(
    choice: KernelChoice, wanted: str | None, data: Block, memory_limit: int | None
) -> SearchSpace:
    """Kernel ridge over the open settings of `choice`; the setting tells the solver."""
    choice.check()
    name, method = chosen_solver(wanted, data, memory_limit)
    start, axes = choice.start_and_axes(data)

    def make(point: Point) -> KernelRidge:
        k = kernel(point["kernel"], point["bandwidth"])
        return KernelRidge(k, point["alpha"], method)

    return SearchSpace(make, {**start, "solver": name}, axes, stages=None)


@dataclass(frozen=True)
class MetricOptions:
    """How RFM updates its metric (see :class:`gradfeat.models.rfm.RFM`)."""

    n_iter: int
    diagonal: bool
    agop_power: float
    centre_gradients: bool
    normalisation: Literal["trace", "max"]
    agop_rows: int | None
    memory_limit: int | None

    def check(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        check_count("n_iter", self.n_iter, least=0)
        check_positive("agop_power", self.agop_power, allow_none=False)
        check_choice("normalisation", self.normalisation, ("trace", "max"))
        check_count("agop_rows", self.agop_rows, allow_none=True)


def rfm_space(choice: KernelChoice, options: MetricOptions, data: Block) -> SearchSpace:
    """RFM over the open settings of `choice`, and the number of updates up to ``n_iter``."""
    choice.check()
    options.check()
    refuse_large_kernel(data.X, 3, options.memory_limit)
    start, axes = choice.start_and_axes(data)

    def make(point: Point) -> RFM:
        return RFM(
            kernel(point["kernel"], point["bandwidth"]),
            point["alpha"],
            n_iter=point.get("n_iter", options.n_iter),
            diagonal=options.diagonal,
            agop_power=float(options.agop_power),
            centre_gradients=options.centre_gradients,
            normalisation=options.normalisation,
            agop_rows=options.agop_rows,
            memory_limit=options.memory_limit,
        )

    return SearchSpace(make, start, axes, stages=("n_iter", 0) if options.n_iter > 0 else None)
