"""Nystrom centres solved in one pass over the rows: no iteration, no matrix with n columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import solve_triangular

from ...maths.limits import BLOCK_BYTES, allowed_bytes, refuse_beyond, rows_per_block
from ...maths.streams import stream
from .base import Meter, Solution, Solver, System, Watch, safe_norms
from .low_rank import low_rank, upper_factor

#: Rows among which pivots are drawn.
CANDIDATES = 20_000
#: Centres at most, unless asked for, and n m^2: minutes of one thread.
MOST, WORK = 2000, 10**12
#: m x m matrices in float64 held at once, and the least number of centres.
SQUARES, FEWEST = 5, 10
#: Bytes of features at once.
SCRATCH = BLOCK_BYTES // 4


@final
@dataclass(frozen=True)
class NystromDirect(Solver):
    """min_c |W^{1/2} (K_nm c - y)|^2 + alpha c^T K_mm c over m pivots among the points.

    With K_mm = T^T T and features phi(x) = T^{-T} k(Z, x): (Phi^T W Phi + alpha I) theta =
    Phi^T W y, c = T^{-1} theta, the sum over rows in float64. Time n m^2, memory m^2; the spectrum
    of the kernel does not matter, as it does to iterations. Pivots are drawn by their residual
    (randomly pivoted Cholesky) among 20,000 points: they reach the tails, and are fewer than m
    where only rounding is left of the kernel. T has a jitter at the rounding of the points' own
    type, so that predictions in this type keep their digits.

    `centres`: m at most; None is the least of 10 sqrt(n), 2,000 and 10^6 / sqrt(n). Fewer where
    memory allows no more.

    Source: Rudi, Camoriano & Rosasco 2015 (arXiv 1507.04717), eq. 10; Chen, Epperly, Tropp &
    Webber 2022 (arXiv 2207.06503), algorithm 2.1 (the pivots).

    >>> from gradfeat.models.kernels.radial import Laplace
    >>> X = torch.linspace(0, 1, 200).double()[:, None]
    >>> solution = NystromDirect(centres=20).solve(System(Laplace(0.5), X, X**2, 1e-3))
    >>> solution.converged, len(solution.Z)
    (True, 20)
    """

    centres: int | None = None
    memory_limit: int | None = None

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """Solve; `seed` draws the centres."""
        n, meter = len(system.X), Meter(len(system.X))
        m = self.count(system)
        needed = self.bytes(system, m)
        what = f"Nystrom with {m:,} centres on {n:,} rows"
        refuse_beyond(needed, self.memory_limit, what, "fit on fewer rows or raise memory_limit")
        meter.bytes = needed
        rows = pivots(system, m, seed, meter)
        T, H, g = _features(system, system.X[rows].double(), meter)
        c, residual = expansion(T, H, g, system.alpha)
        last = meter.progress(1, residual)
        if watch is not None:
            watch(last, system.X[rows], c)
        return Solution(system.X[rows], c, True, "", (last,), rows)

    def count(self, system: System, n: int | None = None, squares: int = SQUARES) -> int:
        """Centres at most: those asked for, all points, what memory allows.

        `system`: Where the centres are drawn.
        `n`: Rows of the fit; None: those of the system.
        `squares`: m x m matrices in float64 held at once.
        """
        n = len(system.X) if n is None else n
        usual = min(int(10 * n**0.5), MOST, int((WORK / n) ** 0.5))
        asked = min(n, usual if self.centres is None else self.centres)
        free = max(0, allowed_bytes(self.memory_limit) - self.bytes(system, 0))
        linear, square = self._pivot_bytes(system), 8 * squares
        fit = ((linear**2 + 4 * square * free) ** 0.5 - linear) / (2 * square)
        return min(asked, max(FEWEST, int(fit)))

    def bytes(self, system: System, m: int, squares: int = SQUARES) -> int:
        return m * (8 * squares * m + self._pivot_bytes(system)) + SCRATCH + 16 * system.y.numel()

    def _pivot_bytes(self, system: System) -> int:
        return 3 * min(len(system.X), CANDIDATES) * system.X.element_size()


def pivots(system: System, m: int, seed: int, meter: Meter) -> Tensor:
    """Rows of at most m centres."""
    X = system.X
    order = torch.randperm(len(X), generator=stream(seed, "centres")).to(X.device)
    candidates = order[:CANDIDATES]
    _, rows = low_rank(system.kernel, X[candidates], None, m, seed, meter)
    return candidates[rows] if len(rows) else candidates[:1]


def centre_factor(system: System, Z: Float[Tensor, "m d"]) -> Float[Tensor, "m m"]:
    """Upper T with T^T T = k(Z, Z) + jitter, that of the rounding of the points' own type."""
    K = system.kernel(Z, Z)
    return upper_factor(K, 10 * torch.finfo(system.X.dtype).eps * float(K.diagonal().mean()))


def _features(
    system: System, Z: Float[Tensor, "m d"], meter: Meter
) -> tuple[Float[Tensor, "m m"], Float[Tensor, "m m"], Float[Tensor, "m c"]]:
    """T, and Phi^T W Phi and Phi^T W y over all rows."""
    k, X, w, m = system.kernel, system.X, system.weights, len(Z)
    T = centre_factor(system, Z)
    H, g = Z.new_zeros(m, m), Z.new_zeros(m, system.y.shape[1])
    side = rows_per_block((k.scratch + 3) * 8 * m, SCRATCH)
    for start in range(0, len(X), side):
        rows = slice(start, start + side)
        Phi, y = k(X[rows].double(), Z), system.y[rows].double()
        Phi = solve_triangular(T, Phi, upper=True, left=False)
        pull = Phi if w is None else w[rows].double()[:, None] * Phi
        H.addmm_(pull.T, Phi)
        g.addmm_(pull.T, y)
    meter.evaluated(m * len(X))
    meter.multiplied(m * len(X))
    return T, H, g


def expansion(
    T: Float[Tensor, "m m"], H: Float[Tensor, "m m"], g: Float[Tensor, "m c"], alpha: float
) -> tuple[Float[Tensor, "m c"], float]:
    """c = T^{-1} theta of (H + alpha I) theta = g, and the relative residual of theta.

    Only the upper triangle of H is read.
    """
    R = upper_factor(H, alpha)
    theta = solve_triangular(R, solve_triangular(R.T, g, upper=False), upper=True)
    left = g - H.triu() @ theta - H.triu(1).T @ theta - alpha * theta
    c = solve_triangular(T, theta, upper=True)
    return c, float((left.norm(dim=0) / safe_norms(g)).max())
