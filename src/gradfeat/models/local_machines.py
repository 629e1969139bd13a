"""A kernel machine of many rows, and machines of further rows for what it leaves, by region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from ..maths.limits import allowed_bytes, row_blocks
from ..maths.linear_algebra import widest_direction
from ..maths.statistics.sample import RowSample
from ..maths.streams import stream
from ..rows.rows import Rows, of_block
from .base import Kernel, OneStage, Predictor
from .fewer_centres import Certificate, quickened
from .kernel_ridge import KernelRidge
from .partition import Partition, cut_rows
from .predictors import KernelMachine, machine_of
from .solvers.base import Meter, System
from .solvers.direct import TILES, Adaptive
from .solvers.nystrom_cg import NystromCG
from .solvers.nystrom_direct import NystromDirect, pivots
from .solvers.tiles import tile_side

#: Rows of one machine at most.
ONE_MACHINE = 20_000
#: Rows of a leaf at most, and n times their square: minutes of one thread; fewer rows make none.
LEAF_ROWS, WORK, FEWEST = 5000, 3 * 10**12, 500
#: Share of a node's rows that belong to both of its sides, and what leaves have of it at most.
OVERLAP, SHARED = 0.1, 1.5
#: Rows of those that stream that are gathered for leaves, and their numbers, at most.
GATHERED, NUMBERS = 250_000, 2**26
#: Penalties of the leaves, in that of all rows, and where they are compared.
PENALTIES, CHOICE_LEAVES, CHOICE_ROWS = (1.0, 10.0, 100.0), 3, 1500
#: Rows beyond which a kernel is asked whether so many centres exhaust it: with fewer, the question
#: costs all fits more time than it saves those whose kernel is exhausted.
SOLVED_WHOLE, EXHAUSTED_BY = 6000, 1000


@final
@dataclass(frozen=True, eq=False)
class LocalMachines(Predictor):
    """f(x) = base(x) + sum_l s_l(x) sum_i c_li k(x, z_li), s_l the shares of a tree's leaves.

    Continuous with its gradient where k is: neighbours pass into each other. Sums of leaves are in
    the float type of the base's: what they add is smaller than what the base has.

    `base`: Without the leaves.
    `kernel`: k of the leaves.
    `Z, c` (m, r), (m, k): Points and coefficients of all leaves, one leaf after another.
    `starts` (K + 1,): Leaf l has the points starts[l] to starts[l + 1].
    """

    base: KernelMachine
    kernel: Kernel
    tree: Partition
    Z: Float[Tensor, "m r"]
    c: Float[Tensor, "m k"]
    starts: Tensor

    @cached_property
    def _leaves(self) -> list[KernelMachine]:
        Z, c = self.Z.to(self.base.Z.dtype), self.c.to(self.base.Z.dtype)
        none = torch.zeros_like(self.base.offset)
        return [
            machine_of(self.kernel, Z[a:b], c[a:b], none) for a, b in pairwise(self.starts.tolist())
        ]

    def scratch_per_row(self) -> int:
        """Of the larger of the base and a leaf, in float64."""
        k, r = self.c.shape[1], self.Z.shape[1]
        largest = int(self.starts.diff().max()) if len(self.starts) > 1 else 0
        leaf = (self.kernel.scratch * largest + (3 * k + 2) * r) * 8
        return max(leaf, self.base.scratch_per_row())

    def __call__(self, X: Float[Tensor, "n r"]) -> Float[Tensor, "n k"]:
        out = self.base(X)
        for leaf, rows, share, _ in self.tree.parts(X):
            sums = self._leaves[leaf](X[rows])
            out[rows] += share[:, None] * sums
        return out

    def gradient(self, X: Float[Tensor, "n r"]) -> Float[Tensor, "n k r"]:
        """Of each leaf's part: s_l grad f_l + f_l grad s_l."""
        J = self.base.gradient(X)
        for leaf, rows, share, slope in self.tree.parts(X):
            one = self._leaves[leaf]
            for few in row_blocks(len(rows), self.scratch_per_row()):
                at = rows[few]
                J[at] += share[few, None, None] * one.gradient(X[at])
                J[at] += one(X[at])[:, :, None] * slope[few, None, :]
        return J

    def tensors(self) -> dict[str, Tensor]:
        tree = self.tree
        return {
            **{f"base.{name}": t for name, t in self.base.tensors().items()},
            "directions": tree.directions,
            "thresholds": tree.thresholds,
            "widths": tree.widths,
            "left": tree.left,
            "Z": self.Z,
            "c": self.c,
            "starts": self.starts,
        }

    def spec(self) -> dict[str, Any]:
        kernel = dict(self.kernel.spec())
        return {"type": "LocalMachines", "base": self.base.spec(), "kernel": kernel}


