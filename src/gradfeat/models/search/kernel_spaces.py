"""Search spaces of the kernel methods, shared by regressors and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...maths.blocks import Block
from ...maths.memory import allowed_bytes
from ..base import Kernel
from ..kernel_ridge import KernelRidge
from ..kernels.named import NAMES, kernel
from ..rfm import RFM, ROUGH
from ..solvers.adaptive import Adaptive
from ..solvers.base import Solver
from ..solvers.direct import direct_bytes
from ..solvers.named import NAMES as SOLVERS
from ..solvers.named import solver
from ..solvers.nystrom_direct import NystromDirect
from .bandwidth import median_distance
from .checks import check_choice, check_count, check_positive
from .head_search import BY_COLUMN
from .rfm_space import RFMSpace
from .search import Point, SearchSpace
from .worded import Worded

KERNELS = ("laplace", "matern32", "gaussian")
#: What a search of an RFM tries beyond "laplace": a fast one, a full one.
RFM_KERNELS = {
    False: ("gaussian", BY_COLUMN),
    True: (*KERNELS, BY_COLUMN, "laplace-l1-0.7"),
}
#: Powers of the AGOP that a full search tries beside 1.
AGOP_POWERS = (0.5, 0.25)
FACTORS = (0.5, 2.0, 4.0)
ALPHAS = (1e-4, 1e-3, 1e-1, 1.0, 10.0)
START_ALPHA = 1e-2
#: Penalties of the rounds of an RFM: the last fit has one of its own.
METRIC_ALPHA, METRIC_ALPHAS = 1e-3, (1e-1,)
#: Rows that the metric of an RFM is learnt from, at most, in a thorough search and else.
METRIC_ROWS = {False: 3_000, True: 20_000}
#: The same where the last fit is that of the RFM itself.
OWN_METRIC_ROWS = 10_000
#: Rows beyond which the last fit has Nystrom centres.
EVERY_ROW = 20_000

#: Bandwidths, in units of the standardised inputs; squares beyond are no floating-point numbers.
LEAST_BANDWIDTH, LARGEST_BANDWIDTH = 1e-100, 1e100


@dataclass(frozen=True)
class KernelChoice:
    """Kernel, bandwidth and penalty: values given are kept, None is searched."""

    kernel: Any
    bandwidth: Any
    alpha: Any

    def check(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        check_choice("kernel", self.kernel, (*NAMES, None))
        check_positive("bandwidth", self.bandwidth)
        if self.bandwidth is not None:
            _check_bandwidth(float(self.bandwidth))
        check_positive("alpha", self.alpha, zero=True)

    def start_and_axes(self, data: Block) -> tuple[Point, dict[str, Sequence[Any]]]:
        """Where a search begins, and what it varies."""
        base = median_distance(data.X) if self.bandwidth is None else float(self.bandwidth)
        start: Point = {
            "kernel": "laplace" if self.kernel is None else self.kernel,
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


def _check_bandwidth(L: float) -> None:
    if not LEAST_BANDWIDTH <= L <= LARGEST_BANDWIDTH:
        raise ValueError(
            f"bandwidth is {L}: give a number from {LEAST_BANDWIDTH:g} to {LARGEST_BANDWIDTH:g}, "
            "in units of the standardised inputs."
        )


def _check_values(k: Kernel, point: Point, X: Tensor) -> None:
    """Raise ValueError where the kernel of the longest row, or squares on the way, overflow."""
    longest = X[X.norm(dim=1).argmax()][None]
    K = k(longest, torch.cat([longest, X[:1]])).double()
    scaled = float(longest.double().norm() / point["bandwidth"])
    size = torch.stack([K.abs().max(), torch.tensor(scaled).double() ** 4]).max()
    if not float(size) * len(X) < torch.finfo(X.dtype).max:
        raise ValueError(
            f"bandwidth is {point['bandwidth']} and kernel {point['kernel']!r}, whose values here "
            f"are beyond {str(X.dtype).removeprefix('torch.')}: give a larger bandwidth"
            f"{', or dtype float64' if X.dtype == torch.float32 else ''}."
        )


def chosen_solver(name: Any, data: Block, memory_limit: Any) -> Worded:
    """Solver by name; None is direct where its matrix is allowed, else Nystrom centres.

    Raises
    ------
    ValueError
        For a name that is not known, or a limit that is no number of bytes.
    """
    check_choice("solver", name, (*SOLVERS, None))
    check_positive("memory_limit", memory_limit)
    if name is None:
        fits = direct_bytes(data.X, data.y) <= allowed_bytes(memory_limit)
        name = "direct" if fits else "nystrom"
    return Worded(name, solver(name, memory_limit))


def passing_solver(name: Any, memory_limit: Any) -> NystromDirect:
    """The solver for rows that are passed over.

    Raises
    ------
    ValueError
        For any name but "nystrom", or a limit that is no number of bytes.
    """
    check_positive("memory_limit", memory_limit)
    if name not in (None, "nystrom"):
        raise ValueError(
            f"solver is {name!r}, which needs its rows in memory: give arrays, or solver='nystrom' "
            "for rows that are passed over."
        )
    return NystromDirect(memory_limit=memory_limit)


def kernel_ridge_space(
    choice: KernelChoice,
    wanted: Any,
    data: Block,
    memory_limit: Any,
    *,
    passing: bool,
) -> SearchSpace:
    """Kernel ridge over the open settings of `choice`; the setting tells the solver."""
    choice.check()
    method: Solver
    if passing:
        method, name = passing_solver(wanted, memory_limit), "nystrom"
    else:
        method = chosen_solver(wanted, data, memory_limit)
        name = method.name
    start, axes = choice.start_and_axes(data)

    def make(point: Point) -> KernelRidge:
        k = kernel(point["kernel"], point["bandwidth"])
        return KernelRidge(k, point["alpha"], method)

    _check_values(make(start).kernel, start, data.X)
    return SearchSpace(make, {**start, "solver": name}, axes, stages=None)


@dataclass(frozen=True)
class MetricOptions:
    """How RFM updates its metric (see :class:`gradfeat.models.rfm.RFM`)."""

    n_iter: Any
    diagonal: Any
    agop_power: Any
    centre_gradients: Any
    normalisation: Any
    agop_rows: Any
    memory_limit: Any

    def check(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        check_count("n_iter", self.n_iter, least=0)
        check_positive("agop_power", self.agop_power)
        check_choice("normalisation", self.normalisation, ("trace", "max"))
        check_count("agop_rows", self.agop_rows, allow_none=True)
        check_choice("diagonal", self.diagonal, (True, False, None))
        check_choice("centre_gradients", self.centre_gradients, (True, False))


def checked_directions(value: Any) -> int | str | None:
    """A number of directions as an int, or "auto" or None.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> checked_directions(2.0), checked_directions("auto")
    (2, 'auto')
    """
    match value:
        case None | "auto":
            return value
        case int() | float() | np.integer() if type(value) is not bool:
            if float(value).is_integer() and value >= 1:
                return int(value)
    raise ValueError(f"directions is {value!r}: give an integer of at least 1, 'auto' or None.")


def rfm_space(
    choice: KernelChoice,
    options: MetricOptions,
    directions: Any,
    data: Block,
    *,
    thorough: bool,
) -> RFMSpace:
    """RFM over the open settings of `choice`, the number of updates, and the last fit.

    The bandwidth of the rounds is searched only by a `thorough` search, or where it is that of the
    last fit too.
    """
    choice.check()
    options.check()
    check_positive("memory_limit", options.memory_limit)
    directions = checked_directions(directions)
    start, axes = choice.start_and_axes(data)
    last = Adaptive(most=EVERY_ROW, memory_limit=options.memory_limit)
    power = 1.0 if options.agop_power is None else float(options.agop_power)
    start = {**start, "diagonal": bool(options.diagonal), "agop_power": power}
    if choice.alpha is None and directions is not None:
        start, axes = {**start, "alpha": METRIC_ALPHA}, {**axes, "alpha": METRIC_ALPHAS}
    if not thorough and directions is not None:
        axes.pop("bandwidth", None)
    if choice.kernel is None:
        axes["kernel"] = RFM_KERNELS[thorough]
    if thorough and options.agop_power is None:
        axes["agop_power"] = AGOP_POWERS
    if options.diagonal is None:
        axes["diagonal"] = (True,)
    order = ("kernel", "diagonal", "bandwidth", "agop_power", "alpha")
    tried = {name: axes[name] for name in order if name in axes}

    def make(point: Point) -> RFM:
        return RFM(
            kernel(point["kernel"], point["bandwidth"]),
            point["alpha"],
            n_iter=point["n_iter"],
            diagonal=point["diagonal"],
            agop_power=point["agop_power"],
            centre_gradients=options.centre_gradients,
            normalisation=options.normalisation,
            agop_rows=options.agop_rows,
            metric_rows=OWN_METRIC_ROWS,
            solver=last,
            rough=replace(ROUGH, memory_limit=options.memory_limit),
        )

    _check_values(kernel(start["kernel"], start["bandwidth"]), start, data.X)
    return RFMSpace(make, start, tried, options.n_iter, directions, last, METRIC_ROWS[thorough])
