"""Kinds of passes of linear models, random features and gradient features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from ..estimators.rows_data import SAMPLE_NUMBERS, SAMPLE_ROWS
from ..maths.activations import ReLU
from ..maths.blocks import Statistic
from ..maths.gram_ridge import GramRidge
from ..maths.statistics.affine import Affine, inputs_only
from ..maths.statistics.first_layer_gradient import FirstLayerGradient
from ..maths.statistics.gradient_outer_products import GradientOuterProducts
from ..maths.statistics.joint import Joint
from ..maths.statistics.leave_one_out import LeaveOneOut
from ..maths.statistics.mapped import Chain, OnMapped
from ..maths.statistics.moments import Moments
from ..maths.statistics.sample import RowSample
from ..models.head import INPUTS
from ..models.refit import AffineRest, features_of
from ..models.two_layer import TwoLayer
from . import flops
from .kinds import WIDE, Kind, Shape, moment_bytes

#: Passes of a number through memory that its share of a row's hash takes.
HASHING = 25


def numbers(*shape: int) -> Tensor:
    """Random numbers of unit spread; always the same."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def scaled(s: Shape) -> Affine:
    """The rows in the units of the fit: whitened, or each column by itself."""
    P = numbers(s.d, s.d) / s.d**0.5 if s.whitened else torch.ones(s.d).double()
    return inputs_only(torch.zeros(s.d), P, s.c)


def affine_flops(s: Shape) -> int:
    """Of :func:`scaled`."""
    return flops.affine(s.d) if s.whitened else 0


def affine_bytes(s: Shape) -> int:
    """Of :func:`scaled`."""
    return WIDE * (s.d * (s.d if s.whitened else 1) + s.d + 2 * s.c)


def on_scaled(inner: Statistic[Any, Any], s: Shape) -> OnMapped[Any, Any]:
    """A statistic as passes take it: of the rows in the units of the fit."""
    return OnMapped(inner, Chain((scaled(s),)))


def net(s: Shape) -> TwoLayer:
    """A network of the shape."""
    b, a = torch.zeros(s.m).double(), numbers(s.m, s.c)
    zero = torch.zeros(s.d, s.c).double()
    return TwoLayer(numbers(s.m, s.d) / s.d**0.5, b, a, zero[0], zero, ReLU())


def net_bytes(s: Shape) -> int:
    """Of :func:`net`."""
    return WIDE * (s.m * (s.d + 1 + s.c) + s.c * (s.d + 1))


