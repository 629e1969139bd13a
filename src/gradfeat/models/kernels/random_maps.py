"""Random maps phi with E phi(x).phi(z) = k(x, z)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.activations import Activation
from ...maths.streams import stream
from .network import NetworkKernel
from .radial import Gaussian, Laplace, Matern


@final
@dataclass(frozen=True, eq=False)
class FourierMap:
    """phi(x) = sqrt(2/m) cos(W x + b)."""

    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n D"]:
        F = torch.addmm(self.b.to(X), X, self.W.to(X).T)
        return F.cos_().mul_(math.sqrt(2 / len(self.b)))


def fourier_map(
    kernel: Gaussian | Laplace | Matern, width: int, d: int, seed: int = 0
) -> FourierMap:
    """Random Fourier features: rows of W from the spectrum of the kernel, b uniform.

    Normal for the Gaussian kernel, Student's t with 2 nu degrees of freedom for Matern (1 for
    Laplace), both over the bandwidth.

    Source: Rahimi & Recht 2007; Rasmussen & Williams 2006, eq. 4.15.
    """
    W = _normal(seed, "frequencies", width, d) / kernel.bandwidth
    match kernel:
        case Laplace():
            degrees = 1
        case Matern(nu=nu):
            degrees = round(2 * nu)
        case _:
            degrees = 0
    if degrees:
        chi2 = _normal(seed, "degrees of freedom", width, degrees).square().sum(1, keepdim=True)
        W = W * (degrees / chi2).sqrt()
    turn = torch.rand(width, generator=stream(seed, "phases"), dtype=torch.float64)
    return FourierMap(W, 2 * math.pi * turn)


@final
@dataclass(frozen=True, eq=False)
class NetworkMap:
    """Features of a two-layer network at a random start: outputs and gradients of its neurons.

    With x~ = weight [x / L, bias/weight] and neurons u_j = w_j.x~, the columns are
    weight sigma(u_j) / sqrt m and the constant bias (trained "all" or "head"), and
    weight sigma'(u_j) x~ / sqrt m (trained "all" or "hidden"): (d + 1) columns a neuron, or
    sigma'(u_j) g_j.x~ with g_j ~ N(0, I), one column, where a sketch was drawn.

    `kernel`: Of depth 1. `W` (m, D): w_j, in the coordinates x~.

    Source: Jacot, Gabriel & Hongler 2018; sketched as in Han et al. 2021.
    """

    kernel: NetworkKernel
    W: Float[Tensor, "m D"]
    G: Float[Tensor, "m D"] | None

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n D"]:
        k, rows = self.kernel, self.kernel.scaled(X).to(X.dtype)
        pre, scale = rows @ self.W.to(X).T, k.weight / math.sqrt(len(self.W))
        parts = []
        if k.trained != "hidden":
            parts += [k.activation(pre) * scale, X.new_full((len(X), 1), k.bias)]
        if k.trained != "head":
            parts.append(self._tangent(k.activation, pre, rows).mul_(scale))
        return torch.cat(parts, 1)

    def _tangent(self, sigma: Activation, pre: Tensor, rows: Tensor) -> Tensor:
        slope = sigma.derivative(pre)
        if self.G is None:
            return (slope[:, :, None] * rows[:, None, :]).flatten(1)
        return slope.mul_(rows @ self.G.to(rows).T)


def network_map(
    kernel: NetworkKernel, width: int, d: int, seed: int = 0, *, sketch: bool = False
) -> NetworkMap:
    """Draw the first layer of m = `width` neurons for a kernel of depth 1; see :class:`NetworkMap`.

    With `sketch` there is one column of gradient features a neuron, and not d + 1: more noise.
    """
    if kernel.depth != 1:
        raise ValueError(f"the kernel has depth {kernel.depth}: random maps are for depth 1.")
    D = d + (kernel.shift != 0)
    G = _normal(seed, "sketch", width, D) if sketch else None
    return NetworkMap(kernel, _normal(seed, "W0", width, D), G)


def _normal(seed: int, name: str, rows: int, columns: int) -> Tensor:
    return torch.randn(rows, columns, generator=stream(seed, name), dtype=torch.float64)
