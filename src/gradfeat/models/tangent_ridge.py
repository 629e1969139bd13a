"""Ridge regression with the finite-width neural tangent kernel of a network at its start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, ReLU
from ..maths.limits import refuse_beyond
from ..maths.ridge import solve_kernel_ridge
from ..maths.streams import stream
from ..rows.rows import Rows
from .base import OneStage
from .descent.layers import Start
from .predictors import Linearised, TwoLayer

#: Penalties tried, as multiples of the kernel's mean diagonal.
SHARES = tuple(float(10.0**e) for e in np.arange(-3.0, 3.5))


def tangent_kernel(
    net: TwoLayer, X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"]
) -> Float[Tensor, "n m"]:
    """Sum over parameters of df(x)/dtheta df(z)/dtheta, for a network with one output.

    K(x, z) = sigma(x).sigma(z) + (1 + x.z) sum_j a_j^2 sigma'(x)_j sigma'(z)_j, where
    sigma(x) = sigma(W x + b).

    Source: Jacot, Gabriel & Hongler 2018; finite width, both layers and biases.
    """
    (_, A, S), (_, B, T) = neurons(net, X), neurons(net, Z)
    return torch.addmm((X @ Z.T).add_(1).mul_(S @ T.T), A, B.T)


def neurons(net: TwoLayer, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pre-activations, sigma and a sigma' at each row."""
    pre = torch.addmm(net.b, X, net.W.T)
    return pre, net.activation(pre), net.activation.derivative(pre) * net.a[:, 0]


@final
@dataclass(frozen=True)
class TangentRidge(OneStage[Linearised]):
    """argmin sum_i w_i (f(x_i) - y_i)^2 + penalty |theta - theta_0|^2, f the linearised network.

    In the dual, (K + penalty) c = y - f_0(X) with K the tangent kernel at the start, and
    theta = theta_0 + sum_i c_i df_0(x_i)/dtheta.

    `start`: How the network is drawn.
    `penalty`: None chooses among 7 values by the error on a fifth of the rows (by their sign where
        all targets are +-1), then fits all rows.

    Source: Jacot, Gabriel & Hongler 2018; the NTK baseline of Shi22.

    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 40).double()[:, None]
    >>> f = TangentRidge(200, start=Start(std_b=1.0), penalty=1e-3).fit(in_memory(X, X.abs()))
    >>> bool((f(X) - X.abs()).abs().max() < 0.1)
    True
    """

    width: int = 256
    activation: Activation = field(default_factory=ReLU)
    start: Start = field(default_factory=Start)
    penalty: float | None = None

    def fit(self, rows: Rows, *, seed: int = 0) -> Linearised:
        block = rows.block("ridge with the tangent kernel")
        X, y, w = block.X, block.y, block.w
        if y.shape[1] != 1:
            raise ValueError(f"y has {y.shape[1]} columns: the tangent kernel is for one output.")
        refuse_beyond(
            3 * len(X) ** 2 * X.element_size(), None, f"the tangent kernel of {len(X):,} rows",
            "give fewer rows",
        )  # fmt: skip
        net = self.start.draw(
            self.width, X.shape[1], 1, seed, dtype=X.dtype, device=X.device
        ).network(0, self.activation)
        kept = w > 0
        X, y, w = X[kept], y[kept], w[kept]
        lam = self._chosen(net, X, y, w, seed) if self.penalty is None else self.penalty
        return _fitted(net, X, y, w, tangent_kernel(net, X, X), lam)

    def _chosen(self, net: TwoLayer, X: Tensor, y: Tensor, w: Tensor, seed: int) -> float:
        order = torch.randperm(len(X), generator=stream(seed, "tangent validation"))
        held, rest = order[: max(1, len(X) // 5)], order[len(X) // 5 :]
        K = tangent_kernel(net, X[rest], X[rest])
        scale = float(K.diagonal().mean())
        signs = bool((y.abs() == 1).all())

        def error(share: float) -> float:
            f = _fitted(net, X[rest], y[rest], w[rest], K.clone(), share * scale)(X[held])
            wrong = (f.sign() != y[held]).to(f) if signs else (f - y[held]).square()
            return float((w[held, None] * wrong).sum())

        return min(reversed(SHARES), key=error) * scale


def _fitted(net: TwoLayer, X: Tensor, y: Tensor, w: Tensor, K: Tensor, lam: float) -> Linearised:
    """Parameters at one penalty. **Overwrites K.**"""
    c = solve_kernel_ridge(K, y - net(X), lam, w)
    _, A, S = neurons(net, X)
    V = S * c
    return Linearised(net, net.W + V.T @ X, net.b + V.sum(0), net.a + A.T @ c)