@final
@dataclass(frozen=True)
class LocalRidge(OneStage[KernelMachine | LocalMachines]):
    """Kernel ridge of as many rows as one machine takes, and of the others leaf by leaf.

    The first machine sees `one_machine` rows at random, or as many as memory allows. What it leaves
    of the other rows, which it has not seen, is fitted by one more machine in each leaf of a tree
    (:class:`Partition`); their penalty is a multiple of alpha, by leave-one-out errors in some of
    them, and where none of the multiples helps there are no leaves. So further rows do not harm,
    and time grows with n.

    Where 1,000 centres exhaust the kernel but for rounding of float64, as they do a smooth one in
    few directions, they are a machine of all rows. (Of float32 that would be too little: what its
    rounding leaves, times the rows, is above most penalties.)

    `alpha`: Penalty of the first machine.
    `one_machine`: Rows of the first machine at most.
    `leaf_rows`: Rows of a leaf at most, but for the overlap; fewer where n times their square says
        so (beyond 120,000 rows) or memory.
    `fewest`: With fewer other rows there are no leaves.
    `penalties`: Multiples of alpha to choose from; a single one is taken.
    `memory_limit`: Bytes that kernel matrices may take (None: 80 % of free memory).

    Source: Beaglehole et al. 2025 (xRFM: machines in the leaves of a tree).

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Laplace
    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(0, 1, 200).double()[:, None]
    >>> f = LocalRidge(Laplace(0.5), 1e-3).fit(in_memory(X, X**2))
    >>> f.spec()["type"], bool((f(X) - X**2).abs().max() < 1e-2)
    ('KernelMachine', True)
    """

    kernel: Kernel
    alpha: float
    one_machine: int = ONE_MACHINE
    leaf_rows: int = LEAF_ROWS
    fewest: int = FEWEST
    penalties: Sequence[float] = PENALTIES
    memory_limit: int | None = None

    def fit(self, rows: Rows, *, seed: int = 0) -> KernelMachine | LocalMachines:
        """One stage. Of streamed rows those that are :func:`gathered`, unless centres exhaust k."""
        sample = gathered(rows, seed).sample
        block = rows.block("leaves") if sample is None else sample
        if len(block.X) > SOLVED_WHOLE:
            few = NystromDirect(EXHAUSTED_BY, memory_limit=self.memory_limit)
            if self._exhausted(block.double(), few, seed):
                return self._on_centres(rows, block, few, seed)
        n = len(block.X)
        most = affordable_rows(self.kernel, block, self.one_machine, self.memory_limit)
        order = torch.randperm(n, generator=stream(seed, "rows of one machine"))
        one, others = order[:most], order[most:]
        some = slice(None) if n <= most else one
        whole = Adaptive(memory_limit=self.memory_limit)
        found = self._rounded(block, some, whole, seed)
        if found is None:
            first = block.at(some)
            f = KernelRidge(self.kernel, self.alpha, whole).fit(of_block(first), seed=seed)
            found = self._quick(f, first, seed), block
        base, block = found
        if len(others) < self.fewest:
            return base
        return self._with_leaves(base, block.at(others), seed)

    def _rounded(
        self, block: Block, one: slice | Tensor, solver: Adaptive, seed: int
    ) -> tuple[KernelMachine, Block] | None:
        """The machine of some rows, and all rows, rounded; where it is certified as the other.

        Where there is no noise it is not certified: what rounding adds to targets is not nothing.
        """
        kernel, X = self.kernel.rounded(block.X)
        if kernel is self.kernel:
            return None
        rounded = replace(block, X=X)
        first = rounded.at(one)
        f = KernelRidge(kernel, self.alpha, solver).fit(of_block(first), seed=seed).in_float64()
        certified = Certificate.of(replace(f, kernel=self.kernel), first, seed)(f)
        return (self._quick(f, first, seed), rounded) if certified else None

    def _quick(self, f: KernelMachine, rows: Block, seed: int) -> KernelMachine:
        return quickened(f, rows, seed=seed, memory_limit=self.memory_limit)

    def _on_centres(self, rows: Rows, block: Block, few: NystromDirect, seed: int) -> KernelMachine:
        """All rows, on few centres; those that stream are in their own float type, on more."""
        if rows.held is not None:
            wide = of_block(block.double())
            return KernelRidge(self.kernel, self.alpha, few).fit(wide, seed=seed)
        more = NystromDirect(memory_limit=self.memory_limit)
        return self._quick(
            KernelRidge(self.kernel, self.alpha, more).fit(rows, seed=seed), block, seed
        )

    def _exhausted(self, block: Block, few: NystromDirect, seed: int) -> bool:
        """Whether so many pivots leave rounding alone of the kernel."""
        system = System(self.kernel, block.X, block.y, self.alpha)
        m = few.count(system)
        return len(pivots(system, m, seed, Meter(len(block.X)))) < m

    def leaves(self, X: Float[Tensor, "n d"]) -> int:
        n, entry = len(X), X.element_size()
        tiles = TILES * tile_side(X) ** 2 * entry
        fit = max(0.0, allowed_bytes(self.memory_limit) - tiles) / entry
        most = min(self.leaf_rows, int((WORK / n) ** 0.5), int(fit**0.5 / SHARED))
        return -(-n // max(1, most))

    def _with_leaves(
        self, base: KernelMachine, block: Block, seed: int
    ) -> KernelMachine | LocalMachines:
        left = block.y - base(block.X)
        tree, leaves = cut_rows(block.X, block.w, self.leaves(block.X), OVERLAP)
        rest = replace(block, y=left)
        parts = [rest.at(rows) for rows in leaves]
        alpha = self._penalty(base.kernel, parts)
        if alpha is None:
            return base
        solver = Adaptive(most=int(2 * SHARED * LEAF_ROWS), memory_limit=self.memory_limit)
        points, coefficients = [], []
        for part in parts:
            system = System(base.kernel, part.X, part.y, alpha, part.w)
            solution = solver.solve(system, seed=seed)
            points.append(solution.Z)
            coefficients.append(solution.c.to(block.X.dtype))
        starts = torch.tensor([0, *(len(Z) for Z in points)]).cumsum(0)
        c = torch.cat(coefficients)
        return LocalMachines(base, base.kernel, tree, torch.cat(points), c, starts)

    def _penalty(self, kernel: Kernel, parts: Sequence[Block]) -> float | None:
        """Of least squared leave-one-out error in some leaves.

        None, for leaves are worth nothing, where that error is not smaller than without them by
        more than a standard error.
        """
        alphas = [factor * self.alpha for factor in self.penalties]
        if len(alphas) == 1:
            return alphas[0]
        chosen = [parts[i] for i in range(0, len(parts), -(-len(parts) // CHOICE_LEAVES))]
        dense = [_middle(part, CHOICE_ROWS) for part in chosen]
        nothing = torch.cat([part.w * part.y.square().sum(1) for part in dense])

        def gains(alpha: float) -> Tensor:
            errors = [part.w * leave_one_out(kernel, part, alpha) for part in dense]
            return nothing - torch.cat(errors)

        gain = [gains(alpha) for alpha in alphas]
        best = max(range(len(alphas)), key=lambda i: float(gain[i].sum()))
        error = float(gain[best].std()) * len(nothing) ** 0.5
        return alphas[best] if float(gain[best].sum()) > error else None


def gathered(rows: Rows, seed: int) -> Rows:
    """Streamed rows with a sample of as many as leaves may have, in one more pass.

    Rows in memory, and those whose sample is large enough, are returned as they are.
    """
    if rows.held is not None:
        return rows
    none = rows.template
    most = min(GATHERED, NUMBERS // none.X.shape[1])
    has = 0 if rows.sample is None else len(rows.sample.X)
    if has >= min(most, int(rows.moments().count)):
        return rows
    found = rows.collect(RowSample(most, seed), "rows for leaves")
    return rows.with_sample(Block(found.X.to(none.X), found.y.to(none.y), found.w.to(none.w)))


def affordable_rows(kernel: Kernel, block: Block, most: int, memory_limit: int | None) -> int:
    """At most so many rows of a block, and as many as an iteration on the kernel matrix allows.

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Laplace
    >>> rows = Block(torch.zeros(9000, 2), torch.zeros(9000, 1), torch.ones(9000))
    >>> affordable_rows(Laplace(1.0), rows, 8000, 10**9), affordable_rows(
    ...     Laplace(1.0), rows, 8000, 20 * 10**6) < 8000
    (8000, True)
    """
    n, allowed = min(most, len(block.X)), allowed_bytes(memory_limit)
    while n > FEWEST:
        system = System(kernel, block.X[:n], block.y[:n], 1.0)
        if NystromCG(rank=int(3 * n**0.5)).bytes(system) <= allowed:
            break
        n = int(0.8 * n)
    return n


def _middle(part: Block, most: int) -> Block:
    """At most so many rows, as dense as all: the middle ones along the widest direction."""
    X = part.X.double()
    place = (X @ widest_direction(X, part.w.double())).argsort()
    first = max(0, (len(place) - most) // 2)
    return part.at(place[first : first + most]).double()


def leave_one_out(kernel: Kernel, part: Block, alpha: float) -> Float[Tensor, " n"]:
    """|y_i - f_i(x_i)|^2, f_i kernel ridge without row i (no intercept); inf where it is singular.

    With G = (K + alpha W^{-1})^{-1}: y_i - f_i(x_i) = (G y)_i / G_ii.
    """
    A = kernel(part.X, part.X)
    A.diagonal().add_(alpha / part.w)
    L, failed = torch.linalg.cholesky_ex(A)
    if failed:
        return torch.full_like(part.w, math.inf)
    G = torch.cholesky_inverse(L)
    return ((G @ part.y) / G.diagonal()[:, None]).square().sum(1)
