"""The trained head of a two-layer net: ridge on features of rows, in memory or streamed.

Also a new one on features that are kept: the last step of Algorithm 1, and of transfer.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import SourceError
from ..maths.blocks import Block, unit_weights
from ..maths.gram_ridge import GramRidge, LeaveOneOut, gram_ridge, solve_gram
from ..maths.ridge import RidgePath, ridge_path
from ..maths.statistics.moments import Moments, MomentState, RowMap
from ..maths.statistics.value_counts import CountState
from ..maths.streams import stream
from ..rows.rows import HashPart, Rows
from .predictors import TwoLayer

#: Coefficients, intercepts, and the penalty used.
Head = tuple[Float[Tensor, "m c"], Float[Tensor, " c"], float]


@dataclass(frozen=True)
class Features:
    """Rows to features (or nothing: the inputs), and the scratch that a mapped row takes."""

    map: RowMap | None = None
    row_bytes: int = 0


INPUTS = Features()

#: Rows of which a fifth can be held out; of fewer, each is left out in turn.
_FEWEST = 5

#: How a penalty is chosen.
Select = Literal["loo", "gcv", "validation"]


@dataclass(frozen=True)
class RidgeHead:
    """argmin_a,b sum_i w_i |y_i - b - a.F_i|^2 + penalty |a|^2.

    Rows in memory are solved by the singular values of F. Streamed rows are solved by the normal
    equations: the penalty by GCV from the sums themselves, by leave-one-out in one more pass, by
    validation on a fifth of the rows (by their hash) after one that counts copies of rows.

    `penalty`: None chooses it from 25 log-spaced values.
    `select`: How: leave-one-out, generalised cross-validation, or a fifth of the rows held out
        (then refitted on all).
    `intercept`: False fixes b = 0.

    >>> from gradfeat.rows.rows import in_memory
    >>> F = torch.arange(4.0).double()[:, None]
    >>> a, b, penalty = RidgeHead(penalty=1e-9).fit(in_memory(F, 2 * F + 1))
    >>> round(float(a), 6), round(float(b), 6)
    (2.0, 1.0)
    """

    penalty: float | None = None
    select: Select = "loo"
    intercept: bool = True

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
            copies = rows.copies(seed, label)
            if float(copies.weights.sum()) >= _FEWEST:
                return _validated(self, rows, features, copies, seed, label)
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
        lam = self.penalty
        if lam is None and self.select == "validation" and len(F) >= _FEWEST:
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


def _validated(
    head: RidgeHead, rows: Rows, features: Features, copies: CountState, seed: int, label: str
) -> Head:
    moments = Moments(features.map, features.row_bytes)
    held, kept = rows.in_parts(moments, HashPart.both(copies, seed), label)
    every = moments.merge(deepcopy(kept), held)
    check_rows_came(every.weight)
    whole = gram_ridge(every, intercept=head.intercept)
    if not (held.weight > 0 and kept.weight > 0):  # all are copies of one row
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
    lam = head.penalty
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


#: How beta is found before the features are fitted to what is left.
Linear = Literal["moment", "ridge", "none"]


@dataclass(frozen=True)
class AffineRest:
    """y less alpha + beta.x, in the place of y."""

    offset: Float[Tensor, " c"]
    beta: Float[Tensor, "d c"]

    def __call__(self, rows: Block) -> Block:
        return Block(rows.X, rows.y - rows.X @ self.beta - self.offset, rows.w)


@dataclass(frozen=True)
class NetworkRest:
    """y less `scale` times what a network says, in the place of y."""

    net: TwoLayer
    scale: float = 1.0

    def __call__(self, rows: Block) -> Block:
        return Block(rows.X, torch.sub(rows.y, self.net(rows.X), alpha=self.scale), rows.w)


@dataclass(frozen=True)
class FeatureRows:
    """Features of a network in the place of x, and what its affine part leaves in that of y."""

    net: TwoLayer

    def __call__(self, rows: Block) -> Block:
        rest = rows.y - rows.X @ self.net.beta - self.net.offset
        return Block(self.net.features(rows.X), rest, rows.w)


def features_of(net: TwoLayer) -> Features:
    """The features of `net`, with the scratch of a row."""
    return Features(FeatureRows(net), 2 * len(net.b) * net.W.element_size())


def affine_part(
    rows: Rows, linear: Linear, select: Select = "loo"
) -> tuple[Float[Tensor, " c"], Float[Tensor, "d c"]]:
    """alpha (c,) and beta (d, c) of alpha + beta.x, before anything else is fitted.

    "moment": alpha = mean y, beta = (1/n) sum_i y_i x_i; "ridge": with a penalty chosen as
    `select` says; "none": zero.

    Source: Damian22, Algorithm 1, lines 2 and 3.
    """
    none = rows.template
    if linear == "none":
        return none.X.new_zeros(none.y.shape[1]), none.X.new_zeros(none.X.shape[1], none.y.shape[1])
    if linear == "ridge":
        beta, alpha, _ = RidgeHead(select=select).fit(rows, label="linear part")
        return alpha, beta
    m = rows.moments()
    beta = m.xy / m.weight + torch.outer(m.mean_x, m.mean_y)
    return m.mean_y.to(none.X), beta.to(none.X)


def with_head(net: TwoLayer, rows: Rows, head: RidgeHead, seed: int = 0) -> TwoLayer:
    """`net` with a fitted to what its affine part leaves of y, and the head's intercept added."""
    a, intercept, penalty = head.fit(rows, features_of(net), seed=seed)
    return replace(net, a=a, offset=net.offset + intercept, penalty=penalty)


