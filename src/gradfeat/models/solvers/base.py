"""What the solvers share: a system, a solution with its trace and cost, iterative refinement.

Refinement is of any iteration in the type of the data, by residuals in float64.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ..base import Kernel


@dataclass(frozen=True, eq=False)
class System:
    """(K + alpha W^{-1}) c = y, K = k(X, X), W = diag(weights).

    Solvers work on the symmetric form (S K S + alpha I) b = S y, c = S b, S = W^{1/2}; there a row
    of weight zero has coefficient zero.

    `X, y` (n, d), (n, c): Points and right-hand sides.
    `alpha`: Penalty, >= 0.
    `weights` (n,), optional: Non-negative row weights (default: all one).
    `kept`: Where solvers leave tiles of K for whoever works with the same system afterwards.
    """

    kernel: Kernel
    X: Float[Tensor, "n d"]
    y: Float[Tensor, "n c"]
    alpha: float
    weights: Float[Tensor, " n"] | None = None
    kept: dict[tuple[int, int], Tensor] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha is {self.alpha}: give a number that is not negative.")
        if len(self.X) == 0 or self.y.ndim != 2 or len(self.y) != len(self.X):
            raise ValueError(
                f"X has shape {tuple(self.X.shape)} and y {tuple(self.y.shape)}: give X (n, d) "
                "and y (n, c) with at least one row."
            )

    @property
    def root_weights(self) -> Float[Tensor, "n 1"] | None:
        """S as a float64 column; None when no weights are given."""
        return None if self.weights is None else self.weights.double().sqrt()[:, None]


@dataclass(frozen=True)
class Progress:
    """Where a solver stands.

    `residual`: |S y - (S K S + alpha I) b| / |S y|, the largest over outputs (for Nystrom centres:
        of their preconditioned normal equations).
    `seconds`: Since the start of the solve.
    `passes`: Products with the n x n matrix so far (parts of it count by their share of n^2).
    `evaluations`: Kernel entries computed so far, in units of n^2: less than `passes` where
        symmetry or kept tiles spare them.
    `bytes`: Memory the solver has declared for itself so far (inputs not counted).
    """

    iteration: int
    residual: float
    seconds: float
    passes: float
    evaluations: float
    bytes: int


@dataclass(frozen=True, eq=False)
class Solution:
    """f(x) = sum_j c_j k(x, Z_j), and how it was reached.

    `Z, c` (m, d), float64 (m, c): Points and dual coefficients; Z is X but for Nystrom centres.
    `converged`: Whether the residual, measured in float64, is at the tolerance or below.
    `message`: What to know of the way (a fallback, a tolerance that was not reached); "" when
        nothing.
    `trace`: One an iteration; each measurement of the residual in float64 adds one.
    `index` (m,), optional: The rows of X that Z is; None: all.
    """

    Z: Float[Tensor, "m d"]
    c: Float[Tensor, "m c"]
    converged: bool
    message: str
    trace: tuple[Progress, ...]
    index: Tensor | None = None


#: Called with each progress, the points Z and coefficients c so far; True ends the solve there.
Watch = Callable[[Progress, Tensor, Tensor], bool]


class Solver(ABC):
    """A frozen specification of an algorithm and its limits.

    Where it has them, `tolerance` is on |S y - A b| / |S y|, `max_iter` are the iterations allowed,
    and `memory_limit` the bytes that the solve may take (None: 80 % of free memory).
    """

    @abstractmethod
    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; what is random comes from streams named under `seed`."""


class Meter:
    """Clock and counters of one solve, in units of the n x n kernel matrix."""

    def __init__(self, n: int) -> None:
        self.start = time.perf_counter()
        self.square = float(n) * n
        self.passes = 0.0
        self.evaluations = 0.0
        self.bytes = 0

    def evaluated(self, entries: int) -> None:
        self.evaluations += entries / self.square

    def multiplied(self, entries: int) -> None:
        self.passes += entries / self.square

    def progress(self, iteration: int, residual: float) -> Progress:
        seconds = time.perf_counter() - self.start
        return Progress(iteration, residual, seconds, self.passes, self.evaluations, self.bytes)


def safe_norms(V: Float[Tensor, "n c"]) -> Float[Tensor, " c"]:
    """Column norms, one where a column is zero: what to divide by."""
    norms = torch.linalg.vector_norm(V, dim=0)
    return torch.where(norms > 0, norms, 1.0)


#: Relative residual of one correction below which rounding of the type leads the iteration.
FLOOR = {torch.float32: 1e-5, torch.float64: 1e-12}

#: Relative residual above which no solution is one, where no tolerance was given.
UNSOLVED = 1e-2

#: Iterates of A x = r from x = 0: x, and the norms of r - A x by column where they are known.
Steps = Callable[[Tensor], Iterator[tuple[Tensor, Tensor | None]]]


