"""The trained head of a two-layer net: ridge on features of rows, in memory or streamed."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.gram_ridge import GramRidge, LeaveOneOut, gram_ridge, solve_gram
from ..maths.ridge import RidgePath, ridge_path
from ..maths.statistics.combined import Joint, OnMapped
from ..maths.statistics.moments import Moments, MomentState, RowMap
from ..maths.streams import stream
from ..rows.errors import SourceError
from ..rows.rows import HashPart, Rows
from .base import unit_weights

#: Coefficients, intercepts, and the penalty used.
Head = tuple[Float[Tensor, "m c"], Float[Tensor, " c"], float]


@dataclass(frozen=True)
class Features:
    """Rows to features (or nothing: the inputs), and the scratch that a mapped row takes."""

    map: RowMap | None = None
    row_bytes: int = 0


INPUTS = Features()

#: How a penalty is chosen.
Select = Literal["loo", "gcv", "validation"]


@dataclass(frozen=True)
class RidgeHead:
    """argmin_a,b sum_i w_i |y_i - b - a.F_i|^2 + penalty |a|^2.

    Rows in memory are solved by the singular values of F. Streamed rows are solved by the normal
    equations: the penalty by GCV from the sums themselves, by leave-one-out in one more pass, by
    validation on a fifth of the rows (by their hash) in the same pass.

    `penalty`: None chooses it from 25 log-spaced values.
    `select`: How: leave-one-out, generalised cross-validation, or a fifth of the rows held out
        (then refitted on all).
    `intercept`: False fixes b = 0.
    `mean`: Whether `penalty` is that of the mean over rows: it is multiplied by sum_i w_i.

    >>> from gradfeat.rows.rows import in_memory
    >>> F = torch.arange(4.0).double()[:, None]
    >>> a, b, penalty = RidgeHead(penalty=1e-9).fit(in_memory(F, 2 * F + 1))
    >>> round(float(a), 6), round(float(b), 6)
    (2.0, 1.0)
    """

    penalty: float | None = None
    select: Select = "loo"
    intercept: bool = True
    mean: bool = False

    def given(self, weight: float) -> float | None:
        """The penalty that was given, for rows of this total weight; None: it is to be chosen."""
        return self.penalty * weight if self.penalty is not None and self.mean else self.penalty

    def fit(
        self,
        rows: Rows,
        features: Features = INPUTS,
        *,
        seed: int = 0,
        label: str = "normal equations",
    ) -> Head:
        """Coefficients (m, c), intercepts (c,) and the penalty used; `label` names the passes."""
        if rows.held is not None:
            held = rows.held if features.map is None else features.map(rows.held)
            path, means, lam = self.path(held.X, held.y, held.w, seed)
            a = path.coefficients(lam)
            return a, path.offset - means @ a, lam
        if self.penalty is None and self.select == "validation":
            return _validated(self, rows, features, seed, label)
        if features == INPUTS:
            m = rows.moments(label)
        else:
            m = rows.collect(Moments(features.map, features.row_bytes), label)
        check_rows_came(m.weight)
        if self.penalty is not None or self.select == "gcv":
            return _like(rows, ridge_of(m, self))
        sums = gram_ridge(m, intercept=self.intercept)
        lams = tuple(sorted(sums.grid(), reverse=True))
        loo = LeaveOneOut(sums, lams, features.map, features.row_bytes)
        errors = rows.collect(loo, f"{label}, left out").nan_to_num(nan=torch.inf)
        return _like(rows, _solution(sums, lams[int(errors.argmin())]))

    def path(
        self,
        F: Float[Tensor, "n m"],
        y: Float[Tensor, "n c"],
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> tuple[RidgePath, Float[Tensor, " m"], float]:
        """The ridge path of all rows, the feature means, and the penalty used."""
        path, means = ridge_path(F, y, weights, intercept=self.intercept)
        lam = self.given(float(unit_weights(F, weights).sum()))
        if lam is None and self.select == "validation" and len(F) >= 5:
            lam = self._by_validation(F, y, unit_weights(F, weights), path.grid(), seed)
        elif lam is None:
            lam = path.best(path.grid(), "gcv" if self.select == "gcv" else "loo")
        return path, means, lam

    def _by_validation(
        self, F: Tensor, y: Tensor, w: Tensor, lams: list[float], seed: int
    ) -> float:
        order = torch.randperm(len(F), generator=stream(seed, "head validation"))
        held, kept = order[: len(F) // 5], order[len(F) // 5 :]
        path, means = ridge_path(F[kept], y[kept], w[kept], intercept=self.intercept)

        def loss(lam: float) -> float:
            a = path.coefficients(lam)
            error = y[held] - path.offset - (F[held] - means) @ a
            return float((w[held, None] * error.square()).sum())

        return min(sorted(lams, reverse=True), key=loss)


def _like(rows: Rows, found: Head) -> Head:
    X = rows.template.X
    return found[0].to(X), found[1].to(X), found[2]


def _validated(head: RidgeHead, rows: Rows, features: Features, seed: int, label: str) -> Head:
    moments = Moments(features.map, features.row_bytes)
    parts = (HashPart((0,), 5, seed), HashPart((1, 2, 3, 4), 5, seed))
    both = Joint(tuple(OnMapped(moments, part) for part in parts))
    held, kept = rows.collect(both, label)
    every = moments.merge(deepcopy(kept), held)
    check_rows_came(every.weight)
    whole = gram_ridge(every, intercept=head.intercept)
    if not (held.weight > 0 and kept.weight > 0):  # too few rows to hold any out
        return _like(rows, _solution(whole, whole.best()))
    path = gram_ridge(kept, intercept=head.intercept)
    lam = min(sorted(path.grid(), reverse=True), key=lambda lam: _loss(path, lam, held))
    return _like(rows, _solution(whole, lam))


def check_rows_came(weight: Tensor) -> None:
    """Refuse sums over no row."""
    if not weight > 0:
        raise SourceError(
            "no row has a positive weight (or none is in a random half of them): give more rows."
        )


def ridge_of(m: MomentState, head: RidgeHead) -> Head:
    """Ridge from the moments of features and targets alone: at a given penalty, or GCV's."""
    lam = head.given(float(m.weight))
    if lam is not None and lam > 0:
        a = solve_gram(m, lam, intercept=head.intercept)
        offset = m.mean_y - m.mean_x @ a
        return a, offset if head.intercept else torch.zeros_like(offset), lam
    path = gram_ridge(m, intercept=head.intercept)
    return _solution(path, path.best() if lam is None else lam)


def _solution(path: GramRidge, lam: float) -> Head:
    a = path.coefficients(lam)
    return a, path.offset - path.means @ a, lam


def _loss(path: GramRidge, lam: float, held: MomentState) -> float:
    """Sum of w |y - b - a.F|^2 over rows of which the moments are known."""
    a = path.coefficients(lam)
    miss = held.mean_y - path.offset - (held.mean_x - path.means) @ a
    quadratic = held.yy - 2 * (a * held.xy).sum(0) + (a * (held.xx @ a)).sum(0)
    return float((quadratic + held.weight * miss.square()).sum())