def refit_head(
    net: TwoLayer, rows: Rows, head: RidgeHead, *, linear: Linear = "none", seed: int = 0
) -> TwoLayer:
    """The features of `net` with a head of their own: sigma and (W, b) kept, the rest fitted anew.

    min over a, intercept of sum_i w_i |y_i - alpha - beta.x_i - intercept - a.sigma(W x_i + b)|^2 +
    penalty |a|^2, with alpha + beta.x from the new rows as `linear` says; one of d coefficients
    needs n of order d rows, which "none" does not (and whose head should have an intercept). The
    number of outputs may differ from that of `net`.

    Source: Damian22, Theorem 3: with features pretrained on a target of the same r directions, a
    new target of degree p needs n of order r^p rows, whatever d is.
    """
    alpha, beta = affine_part(rows, linear)
    a = alpha.new_zeros(len(net.b), len(alpha))
    return with_head(replace(net, a=a, offset=alpha, beta=beta), rows, head, seed)


@dataclass(frozen=True, eq=False)
class Transfer:
    """A net with a new head, and how the head was chosen.

    `net`: The first layer as it was, the head fitted.
    `linear`: Scale s of the linear part; 0 where there is none.
    `left_out` (n, c): What the same head fitted without row i predicts at row i.
    `loss`: Weighted mean squared error of `left_out`, summed over outputs.
    """

    net: TwoLayer
    penalty: float
    linear: float
    left_out: Float[Tensor, "n c"]
    loss: float


def transfer(
    net: TwoLayer,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n k"],
    head: RidgeHead,
    *,
    linear: bool = True,
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> Transfer:
    """Head on the features of `net` and, if that pays, on the inputs themselves: one ridge.

    min over b, beta, a of sum_i w_i |y_i - b - beta.x_i - a.sigma(W x_i + b_0)|^2 + lambda (|a|^2 +
    |beta|^2 / s^2), for s = 0 (no beta), s = 1, and the s at which the inputs have as much variance
    as the features; the s of least leave-one-out error is taken (0 alone where `linear` is False).
    A plain linear part would need n of order d rows; the features need n of order r^p only. Fewer
    rows than neurons or inputs are solved in the dual (n x n) form; weights are positive.

    Source: Damian22, Theorem 3.
    """
    w = unit_weights(X, weights)
    F, Z = (_varying(A, w / w.sum()) for A in (net.features(X), X))
    found = [_at(net, Z, F, y, s, head, w, seed) for s in _scales(F, Z, w, linear=linear)]
    return min(found, key=lambda one: one.loss)


def _varying(A: Tensor, share: Tensor) -> Tensor:
    """A with zeros in the columns whose spread about the mean is rounding."""
    spread = share @ (A - share @ A).square()
    rounding = 64 * torch.finfo(A.dtype).eps * A.abs().amax(0)
    return torch.where(spread.sqrt() > rounding, A, 0.0)


def _scales(F: Tensor, X: Tensor, w: Tensor, *, linear: bool) -> list[float]:
    """0, 1 and sqrt(tr cov F / tr cov X)."""
    v = w / w.sum()
    of_F, of_X = (float(v @ (A - v @ A).square().sum(1)) for A in (F, X))
    if not (linear and of_F > 0 and of_X > 0):
        return [0.0, 1.0] if linear and of_X > 0 else [0.0]
    return [0.0, 1.0, (of_F / of_X) ** 0.5]


def _at(
    net: TwoLayer, X: Tensor, F: Tensor, y: Tensor, s: float, head: RidgeHead, w: Tensor, seed: int
) -> Transfer:
    """The fit at one scale of the linear part."""
    path, means, lam = head.path(torch.cat([F, s * X], 1) if s else F, y, w, seed)
    both = path.coefficients(lam)
    a, rest = both[: F.shape[1]], both[F.shape[1] :]
    beta = s * rest if s else X.new_zeros(X.shape[1], y.shape[1])
    new = replace(net, a=a, offset=path.offset - means @ both, beta=beta, penalty=lam)
    return Transfer(new, lam, s, path.loo_predictions(lam), path.loo(lam))
