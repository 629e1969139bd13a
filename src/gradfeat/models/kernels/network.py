"""Kernels of infinitely wide networks: NNGP and neural tangent kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, final

import torch
from torch import Tensor

from ...maths.activations import Activation, CentredReLU, Erf, ReLU
from .duals import CentredReLUDual, Dual, ErfDual, HermiteDual, ReLUDual
from .radial import check_bandwidth
from .rotation_invariant import Pairs, RotationInvariantKernel, Side

Trained = Literal["all", "head", "hidden"]


@final
@dataclass(frozen=True)
class NetworkKernel(RotationInvariantKernel):
    """Kernel of a network of infinite width, S_depth (NNGP) or T_depth (NTK).

    The network has z_0 = (weight/L) W_0 x + bias b_0 and, at width m,
    z_l = (weight/sqrt m) W_l sigma(z_{l-1}) + bias b_l, all entries of W_l and b_l from N(0, 1);
    its output is z_depth. With S_0 = T_0 = weight^2 x.z / L^2 + bias^2 and (U, V) ~ N(0, S_{l-1}),

    S_l = weight^2 E sigma(U) sigma(V) + bias^2,
    T_l = S_l + weight^2 E sigma'(U) sigma'(V) T_{l-1}.

    This is `neural_tangents.stax` with W_std = weight, b_std = bias and L = sqrt(d).

    `activation`: sigma. Closed forms for ReLU, centred ReLU and erf; others by
        :class:`HermiteDual`, which states the error.
    `depth`: Hidden layers, at least 1.
    `weight, bias`: Standard deviations: weight positive, bias not negative.
    `trained`: T_depth, S_depth, or their difference (the NTK with a frozen head).
    `bandwidth`: L, positive; None is sqrt(d).

    Source: Jacot, Gabriel & Hongler 2018, Theorem 1; Lee et al. 2018 (NNGP).

    >>> x = torch.ones(1, 1)
    >>> float(NetworkKernel()(x, x)), float(NetworkKernel(trained="head")(x, x))
    (1.0, 0.5)
    """

    activation: Activation = field(default_factory=ReLU)
    depth: int = 1
    weight: float = 1.0
    bias: float = 0.0
    trained: Trained = "all"
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"depth is {self.depth}: give the number of hidden layers, 1 or more.")
        if not (self.weight > 0 and self.bias >= 0 and math.isfinite(self.weight + self.bias)):
            raise ValueError(
                f"weight is {self.weight} and bias {self.bias}: give a positive weight and a bias "
                "that is not negative, both finite."
            )
        if self.trained not in ("all", "head", "hidden"):
            raise ValueError(
                f"trained is {self.trained!r}: allowed are 'all', 'head' and 'hidden'."
            )
        check_bandwidth(self.bandwidth)

    def scale(self, d: int) -> float:
        """L / weight."""
        return (math.sqrt(d) if self.bandwidth is None else self.bandwidth) / self.weight

    @property
    def shift(self) -> float:
        """The bias is a constant input."""
        return self.bias

    def sides(self, norm: Tensor) -> tuple[Side, ...]:
        """Standard deviations of the pre-activations, layer by layer."""
        dual = dual_of(self.activation)
        sides = [dual.side(norm)]
        while len(sides) < self.depth:
            own = self.weight**2 * sides[-1].own + self.bias**2
            sides.append(dual.side(own.sqrt()))
        return tuple(sides)

    def values_(self, left: Sequence[Side], right: Sequence[Side], h: Tensor) -> Tensor:
        dual, w2, b2 = dual_of(self.activation), self.weight**2, self.bias**2
        tangent = Pairs(left[0], right[0], h).product()
        for here, below in itertools.pairwise(zip(left, right, strict=True)):
            s = Pairs(*here, h)
            value, slope = dual.moments(s)
            h = self._next_half_angle(dual, s, value, below)
            tangent.mul_(slope).add_(value).mul_(w2).add_(b2)
        value, slope = dual.moments(Pairs(left[-1], right[-1], h))
        match self.trained:
            case "all":
                return value.addcmul_(slope, tangent).mul_(w2).add_(b2)
            case "head":
                return value.mul_(w2).add_(b2)
            case "hidden":
                return slope.mul_(tangent).mul_(w2)

    def _next_half_angle(
        self, dual: Dual, s: Pairs, value: Tensor, below: tuple[Side, Side]
    ) -> Tensor:
        """(1 - u / ab) / 2 at the next layer, without cancellation.

        With A^2 and B^2 the weights' share of a^2 and b^2, ab - u is weight^2 times the loss of the
        dual, and bias^2 (A - B)^2 / (ab + AB + bias^2).
        """
        w2, b2, a, b = self.weight**2, self.bias**2, below[0].norm, below[1].norm
        lost = dual.loss(s, value).mul_(w2)
        if b2 > 0:
            A, B = self.weight * s.left.own.sqrt(), self.weight * s.right.own.sqrt()
            lost.add_((A - B).square_().div_((a * b).addcmul_(A, B).add_(b2)), alpha=b2)
        return lost.div_(b).div_(a).div_(2).nan_to_num_(0.0).clamp_(0, 1)

    def slopes(
        self, left: Sequence[Side], right: Sequence[Side], h: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The recursion, differentiated in u and p of the first layer."""
        dual, w2 = dual_of(self.activation), self.weight**2
        tangent = Pairs(left[0], right[0], h).product()
        du = dt = hidden = torch.ones_like(h), torch.zeros_like(h)
        dp = torch.ones_like(left[0].norm)
        for layer in range(self.depth):
            s = Pairs(left[layer], right[layer], h)
            value, slope = dual.moments(s)
            moves = dual.slopes(s)
            hidden = (
                w2 * (slope * dt[0] + tangent * moves.slope_u * du[0]),
                w2 * (slope * dt[1] + tangent * (moves.slope_u * du[1] + moves.slope_p * dp)),
            )
            du = w2 * slope * du[0], w2 * (slope * du[1] + moves.value_p * dp)
            if layer + 1 < self.depth:
                h = self._next_half_angle(dual, s, value, (left[layer + 1], right[layer + 1]))
                tangent = w2 * (value + slope * tangent) + self.bias**2
                dt = du[0] + hidden[0], du[1] + hidden[1]
                dp = w2 * _growth(dual, left[layer]) * dp
        match self.trained:
            case "all":
                return du[0] + hidden[0], du[1] + hidden[1]
            case "head":
                return du
            case "hidden":
                return hidden

    def spec(self) -> Mapping[str, Any]:
        return {"name": "NetworkKernel", **asdict(self), "activation": self.activation.spec()}


_CLOSED: tuple[tuple[Activation, Dual], ...] = (
    (ReLU(), ReLUDual()),
    (CentredReLU(), CentredReLUDual()),
    (Erf(), ErfDual()),
)


def dual_of(activation: Activation) -> Dual:
    """Closed form where there is one, else the Hermite series."""
    closed = (dual for own, dual in _CLOSED if own == activation)
    return next(closed, HermiteDual(activation))


def _growth(dual: Dual, side: Side) -> Tensor:
    """d E sigma(aZ)^2 / d a^2 = E sigma'(aZ)^2 + E sigma''(aZ) sigma(aZ)."""
    s = Pairs.equal(side)
    return dual.moments(s)[1] + 2 * dual.slopes(s).value_p
