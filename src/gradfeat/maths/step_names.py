"""What one gradient step starts from and what weights it, by name."""

from __future__ import annotations

from typing import Literal, get_args

from .ranges import one_of

#: y as printed in Moniri24; y - f_0 is the true residual of a network with a ~ N(0, I/N);
#: y - f_0/sqrt(N) is that of Ba22, whose output has another factor 1/sqrt(N).
Residual = Literal["y", "y - f0", "ba22"]

RESIDUALS: tuple[Residual, ...] = get_args(Residual)

#: Rows of W0 ~ N(0, I/d), as in Moniri24, or uniform on the unit sphere.
RowLaw = Literal["gaussian", "sphere"]

ROW_LAWS: tuple[RowLaw, ...] = get_args(RowLaw)

#: sqrt(N) a_j of the head at the start: N(0, 1), -1 or 1, uniform with variance 1, or all 1.
HeadName = Literal["gaussian", "sign", "uniform", "ones"]

HEAD_LAWS: tuple[HeadName, ...] = get_args(HeadName)

#: Rows of what follows a gradient: new ones, or those that it was made of.
RowUse = Literal["fresh", "reused"]

ROW_USES: tuple[RowUse, ...] = get_args(RowUse)


def lengths_vary(rows: str) -> bool:
    """Whether rows of W0 of this law differ in length; ValueError for another name."""
    one_of(ROW_LAWS, rows=rows)
    return rows == "gaussian"