class Stop(NamedTuple):
    """When a solve ends: at a relative residual, after iterations, where the caller says so."""

    tolerance: float | None
    max_iter: int
    watch: Watch | None


@runtime_checkable
class Equation(Protocol):
    """A linear equation whose residuals can be measured in float64; iterations are in `dtype`."""

    meter: Meter
    dtype: torch.dtype

    @property
    def Z(self) -> Tensor: ...

    @property
    def right_side(self) -> Float[Tensor, "n c"]: ...

    def residual(self, b: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]: ...

    #: The residual at b, at some rows alone.
    def residual_at(self, b: Float[Tensor, "n c"], rows: Tensor) -> Float[Tensor, "r c"]: ...

    #: Dual coefficients of the solution b.
    def coefficients(self, b: Float[Tensor, "n c"]) -> Float[Tensor, "m c"]: ...


class _Run:
    """Trace and stopping rule of one solve."""

    def __init__(self, equation: Equation, stop: Stop) -> None:
        self.equation = equation
        self.tolerance, self.max_iter, self.watch = stop
        self.trace: list[Progress] = []
        self.iteration = 0
        self.stopped = False

    def record(self, residual: float, b: Tensor) -> None:
        progress = self.equation.meter.progress(self.iteration, residual)
        self.trace.append(progress)
        if self.watch is not None:
            c = self.equation.coefficients(b)
            self.stopped |= bool(self.watch(progress, self.equation.Z, c))

    @property
    def over(self) -> bool:
        return self.stopped or self.iteration >= self.max_iter

    def correct(self, steps: Steps, b: Tensor, r: Tensor, size: Tensor) -> Tensor:
        """Iterate on the remainder r until it is small enough; b with the correction."""
        dtype, unit = self.equation.dtype, safe_norms(r)
        delta = torch.zeros_like(r, dtype=dtype)
        for delta, norms in steps((r / unit).to(dtype)):
            self.iteration += 1
            if norms is not None:
                left = norms.double()
                residual = float((left * unit / size).max())
                self.record(residual, b + delta.double() * unit)
                if residual <= 0.7 * (self.tolerance or 0.0) or float(left.max()) < FLOOR[dtype]:
                    break
            if self.over:
                break
        return b + delta.double() * unit


def refine(
    equation: Equation,
    steps: Steps,
    stop: Stop,
    *,
    advice: str,
    note: str = "",
    sample: Tensor | None = None,
) -> Solution:
    """b <- b + A^{-1}~ (y - A b), residuals in float64, until |y - A b| <= tolerance |y|.

    A correction that does not halve the residual is the last one, and one that raises it is not
    taken. `tolerance` None takes one correction as it is, which is no solution where more than 1 %
    is left. With `sample`, residuals are estimated from these rows, and measured on all only where
    that is too large and iterations are left.

    Source: Higham 2002, chapter 12 (iterative refinement in mixed precision).
    """
    run, tolerance = _Run(equation, stop), stop.tolerance
    r = equation.right_side
    size, b = safe_norms(r), torch.zeros_like(r)
    reached = float((torch.linalg.vector_norm(r, dim=0) / size).max())
    while not run.over and reached > (tolerance or 0.0):
        tried = run.correct(steps, b, r, size)
        if sample is not None and run.iteration > 0:
            guess = _estimate(equation.residual_at(tried, sample), len(tried), size)
            if (run.over and guess < reached) or guess <= (tolerance or UNSOLVED):
                b, reached = tried, guess
                run.record(reached, b)
                break
        r = equation.residual(tried)
        now = float((torch.linalg.vector_norm(r, dim=0) / size).max())
        before, better = reached, now < reached
        b, reached = (tried, now) if better else (b, reached)
        run.record(reached, b)
        if tolerance is None or not now < before / 2:
            break
    converged = reached <= (UNSOLVED if tolerance is None else tolerance)
    said = "" if converged or run.stopped else _shortfall(run, reached, advice)
    if run.stopped and not converged:
        said = f"stopped by the caller at a residual of {reached:.2g}."
    message = " ".join(part for part in (note, said) if part)
    return Solution(equation.Z, equation.coefficients(b), converged, message, tuple(run.trace))


def _estimate(part: Float[Tensor, "r c"], n: int, size: Float[Tensor, " c"]) -> float:
    """Relative norm of n rows, the largest over columns, from a sample of them."""
    norms = torch.linalg.vector_norm(part, dim=0) * (n / len(part)) ** 0.5
    return float((norms / size).max())


def _shortfall(run: _Run, reached: float, advice: str) -> str:
    many = run.iteration >= run.max_iter
    why = f"max_iter = {run.max_iter:,} was reached" if many else "rounding ended the progress"
    return (
        f"the relative residual is {reached:.2g} after {run.iteration:,} iterations and "
        f"{run.tolerance or UNSOLVED:.2g} was asked ({why}): {advice}."
    )
