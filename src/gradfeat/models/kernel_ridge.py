"""Kernel ridge regression with an intercept, by any solver."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import final

from ..rows.rows import Rows
from .base import Kernel, OneStage
from .nystrom_rows import centres_of, sampled
from .predictors import KernelMachine, expansion
from .solvers.base import Solver, System
from .solvers.direct import Direct

#: The solver unless another is given.
DIRECT = Direct()


@final
@dataclass(frozen=True)
class KernelRidge(OneStage[KernelMachine]):
    """(K + alpha W^{-1}) c = y - mean y; f(x) = mean y + sum_i c_i k(x, x_i).

    Minimises sum_i w_i |y_i - f(x_i)|^2 + alpha |f - mean y|_H^2.

    `alpha`: Penalty, >= 0.
    `solver`: How, within which memory, to which tolerance. Nystrom centres give a machine on fewer
        points. Streamed rows need a solver with centres (NystromDirect; Nystrom and Adaptive come
        to the same there).

    >>> import torch
    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(0, 1, 5).double()[:, None]
    >>> f = KernelRidge(Gaussian(0.3), alpha=1e-8).fit(in_memory(X, X**2))
    >>> bool((f(X) - X**2).abs().max() < 1e-4)
    True
    """

    kernel: Kernel
    alpha: float
    solver: Solver = DIRECT

    def fit(self, rows: Rows, *, seed: int = 0) -> KernelMachine:
        """Solve; `seed` is that of the solver.

        Streamed rows: Nystrom centres among the sample of the rows (20,000 of them in a pass,
        where they carry none), solved in one pass.
        """
        if rows.held is None:
            return self._streamed(rows, seed)
        X, y, w = rows.held.X, rows.held.y, rows.held.w
        offset = (w @ y) / w.sum()
        solution = self.solver.solve(System(self.kernel, X, y - offset, self.alpha, w), seed=seed)
        if not solution.converged:
            warnings.warn(solution.message, UserWarning, stacklevel=2)
        size = float(((w @ (y - offset).square()) / w.sum()).max() ** 0.5)
        return expansion(self.kernel, solution.Z, solution.c, offset, X.new_ones(X.shape[1]), size)

    def _streamed(self, rows: Rows, seed: int) -> KernelMachine:
        solver = centres_of(self.solver)
        data = sampled(rows, seed=seed)
        A = data.sample.X.new_ones(data.sample.X.shape[1])
        return data.ridge(self.kernel, self.alpha, solver, A, "normal equations")
