"""Means and second moments, and the affine row maps that they go through without the rows.

For standardisation, whitening, the affine part, and normal equations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block, Statistic, accumulator, check_accumulated, collect
from ..linear_algebra import add_gram, mirrored

#: Rows to other rows, such as inputs to features; must not depend on which rows come together.
RowMap = Callable[[Block], Block]


@dataclass
class MomentState:
    """Rows, total weight, means, and centred second moments (sums, not divided by the weight).

    `count` is the number of rows with positive weight. Of `xx` the upper triangle alone is defined
    until the statistic is finished.
    """

    count: Float[Tensor, ""]
    weight: Float[Tensor, ""]
    mean_x: Float[Tensor, " d"]
    mean_y: Float[Tensor, " c"]
    xx: Float[Tensor, "d d"]
    xy: Float[Tensor, "d c"]
    yy: Float[Tensor, " c"]


@dataclass(frozen=True)
class Moments(Statistic[Block, MomentState, MomentState]):
    """First and second moments of [x, y], merged by Chan's update so that no digits cancel.

    Of features instead of inputs (`map`) these are the centred normal equations of ridge
    regression: a = (xx + lambda I)^{-1} xy, intercept mean_y - mean_x . a. Rows are mapped and
    centred in chunks that stay in the processor's cache; the cross term of Chan's update goes into
    the product as one more row, and only half of the symmetric matrix is computed and sent.

    Source: Chan, Golub & LeVeque 1983.

    >>> from gradfeat.maths.blocks import collect
    >>> X = torch.tensor([[1.0], [3.0]]).double()
    >>> m = collect(Moments(), [Block(X[:1], X[:1], X[:1, 0] * 0 + 1), Block(X[1:], X[1:], X[0])])
    >>> float(m.mean_x), round(float(m.xx), 12)
    (2.0, 2.0)
    """

    map: RowMap | None = None  # what is done to some rows before they are counted
    #: Scratch that a mapped row takes, for the size of the chunks; 0: that of a row as it comes.
    row_bytes: int = 0

    def init(self, block: Block) -> MomentState:
        rows = self._mapped(block.none)
        shapes = _shapes(rows.X.shape[1], rows.y.shape[1])
        return MomentState(*(accumulator(*shape, like=rows.X) for shape in shapes))

    def _mapped(self, block: Block) -> Block:
        return block if self.map is None else self.map(block)

    def update(self, state: MomentState, block: Block) -> MomentState:
        own = 2 * block.X.shape[1] * block.X.element_size()
        for chunk in block.chunks(self.row_bytes or own):
            _add(state, self._mapped(chunk))
        return state

    def merge(self, one: MomentState, other: MomentState) -> MomentState:
        total = one.weight + other.weight
        share = other.weight / torch.where(total > 0, total, 1.0)
        dx, dy = other.mean_x - one.mean_x, other.mean_y - one.mean_y
        scale = one.weight * share
        one.xx.add_(other.xx).addr_(scale * dx, dx)
        one.xy.add_(other.xy).addr_(scale * dx, dy)
        one.yy.add_(other.yy).add_(scale * dy.square())
        one.mean_x.add_(share * dx)
        one.mean_y.add_(share * dy)
        one.weight.copy_(total)
        one.count.add_(other.count)
        return one

    def finish(self, state: MomentState) -> MomentState:
        mirrored(state.xx)
        return state

    def pack(self, state: MomentState) -> dict[str, Tensor]:
        return vars(state) | {"xx": to_triangle(state.xx)}

    def unpack(self, packed: Mapping[str, Tensor]) -> MomentState:
        """The square again, its lower half zero."""
        xx, names = from_triangle(packed["xx"]), [field.name for field in fields(MomentState)]
        shapes = dict(zip(names, _shapes(*packed["xy"].shape), strict=True))
        check_accumulated({**packed, "xx": xx}, shapes)
        return MomentState(**{n: packed[n].clone() for n in names if n != "xx"}, xx=xx)


def _shapes(d: int, c: int) -> tuple[tuple[int, ...], ...]:
    """Of the moments of d columns and c outputs, in the order of the fields."""
    return (), (), (d,), (c,), (d, d), (d, c), (c,)


def to_triangle(A: Float[Tensor, "n n"]) -> Float[Tensor, " t"]:
    """The upper triangle, row by row: t = n (n + 1) / 2 numbers."""
    return torch.cat([A[i, i:] for i in range(len(A))]) if len(A) else A.new_zeros(0)


def from_triangle(t: Float[Tensor, " t"]) -> Float[Tensor, "n n"]:
    """The square matrix with this upper triangle, and zeros below it."""
    n = int(((8 * t.numel() + 1) ** 0.5 - 1) / 2 + 0.5)
    A, start = t.new_zeros(n, n), 0
    for i in range(n):
        A[i, i:] = t[start : start + n - i]
        start += n - i
    return A


def raw(m: MomentState) -> MomentState:
    """Moments about zero instead of the means (which become zero), of a finished statistic."""
    return MomentState(
        m.count,
        m.weight,
        torch.zeros_like(m.mean_x),
        torch.zeros_like(m.mean_y),
        m.xx + m.weight * torch.outer(m.mean_x, m.mean_x),
        m.xy + m.weight * torch.outer(m.mean_x, m.mean_y),
        m.yy + m.weight * m.mean_y.square(),
    )


def _add(state: MomentState, rows: Block) -> None:
    """Add mapped rows: centre them by their own mean, and append the difference of the means."""
    w = rows.w.double()
    weight = w.sum()
    if not weight > 0:
        return
    total = state.weight + weight
    p = w / weight
    mean_x, mean_y = p @ rows.X.double(), p @ rows.y.double()
    dx, dy = mean_x - state.mean_x, mean_y - state.mean_y
    cross = (state.weight * weight / total).sqrt()
    root = rows.w.sqrt()[:, None]
    F = _with_row((rows.X - mean_x.to(rows.X)) * root, cross * dx)
    t = _with_row((rows.y - mean_y.to(rows.y)) * root, cross * dy)
    add_gram(state.xx, F)
    state.xy.add_(F.T @ t)
    state.yy.add_(t.square().sum(0, dtype=torch.float64))
    state.mean_x.add_(dx * (weight / total))
    state.mean_y.add_(dy * (weight / total))
    state.weight.copy_(total)
    state.count.add_((rows.w > 0).sum())


def _with_row(A: Tensor, row: Tensor) -> Tensor:
    out = A.new_empty(len(A) + 1, A.shape[1])
    out[:-1], out[-1] = A, row
    return out


#: Standard deviation of a column, relative to its size, up to which it is constant.
CONSTANT = 1e-12


@final
@dataclass(frozen=True)
class Affine:
    """x -> (x - shift) P, y -> (y - y_shift) / y_scale, w -> w / w_scale, and so the moments.

    The shift is taken off first, so that no digits cancel where it is large.

    >>> one = torch.ones(1).double()
    >>> map = Affine(one, 2 * one, one, one)
    >>> rows = map(Block(torch.tensor([[4.0]]), torch.tensor([[5.0]]), torch.ones(1)))
    >>> rows.X.tolist(), rows.y.tolist()
    ([[6.0]], [[4.0]])
    >>> map.then(Affine(one, 3 * one, 0 * one, one)).P.tolist()
    [6.0]
    """

    #: Of the inputs, float64; P of one dimension scales each input.
    shift: Float[Tensor, " d"]
    P: Tensor
    #: Of the targets, float64.
    y_shift: Float[Tensor, " c"]
    y_scale: Float[Tensor, " c"]
    dtype: torch.dtype | None = None  # float type of mapped rows; None: as they come
    device: torch.device | None = None  # where mapped rows are; None: where they come
    w_scale: float = 1.0

    def __call__(self, rows: Block) -> Block:
        where = rows.X.device if self.device is None else self.device
        kind = rows.X.dtype if self.dtype is None else self.dtype
        shift, P, y_shift, y_scale = (
            t.to(where) for t in (self.shift, self.P, self.y_shift, self.y_scale)
        )
        X = rows.X.to(where) - shift
        X = X.mul_(P) if P.ndim == 1 else X @ P
        y = (rows.y.to(where) - y_shift).div_(y_scale)
        return Block(X.to(kind), y.to(kind), (rows.w / self.w_scale).to(where, kind))

    def moments(self, m: MomentState) -> MomentState:
        """Finished moments of mapped rows, from those of the rows."""
        P = torch.diag(self.P) if self.P.ndim == 1 else self.P
        return MomentState(
            m.count,
            m.weight / self.w_scale,
            (m.mean_x - self.shift) @ P,
            (m.mean_y - self.y_shift) / self.y_scale,
            P.T @ m.xx @ P / self.w_scale,
            P.T @ m.xy / self.y_scale / self.w_scale,
            m.yy / self.y_scale.square() / self.w_scale,
        )

    def then(self, other: Affine) -> Affine:
        """This map, and another one after it, in one step.

        Where this one loses directions (P is not square), shifts of the other are carried back by
        the pseudo-inverse.
        """
        shift = self.shift + _back(self.P, other.shift)
        return Affine(
            shift,
            _product(self.P, other.P),
            self.y_shift + self.y_scale * other.y_shift,
            self.y_scale * other.y_scale,
            other.dtype or self.dtype,
            other.device or self.device,
            self.w_scale * other.w_scale,
        )


def _back(P: Tensor, shift: Tensor) -> Tensor:
    """v with v P = shift."""
    return shift / P if P.ndim == 1 else torch.linalg.lstsq(P.T, shift[:, None]).solution[:, 0]


def _product(P: Tensor, Q: Tensor) -> Tensor:
    if P.ndim == 1:
        return P * Q if Q.ndim == 1 else P[:, None] * Q
    return P * Q if Q.ndim == 1 else P @ Q


def inputs_only(shift: Float[Tensor, " d"], P: Tensor, outputs: int) -> Affine:
    """x -> (x - shift) P; the targets stay."""
    shift, P = shift.double(), P.double()
    return Affine(shift, P, shift.new_zeros(outputs), shift.new_ones(outputs))


def standard_deviations(mean: Tensor, variance: Tensor) -> Tensor:
    """Of columns; 0 for a constant one, whatever its size."""
    scale = variance.sqrt()
    return torch.where(scale > CONSTANT * (mean.abs() + scale), scale, 0.0)


#: Principal directions with less than this share of the mean variance count as constant.
NO_VARIANCE = 1e-6


def whitening(
    moments: MomentState, shrinkage: float | None = None
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Mean (d,) and symmetric (C + shrinkage tr(C)/d I)^{-1/2} (d, d) of inputs x, C = cov(x).

    `shrinkage` None is d/n, between 1e-3 and 1, for n rows.
    """
    e, V = torch.linalg.eigh(moments.xx / moments.weight)
    floor = _shrinkage(shrinkage, len(e), float(moments.count)) * e.clamp(min=0).mean()
    return moments.mean_x, (V * _rsqrt(e.clamp(min=0) + floor)) @ V.T


