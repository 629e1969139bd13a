"""Recursive feature machines: kernel ridge in a metric learned from its own gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, final

import torch
from torch import Tensor

from ..maths.blocks import Block
from ..maths.gradients import OuterProducts, Whole, agop, outer_product, thin_products
from ..maths.streams import stream
from ..rows.rows import Rows, of_block
from .base import Kernel, Staged
from .nystrom_rows import NystromRows, centres_of, sampled
from .predictors import KernelMachine, apply_metric, expansion
from .solvers.base import Solution, Solver, System
from .solvers.direct import Adaptive
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
class RFM(Staged[KernelMachine]):
    """Repeat from M = I: (K_M + alpha I) c = y - mean y; M <- AGOP of the fit; refit.

    K_M(x, z) = k(|x - z|_M), |u|_M^2 = u^T M u, AGOP = (1/n) sum_i grad f(x_i) grad f(x_i)^T summed
    over outputs.

    `alpha`: Penalty of every solve.
    `n_iter`: Updates of M; 0 is kernel ridge.
    `diagonal`: Keep only the diagonal of the AGOP.
    `agop_power`: M = AGOP^power before normalisation.
    `centre_gradients`: Use the covariance of the gradients.
    `normalisation`: Scale M to trace d (the bandwidth keeps its meaning) or to largest entry 1. A
        zero or non-finite AGOP leaves M as it was.
    `agop_rows`: Average over a random subset of so many rows (of the sample, where rows stream).
    `metric_rows`: Learn M from a random subset of so many rows, by `n_iter` updates; the last round
        is fitted to all. Where rows stream they are those of the sample, and take no pass.
    `first_metric_rows`: The last update sees all metric rows, each before half of those of the
        next, but so many at least. First updates need few digits.
    `solver`: How the last round is solved, within which memory. Nystrom centres make it a machine
        of fewer points for any number of rows, and are needed for streamed rows.
    `rough`: How the rounds before are solved, to fewer digits: those of an AGOP. None: as the last
        (and so for an Adaptive on streamed rows).

    Source: Rad24, Algorithm 1 (RFM).

    >>> from gradfeat.models.kernels.radial import Laplace
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(200, 5, generator=torch.Generator().manual_seed(0)).double()
    >>> f = RFM(Laplace(4.0), alpha=1e-3, n_iter=3).fit(in_memory(X, X[:, :1] ** 2))
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
    first_metric_rows: int | None = None
    solver: Solver = ADAPTIVE
    rough: Solver | None = ROUGH

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[KernelMachine]:
        """The machines after 0, 1, ..., `n_iter` updates; stop iterating to stop early.

        Of streamed rows the last one alone: Nystrom centres in every round, two passes an update
        and one for the last fit.
        """
        if rows.held is None:
            solver, data = centres_of(self.solver), self.sampled(rows, seed)
            *_, A = self._streamed_metrics(data)
            yield data.ridge(self.kernel, self.alpha, solver, A, "last fit")
            return
        for X, A, offset, solve in self._rounds(rows.held, seed):
            solution = solve()
            Z = X if solution.index is None else X[solution.index]
            size = float((rows.held.y - offset).square().mean(0).max() ** 0.5)
            yield expansion(self.kernel, Z, solution.c, offset, A, size)

    def metrics(self, rows: Rows, *, seed: int = 0) -> Iterator[Tensor]:
        """The square roots A of M after 0, 1, ..., `n_iter` updates, without the last solve."""
        if rows.held is None:
            yield from self._streamed_metrics(self.sampled(rows, seed))
            return
        for _, A, _, _ in self._rounds(rows.held, seed):
            yield A

    def sampled(self, rows: Rows, seed: int) -> NystromRows:
        """Streamed rows with a sample that is large enough, unless they carry one."""
        size = max(CANDIDATES, self.agop_rows or 0, self.metric_rows or 0)
        return sampled(rows, size, seed)

    def _streamed_metrics(self, data: NystromRows) -> Iterator[Tensor]:
        """:meth:`metrics` from passes over rows, or from the sample where `metric_rows` says so."""
        if self.metric_rows is not None:
            few = of_block(data.sample.at(slice(self.metric_rows)))
            yield from replace(self, metric_rows=None).metrics(few, seed=data.seed)
            return
        rough, A = self._rough(), data.sample.X.new_ones(data.sample.X.shape[1])
        yield A
        for update in range(self.n_iter):
            name = f"round {update + 1} of {self.n_iter}"
            machine = data.ridge(self.kernel, self.alpha, rough, A, f"{name}: fit")
            inner = data.agop(
                machine, self.agop_rows, centre=self.centre_gradients, label=f"{name}: gradients"
            )
            A = self._next_metric(A.double(), Whole(inner)).to(A)
            yield A

    def _rough(self) -> NystromDirect:
        """How rounds are solved in passes: an Adaptive names no centres, the last solver may."""
        match self.rough:
            case None | Adaptive():
                return centres_of(self.solver)
            case rough:
                return centres_of(rough)

    def _rounds(
        self, every: Block, seed: int
    ) -> Iterator[tuple[Tensor, Tensor, Tensor, Callable[[], Solution]]]:
        """Of each round the rows X, A, the offset, and what solves it where it is called for."""
        subset = _some(self.metric_rows, len(every.X), "metric rows", seed)
        A = every.X.new_ones(every.X.shape[1])
        for update in range(self.n_iter + 1):
            last = update == self.n_iter
            block = every if last else self._taught(every, subset, update)
            X, y, w = block.X, block.y, block.w
            offset = (w @ y) / w.sum()
            rows = _some(self.agop_rows, len(X), "agop rows", seed)
            XA, kept = apply_metric(X, A), None if last else {}
            system = System(self.kernel, XA, y - offset, self.alpha, w, kept)
            solver = self.solver if last or self.rough is None else self.rough
            solve = cache(partial(solver.solve, system, seed=seed))

            yield X, A, offset, solve
            if not last:
                A = self._next_metric(A, self._agop(system, solve(), w, rows))

    def _taught(self, every: Block, subset: Tensor | None, update: int) -> Block:
        most = len(every.X) if subset is None else len(subset)
        size = most
        if self.first_metric_rows is not None:
            size = min(most, max(self.first_metric_rows, most >> (self.n_iter - 1 - update)))
        return every.at(slice(size) if subset is None else subset[:size])

    def _agop(
        self, system: System, solution: Solution, w: Tensor, rows: Tensor | None
    ) -> OuterProducts:
        """AGOP at `rows` (None: all) in the transformed coordinates."""
        X, c, centre = system.X, solution.c.to(system.X.dtype), self.centre_gradients
        if rows is None and solution.index is None and c.shape[1] * X.numel() <= LARGEST:
            J = self.kernel.own_gradient(X, c, own_tiles(system))
            if len(X) * c.shape[1] < X.shape[1]:
                return thin_products(J, w, centre=centre)
            return Whole(outer_product(J, w, centre=centre))
        G = agop(
            lambda block: self.kernel.gradient(block, solution.Z, c),
            X if rows is None else X[rows],
            weights=w if rows is None else w[rows],
            centre=centre,
            bytes_per_row=self.kernel.scratch * len(solution.Z) * X.element_size(),
        )
        return Whole(G)

    def _next_metric(self, A: Tensor, inner: OuterProducts) -> Tensor:
        """Square root of the normalised AGOP^power; `inner` is the AGOP in coordinates A x."""
        G = inner.turned(lambda W: apply_metric(W, A))
        diagonal = G.diagonal()
        if not (torch.isfinite(diagonal.sum()) and diagonal.sum() > 0):
            return A
        if self.diagonal:  # powers are of shares of the largest, so that one of them stays
            m = (diagonal / diagonal.max()).clamp(min=0) ** self.agop_power
            return (m * (1 / m.max() if self.normalisation == "max" else len(m) / m.sum())).sqrt()
        values, V = G.spectrum()
        return self._root(values[: V.shape[1]] / values.max(), V)

    def _root(self, e: Tensor, V: Tensor) -> Tensor:
        """Square root of V diag(e^power) V^T, normalised; a thin one where V is."""
        d, k = V.shape
        e = e**self.agop_power
        whole = self.normalisation == "max"
        e = e / ((V * e) @ V.T).abs().max() if whole else e * (d / e.sum())
        if k < d:
            return (V * e.sqrt())[:, e > 0].contiguous()
        return ((V * e.sqrt()) @ V.T).contiguous()


def _some(most: int | None, n: int, name: str, seed: int) -> Tensor | None:
    """At most so many of n rows, by the stream of that name; None: all."""
    if most is None or most >= n:
        return None
    return torch.randperm(n, generator=stream(seed, name))[:most]
