"""Newton's method for a convex likelihood on a kernel matrix, in few factorisations.

A Newton step costs about ten triangular solves and a product with the matrix, whatever the number
of classes, and one Cholesky factorisation serves several steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.limits import row_blocks
from ..maths.linear_algebra import Solve, cholesky_
from .losses import Logistic

#: Conjugate-gradient steps allowed within one Newton step.
INNER = 100
#: A Newton step that took more of them than this has the matrix factorised anew for the next.
RENEW_AFTER = 20
#: What conjugate gradients may leave of a Newton step's residual.
FORCING = 0.1
#: Newton steps without a smaller residual after which rounding is taken to be reached.
PATIENCE = 3
#: Smallest curvature of a row, per weight, in the factorised matrix.
LEAST_CURVATURE = 1e-4
#: Cosine of a step and the slope, below which it is rounding in float32.
NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class Factor:
    """e -> (x, F) with alpha x + D F = e, F = K x + intercept, 1^T x = 0: from one Cholesky.

    The Newton step of a likelihood whose Hessian is the diagonal D for every column.

    `alpha`: The penalty, larger where the factorisation needed it.
    `solve`: y -> (alpha I + D^{1/2} K D^{1/2})^{-1} y, in the type of `border`.
    `border` (n, 1): What it makes of D^{1/2}.
    """

    D: Float[Tensor, " n"]
    alpha: float
    solve: Solve
    border: Float[Tensor, "n 1"]

    def __call__(self, e: Float[Tensor, "n c"]) -> tuple[Tensor, Tensor]:
        """Return (x, F); F from the equation that it satisfies, without a product with K."""
        root = self.D.sqrt()[:, None]
        v = self.solve((e / root).to(self.border.dtype)).to(e.dtype)
        border = self.border.to(e.dtype)
        v = v - border * ((root * v).sum(0) / (root * border).sum())
        x = root * v
        return x, (e - self.alpha * x) / self.D[:, None]


def factorise(
    K: Float[Tensor, "n n"], D: Float[Tensor, " n"], alpha: float, work: torch.dtype
) -> Factor:
    """The factor of D; where rounding needs it in float64, or of a larger alpha."""
    rounding = torch.finfo(K.dtype).eps * float(D @ K.diagonal().to(D.dtype))
    wide = torch.float64
    for dtype, shift in ((work, 0.0), (wide, 0.0), (wide, rounding), (wide, 100 * rounding)):
        root = D.sqrt().to(dtype)
        A = (K * root).mul_(root[:, None])
        A.diagonal().add_(alpha + shift)
        solve = cholesky_(A)
        if solve is not None:
            return Factor(D, alpha + shift, solve, solve(root[:, None]))
    raise np.linalg.LinAlgError(
        "the kernel matrix is not positive semi-definite beyond rounding: use another kernel."
    )


def newton_step(
    H: Blocks, alpha: float, M: Factor, e: Float[Tensor, "n c"], share: float
) -> tuple[Tensor, Tensor, int]:
    """(x, F, steps): alpha x + H F = e to `share` of |e|, F = K x + intercept, 1^T x = 0.

    Conjugate gradients on the Hessian in (c, offset), preconditioned by that of `M`. One
    triangular solve a step gives both x and K x: no product with K. They do not see what K maps to
    zero; the plain step of `M` that ends them is exact there.
    """
    x, F, least = torch.zeros_like(e), torch.zeros_like(e), share * float(e.norm())
    p, Fp, Tp, old, step = x, F, x, 1.0, 0
    while True:
        step, (z, Fz) = step + 1, M(e)
        Tz = alpha * z + H(Fz)
        ez = float((Fz * e).sum())
        momentum = 0.0 if step == 1 else ez / old
        p, Fp, Tp = z + momentum * p, Fz + momentum * Fp, Tz + momentum * Tp
        curvature = float((Fp * Tp).sum())
        done = float((e - Tz).norm()) <= least or step == INNER
        if done or not (curvature > 0 and ez > 0):
            return x + z, F + Fz, step
        t, old = ez / curvature, ez
        x, F, e = x + t * p, F + t * Fp, e - t * Tp


def step_length(slope: Callable[[float], float]) -> float:
    """At most 1: near the zero of an increasing function with slope(0) < 0, to a tenth of that.

    One where it is short of the zero (more would undo the exact step in the directions that K
    maps to zero) or slope(0) is rounding (above -NOISE); else by bracketed secants.

    >>> step_length(lambda t: 4 * t - 1)
    0.25
    >>> step_length(lambda t: t / 4 - 1)
    1.0
    """
    low, at_low, high = 0.0, slope(0.0), 1.0
    if at_low > -NOISE:
        return 1.0
    least, at_high = 0.1 * abs(at_low), slope(1.0)
    if at_high <= least:
        return high
    for _ in range(50):
        t, margin = low - at_low * (high - low) / (at_high - at_low), 0.1 * (high - low)
        t = min(max(t, low + margin), high - margin)
        at = slope(t)
        if abs(at) <= least:
            return t
        low, at_low, high, at_high = (t, at, high, at_high) if at < 0 else (low, at_low, t, at)
    return low


def times(K: Float[Tensor, "n n"], c: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    blocks = row_blocks(len(c), c.element_size() * len(c))
    return torch.cat([K[rows].to(c.dtype) @ c for rows in blocks])


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients c with column sums zero, intercepts, and f = K c + offset."""

    c: Float[Tensor, "n c"]
    offset: Float[Tensor, " c"]
    f: Float[Tensor, "n c"]

    def plus(self, t: float, step: Point) -> Point:
        c, offset, f = step.c, step.offset, step.f
        return Point(self.c + t * c, self.offset + t * offset, self.f + t * f)


