"""Affine row maps: standardisation, whitening, and one after the other as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..blocks import Block
from .moments import MomentState

#: Standard deviation of a column, relative to its size, up to which it is constant.
CONSTANT = 1e-12


@final
@dataclass(frozen=True)
class Affine:
    """x -> (x - shift) P and y -> (y - y_shift) / y_scale; moments follow without the rows.

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

    def __call__(self, rows: Block) -> Block:
        where = rows.X.device if self.device is None else self.device
        kind = rows.X.dtype if self.dtype is None else self.dtype
        shift, P, y_shift, y_scale = (
            t.to(where) for t in (self.shift, self.P, self.y_shift, self.y_scale)
        )
        X = rows.X.to(where) - shift
        X = X.mul_(P) if P.ndim == 1 else X @ P
        y = (rows.y.to(where) - y_shift).div_(y_scale)
        return Block(X.to(kind), y.to(kind), rows.w.to(where, kind))

    def moments(self, m: MomentState) -> MomentState:
        """Finished moments of mapped rows, from those of the rows."""
        P = torch.diag(self.P) if self.P.ndim == 1 else self.P
        return MomentState(
            m.count,
            m.weight,
            (m.mean_x - self.shift) @ P,
            (m.mean_y - self.y_shift) / self.y_scale,
            P.T @ m.xx @ P,
            P.T @ m.xy / self.y_scale,
            m.yy / self.y_scale.square(),
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
