"""The two-layer network f(x) = offset + beta.x + a^T sigma(W x + b), and its expansion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation
from ..maths.gradients import autodiff_gradient
from ..maths.limits import row_blocks
from .base import Predictor


@final
@dataclass(frozen=True, eq=False)
class TwoLayer(Predictor):
    """f(x) = offset + beta.x + a^T sigma(W x + b).

    `offset, beta` (c,), (d, c): Affine part (zero in a plain network).
    `penalty`: That of the ridge which found a (of a network without neurons: beta), if one did.
    """

    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    a: Float[Tensor, "m c"]
    offset: Float[Tensor, " c"]
    beta: Float[Tensor, "d c"]
    activation: Activation
    penalty: float | None = None

    def features(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
        """sigma(W x + b), all rows at once."""
        return self.activation(torch.addmm(self.b, X, self.W.T))

    def scratch_per_row(self) -> int:
        """Pre-activations, activations and one output's product."""
        return (4 * len(self.b) + 3 * self.beta.numel()) * self.W.element_size()

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        blocks = row_blocks(len(X), self.scratch_per_row())
        parts = [self.features(X[rows]) @ self.a for rows in blocks]
        return torch.cat([*parts, X.new_zeros(0, self.a.shape[1])]) + X @ self.beta + self.offset

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        """beta_k + sum_j a_jk sigma'(w_j.x + b_j) w_j."""
        slopes = self.activation.derivative(torch.addmm(self.b, X, self.W.T))
        outputs = [slopes @ (a[:, None] * self.W) for a in self.a.T]
        return torch.stack(outputs, dim=1) + self.beta.T

    def tensors(self) -> dict[str, Tensor]:
        return {"W": self.W, "b": self.b, "a": self.a, "offset": self.offset, "beta": self.beta}

    def spec(self) -> dict[str, Any]:
        return {"type": "TwoLayer", "activation": self.activation.spec()}


@final
@dataclass(frozen=True, eq=False)
class Linearised(Predictor):
    """f(x) = start(x) + (a - a0)^T sigma(z0) + sum_j a0_j sigma'(z0_j) (z_j - z0_j).

    z = W x + b, z0 = W0 x + b0; f is linear in (W, b, a), and its kernel is the neural tangent
    kernel of `start`.

    `start`: The network that is expanded.
    `W, b, a` (m, d), (m,), (m, c): Where its parameters have moved.

    Source: Jacot, Gabriel & Hongler 2018; the NTK baseline of Shi22.
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
        start = {f"start.{name}": value for name, value in self.start.tensors().items()}
        return {**start, "W": self.W, "b": self.b, "a": self.a}

    def spec(self) -> dict[str, Any]:
        return {"type": "Linearised", "start": self.start.spec()}