@dataclass(frozen=True, eq=False)
class Problem:
    """min over c, offset of loss(f) + alpha / 2 tr(c^T K c), f = K c + offset.

    At the minimum loss'(f) + alpha c = 0, from which 1^T c = 0 follows. `work` is the type of the
    steps' own products and factorisations.
    """

    loss: Likelihood
    K: Float[Tensor, "n n"]
    alpha: float
    work: torch.dtype

    def point(self, c: Float[Tensor, "n c"], offset: Float[Tensor, " c"]) -> Point:
        """The point of these numbers: a float32 matrix takes part with sums in the type of c."""
        return Point(c, offset, times(self.K, c) + offset)

    def descent(self, at: Point) -> Float[Tensor, "n c"]:
        """-(loss'(f) + alpha c)."""
        return -(self.loss.slope(at.f) + self.alpha * at.c)

    @cached_property
    def scale(self) -> float:
        """|loss'(f)| at the best constant f."""
        return float(self.loss.slope(self.loss.constant()).norm())

    def residual(self, at: Point) -> float:
        """|loss'(f) + alpha c| as a share of :attr:`scale`."""
        return float(self.descent(at).norm()) / self.scale

    def value(self, at: Point) -> float:
        """The objective; the offset adds nothing to the penalty, as 1^T c = 0."""
        return float(self.loss.value(at.f) + self.alpha / 2 * (at.c * at.f).sum())

    def factor(self, at: Point) -> Factor:
        D = torch.maximum(self.loss.size(at.f), LEAST_CURVATURE * self.loss.w)
        return factorise(self.K, D, self.alpha, self.work)

    def advanced(self, at: Point, M: Factor) -> tuple[Point, int]:
        """The minimum along an inexact Newton step, and the triangular solves of the step."""
        share, e = min(FORCING, self.residual(at) ** 0.5), self.descent(at)
        x, F, solves = newton_step(self.loss.curvature(at.f), self.alpha, M, e, share)
        x = x - x.mean(0)
        Kx = times(self.K, x.to(self.work)).to(x.dtype)
        shift = M.D @ (F - Kx) / M.D.sum()
        step = Point(x, shift, Kx + shift)
        unit = step.f / (step.f.norm() * e.norm())
        t = step_length(lambda t: -float((self.descent(at.plus(t, step)) * unit).sum()))
        return at.plus(t, step), solves


def minimise(problem: Problem, at: Point, tolerance: float, max_iter: int) -> tuple[Point, float]:
    """From `at` to a residual of `tolerance`, or as far as rounding or `max_iter` steps allow.

    Where float32 does not get there the steps go on in float64.

    Source: Rasmussen & Williams 2006, section 3.5 (the equations); Boehning 1992 (one matrix in
    place of the Hessians of all classes and iterations).
    """
    M, solves, least, stalled = problem.factor(at), 0, float("inf"), 0
    for _ in range(max_iter):
        if checked := problem.residual(at) <= tolerance:
            at = problem.point(at.c, at.offset)
        residual = problem.residual(at)
        stalled = 0 if residual < least else stalled + 1
        least = min(residual, least)
        short = checked or stalled == PATIENCE
        if residual <= tolerance or (short and problem.work == torch.float64):
            break
        if short:
            problem = replace(problem, work=torch.float64)
            # Residuals of float32 hold for float64 no more: rounding may have made them too small.
            at, stalled, least = problem.point(at.c, at.offset), 0, float("inf")
        if short or solves > RENEW_AFTER:
            del M
            M = problem.factor(at)
        at, solves = problem.advanced(at, M)
    at = problem.point(at.c, at.offset)
    return at, problem.residual(at)


