"""Kernel logistic and softmax regression with a free intercept."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import unit_weights
from ..maths.limits import refuse_beyond
from ..rows.rows import Rows
from .base import Kernel, OneStage
from .predictors import KernelMachine
from .softmax_newton import Problem, absent_logits, learnable, likelihood, minimise, starting_point

#: Matrices of the size of K that a fit holds: K, its factor, and what makes either of them.
MATRICES = 3
#: What to do when they do not fit.
INSTEAD = "fit on fewer rows, or use the squared loss with solver Nystrom() or EigenPro()"


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Minimiser of a kernel logistic regression.

    `c` (n, c): Coefficients of the logits; columns of sum zero, and rows too for more than two
        classes.
    `offset` (c,): Intercepts of the logits.
    `converged`: Whether the tolerance was reached.
    `residual`: |loss'(f) + alpha c| over that of the best constant logits.
    """

    c: Float[Tensor, "n c"]
    offset: Float[Tensor, " c"]
    converged: bool
    residual: float


def logistic_coefficients(
    K: Float[Tensor, "n n"],
    codes: Float[Tensor, "n c"],
    alpha: float,
    *,
    weights: Float[Tensor, " n"] | None = None,
    start: tuple[Tensor, Tensor] | None = None,
    tolerance: float = 1e-6,
    max_iter: int = 50,
) -> LogisticFit:
    """min over f = offset + K c of sum_i w_i loss(y_i, f_i) + (alpha / 2) tr(c^T K c).

    One column: loss = log(1 + exp(-y f)), so that p(y = 1) = sigmoid(f). More: loss = -log
    softmax(f)[class]. At the minimum alpha c = -w loss'(f), so rows of weight zero have c = 0.
    A class without weight in these rows has no finite best intercept: its logit is the constant
    -log(1 + sum w), which gives it a probability of at most about one in sum w.

    `K`: Kernel matrix, float32 or float64; sums and c are float64 within.
    `codes`: +-1: one column for two classes, else one +1 a row.
    `alpha`: Penalty, > 0.
    `start`: c and offset to begin with, as of a similar K; taken where better than constant logits.
    `tolerance`: On the residual |loss'(f) + alpha c| as a share of that of the best constant
        logits.
    `max_iter`: Newton steps allowed.

    Source: Rasmussen & Williams 2006, sections 3.4 and 3.5; Boehning 1992.
    """
    if not alpha > 0:
        raise ValueError(f"alpha is {alpha}: logistic regression needs one above 0; raise it.")
    w = unit_weights(K, weights).double()
    c, offset = torch.zeros_like(codes, dtype=torch.float64), absent_logits(codes, w)
    rows, columns = (w > 0).nonzero(), learnable(codes, w).nonzero()[:, 0]
    residual = 0.0
    if len(columns):
        kept = K if len(rows) == len(K) else K[rows, rows[:, 0]]
        problem = Problem(likelihood(codes[rows, columns], w[rows[:, 0]]), kept, alpha, K.dtype)
        first = None if start is None else (start[0][rows, columns], start[1][columns])
        at, residual = minimise(problem, starting_point(problem, first), tolerance, max_iter)
        c[rows, columns], offset[columns] = at.c, at.offset
    return LogisticFit(c.to(K.dtype), offset.to(K.dtype), residual <= tolerance, residual)


@final
@dataclass(frozen=True)
class KernelLogistic(OneStage[KernelMachine]):
    """Logits f(x) = offset + sum_i c_i k(x, x_i) by penalised maximum likelihood.

    Minimises sum_i w_i loss(y_i, f(x_i)) + (alpha / 2) |f - offset|_H^2: loss = log(1 + exp(-y f))
    of one column, -log softmax(f)[class] of more. Probabilities are sigmoid(f) and softmax(f).

    `alpha`: Penalty, > 0.
    `tolerance`: On the residual of the stationarity condition.
    `max_iter`: Newton steps allowed.
    `memory_limit`: Bytes that kernel matrices may take (default: 80 % of free memory).

    Source: Rasmussen & Williams 2006, chapter 3.

    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 6).double()[:, None]
    >>> f = KernelLogistic(Gaussian(1.0), alpha=0.1).fit(in_memory(X, X.sign()))
    >>> bool((f(X).sign() == X.sign()).all())
    True
    """

    kernel: Kernel
    alpha: float
    tolerance: float = 1e-6
    max_iter: int = 50
    memory_limit: int | None = None

    def fit(self, rows: Rows, *, seed: int = 0) -> KernelMachine:
        """Fit codes y = +-1, one column for two classes, else one a class; no randomness."""
        del seed
        block = rows.block("kernel logistic regression")
        X, n = block.X, len(block.X)
        what = f"kernel logistic regression on {n:,} rows ({MATRICES} matrices of {n:,} x {n:,})"
        refuse_beyond(MATRICES * n * n * X.element_size(), self.memory_limit, what, INSTEAD)
        fit = logistic_coefficients(
            self.kernel(X, X),
            block.y,
            self.alpha,
            weights=block.w,
            tolerance=self.tolerance,
            max_iter=self.max_iter,
        )
        if not fit.converged:
            told = (
                f"kernel logistic regression stopped at a residual of {fit.residual:.2g}, above "
                f"the tolerance {self.tolerance:g}: raise alpha, max_iter or the tolerance."
            )
            warnings.warn(told, UserWarning, stacklevel=2)
        return KernelMachine(self.kernel, X, fit.c, fit.offset, X.new_ones(X.shape[1]))
