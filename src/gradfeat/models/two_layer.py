"""The two-layer network f(x) = offset + beta.x + a^T sigma(W x + b)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation
from .base import Predictor, row_blocks


@final
@dataclass(frozen=True, eq=False)
class TwoLayer(Predictor):
    """f(x) = offset + beta.x + a^T sigma(W x + b).

    Attributes
    ----------
    W, b : Tensor (m, d), (m,)
        First layer.
    a : Tensor (m, c)
        Head.
    offset, beta : Tensor (c,), (d, c)
        Affine part (zero in a plain network).
    activation : Activation
        sigma.

    Examples
    --------
    >>> from gradfeat.maths.activations import ReLU
    >>> I = torch.eye(2)
    >>> zero = torch.zeros(2, 1)
    >>> net = TwoLayer(I, zero[:, 0], torch.ones(2, 1), zero[0], zero, ReLU())
    >>> net(torch.tensor([[3.0, -4.0]])).tolist()
    [[3.0]]
    """

    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    a: Float[Tensor, "m c"]
    offset: Float[Tensor, " c"]
    beta: Float[Tensor, "d c"]
    activation: Activation

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
        """Both layers and the affine part."""
        return {"W": self.W, "b": self.b, "a": self.a, "offset": self.offset, "beta": self.beta}

    def spec(self) -> dict[str, Any]:
        """The activation."""
        return {"type": "TwoLayer", "activation": self.activation.spec()}
