"""What a search of kernel ridge varies: kernel, bandwidth and penalty; and by which solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final, SupportsFloat, final

import torch
from torch import Tensor

from ...maths.activations import Erf
from ...maths.blocks import Block
from ...maths.limits import allowed_bytes
from ...rows.rows import Rows
from ..base import Kernel, Learner, Predictor
from ..kernel_ridge import KernelRidge
from ..kernels.dot_product import polynomial
from ..kernels.generalised_laplace import GeneralisedLaplace
from ..kernels.network import NetworkKernel
from ..kernels.radial import Gaussian, Laplace, Matern, check_bandwidth, squared_distances
from ..predictors import KernelMachine
from ..solvers.base import Solution, Solver, System, Watch
from ..solvers.conjugate_gradients import ConjugateGradients
from ..solvers.direct import Direct, direct_bytes
from ..solvers.eigenpro import EigenPro
from ..solvers.nystrom import Nystrom
from ..solvers.nystrom_cg import NystromCG
from ..solvers.nystrom_direct import NystromDirect
from ..solvers.richardson import Richardson
from .search import (
    Effort,
    FinishedFit,
    GridSpace,
    MethodSetting,
    Space,
    Trial,
    evaluate,
    first_trial,
)

_KERNELS: Final[dict[str, Callable[[float], Kernel]]] = {
    "laplace": Laplace,
    "laplace-0.7": partial(GeneralisedLaplace, q=0.7),
    "laplace-1.4": partial(GeneralisedLaplace, q=1.4),
    "laplace-l1": partial(GeneralisedLaplace, p=1.0),
    "laplace-l1-0.7": partial(GeneralisedLaplace, p=1.0, q=0.7),
    "gaussian": Gaussian,
    "matern12": partial(Matern, nu=0.5),
    "matern32": partial(Matern, nu=1.5),
    "matern52": partial(Matern, nu=2.5),
    "ntk": lambda L: NetworkKernel(bias=1.0, bandwidth=L),
    "nngp": lambda L: NetworkKernel(bias=1.0, trained="head", bandwidth=L),
    "erf-ntk": lambda L: NetworkKernel(Erf(), bias=1.0, bandwidth=L),
    "polynomial1": lambda L: polynomial(1, bandwidth=L),
    "polynomial2": lambda L: polynomial(2, bandwidth=L),
    "polynomial3": lambda L: polynomial(3, bandwidth=L),
}
#: The names that `kernel` resolves.
NAMES = tuple(_KERNELS)


def kernel(name: str, bandwidth: SupportsFloat) -> Kernel:
    """Kernel by the name that estimators and the command line use.

    "ntk" and "nngp" are those of the two-layer ReLU network, "erf-ntk" that of the erf network,
    all with weight and bias 1; "polynomial2" is (x.z / bandwidth^2 + 1)^2, 1 and 3 likewise. For
    these the bandwidth is the norm of inputs at which the constant 1 and x weigh the same.
    "laplace-0.7" and "laplace-1.4" are exp(-(|x - z| / bandwidth)^q) with that q, "laplace-l1" and
    "laplace-l1-0.7" the same of the distance sum_k |x_k - z_k| with q = 1 and 0.7.

    `name`: One of `NAMES`. `bandwidth`: Length scale, positive.
    """
    L = float(bandwidth)
    check_bandwidth(L)
    if name not in _KERNELS:
        allowed = ", ".join(map(repr, NAMES[:-1]))
        raise ValueError(f"kernel is {name!r}: allowed are {allowed} and {NAMES[-1]!r}.")
    return _KERNELS[name](L)


#: Kernels of the distance sum_k |x_k - z_k|, products of kernels of one column each.
PRODUCTS = ("laplace-l1", "laplace-l1-0.7")
#: Kernels that kernel ridge is searched over, and the rounds of a full search of an RFM: the same,
#: so that what an RFM gains is by its metric.
KERNELS = ("laplace", PRODUCTS[0], "matern32", "gaussian")
FACTORS = (0.5, 2.0, 4.0)
ALPHAS = (1e-4, 1e-3, 1e-1, 1.0, 10.0)
START_ALPHA = 1e-2
#: Rows whose pairwise distances tell the length scale of the data.
MEDIAN_ROWS = 500


@final
@dataclass(frozen=True)
class KernelSetting(MethodSetting):
    """Kernel, bandwidth and penalty of kernel ridge, and the name of its solver."""

    kernel: str
    bandwidth: float
    alpha: float
    solver: str

    def named(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class KernelChoice:
    """Kernel, bandwidth and penalty that were asked for; None is searched."""

    kernel: str | None
    bandwidth: float | None
    alpha: float | None

    def started(self, X: Tensor, p: float = 2.0) -> tuple[str, float, float]:
        """Kernel, bandwidth and penalty that a search of these rows begins with.

        The bandwidth by distances in the p-norm.
        """
        name = KERNELS[0] if self.kernel is None else self.kernel
        bandwidth = median_distance(X, p) if self.bandwidth is None else self.bandwidth
        check_values(kernel(name, bandwidth), name, bandwidth, X)
        return name, bandwidth, START_ALPHA if self.alpha is None else self.alpha

    def axes(self, bandwidth: float) -> dict[str, Sequence[Any]]:
        """What is varied, beginning with this bandwidth."""
        axes: dict[str, Sequence[Any]] = {}
        if self.alpha is None:
            axes["alpha"] = ALPHAS
        if self.bandwidth is None:
            axes["bandwidth"] = [bandwidth * factor for factor in FACTORS]
        return axes


def kernel_ridge_space(
    choice: KernelChoice,
    wanted: str | None,
    data: Block,
    memory_limit: int | None,
    *,
    streamed: bool,
) -> Space[KernelSetting]:
    """Kernel ridge over the open settings of `choice`; the setting tells the solver."""
    method: Solver
    if streamed:
        method, name = streaming_solver(wanted, memory_limit), "nystrom"
    else:
        method = chosen_solver(wanted, data, memory_limit)
        name = method.name

    def make(setting: KernelSetting) -> KernelRidge:
        return KernelRidge(kernel(setting.kernel, setting.bandwidth), setting.alpha, method)

    def of(one: str) -> GridSpace[KernelSetting]:
        own = replace(choice, kernel=one)
        start = KernelSetting(*own.started(data.X, 1.0 if one in PRODUCTS else 2.0), name)
        return GridSpace(make, start, own.axes(start.bandwidth), finish=_with_points)

    if choice.kernel is not None:
        return of(choice.kernel)
    spaces = tuple(map(of, KERNELS))
    return AnyKernel(spaces[0].start, spaces)


def _with_points(learner: Learner[KernelMachine], rows: Rows, seed: int) -> FinishedFit:
    """The machine, and how many points it is a sum over: of centres, where it has some."""
    f = learner.fit(rows, seed=seed)
    return FinishedFit(f, used={"points": len(f.Z)})


@final
@dataclass(frozen=True)
class AnyKernel(Space[KernelSetting]):
    """Several kernels, each with a search of its own.

    The penalty and bandwidth that suit one kernel best would hide what another one can do.
    """

    start: KernelSetting
    spaces: tuple[GridSpace[KernelSetting], ...]

    @property
    def open(self) -> bool:
        return True

    def learner(self, setting: KernelSetting) -> Learner[Predictor]:
        return self.spaces[0].learner(setting)

    def fit(self, setting: KernelSetting, rows: Rows, seed: int) -> FinishedFit:
        return self.spaces[0].fit(setting, rows, seed)

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[KernelSetting]:
        """The start of every kernel, then their searches, that of the best start first.

        So that where time is short the kernels are compared before one of them is tuned.
        """
        first = first_trial(self.spaces[0], self.start, data, seed, effort.rows)
        starts = [(first, self.spaces[0])]
        for space in self.spaces[1:]:
            trial = evaluate(space, space.start, data, seed, effort.rows)
            starts += [] if trial is None else [(trial, space)]
        starts.sort(key=lambda one: one[0].loss)
        found = [space.after(trial, data, seed, effort) for trial, space in starts]
        return min(found, key=lambda trial: trial.loss)


def median_distance(X: Tensor, p: float = 2.0) -> float:
    """Median distance between two rows (of the first 500); one when all rows are equal.

    By the p-norm, p 1 or 2.

    Examples
    --------
    >>> round(median_distance(torch.tensor([[0.0], [3.0]])), 4)
    3.0
    """
    X = X[:MEDIAN_ROWS]
    upper = torch.triu_indices(len(X), len(X), 1)
    D = torch.cdist(X, X, p=p) if p == 1 else squared_distances(X, X).sqrt()
    distances = D[upper[0], upper[1]]
    positive = distances[distances > 0]
    return float(positive.median()) if len(positive) else 1.0


def check_values(k: Kernel, name: str, bandwidth: float, X: Tensor) -> None:
    """Raise ValueError where the kernel of the longest row, or squares on the way, overflow."""
    longest = X[X.norm(dim=1).argmax()][None]
    K = k(longest, torch.cat([longest, X[:1]])).double()
    scaled = float(longest.double().norm() / bandwidth)
    size = torch.stack([K.abs().max(), torch.tensor(scaled, dtype=torch.float64) ** 4]).max()
    if not float(size) * len(X) < torch.finfo(X.dtype).max:
        raise ValueError(
            f"bandwidth is {bandwidth} and kernel {name!r}, whose values here "
            f"are beyond {str(X.dtype).removeprefix('torch.')}: give a larger bandwidth"
            f"{', or dtype float64' if X.dtype == torch.float32 else ''}."
        )


#: Solvers by the names that users type.
SOLVERS: Final[dict[str, Callable[..., Solver]]] = {
    "direct": Direct,
    "cg": ConjugateGradients,
    "nystrom_cg": NystromCG,
    "eigenpro": EigenPro,
    "nystrom": Nystrom,
    "richardson": Richardson,
}

#: How the warning about a tolerance that was not reached begins, as a regular expression.
UNREACHED = r"solver='\w+' stopped at a relative residual"

#: Where the memory that is allowed does not do.
WITH_MATRIX = (
    "fit on fewer rows, use solver='nystrom' or solver='eigenpro', or use random features or "
    "gradient features, whose memory does not grow with the square of the rows"
)
WITHOUT_MATRIX = "fit on fewer rows or raise memory_limit"


@final
@dataclass(frozen=True)
class NamedSolver(Solver):
    """A solver chosen by name, whose advice is in the words of those who give names."""

    name: str
    inner: Solver

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        try:
            found = self.inner.solve(system, seed=seed, watch=watch)
        except MemoryError as error:
            instead = WITH_MATRIX if self.name == "direct" else WITHOUT_MATRIX
            raise MemoryError(f"{str(error).partition(': ')[0]}: {instead}.") from error
        return found if found.converged else replace(found, message=self._shortfall(found))

    def _shortfall(self, found: Solution) -> str:
        others = [f"solver={name!r}" for name in ("direct", "nystrom_cg") if name != self.name]
        last = found.trace[-1]
        return (
            f"solver={self.name!r} stopped at a relative residual of {last.residual:.2g} after "
            f"{last.iteration:,} iterations, short of its tolerance, so the fit is not quite that "
            f"of the kernel and alpha: use {' or '.join(others)}, or a larger alpha."
        )


def chosen_solver(name: str | None, data: Block, memory_limit: int | None) -> NamedSolver:
    """Solver by name; None is direct where its matrix is allowed, else Nystrom centres."""
    if name is None:
        fits = direct_bytes(data.X, data.y) <= allowed_bytes(memory_limit)
        name = "direct" if fits else "nystrom"
    return NamedSolver(name, SOLVERS[name](memory_limit=memory_limit))


def streaming_solver(name: str | None, memory_limit: int | None) -> NystromDirect:
    """The solver for rows that are streamed."""
    if name not in (None, "nystrom"):
        raise ValueError(
            f"solver is {name!r}, which needs its rows in memory: give arrays, or solver='nystrom' "
            "for rows that are streamed."
        )
    return NystromDirect(memory_limit=memory_limit)
