"""What descent trains: both layers, the head, or the linearisation. Closed-form gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.activations import Activation
from ..losses import Loss
from .layers import Layers


@dataclass(frozen=True, eq=False)
class Rows:
    """Stacked rows of one step: X (s, n, d), y (s, n, c), weights (s, n, 1) that add to one."""

    X: Float[Tensor, "s n d"]
    y: Float[Tensor, "s n c"]
    w: Float[Tensor, "s n 1"]


class Trained(ABC):
    """A parametrised function of (W, b, a) with the gradient of its mean loss."""

    @abstractmethod
    def gradients(
        self, at: Layers, rows: Rows, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        """Gradient of sum_i w_i l(f(x_i), y_i), and that loss, for each network."""

    @abstractmethod
    def anchor(self, at: Layers) -> Layers:
        """Where weight decay draws the parameters to."""


@final
@dataclass(frozen=True, eq=False)
class AllLayers(Trained):
    """f = a^T sigma(W x + b), everything trained.

    With l' the slope of the loss: grad a = sum_i w_i l'_i sigma(z_i), grad w_j =
    sum_i w_i l'_i a_j sigma'(z_ij) x_i, grad b_j the same without x_i.
    """

    def gradients(
        self, at: Layers, rows: Rows, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        Z = _preactivations(at, rows.X)
        A = activation(Z)
        slope, value = _slope(loss, A @ at.a, rows)
        W, b = _first_layer(activation.derivative(Z), slope, at.a, rows.X)
        return Layers(W, b, A.mT @ slope), value

    def anchor(self, at: Layers) -> Layers:
        """Zero."""
        return at.zeros()


@final
@dataclass(frozen=True, eq=False)
class HeadOnly(Trained):
    """Random features: W and b stay, a is trained."""

    def gradients(
        self, at: Layers, rows: Rows, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        A = activation(_preactivations(at, rows.X))
        slope, value = _slope(loss, A @ at.a, rows)
        return Layers(torch.zeros_like(at.W), torch.zeros_like(at.b), A.mT @ slope), value

    def anchor(self, at: Layers) -> Layers:
        """Zero for the head; W and b stay where they are."""
        return Layers(at.W, at.b, torch.zeros_like(at.a))


@final
@dataclass(frozen=True, eq=False)
class Linearisation(Trained):
    """The network's first-order expansion at `start`: the neural tangent kernel's function.

    f = a^T sigma(z0) + sum_j a0_j sigma'(z0_j) ((w_j - w0_j).x + b_j - b0_j), z0 = W0 x + b0.
    The noise of a smoothed activation acts on z0.

    Source: Jacot, Gabriel & Hongler 2018.
    """

    start: Layers

    def gradients(
        self, at: Layers, rows: Rows, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        Z = _preactivations(self.start, rows.X)
        A, S = activation(Z), activation.derivative(Z)
        moved = Layers(at.W - self.start.W, at.b - self.start.b, at.a)
        f = A @ at.a + (S * _preactivations(moved, rows.X)) @ self.start.a
        slope, value = _slope(loss, f, rows)
        W, b = _first_layer(S, slope, self.start.a, rows.X)
        return Layers(W, b, A.mT @ slope), value

    def anchor(self, at: Layers) -> Layers:  # noqa: ARG002
        """The start: the penalty is the kernel's norm of f - f_0."""
        return self.start


def _preactivations(at: Layers, X: Tensor) -> Tensor:
    return torch.baddbmm(at.b[:, None], X, at.W.mT)


def _slope(loss: Loss, f: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """Weighted slopes (s, n, c) and the mean loss of each network."""
    value = (loss(f, rows.y) * rows.w).sum((1, 2))
    return loss.slope(f, rows.y) * rows.w, value


def _first_layer(S: Tensor, slope: Tensor, a: Tensor, X: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients in W and b. **Overwrites S.** One output needs no product of slopes and heads."""
    if a.shape[2] == 1:
        V = S.mul_(slope)
        return (V.mT @ X) * a, V.sum(1) * a[..., 0]
    V = S.mul_(slope @ a.mT)
    return V.mT @ X, V.sum(1)
