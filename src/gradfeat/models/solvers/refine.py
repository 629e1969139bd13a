"""Iterative refinement: any iteration in the type of the data, residuals in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from .base import Meter, Progress, Solution, Watch, safe_norms

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
