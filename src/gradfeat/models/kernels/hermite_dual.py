"""Duals of any activation, by Hermite series at the norms of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import torch
from scipy import special
from torch import Tensor

from ...maths.activations import Activation
from ...maths.hermite import MAX_DEGREE, orthonormal_hermite
from .duals import Dual, Slopes
from .pairs import Pairs

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

    Examples
    --------
    >>> from gradfeat.maths.activations import Polynomial
    >>> square = HermiteDual(Polynomial((0.0, 0.0, 1.0)))
    >>> round(float(square.side(torch.ones(1).double()).own), 6)
    3.0
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
        """The series of sigma and of sigma'."""
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
        """As written, in double precision."""
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
    x, w = special.roots_legendre(8)
    half = (edges[1] - edges[0]) / 2
    z = ((edges[1:] + edges[:-1])[:, None] / 2 + half * x).ravel()
    root = (2 * math.pi) ** -0.25 * np.exp(-(z**2) / 4)
    weights = np.tile(half * w, len(edges) - 1)
    basis = (weights * root)[:, None] * orthonormal_hermite(MAX_DEGREE, z, root)
    return torch.from_numpy(z), torch.from_numpy(np.ascontiguousarray(basis))
