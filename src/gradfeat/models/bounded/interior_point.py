"""Heads under norm bounds by a primal-dual interior-point method, with a certified lower bound."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import unit_weights
from ...maths.box_ball import check_bounds
from ...maths.limits import row_blocks
from ...maths.linear_algebra import Solve, cholesky_
from ...maths.ridge import ridge_path
from ...maths.simplified_gradients import check_rows
from ..losses import Loss, Squared
from .head_sets import Bounds, BoxBall
from .row_losses import RowLoss, longest, row_loss

#: Newton steps allowed, and the part of the way to the boundary that a step may go.
MAX_STEPS, PART = 100, 0.99
#: Times that a step is halved.
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class BoundedFit:
    """A point of the set with its loss, and what no point of the set can go below.

    `a, offset` (r,), float: Coefficients (inside the bounds) and the free constant (0 where there
        is none).
    `value, lower`: Weighted mean loss at `a`, and a lower bound of the minimum: value - lower
        bounds how far `a` is from it.
    `slopes` (n,): The dual point u that proves `lower`, a slope of the loss for each row.
    `tolerance`: The gap that was asked for, in units of the loss.
    """

    a: Float[Tensor, " r"]
    offset: float
    value: float
    lower: float
    slopes: Float[Tensor, " n"]
    tolerance: float

    @property
    def gap(self) -> float:
        return self.value - self.lower

    @property
    def converged(self) -> bool:
        return self.gap <= self.tolerance


def head_problem(
    F: Float[Tensor, "n r"],
    y: Float[Tensor, " n"],
    loss: Loss,
    weights: Float[Tensor, " n"] | None = None,
    offset: bool = False,
) -> HeadProblem:
    """The rows with weight, in float64, and the constant column where there is an offset."""
    check_rows(F, y[:, None], weights)
    w = unit_weights(F, weights).double()
    kept = w > 0
    A = F.double() if bool(kept.all()) else F.double()[kept]
    if offset:
        A = torch.cat([A, A.new_ones(len(A), 1)], dim=1)
    return HeadProblem(A, row_loss(loss, y.double()[kept], w[kept] / w.sum()), loss, offset, kept)


class Point(NamedTuple):
    """Coefficients, slacks and multipliers of their bounds, outputs, state of the loss."""

    a: Float[Tensor, " q"]
    slack: Float[Tensor, " k"]
    lam: Float[Tensor, " k"]
    f: Float[Tensor, " n"]
    state: Float[Tensor, "j n"]

    def moved(self, step: Point, s: float) -> Point:
        return Point(*(x + s * dx for x, dx in zip(self, step, strict=True)))


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """min over a in a set (and a free last coefficient if `offset`) of sum_i v_i l((A a)_i, y_i).

    A (n, r) or (n, r + 1) and `rows` are of the rows `kept`; v has sum 1.
    """

    A: Float[Tensor, "n q"]
    rows: RowLoss
    loss: Loss
    offset: bool
    kept: Tensor

    @property
    def r(self) -> int:
        return self.A.shape[1] - self.offset

    def value(self, f: Float[Tensor, " n"]) -> float:
        return float(self.rows.v @ self.loss(f, self.rows.y))

    def minimise(self, bounds: Bounds, tolerance: float) -> BoundedFit:
        """Primal-dual Newton steps with a corrector, until the gap is certified."""
        point, scale = self._start(bounds)
        gram = _weighted_gram(self.A, 2 * self.rows.v) if self.loss == Squared() else None
        best = self._certified(point, bounds, tolerance * scale)
        for _ in range(MAX_STEPS):
            if best.converged:
                break
            point = self._stepped(point, bounds, gram)
            best = _better(best, self._certified(point, bounds, tolerance * scale))
        return best

    def least_squares(self, tolerance: float) -> BoundedFit:
        """The minimiser of least norm of the squared loss without bounds, to rounding."""
        F, y = self.A[:, : self.r], self.rows.y
        path, means = ridge_path(F, y[:, None], self.rows.v, intercept=self.offset)
        a = path.coefficients(0.0)[:, 0]
        offset = float(path.offset - means @ a) if self.offset else 0.0
        f = F @ a + offset
        value = self.value(f)
        return BoundedFit(a, offset, value, value, self._of_all_rows(2 * (f - y)), tolerance)

    def _start(self, bounds: Bounds) -> tuple[Point, float]:
        """A first point, and the loss of a = 0 (with the mean of y as offset)."""
        a, y = bounds.start(self.A[:, : self.r]), self.rows.y
        mean = (self.rows.v @ y)[None] if self.offset else y[:0]
        scale = self.value(mean.expand_as(y) if self.offset else torch.zeros_like(y))
        slacks = bounds.slacks(a)
        lam = (scale or 1.0) / (max(1, len(slacks)) * slacks)
        a = torch.cat([a, mean])
        f = self.A @ a
        return Point(a, slacks, lam, f, self.rows.begin(f)), scale

    def _certified(self, point: Point, bounds: Bounds, tolerance: float) -> BoundedFit:
        rows = self.rows
        u = rows.pull(point.state, point.f) / rows.v
        u = rows.balanced(u) if self.offset else u
        pulled = (self.A.T @ (rows.v * u))[: self.r]
        a = bounds.nearest(point.a[: self.r])
        whole = torch.cat([a, point.a[self.r :]])
        return BoundedFit(
            a=a,
            offset=float(point.a[-1]) if self.offset else 0.0,
            value=self.value(self.A @ whole),
            lower=-float(rows.v @ rows.conjugate(u)) - bounds.support(-pulled),
            slopes=self._of_all_rows(u),
            tolerance=tolerance,
        )

    def _of_all_rows(self, u: Tensor) -> Tensor:
        return u.new_zeros(len(self.kept)).masked_scatter(self.kept, u)

    def _stepped(self, point: Point, bounds: Bounds, gram: Tensor | None) -> Point:
        """Mehrotra's step: where a pure Newton step would lead says how much to centre."""
        solve = self._factored(point, bounds, gram)
        now = self._pairs(point)
        none = torch.zeros_like(now[0])
        change = self._pairs(point.moved(self._direction(point, bounds, solve, none), 1.0)) - now
        mean = float(now.prod(0).mean()) if now.numel() else 0.0
        ahead = (now + min(1.0, longest(now, change)) * change).prod(0)
        centre = mean * (float(ahead.mean()) / mean) ** 3 if mean > 0 else 0.0
        step = self._direction(point, bounds, solve, none + centre - change.prod(0))
        reach = longest(now, self._pairs(point.moved(step, 1.0)) - now)
        return self._damped(point, step, min(1.0, PART * reach), bounds)

    def _damped(self, point: Point, step: Point, s: float, bounds: Bounds) -> Point:
        """The step, shorter where a curved loss would leave the gradients further from balance."""
        before = self._imbalance(point, bounds)[0]
        for _ in range(HALVINGS):
            moved = point.moved(step, s)
            after, size = self._imbalance(moved, bounds)
            if after <= max(before, 0.1 * size):
                return moved
            s /= 2
        return point.moved(step, s)

    def _imbalance(self, point: Point, bounds: Bounds) -> tuple[float, float]:
        """Norms of the sum of the loss's gradient and the multipliers' pull, and of the latter."""
        pull = bounds.pull(point.a[: self.r], point.lam)
        g = self.A.T @ self.rows.pull(point.state, point.f)
        size = float(pull.norm())
        g[: self.r] += pull
        return float(g.norm()), size

    def _pairs(self, point: Point) -> Float[Tensor, "2 k"]:
        """All slacks, and their multipliers in the same order."""
        of_rows = self.rows.slacks(point.state, point.f)
        return torch.cat([torch.stack([point.slack, point.lam]), of_rows.view(2, -1)], dim=1)

    def _factored(self, point: Point, bounds: Bounds, gram: Tensor | None) -> Solve:
        """g -> (H + z z^T)^{-1} g; z z^T grows without limit, so it stays outside of H."""
        state, f = point.state, point.f
        none = f.new_zeros(len(self.rows.slacks(state, f)) // 2, len(f))
        second = self.rows.newton(state, f, none)[1]
        H = _weighted_gram(self.A, second) if gram is None else gram.clone()
        D, z = bounds.second(point.a[: self.r], point.lam, point.slack)
        H.diagonal()[: self.r].add_(D)
        z = torch.cat([z, z.new_zeros(len(H) - self.r)])[:, None]
        solve = _solver(H)
        across = solve(z)
        denominator = 1 + z.T @ across

        def solve_all(g: Tensor) -> Tensor:
            along = solve(g)
            return along - across @ ((z.T @ along) / denominator)

        return solve_all

    def _direction(self, point: Point, bounds: Bounds, solve: Solve, target: Tensor) -> Point:
        """Newton's step to products of slack and multiplier equal to `target`."""
        a, rows, k = point.a[: self.r], self.rows, len(point.slack)
        of_rows = target[k:].view(-1, len(point.f))
        first, _ = rows.newton(point.state, point.f, of_rows)
        off = bounds.slacks(a) - point.slack
        wanted = (target[:k] - point.lam * off) / point.slack
        g = self.A.T @ first
        g[: self.r] += bounds.pull(a, wanted)
        da = -solve(g[:, None])[:, 0]
        change = bounds.slack_change(a, da[: self.r])
        lam = wanted - point.lam * change / point.slack - point.lam
        df = self.A @ da
        return Point(da, change + off, lam, df, rows.change(point.state, point.f, df, of_rows))


def _better(one: BoundedFit, other: BoundedFit) -> BoundedFit:
    """The point of the lower loss with the higher lower bound: both hold for the problem."""
    low = other if other.value < one.value else one
    dual = other if other.lower > one.lower else one
    return replace(low, lower=dual.lower, slopes=dual.slopes)


def _weighted_gram(A: Float[Tensor, "n q"], v: Float[Tensor, " n"]) -> Float[Tensor, "q q"]:
    """sum_i v_i A_i A_i^T, v >= 0, by blocks of rows."""
    G = A.new_zeros(A.shape[1], A.shape[1])
    for rows in row_blocks(len(A), A.shape[1] * A.element_size()):
        B = A[rows] * v[rows].sqrt()[:, None]
        G.addmm_(B.T, B)
    return G


def _solver(H: Float[Tensor, "q q"]) -> Solve:
    """g -> H^{-1} g at unit diagonal, with as much more diagonal as a factorisation needs."""
    size = H.diagonal().clamp(min=torch.finfo(H.dtype).tiny).rsqrt()[:, None]
    H = size * H * size.T
    for lift in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        lifted = H.clone()
        lifted.diagonal().add_(lift)
        solve = cholesky_(lifted)
        if solve is not None:
            return lambda g, solve=solve: size * solve(size * g)
    return lambda g: size.square() * g


def bounded_head(
    F: Float[Tensor, "n r"],
    y: Float[Tensor, " n"],
    loss: Loss,
    *,
    B1: float = math.inf,
    B2: float = math.inf,
    weights: Float[Tensor, " n"] | None = None,
    offset: bool = False,
    tolerance: float = 1e-4,
) -> BoundedFit:
    """min (1/sum w) sum_i w_i l(F_i.a + offset, y_i) over |a_j| <= B1, |a|_2 <= B2.

    A primal-dual interior-point method. The lower bound is Fenchel's: for every u, h the support
    function of the set, P* >= -(1/sum w) sum_i w_i l*(u_i, y_i) - h(F^T (w u)/sum w), here at the
    slopes u of the loss (of weighted sum 0 where the offset is free). Float64 within; memory: a
    copy of F and Gram matrices (r, r).

    `F, y`: Features and targets; +-1 for hinge and logistic loss.
    `loss`: Squared, hinge or logistic.
    `B1, B2`: Bounds, positive; infinite for none. The squared loss allows both to be infinite
        (least squares of least norm).
    `offset`: Fit a free constant too.
    `tolerance`: The gap at which to stop, as a share of the loss of a = 0 (with an offset, of the
        mean of y).

    Source: Boyd & Vandenberghe 2004, section 11.7 (method); Rockafellar 1970, section 31
    (duality).
    """
    check_bounds(B1, B2)
    problem = head_problem(F, y, loss, weights, offset)
    r = F.shape[1]
    # A bound that the other one implies would only add slacks.
    bounds = BoxBall(B1 if B1 < B2 else math.inf, B2 if B1 * math.sqrt(r) > B2 else math.inf)
    if math.isinf(B1) and math.isinf(B2):
        if loss != Squared():
            raise ValueError(
                f"both bounds are infinite and the loss is {loss!r}, whose minimum may not exist: "
                "give a finite bound."
            )
        return problem.least_squares(tolerance)
    fit = problem.minimise(bounds, tolerance)
    if not fit.converged:
        warnings.warn(
            f"the head's loss {fit.value:g} is certified within {fit.gap:g} only, and "
            f"{fit.tolerance:g} was asked for: bring the features to one size, or raise the "
            "tolerance.",
            UserWarning,
            stacklevel=2,
        )
    return fit
