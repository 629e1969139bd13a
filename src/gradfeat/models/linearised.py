"""The first-order expansion of a two-layer network in its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.gradients import autodiff_gradient
from .base import Predictor, row_blocks
from .two_layer import TwoLayer


@final
@dataclass(frozen=True, eq=False)
class Linearised(Predictor):
    """f(x) = start(x) + (a - a0)^T sigma(z0) + sum_j a0_j sigma'(z0_j) (z_j - z0_j).

    z = W x + b, z0 = W0 x + b0; f is linear in (W, b, a), and its kernel is the neural tangent
    kernel of `start`.

    Attributes
    ----------
    start : TwoLayer
        The network that is expanded.
    W, b, a : Tensor (m, d), (m,), (m, c)
        Where its parameters have moved.

    Source: Jacot, Gabriel & Hongler 2018; the NTK baseline of Shi22.

    Examples
    --------
    >>> from gradfeat.maths.activations import ReLU
    >>> one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    >>> net = TwoLayer(one, zero[0], one, zero[0], zero, ReLU())
    >>> Linearised(net, 2 * one, zero[0], one)(torch.tensor([[3.0], [-3.0]])).tolist()
    [[6.0], [0.0]]
    """

    start: TwoLayer
    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    a: Float[Tensor, "m c"]

    def scratch_per_row(self) -> int:
        """Twice the network's: two pre-activations."""
        return 2 * self.start.scratch_per_row()

    def _rows(self, X: Tensor) -> Tensor:
        net = self.start
        Z = torch.addmm(net.b, X, net.W.T)
        moved = torch.addmm(self.b - net.b, X, (self.W - net.W).T)
        tangent = (net.activation.derivative(Z) * moved) @ net.a
        return net.activation(Z) @ self.a + tangent + X @ net.beta + net.offset

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        blocks = row_blocks(len(X), self.scratch_per_row())
        parts = [self._rows(X[rows]) for rows in blocks]
        return torch.cat([*parts, X.new_zeros(0, self.a.shape[1])])

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        """By automatic differentiation (sigma'' is zero where sigma has corners)."""
        return autodiff_gradient(self._rows, X)

    def tensors(self) -> dict[str, Tensor]:
        """The network's tensors under ``start.``, and the moved parameters."""
        start = {f"start.{name}": value for name, value in self.start.tensors().items()}
        return {**start, "W": self.W, "b": self.b, "a": self.a}

    def spec(self) -> dict[str, Any]:
        """The network's description."""
        return {"type": "Linearised", "start": self.start.spec()}
