"""Recursive feature machines: kernel ridge in a metric learned from its own gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..maths.gradients import agop, outer_product
from ..maths.streams import stream
from ..rows.rows import Rows
from .base import Kernel, unit_weights
from .kernel_machine import KernelMachine, apply_metric
from .nystrom_rows import NystromRows, centres_of, first_rows, sampled
from .rows_learner import RowsLearner
from .solvers.adaptive import Adaptive
from .solvers.base import Solution, Solver, System
from .solvers.nystrom_direct import CANDIDATES, NystromDirect
from .solvers.tiles import own_tiles

#: The solver unless another is given.
ADAPTIVE = Adaptive()
#: The solver of the rounds before the last.
ROUGH = Adaptive(tolerance=1e-2, few=4000)
#: Entries of the gradients at all rows that may be held at once.
LARGEST = 2**26


@final
@dataclass(frozen=True)
class RFM(RowsLearner[KernelMachine]):
    """Repeat from M = I: (K_M + alpha I) c = y - mean y; M <- AGOP of the fit; refit.

    K_M(x, z) = k(|x - z|_M), |u|_M^2 = u^T M u, AGOP = (1/n) sum_i grad f(x_i) grad f(x_i)^T
    summed over outputs.

    Parameters
    ----------
    kernel : Kernel
        k.
    alpha : float
        Penalty of every solve.
    n_iter : int
        Updates of M; 0 is kernel ridge.
    diagonal : bool
        Keep only the diagonal of the AGOP.
    agop_power : float
        M = AGOP^power before normalisation.
    centre_gradients : bool
        Use the covariance of the gradients.
    normalisation : {"trace", "max"}
        Scale M to trace d (the bandwidth keeps its meaning) or to largest entry 1. A zero or
        non-finite AGOP leaves M as it was.
    agop_rows : int, optional
        Average over a random subset of this many rows (default: all); of rows passed over, over so
        many of the sample.
    metric_rows : int, optional
        Learn M from a random subset of so many rows (default: all); the last round, after
        `n_iter` updates, is fitted to all rows. Of rows passed over, they are those of the sample,
        and the rounds take no pass.
    solver : Solver
        How the last round is solved, within which memory. Nystrom centres make it a machine of
        fewer points for any number of rows, and are needed for rows passed over.
    rough : Solver or None
        How the rounds before are solved, to fewer digits: those of an AGOP. None: as the last
        (and so for an Adaptive on rows passed over).

    Raises
    ------
    MemoryError
        Before anything is allocated, when the solver's matrices do not fit.

    Source: Rad24, Algorithm 1 (RFM).

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Laplace
    >>> X = torch.randn(200, 5, generator=torch.Generator().manual_seed(0)).double()
    >>> f = RFM(Laplace(4.0), alpha=1e-3, n_iter=3).fit(X, X[:, :1] ** 2)
    >>> bool(f.M[0, 0] > 0.9 * f.M.trace())
    True
    """

    kernel: Kernel
    alpha: float
    n_iter: int = 5
    diagonal: bool = False
    agop_power: float = 1.0
    centre_gradients: bool = False
    normalisation: Literal["trace", "max"] = "trace"
    agop_rows: int | None = None
    metric_rows: int | None = None
    solver: Solver = ADAPTIVE
    rough: Solver | None = ROUGH

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[KernelMachine]:
        """The machines after 0, 1, ..., `n_iter` updates; stop iterating to stop early."""
        for _, machine in self._rounds(X, y, weights, seed):
            yield machine()

    def metrics(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[Tensor]:
        """The square roots A of M after 0, 1, ..., `n_iter` updates, without the last solve."""
        for A, _ in self._rounds(X, y, weights, seed):
            yield A

    def fit_rows(self, rows: Rows, *, sample: Block | None = None, seed: int = 0) -> KernelMachine:
        """Nystrom centres in every round: two passes an update, and one for the last fit.

        Raises
        ------
        ValueError
            For a solver without centres.
        MemoryError
            When not even the matrices of ten centres fit.
        """
        solver = centres_of(self.solver)
        data = self.sampled(rows, sample, seed)
        return data.ridge(self.kernel, self.alpha, solver, self.metric(data), "last fit")

    def sampled(self, rows: Rows, sample: Block | None, seed: int) -> NystromRows:
        """Rows with a sample that is large enough, unless one is given."""
        size = max(CANDIDATES, self.agop_rows or 0, self.metric_rows or 0)
        return sampled(rows, sample, size, seed)

    def metric(self, data: NystromRows) -> Tensor:
        """Square root A of M after `n_iter` updates, from passes over rows; no last solve."""
        if self.metric_rows is not None:
            few = first_rows(data.sample, self.metric_rows)
            inner = replace(self, metric_rows=None)
            *_, A = inner.metrics(few.X, few.y, weights=few.w, seed=data.seed)
            return A
        rough, A = self._rough(), data.sample.X.new_ones(data.sample.X.shape[1])
        for update in range(self.n_iter):
            name = f"round {update + 1} of {self.n_iter}"
            machine = data.ridge(self.kernel, self.alpha, rough, A, f"{name}: fit")
            inner = data.agop(
                machine, self.agop_rows, centre=self.centre_gradients, label=f"{name}: gradients"
            )
            A = self._next_metric(A.double(), inner).to(A)
        return A

    def _rough(self) -> NystromDirect:
        """How rounds are solved in passes: an Adaptive names no centres, the last solver may."""
        match self.rough:
            case None | Adaptive():
                return centres_of(self.solver)
            case rough:
                return centres_of(rough)

    def _rounds(
        self, X: Tensor, y: Tensor, weights: Tensor | None, seed: int
    ) -> Iterator[tuple[Tensor, Callable[[], KernelMachine]]]:
        """A and, where it is called for, the machine in its metric."""
        every, subset = (X, y, weights), _some(self.metric_rows, len(X), "metric rows", seed)
        A = X.new_ones(X.shape[1])
        for update in range(self.n_iter + 1):
            last = update == self.n_iter
            X, y, weights = every if last or subset is None else _rows(every, subset)
            w = unit_weights(X, weights)
            offset = (w @ y) / w.sum()
            rows = _some(self.agop_rows, len(X), "agop rows", seed)
            XA, kept = apply_metric(X, A), None if last else {}
            system = System(self.kernel, XA, y - offset, self.alpha, weights, kept)
            solver = self.solver if last or self.rough is None else self.rough
            solve = cache(partial(solver.solve, system, seed=seed))

            yield A, partial(self._machine, X, A, offset, solve)
            if not last:
                A = self._next_metric(A, self._agop(system, solve(), w, rows))

    def _machine(
        self, X: Tensor, A: Tensor, offset: Tensor, solve: Callable[[], Solution]
    ) -> KernelMachine:
        solution = solve()
        Z = X if solution.index is None else X[solution.index]
        return KernelMachine(self.kernel, Z, solution.c.to(X.dtype), offset, A)

    def _agop(self, system: System, solution: Solution, w: Tensor, rows: Tensor | None) -> Tensor:
        """AGOP at `rows` (None: all) in the transformed coordinates."""
        X, c = system.X, solution.c.to(system.X.dtype)
        if rows is None and solution.index is None and c.shape[1] * X.numel() <= LARGEST:
            tiles = own_tiles(system)
            return outer_product(
                self.kernel.own_gradient(X, c, tiles), w, centre=self.centre_gradients
            )
        return agop(
            lambda block: self.kernel.gradient(block, solution.Z, c),
            X if rows is None else X[rows],
            weights=w if rows is None else w[rows],
            centre=self.centre_gradients,
            bytes_per_row=self.kernel.scratch * len(solution.Z) * X.element_size(),
        )

    def _next_metric(self, A: Tensor, inner: Tensor) -> Tensor:
        """Square root of the normalised AGOP^power; `inner` is the AGOP in coordinates A x."""
        G = apply_metric(apply_metric(inner, A).T, A)
        size = G.diagonal().sum()
        if not (torch.isfinite(size) and size > 0):
            return A
        if self.diagonal:
            m = (G.diagonal() / size).clamp(min=0) ** self.agop_power
            return (m * self._scale(m, m)).sqrt()
        e, V = torch.linalg.eigh((G + G.T) / (2 * size))
        e = e.clamp(min=0) ** self.agop_power
        e = e * self._scale(e, (V * e) @ V.T)
        return ((V * e.sqrt()) @ V.T).contiguous()

    def _scale(self, spectrum: Tensor, M: Tensor) -> Tensor:
        if self.normalisation == "max":
            return 1 / M.abs().max()
        return len(spectrum) / spectrum.sum()


def _some(most: int | None, n: int, name: str, seed: int) -> Tensor | None:
    """At most so many of n rows, by the stream of that name; None: all."""
    if most is None or most >= n:
        return None
    return torch.randperm(n, generator=stream(seed, name))[:most]


def _rows(
    data: tuple[Tensor, Tensor, Tensor | None], rows: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    X, y, weights = data
    return X[rows], y[rows], None if weights is None else weights[rows]
