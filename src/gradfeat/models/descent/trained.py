"""What descent trains: both layers, the head, or the linearisation. Closed-form gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.activations import Activation
from ..losses import Loss
from .layers import Layers, stack

#: Pre-activations of the networks that go through a step together stay within these bytes on a
#: CPU, so that they are still in its cache when they are read again.
GROUP_BYTES = 2**19


@dataclass(frozen=True, eq=False)
class Batch:
    """Stacked rows of one step: X (s, n, d), y (s, n, c), weights (s, n, 1) that add to one."""

    X: Float[Tensor, "s n d"]
    y: Float[Tensor, "s n c"]
    w: Float[Tensor, "s n 1"]

    def part(self, networks: slice) -> Batch:
        return Batch(self.X[networks], self.y[networks], self.w[networks])


class Trained(ABC):
    """A parametrised function of (W, b, a) with the gradient of its mean loss."""

    def gradients(
        self, at: Layers, rows: Batch, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        """Gradient of sum_i w_i l(f(x_i), y_i), and that loss, for each network."""
        step = _together(rows.X, at.b.shape[1])
        groups = [slice(i, i + step) for i in range(0, len(at.b), step)]
        found = [
            self.part(group).gradients_at_once(at.part(group), rows.part(group), loss, activation)
            for group in groups
        ]
        if len(found) == 1:
            return found[0]
        return stack([g for g, _ in found]), torch.cat([value for _, value in found])

    @abstractmethod
    def gradients_at_once(
        self, at: Layers, rows: Batch, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        """The same in one product over all networks."""

    @abstractmethod
    def part(self, networks: slice) -> Trained:
        """What trains some of the networks."""

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

    def gradients_at_once(
        self, at: Layers, rows: Batch, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        Z = _preactivations(at, rows.X)
        A = activation(Z)
        slope, value = _slope(loss, _outputs(A, at.a), rows)
        a = A.mT @ slope
        Z, slope, X = _live(Z, slope, rows.X)
        W, b = _first_layer(activation.derivative(Z), slope, X, at.a)
        return Layers(W, b, a), value

    def part(self, networks: slice) -> Trained:  # noqa: ARG002
        return self

    def anchor(self, at: Layers) -> Layers:
        return at.zeros()


@final
@dataclass(frozen=True, eq=False)
class HeadOnly(Trained):
    """Random features: W and b stay, a is trained."""

    def gradients_at_once(
        self, at: Layers, rows: Batch, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        A = activation(_preactivations(at, rows.X))
        slope, value = _slope(loss, _outputs(A, at.a), rows)
        return replace(at.zeros(), a=A.mT @ slope), value

    def part(self, networks: slice) -> Trained:  # noqa: ARG002
        return self

    def anchor(self, at: Layers) -> Layers:
        """Zero for the head; W and b stay where they are."""
        return replace(at, a=torch.zeros_like(at.a))


@final
@dataclass(frozen=True, eq=False)
class Linearisation(Trained):
    """The network's first-order expansion at `start`: the neural tangent kernel's function.

    f = a^T sigma(z0) + sum_j a0_j sigma'(z0_j) ((w_j - w0_j).x + b_j - b0_j), z0 = W0 x + b0.
    The noise of a smoothed activation acts on z0.

    Source: Jacot, Gabriel & Hongler 2018.
    """

    start: Layers

    def gradients_at_once(
        self, at: Layers, rows: Batch, loss: Loss, activation: Activation
    ) -> tuple[Layers, Float[Tensor, " s"]]:
        Z = _preactivations(self.start, rows.X)
        A, S = activation(Z), activation.derivative(Z)
        moved = at.each(torch.sub, self.start)
        tangent = S * _preactivations(moved, rows.X)
        f = _outputs(A, at.a) + _outputs(tangent, self.start.a)
        slope, value = _slope(loss, f, rows)
        a = A.mT @ slope
        W, b = _first_layer(*_live(S, slope, rows.X), self.start.a)
        return Layers(W, b, a), value

    def part(self, networks: slice) -> Trained:
        """The expansion of those networks."""
        return Linearisation(self.start.part(networks))

    def anchor(self, at: Layers) -> Layers:  # noqa: ARG002
        """The start: the penalty is the kernel's norm of f - f_0."""
        return self.start


def _preactivations(at: Layers, X: Tensor) -> Tensor:
    return torch.baddbmm(at.b[:, None], X, at.W.mT)


def _outputs(A: Tensor, a: Tensor) -> Tensor:
    """A a, transposed: a product with one column is rounded otherwise in a stack of one."""
    return (a.mT @ A.mT).mT


def _slope(loss: Loss, f: Tensor, rows: Batch) -> tuple[Tensor, Tensor]:
    """Weighted slopes (s, n, c) and the mean loss of each network."""
    value = (loss(f, rows.y) * rows.w).sum((1, 2))
    return loss.slope(f, rows.y) * rows.w, value


def _together(X: Tensor, m: int) -> int:
    """How many networks of width `m` go through a step at once: all, but on a CPU."""
    if X.device.type != "cpu":
        return max(1, len(X))
    return max(1, GROUP_BYTES // max(1, X.shape[1] * m * X.element_size()))


def _live(Z: Tensor, slope: Tensor, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows that have a slope, where networks go one by one: the others add exact zeros.

    Whether rows are left out depends on the size of a network, not on what it is stacked with.
    """
    if len(X) > 1 or _together(X, Z.shape[2]) > 1 or X.device.type != "cpu":
        return Z, slope, X
    live = slope[0].any(1)
    if bool(live.all()):
        return Z, slope, X
    return Z[:, live], slope[:, live], X[:, live]


def _first_layer(S: Tensor, slope: Tensor, X: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients in W and b. **Overwrites S.** One output needs no product of slopes and heads."""
    if a.shape[2] == 1:
        V = S.mul_(slope)
        return (V.mT @ X) * a, V.sum(1) * a[..., 0]
    V = S.mul_(slope @ a.mT)
    return V.mT @ X, V.sum(1)
