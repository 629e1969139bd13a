"""A kernel machine on fewer centres and in float32, where that changes next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import solve_triangular

from ..maths.blocks import Block
from ..maths.limits import allowed_bytes
from ..maths.linear_algebra import smaller_gram
from ..maths.streams import stream
from .base import Kernel
from .predictors import KernelMachine, machine_of
from .solvers.base import Meter
from .solvers.low_rank import low_rank, upper_factor

#: Root mean square of a change that is none, in that of the residuals: .1 % of the squared error.
CHANGE = 0.03
#: Machines of no more centres keep them; jitter of normal equations, in their mean diagonal entry.
FEW, JITTER = 1000, 1e-10
#: Rows that a change is measured at, and rows that residuals are.
MEASURED, RESIDUALS = 1000, 2000
#: Rows a centre at least, and n q^2 of q centres at most.
ROWS_PER_CENTRE, WORK = 3, 2 * 10**10
#: So many times fewer centres show whether there is hope, which there is not beyond so much change.
FIRST, HOPELESS = 4, 3.0
#: Share of the bound that fewer centres may take, as float32 needs some too; more of them next.
ROOM, MORE = 0.8, 1.4


def quickened(
    f: KernelMachine, rows: Block, *, seed: int = 0, memory_limit: int | None = None
) -> KernelMachine:
    """The cheapest machine that predicts as f does; f in float64 where there is none.

    Tried are sums in float32, for rows in this type, and fewer centres (:func:`on_fewer_centres`).
    At 1,000 inputs that no fit has seen, rows moved along the way to their nearest ones by normal
    multiples of it, predictions may differ from those of f in float64 by 3 % of its residuals (root
    mean squares): the squared error changes by a thousandth. Where targets have no noise there are
    no residuals to speak of, and f stays as it is.

    `f`: A kernel ridge machine of these rows, or of some of them, with metric I.
    `memory_limit`: Bytes that factors may take; where they need more the centres stay.
    """
    exact, narrow = f.in_float64(), rows.X.dtype != torch.float64
    same, X = Certificate.of(exact, rows, seed), rows.X.double()
    machines = chain(on_fewer_centres(exact, X, same.bound, seed, memory_limit), [exact])
    tried = (h for g in machines for h in ((g.in_float32(), g) if narrow else (g,)))
    return next(filter(same, tried), exact)


@final
@dataclass(frozen=True, eq=False)
class Certificate:
    """Whether a function may stand for a machine: at made inputs it differs by a `bound` at most.

    `inputs`, `target`: At which the machine has which values; `w`: their weights. `bound`: Of the
    root mean square of differences, :data:`CHANGE` of the residuals'.
    """

    inputs: Float[Tensor, "m d"]
    target: Float[Tensor, "m c"]
    w: Float[Tensor, " m"]
    bound: float

    @classmethod
    def of(cls, f: KernelMachine, rows: Block, seed: int) -> Certificate:
        """Of a machine of these rows in float64."""
        order = torch.randperm(len(rows.X), generator=stream(seed, "rows of fewer centres"))
        some = rows.at(order[:RESIDUALS].to(rows.X.device)).double()
        inputs = between(some.X[:MEASURED], rows.X.double(), seed)
        bound = CHANGE * _size(some.y - f(some.X), some.w)
        return cls(inputs, f(inputs), some.w[:MEASURED], bound)

    def __call__(self, g: KernelMachine) -> bool:
        return _size(g(self.inputs) - self.target, self.w) <= self.bound


def between(X: Float[Tensor, "m d"], Z: Float[Tensor, "n d"], seed: int) -> Float[Tensor, "m d"]:
    """x + g (z - x), g normal and z the row of Z nearest to x that is another."""
    D = torch.cdist(X, Z)
    near = Z[D.masked_fill_(1e-9 * D.max() >= D, torch.inf).argmin(1)]
    g = torch.randn(len(X), 1, generator=stream(seed, "inputs between rows"), dtype=torch.float64)
    return X + g.to(X) * (near - X)


def _size(values: Float[Tensor, "n c"], w: Float[Tensor, " n"]) -> float:
    """Weighted root mean square, over all outputs."""
    return float((w @ values.square()).sum() / w.sum()) ** 0.5


def on_fewer_centres(
    f: KernelMachine, X: Float[Tensor, "n d"], bound: float, seed: int, memory_limit: int | None
) -> Iterator[KernelMachine]:
    """Machines on pivots among the rows, fitted to f there: the fewest that may be in the bound.

    Then more, and as many as there may be, of a quarter of them where that leaves little enough.
    None for a machine of few centres, where memory allows no factor, and where a quarter says, by
    the law of powers, that all would not do.
    """
    n, m = len(X), len(f.Z)
    most = min(n // ROWS_PER_CENTRE, m // 2, int((WORK / n) ** 0.5))
    if m <= FEW or 8 * (2 * n + 3 * most) * most > allowed_bytes(memory_limit):
        return
    values = f(X) - f.offset
    few = PivotFit.of(f.kernel, X, values, most // FIRST, seed)
    last = len(few.chosen)
    if few.change(last) ** 2 > HOPELESS * bound * few.change(last // FIRST + 1):
        return
    if few.change(-1) <= ROOM * bound:
        yield from few.machines(f, X, ROOM * bound)
    yield from PivotFit.of(f.kernel, X, values, most, seed).machines(f, X, ROOM * bound)


@final
@dataclass(frozen=True, eq=False)
class PivotFit:
    """Least squares of values at rows on the first q of k pivots, for every q.

    With F F^T, F = K_nk L^{-T}, the kernel of pivots by randomly pivoted Cholesky and T^T T =
    F^T F, what the first q leave of the values v is |v|^2 - sum_{i <= q} (T^{-T} F^T v)_i^2.

    `L` (k, k): Lower triangle. `T` (k, k): Upper one. `theta` (k, c): T^{-T} F^T v. `left` (k,):
    What is left of each number of pivots, as mean squares. `rows`: n.

    Source: Chen, Epperly, Tropp & Webber 2023 (arXiv 2207.06503), for the pivots.
    """

    chosen: Tensor
    L: Float[Tensor, "k k"]
    T: Float[Tensor, "k k"]
    theta: Float[Tensor, "k c"]
    left: Float[Tensor, " k"]
    rows: int

    @classmethod
    def of(
        cls, kernel: Kernel, X: Float[Tensor, "n d"], v: Float[Tensor, "n c"], most: int, seed: int
    ) -> PivotFit:
        n, v = len(X), v.double()
        F, chosen = low_rank(kernel, X, None, most, seed, Meter(n))
        G = smaller_gram(F)
        T = upper_factor(G, JITTER * float(G.diagonal().mean()))
        theta = solve_triangular(T.T, F.T @ v, upper=False)
        left = (v.square().sum() - theta.square().sum(1).cumsum(0)).clamp(min=0) / n
        return cls(chosen, F[chosen], T, theta, left, n)

    def change(self, q: int) -> float:
        """Root mean square of what q pivots leave at other rows, by GCV."""
        return float(self.left[q - 1]) ** 0.5 / (1 - q / self.rows)

    def enough(self, bound: float) -> int:
        """The least number of pivots that leaves no more than this, or all."""
        q = torch.arange(1, len(self.left) + 1, device=self.left.device)
        within = self.left.sqrt() <= bound * (1 - q / self.rows)
        return int(within.to(q).argmax()) + 1 if bool(within.any()) else len(q)

    def coefficients(self, q: int) -> Float[Tensor, "q c"]:
        """Of the expansion in the first q pivots."""
        w = solve_triangular(self.T[:q, :q], self.theta[:q], upper=True)
        return solve_triangular(self.L[:q, :q].T, w, upper=True)

    def machines(
        self, f: KernelMachine, X: Float[Tensor, "n d"], bound: float
    ) -> Iterator[KernelMachine]:
        """In the place of f: on the fewest pivots for a bound, on more, and on all."""
        first, most = self.enough(bound), len(self.chosen)
        for q in dict.fromkeys([first, min(most, int(MORE * first)), most]):
            Z, c = X[self.chosen[:q]], self.coefficients(q)
            yield machine_of(f.kernel, Z, c, f.offset.double())