def _shrinkage(given: float | None, d: int, n: float) -> float:
    return min(1.0, max(1e-3, d / n)) if given is None else given


def _rsqrt(values: Tensor) -> Tensor:
    return torch.where(values > 0, values, 1.0).rsqrt()


class Whitening(ABC):
    """z = (x - mean) P with P symmetric."""

    mean: Float[Tensor, " d"]

    @abstractmethod
    def turned(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """W P, which takes vectors to whitened inputs, and first layers of those back."""

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Rows of inputs, with mean zero and covariance I but for the shrinkage."""
        return self.turned(X - self.mean)


@final
@dataclass(frozen=True, eq=False)
class WholeWhitening(Whitening):
    """With P (d, d) as it is."""

    mean: Float[Tensor, " d"]
    P: Float[Tensor, "d d"]

    def turned(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        return W @ self.P


@final
@dataclass(frozen=True, eq=False)
class ThinWhitening(Whitening):
    """P = V diag(scale) V^T + rest (I - V V^T): of k < d directions in which x varies."""

    mean: Float[Tensor, " d"]
    #: Orthonormal directions, and P along them.
    V: Float[Tensor, "d k"]
    scale: Float[Tensor, " k"]
    rest: Float[Tensor, ""]  # P in every direction orthogonal to them

    def turned(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        return self.rest * W + (W @ self.V * (self.scale - self.rest)) @ self.V.T


def whitening_of(rows: Block, shrinkage: float | None = None) -> Whitening:
    """:func:`whitening` of rows at hand; of fewer rows than columns at a cost of n^2 d, not d^3.

    In the float type of the rows, found in float64.
    """
    n, d = rows.X.shape
    if n >= d:
        found = whitening(collect(Moments(), [rows]), shrinkage)
        return WholeWhitening(*(t.to(rows.X) for t in found))
    p, count = rows.w.double() / rows.w.double().sum(), int((rows.w > 0).sum())
    X = rows.X.double()
    mean = p @ X
    _, s, Vh = torch.linalg.svd(p.sqrt()[:, None] * (X - mean), full_matrices=False)
    floor = _shrinkage(shrinkage, d, count) * s.square().sum() / d
    parts = (mean, Vh.T.contiguous(), _rsqrt(s.square() + floor), _rsqrt(floor))
    return ThinWhitening(*(t.to(rows.X) for t in parts))


@dataclass(frozen=True)
class PrincipalWhitening:
    """z = (x - mean) map in the q leading principal directions; covariance of z is I."""

    mean: Float[Tensor, " d"]  # of the inputs
    map: Float[Tensor, "d q"]  # eigenvectors of the covariance over the roots of their eigenvalues
    varying: int  # principal directions that vary at all; more than q where `most` cut them

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n q"]:
        return (X - self.mean) @ self.map


def principal_whitening(X: Float[Tensor, "n d"], most: int) -> PrincipalWhitening:
    """Whitening that leaves out directions without variance, and all but the `most` leading ones.

    Columns that follow from others (0/1 columns of all levels of a category) make the covariance
    singular; here their common direction is dropped instead of being blown up.

    >>> x = torch.tensor([[3.0], [-1.0], [1.0], [5.0]])
    >>> fit = principal_whitening(torch.cat([x, 2 * x], dim=1), most=2)
    >>> fit.varying, [round(abs(float(z)), 4) for z in fit(torch.cat([x, 2 * x], dim=1)).var(0)]
    (1, [1.3333])
    """
    mean = X.mean(0)
    e, V = torch.linalg.eigh((X - mean).T @ (X - mean) / len(X))
    e, V = e.flip(0), V.flip(1)
    varying = int((e > NO_VARIANCE * e.mean()).sum())
    q = min(varying, most)
    return PrincipalWhitening(mean, V[:, :q] / e[:q].sqrt(), varying)
