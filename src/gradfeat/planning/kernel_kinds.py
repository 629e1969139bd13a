"""Kinds of passes of kernel machines on Nystrom centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch

from ..maths.statistics.mapped import OnMapped
from ..maths.statistics.moments import Moments
from ..models.kernels.radial import Laplace
from ..models.nystrom_maps import NystromFeatures, OntoDirections
from ..models.nystrom_rows import one_column, row_bytes
from . import flops
from .kinds import WIDE, Kind, Shape, moment_bytes
from .network_kinds import affine_bytes, affine_flops, numbers, on_scaled


@final
@dataclass(frozen=True)
class Count(Kind):
    """How many rows of positive weight there are; `inside` the directions of an RFM."""

    inside: bool = False

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Of one column, and of the directions on the way."""
        onto = flops.affine(s.d) if self.inside else 0
        return affine_flops(s) + onto + flops.moments(1, s.c, full=full)

    def packed(self, s: Shape) -> int:
        """Moments of one column."""
        return moment_bytes(1, s.c, packed=True)

    def held(self, s: Shape) -> int:
        """The same."""
        return self.packed(s)

    def sent(self, s: Shape) -> int:
        """The scales, and the directions."""
        return affine_bytes(s) + (WIDE * s.d * s.d if self.inside else 0)

    def touched(self, s: Shape) -> int:
        """The rows on their way."""
        return 4 * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        onto = (OntoDirections(numbers(s.d, s.d) / s.d),) if self.inside else ()
        return on_scaled(Moments(one_column), s, *onto)


@final
@dataclass(frozen=True)
class Spread(Kind):
    """Moments of the rows in the directions that an RFM has found, at most d."""

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """The directions, and moments."""
        return affine_flops(s) + flops.affine(s.d) + flops.moments(s.d, s.c, full=full)

    def packed(self, s: Shape) -> int:
        """Moments of d columns."""
        return moment_bytes(s.d, s.c, packed=True)

    def held(self, s: Shape) -> int:
        """The same with whole matrices."""
        return moment_bytes(s.d, s.c, packed=False)

    def sent(self, s: Shape) -> int:
        """The scales and the directions."""
        return affine_bytes(s) + WIDE * s.d * s.d

    def touched(self, s: Shape) -> int:
        """The rows on their way."""
        return 10 * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        return on_scaled(Moments(), s, OntoDirections(numbers(s.d, s.d) / s.d))


@final
@dataclass(frozen=True)
class NystromEquations(Kind):
    """Moments of Nystrom features; `inside` the directions of an RFM."""

    inside: bool = False

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Directions, kernel values, their features, moments."""
        onto = flops.affine(s.d) if self.inside else 0
        own = flops.nystrom(s.d, s.m) + flops.moments(s.m, s.c, full=full)
        return affine_flops(s) + onto + own

    def packed(self, s: Shape) -> int:
        """Moments of m columns."""
        return moment_bytes(s.m, s.c, packed=True)

    def held(self, s: Shape) -> int:
        """The same with whole matrices."""
        return moment_bytes(s.m, s.c, packed=False)

    def sent(self, s: Shape) -> int:
        """Centres, their factor, the scales, the directions."""
        onto = WIDE * s.d * s.d if self.inside else 0
        return affine_bytes(s) + WIDE * (s.m * (s.m + s.d) + s.d) + onto

    def touched(self, s: Shape) -> int:
        """Distances, kernel values and features several times."""
        return 20 * s.m + 8 * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        T = torch.eye(s.m).double() + numbers(s.m, s.m).triu(1) / s.m
        of = NystromFeatures(Laplace(s.d**0.5), numbers(s.m, s.d), T, torch.ones(s.d).double())
        onto = (OntoDirections(numbers(s.d, s.d) / s.d),) if self.inside else ()
        return on_scaled(Moments(of, row_bytes(of.scratch_per_row())), s, *onto)