def sample_rows(s: Shape) -> int:
    """Rows of the sample of the first pass."""
    return max(2, min(SAMPLE_ROWS, SAMPLE_NUMBERS // s.d))


@final
@dataclass(frozen=True)
class FirstPass(Kind):
    """Moments of the rows as they come, and a sample of them."""

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Of the moments."""
        return flops.moments(s.d, s.c, full=full)

    def packed(self, s: Shape) -> int:
        """Moments, and the sample with hashes and weights."""
        return moment_bytes(s.d, s.c, packed=True) + self._sample(s)

    def held(self, s: Shape) -> int:
        """The same with whole matrices."""
        return moment_bytes(s.d, s.c, packed=False) + self._sample(s)

    def _sample(self, s: Shape) -> int:
        return WIDE * sample_rows(s) * (s.d + s.c + 2)

    def sent(self, s: Shape) -> int:
        """Next to nothing."""
        del s
        return 0

    def touched(self, s: Shape) -> int:
        """Every number is hashed."""
        return HASHING * (s.d + s.c)

    def statistic(self, s: Shape) -> Joint:
        """As fits take it."""
        return Joint((Moments(), RowSample(sample_rows(s), 0)))


@final
@dataclass(frozen=True)
class Gradient(Kind):
    """The first gradient step."""

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Whitening and the gradient."""
        del full
        return affine_flops(s) + flops.gradient(s.d, s.m, s.c)

    def packed(self, s: Shape) -> int:
        """(m/2) (d + 1) + 1 numbers."""
        return WIDE * (s.m // 2 * (s.d + 1) + 1)

    def held(self, s: Shape) -> int:
        """The same."""
        return self.packed(s)

    def sent(self, s: Shape) -> int:
        """Half of the network, the affine part, the scales."""
        return net_bytes(s) // 2 + affine_bytes(s)

    def touched(self, s: Shape) -> int:
        """Slopes, and the rows on their way."""
        return 2 * s.m + 6 * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        of, half = net(s), slice(None, s.m // 2)
        rest = AffineRest(of.offset, of.beta)
        return on_scaled(
            FirstLayerGradient(of.W[half], of.b[half], of.a[half], of.activation, rest), s
        )


@final
@dataclass(frozen=True)
class NormalEquations(Kind):
    """Moments of features and of what is left of the targets."""

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Whitening, features, moments."""
        own = flops.features(s.d, s.m, s.c) + flops.moments(s.m, s.c, full=full)
        return affine_flops(s) + own

    def packed(self, s: Shape) -> int:
        """Moments of m columns."""
        return moment_bytes(s.m, s.c, packed=True)

    def held(self, s: Shape) -> int:
        """The same with whole matrices."""
        return moment_bytes(s.m, s.c, packed=False)

    def sent(self, s: Shape) -> int:
        """The network and the scales."""
        return net_bytes(s) + affine_bytes(s)

    def touched(self, s: Shape) -> int:
        """Features, centred and weighed, and the rows on their way."""
        return 8 * s.m + 6 * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        mapping = features_of(net(s))
        return on_scaled(Moments(mapping.map, mapping.row_bytes), s)


@final
@dataclass(frozen=True)
class LeftOut(Kind):
    """Leave-one-out errors at all penalties, of features or of the inputs themselves."""

    inputs: bool = False

    def _columns(self, s: Shape) -> int:
        return s.d if self.inputs else s.m

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Whitening, features, the spectrum's coordinates."""
        del full
        mapped = 0 if self.inputs else flops.features(s.d, s.m, s.c)
        return affine_flops(s) + mapped + flops.left_out(self._columns(s), s.c)

    def packed(self, s: Shape) -> int:
        """A sum for each penalty."""
        del s
        return WIDE * (flops.PENALTIES + 1)

    def held(self, s: Shape) -> int:
        """The same."""
        return self.packed(s)

    def sent(self, s: Shape) -> int:
        """The spectrum, the network and the scales."""
        m = self._columns(s)
        spectrum = WIDE * (m * m + m * (s.c + 2) + 2 * s.c)
        return spectrum + affine_bytes(s) + (0 if self.inputs else net_bytes(s))

    def touched(self, s: Shape) -> int:
        """Features, their coordinates and squares, and the rows on their way."""
        return 6 * self._columns(s) + 6 * s.d + 4 * flops.PENALTIES * s.c

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        m = self._columns(s)
        e, zero = torch.ones(m).double(), torch.zeros(s.c).double()
        V, g = numbers(m, m) / m**0.5, numbers(m, s.c)
        path = GramRidge(V, e, g, 0 * e, zero, 0 * zero + 1, 1e6, 1e6, True)
        mapping = INPUTS if self.inputs else features_of(net(s))
        lams = tuple(float(k + 1) for k in range(flops.PENALTIES))
        return on_scaled(LeaveOneOut(path, lams, mapping.map, mapping.row_bytes), s)


@final
@dataclass(frozen=True)
class Gradients(Kind):
    """Outer products of the gradients of a fitted network, for the next step."""

    def flops(self, s: Shape, *, full: bool = False) -> int:
        """Whitening, gradients, their products."""
        return affine_flops(s) + flops.gradient_products(s.d, s.m, s.c, full=full)

    def packed(self, s: Shape) -> int:
        """One triangle and the mean gradients."""
        return WIDE * (1 + s.d * (s.d + 1) // 2 + s.c * s.d)

    def held(self, s: Shape) -> int:
        """The same with whole matrices."""
        return WIDE * (1 + s.d * s.d + s.c * s.d)

    def sent(self, s: Shape) -> int:
        """The network and the scales."""
        return net_bytes(s) + affine_bytes(s)

    def touched(self, s: Shape) -> int:
        """Slopes, and gradients of every output."""
        return 4 * s.m + 4 * s.c * s.d

    def statistic(self, s: Shape) -> OnMapped[Any, Any]:
        """As fits take it."""
        of = net(s)
        return on_scaled(GradientOuterProducts(of.gradient, of.scratch_per_row()), s)
