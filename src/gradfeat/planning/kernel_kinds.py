"""Kinds of passes of kernel machines on Nystrom centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch

from ..maths.statistics.mapped import OnMapped
from ..maths.statistics.moments import Moments
from ..models.kernels.radial import Laplace
from ..models.nystrom_maps import NystromFeatures
from ..models.nystrom_rows import row_bytes
from . import flops
from .kinds import WIDE, Kind, Shape, moment_bytes
from .network_kinds import affine_bytes, affine_flops, numbers, on_scaled


@final
@dataclass(frozen=True)
class NystromEquations(Kind):
    """Moments of Nystrom features, in the directions of an RFM where the shape is whitened."""

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Directions, kernel values, their features, moments."""
        return affine_flops(s) + flops.nystrom(s.d, s.m) + flops.moments(s.m, s.c, full=full)

    def packed(self, s: Shape) -> int:
        """Moments of m columns."""
        return moment_bytes(s.m, s.c, packed=True)

    def held(self, s: Shape) -> int:
        """The same with whole matrices."""
        return moment_bytes(s.m, s.c, packed=False)

    def sent(self, s: Shape) -> int:
        """Centres, their factor, the scales, the directions."""
        return affine_bytes(s) + WIDE * (s.m * (s.m + s.d) + s.d)

    def touched(self, s: Shape) -> int:
        """Distances, kernel values and features several times."""
        return 20 * s.m + 8 * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        T = torch.eye(s.m).double() + numbers(s.m, s.m).triu(1) / s.m
        of = NystromFeatures(Laplace(s.d**0.5), numbers(s.m, s.d), T, torch.ones(s.d).double())
        return on_scaled(Moments(of, row_bytes(of.scratch_per_row())), s)