#: F (n, c) -> H F of a matrix with one symmetric block a row.
Blocks = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Likelihood(ABC):
    """sum_i w_i loss(y_i, f_i) of logits f (n, c), convex."""

    w: Float[Tensor, " n"]

    @abstractmethod
    def value(self, f: Float[Tensor, "n c"]) -> Tensor:
        """The loss, summed over rows."""

    @abstractmethod
    def slope(self, f: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """Its gradient in f."""

    @abstractmethod
    def curvature(self, f: Float[Tensor, "n c"]) -> Blocks:
        """F -> H F, H its Hessian at f."""

    @abstractmethod
    def size(self, f: Float[Tensor, "n c"]) -> Float[Tensor, " n"]:
        """One number for each row's block of H: the mean of its eigenvalues but the gauge's."""

    @abstractmethod
    def constant(self) -> Float[Tensor, "n c"]:
        """The best constant logits, at every row; finite where every class has weight."""


@final
@dataclass(frozen=True, eq=False)
class TwoClasses(Likelihood):
    """sum_i w_i log(1 + exp(-y_i f_i)), y = +-1 (n, 1)."""

    y: Float[Tensor, "n 1"]

    def value(self, f: Tensor) -> Tensor:
        return self.w @ Logistic()(f, self.y)[:, 0]

    def slope(self, f: Tensor) -> Tensor:
        """-w y sigmoid(-y f)."""
        return self.w[:, None] * Logistic().slope(f, self.y)

    def curvature(self, f: Tensor) -> Blocks:
        """F -> w p (1 - p) F."""
        H = self.size(f)[:, None]
        return lambda F: H * F

    def size(self, f: Tensor) -> Tensor:
        """w p (1 - p)."""
        return self.w * (torch.sigmoid(f) * torch.sigmoid(-f))[:, 0]

    def constant(self) -> Tensor:
        up = self.w @ (self.y > 0).to(self.w)
        return (up / (self.w.sum() - up)).log().expand_as(self.y)


@final
@dataclass(frozen=True, eq=False)
class ManyClasses(Likelihood):
    """-sum_i w_i log softmax(f_i)[class of i], classes one-hot (n, c), c >= 2."""

    hot: Float[Tensor, "n c"]

    def value(self, f: Tensor) -> Tensor:
        return -self.w @ (self.hot * f.log_softmax(1)).sum(1)

    def slope(self, f: Tensor) -> Tensor:
        """w (p - hot)."""
        return self.w[:, None] * (f.softmax(1) - self.hot)

    def curvature(self, f: Tensor) -> Blocks:
        """F -> w (p F - p (p . F))."""
        p = f.softmax(1)
        wp = self.w[:, None] * p
        return lambda F: wp * (F - (p * F).sum(1, keepdim=True))

    def size(self, f: Tensor) -> Tensor:
        """w (1 - |p|^2) / (c - 1): the trace over c - 1 dimensions."""
        p = f.softmax(1)
        return self.w * (p * (1 - p)).sum(1) / (f.shape[1] - 1)

    def constant(self) -> Tensor:
        """Log-shares of the weights, of mean zero."""
        logs = (self.w @ self.hot).log()
        return (logs - logs.mean()).expand_as(self.hot)


def likelihood(codes: Float[Tensor, "n c"], w: Float[Tensor, " n"]) -> Likelihood:
    y = codes.to(w)
    return TwoClasses(w, y) if y.shape[1] == 1 else ManyClasses(w, (1 + y) / 2)


def starting_point(problem: Problem, start: tuple[Tensor, Tensor] | None) -> Point:
    """The better of the best constant logits and `start` (c, offset), brought into the gauge."""
    f = problem.loss.constant()
    constant = Point(torch.zeros_like(f), f[0], f)
    if start is None:
        return constant
    c, offset = start[0].to(f), start[1].to(f)
    c = c - c.mean(0)
    if f.shape[1] > 1:
        c, offset = c - c.mean(1, keepdim=True), offset - offset.mean()
    given = problem.point(c, offset)
    return given if problem.value(given) < problem.value(constant) else constant


def learnable(codes: Float[Tensor, "n c"], w: Float[Tensor, " n"]) -> Float[Tensor, " c"]:
    """1 for the columns that something can be learnt of.

    The one column of two classes that both have weight; else those of classes with weight, where
    there are two.
    """
    up = (w @ (codes > 0).to(w) > 0).to(w)
    down = (w @ (codes < 0).to(w) > 0).to(w)
    if codes.shape[1] == 1:
        return up * down
    return up if float(up.sum()) > 1 else 0 * up


def absent_logits(codes: Float[Tensor, "n c"], w: Float[Tensor, " n"]) -> Float[Tensor, " c"]:
    """Intercepts as far as absent classes decide them: 0 for the others.

    -log(1 + sum w) for a class without weight; two classes in one column: that much away from it.
    """
    lacks_up = (w @ (codes > 0).to(w) == 0).to(w)
    lacks_down = (w @ (codes < 0).to(w) == 0).to(w)
    if codes.shape[1] > 1:
        lacks_down = 0 * lacks_down
    return (lacks_down - lacks_up) * w.sum().log1p()
