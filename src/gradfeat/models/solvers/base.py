"""The interface of the solvers: a system, a solution with its trace, and what they cost."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

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
