"""Duals of activations: E sigma(U) sigma(V) and E sigma'(U) sigma'(V) for Gaussian (U, V)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import torch
from torch import Tensor

from ...maths.activations import RELU_MEAN, Activation
from ...maths.hermite import MAX_DEGREE, gauss_legendre, orthonormal_hermite
from .rotation_invariant import Pairs, Side


@dataclass(frozen=True)
class Slopes:
    """Derivatives of both moments: of the first in p; of the second in u and in p.

    That of the first in u is the second (Price's theorem).
    """

    value_p: Tensor
    slope_u: Tensor
    slope_p: Tensor


class Dual(ABC):
    """Moments of an activation under U ~ N(0, p), V ~ N(0, q), E UV = u; p = a^2, q = b^2.

    Source: Daniely, Frostig & Singer 2016 (dual activations).
    """

    @abstractmethod
    def coefficients(self, norm: Tensor) -> Tensor:
        """Hermite coefficients (n, K) of sigma(norm .); K = 0 where none are needed."""

    @abstractmethod
    def moments(self, s: Pairs) -> tuple[Tensor, Tensor]:
        """E sigma(U) sigma(V) and E sigma'(U) sigma'(V)."""

    @abstractmethod
    def slopes(self, s: Pairs) -> Slopes:
        """Derivatives of the moments, zero where they have a kink."""

    @abstractmethod
    def loss(self, s: Pairs, value: Tensor) -> Tensor:
        """sqrt(E sigma(U)^2 E sigma(V)^2) - value, without cancellation where sigma has a kink."""

    def side(self, norm: Tensor) -> Side:
        bare = Side(norm, norm, self.coefficients(norm))
        return Side(norm, self.moments(Pairs.equal(bare))[0].clamp_(min=0), bare.coefficients)


def cancelled(s: Pairs, value: Tensor) -> Tensor:
    """:meth:`Dual.loss` as it is written: accurate enough where the second moment is smooth."""
    return (s.left.own * s.right.own).sqrt_().sub_(value).clamp_(min=0)


class ClosedDual(Dual):
    """Moments in closed form, for which no coefficients are needed."""

    def coefficients(self, norm: Tensor) -> Tensor:
        return norm.new_empty(len(norm), 0)


@final
@dataclass(frozen=True)
class ReLUDual(ClosedDual):
    """sigma = max(z, 0): ab (sin t + (pi - t) cos t) / 2pi and (pi - t) / 2pi, t the angle.

    Source: Cho & Saul 2009, degrees 1 and 0.
    """

    def moments(self, s: Pairs) -> tuple[Tensor, Tensor]:
        """t = 2 asin sqrt h, sin t = 2 sqrt(h (1 - h)), cos t = 1 - 2h."""
        slope = torch.rsub(s.h.sqrt().asin_(), 0.5, alpha=1 / math.pi)
        value = s.half_sine().mul_(1 / math.pi).add_(slope).addcmul_(slope, s.h, value=-2)
        return value.mul_(s.b).mul_(s.a), slope

    def slopes(self, s: Pairs) -> Slopes:
        """b sin t / (4 pi a), 1 / (2 pi ab sin t), -b cos t / 2a times the latter."""
        sine, ratio = s.sine(), (s.b / s.a).nan_to_num_(0.0, 0.0, 0.0)
        slope_u = (sine * s.a * s.b).mul_(2 * math.pi).reciprocal_().nan_to_num_(0.0, 0.0, 0.0)
        slope_p = (s.h - 0.5).mul_(ratio).mul_(slope_u)
        return Slopes(sine.mul_(ratio).div_(4 * math.pi), slope_u, slope_p)

    def loss(self, s: Pairs, value: Tensor) -> Tensor:
        """ab (2 pi h + t cos t - sin t) / 2pi."""
        del value
        angle = s.h.sqrt().asin_().mul_(2)
        g = s.h.mul(-2).add_(1).mul_(angle).sub_(s.sine()).div_(2 * math.pi).add_(s.h)
        return g.clamp_(min=0).mul_(s.b).mul_(s.a)


@final
@dataclass(frozen=True)
class CentredReLUDual(ClosedDual):
    """sigma = max(z, 0) - m, m = 1/sqrt(2pi): the value of ReLU less m^2 (a + b - 1)."""

    def moments(self, s: Pairs) -> tuple[Tensor, Tensor]:
        """E max(U, 0) = a m."""
        value, slope = ReLUDual().moments(s)
        return value.sub_(RELU_MEAN**2 * (s.a + s.b - 1)), slope

    def slopes(self, s: Pairs) -> Slopes:
        """d a / dp = 1 / 2a."""
        ours = ReLUDual().slopes(s)
        mean = (RELU_MEAN**2 / (2 * s.a)).nan_to_num(0.0, 0.0, 0.0)
        return Slopes(ours.value_p - mean, ours.slope_u, ours.slope_p)

    def loss(self, s: Pairs, value: Tensor) -> Tensor:
        return cancelled(s, value)


@final
@dataclass(frozen=True)
class ErfDual(ClosedDual):
    """sigma = erf: (2/pi) atan(2u / sqrt D) and (4/pi) / sqrt D, D = 1 + 2p + 2q + 4 (pq - u^2).

    Source: Williams 1997, eq. 11, as asin(t) = atan(t / sqrt(1 - t^2)).
    """

    def _root(self, s: Pairs) -> Tensor:
        """1 / sqrt D, with pq - u^2 = 4 pq h (1 - h)."""
        D = (1 - s.h).mul_(s.h).mul_(s.a.square() * 16).mul_(s.b.square())
        return D.add_(s.a.square() * 2).add_(s.b.square() * 2 + 1).rsqrt_()

    def moments(self, s: Pairs) -> tuple[Tensor, Tensor]:
        root = self._root(s)
        value = s.product().mul_(2).mul_(root).atan_().mul_(2 / math.pi)
        return value, root.mul_(4 / math.pi)

    def slopes(self, s: Pairs) -> Slopes:
        """With r = E sigma' sigma': -u r / (1 + 2p), 4 u r / D, -r (1 + 2q) / D."""
        root = self._root(s)
        u, r, inverse = s.product(), root * (4 / math.pi), root.square()
        value_p = -u * r / (1 + 2 * s.a.square())
        return Slopes(value_p, 4 * u * r * inverse, -r * inverse * (1 + 2 * s.b.square()))

    def loss(self, s: Pairs, value: Tensor) -> Tensor:
        return cancelled(s, value)


#: Rows at a time when coefficients are computed.
ROWS = 2048
#: Coefficients whose squares sum to less than this share of the largest row's are left out.
NEGLIGIBLE = 1e-30
#: Norms are taken to be at least this: sigma'(0) is found from sigma(norm .), at an error of 1e-8.
SMALLEST = 3e-4


@final
@dataclass(frozen=True)
class HermiteDual(Dual):
    """sum_k r^k c_k(a) c_k(b), c_k(a) = E sigma(aZ) h_k(Z), h_k = He_k / sqrt(k!), r = u / ab.

    The coefficients come from Gauss-Legendre quadrature on 400 panels, up to degree 300, and those
    that rounding hides are dropped. The error of a value is at most |r|^301 times
    sqrt(t(a) t(b)), t(a) = E sigma(aZ)^2 - sum_k c_k(a)^2; of a slope the same with sigma'. A
    polynomial and a smooth sigma at moderate norms (tanh to norm 2, sin to 10) are exact to 1e-10;
    where sigma has a kink, t decays like 300^(-3/2): values are within 1e-4, slopes within
    3e-2 at r = 1 and 1e-7 at |r| < .95. The kernel is positive semi-definite either way: it is
    that of the series cut at degree 300.

    Source: Daniely, Frostig & Singer 2016, Lemma 11, for norms that differ.
    """

    activation: Activation

    def coefficients(self, norm: Tensor) -> Tensor:
        """c_k(norm), k = 0, ..., K, by one product."""
        z, basis = (part.to(norm.device) for part in _quadrature())
        a = norm.double().clamp(min=SMALLEST).split(ROWS)
        c = torch.cat([self.activation(rows[:, None] * z) @ basis for rows in a] or [basis[:0]])
        return c[:, : _kept(c)]

    def _levels(self, side_norm: Tensor, c: Tensor, highest: int) -> list[Tensor]:
        """Coefficients of sigma, sigma', ...: E sigma'(aZ) h_k = sqrt(k + 1) c_{k+1} / a."""
        out = [c]
        a = side_norm.double().clamp(min=SMALLEST)[..., None]
        for _ in range(highest):
            root = torch.arange(1, c.shape[-1], dtype=c.dtype, device=c.device).sqrt()
            c = c[..., 1:] * root / a
            out.append(c)
        return out

    def moments(self, s: Pairs) -> tuple[Tensor, Tensor]:
        A = self._levels(s.a, s.left.coefficients, 1)
        B = self._levels(s.b, s.right.coefficients, 1)
        return series(s.h, A[0], B[0]).to(s.h.dtype), series(s.h, A[1], B[1]).to(s.h.dtype)

    def slopes(self, s: Pairs) -> Slopes:
        """E sigma''(U) sigma(V) / 2, E sigma'' sigma'', E sigma''' sigma' / 2 (Price's theorem)."""
        A = self._levels(s.a, s.left.coefficients, 3)
        B = self._levels(s.b, s.right.coefficients, 2)
        orders = ((2, 0, 0.5), (2, 2, 1.0), (3, 1, 0.5))
        return Slopes(*((series(s.h, A[i], B[j]) * w).to(s.h.dtype) for i, j, w in orders))

    def loss(self, s: Pairs, value: Tensor) -> Tensor:
        del value
        A, B = s.left.coefficients, s.right.coefficients
        own, other = A.square().sum(-1), B.square().sum(-1)
        return (own * other).sqrt_().sub(series(s.h, A, B)).clamp_(min=0).to(s.h.dtype)


def series(h: Tensor, A: Tensor, B: Tensor) -> Tensor:
    """sum_k r^k A_k B_k, r = 1 - 2h, over as many terms as both have, by Horner's rule.

    In double precision: r^k has k times the rounding of r.
    """
    r = h.double().mul(-2).add_(1)
    total = torch.zeros_like(r)
    for k in reversed(range(min(A.shape[-1], B.shape[-1]))):
        total.mul_(r).addcmul_(A[..., k], B[..., k])
    return total


def _kept(c: Tensor) -> int:
    """How many coefficients rounding leaves."""
    tail = c.square().flip(1).cumsum(1).flip(1)
    share = tail / tail[:, :1].clamp(min=1e-300)
    return max(4, int((share > NEGLIGIBLE).any(0).sum())) if len(c) else 4


@cache
def _quadrature() -> tuple[Tensor, Tensor]:
    """Nodes z (N,) and E f(Z) h_k(Z) = f(z) @ basis (N, K)."""
    reach = math.ceil(2 * math.sqrt(MAX_DEGREE) + 16)
    edges = np.linspace(-reach, reach, 8 * reach + 1)
    x, w = gauss_legendre(8)
    half = (edges[1] - edges[0]) / 2
    z = ((edges[1:] + edges[:-1])[:, None] / 2 + half * x).ravel()
    root = (2 * math.pi) ** -0.25 * np.exp(-(z**2) / 4)
    weights = np.tile(half * w, len(edges) - 1)
    basis = (weights * root)[:, None] * orthonormal_hermite(MAX_DEGREE, z, root)
    return torch.from_numpy(z), torch.from_numpy(np.ascontiguousarray(basis))
