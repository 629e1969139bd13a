"""The Laplace kernel with any exponent, of any norm between l_0+ and l_2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..base import Kernel, KernelRows, OwnTiles
from .minkowski import Minkowski, profile_, slope_from
from .radial import RadialKernel, check_bandwidth, decay


@final
@dataclass(frozen=True)
class GeneralisedLaplace(Kernel):
    """k(x, z) = exp(-(|x - z|_p / bandwidth)^q), |u|_p^p = sum_k |u_k|^p.

    q = 1 and p = 2 is the Laplace kernel, q = p = 2 a Gaussian exp(-|u|^2 / bandwidth^2), q = p a
    product of kernels of one coordinate each. For p = 2 distances are one matrix product; for
    other p their cost is that of a pass over d differences for each pair of rows.

    `bandwidth`: Length scale in the units of the inputs, positive.
    `p, q`: Norm and exponent, 0 < q <= p <= 2: then k is positive definite.

    Source: Schoenberg 1938 (|u|_p^q is negative definite); Beaglehole et al. 2025 (xRFM).

    >>> k = GeneralisedLaplace(2.0, p=1.0)
    >>> round(float(k(torch.zeros(1, 2), torch.ones(1, 2))), 4)
    0.3679
    """

    bandwidth: float
    p: float = 2.0
    q: float = 1.0

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)
        if not 0 < self.q <= self.p <= 2:
            raise ValueError(
                f"q is {self.q} and p is {self.p}: give 0 < q <= p <= 2, beyond which the kernel "
                "is not positive definite."
            )

    @cached_property
    def _road(self) -> Kernel:
        if self.p == 2:
            return _Euclidean(self.bandwidth, self.q)
        return Minkowski(self.bandwidth, self.p, self.q)

    @property
    def scratch(self) -> int:
        return self._road.scratch

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return self._road(X, Z)

    def between(self, X: Tensor, Z: Tensor) -> KernelRows:
        return self._road.between(X, Z)

    def diagonal(self, X: Tensor) -> Tensor:
        return self._road.diagonal(X)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """-q / L^q sum_j c_j k_ij |u|_p^{q-p} |u_k|^{p-1} sign u_k, u = x_i - z_j; 0 at kinks."""
        return self._road.gradient(X, Z, c)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        """Each slope once, for both of its points."""
        return self._road.own_gradient(X, c, tiles)

    def rounded(self, X: Tensor) -> tuple[Kernel, Tensor]:
        """On a grid where it is a product of kernels of one column each, on a CPU."""
        if not self.p == self.q == 1 or X.device.type != "cpu":
            return self, X
        low, high = (tuple(ends.tolist()) for ends in (X.amin(0).double(), X.amax(0).double()))
        k = RoundedLaplace(self.bandwidth, low, high)
        return k, k.on_grid(X)

    def spec(self) -> Mapping[str, Any]:
        return {"name": "GeneralisedLaplace", **asdict(self)}


@final
@dataclass(frozen=True)
class _Euclidean(RadialKernel):
    """p = 2: exp(-s^{q/2}) of squared distances s."""

    q: float

    def profile_(self, s: Tensor) -> Tensor:
        return profile_(s, self.q / 2)

    def slope_(self, s: Tensor) -> Tensor:
        return slope_from(s, profile_(s.clone(), self.q / 2), self.q / 2)

    def slope_from(self, s: Tensor, K: Tensor) -> Tensor:
        return slope_from(s, K, self.q / 2)


#: Whole numbers of 16 bits, and those below 0.
NUMBERS, HALF = 2**16, 2**15


@final
@dataclass(frozen=True)
class RoundedLaplace(Kernel):
    """k(x, z) = exp(-(|r(x) - r(z)|_1 + e(x) + e(z)) / bandwidth), r(x) on a grid of one step.

    r(x) is the point of the grid that is nearest to x within a box, and e(x) the distance from x to
    the box: for z in the box this is exp(-|x - z|_1 / bandwidth) but for rounding, and it is
    positive definite. Coordinates are whole numbers a of 16 bits, of which a CPU takes twice as
    many at once: |a - b| = max(2 a, 2 b) - a - b, and what passes 16 bits on the way comes back,
    as no distance in the box passes them.

    `low`, `high` (d,): Corners of the box. The step is 1 / 65,000 of the sum of its sides, about.
    """

    bandwidth: float
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)
        sides = [b - a for a, b in zip(self.low, self.high, strict=False)]
        if not len(self.low) == len(self.high) > 0 or not 0 <= min(sides) <= sum(sides) < math.inf:
            raise ValueError(f"a box from {self.low} to {self.high}: its sides are no lengths.")

    @cached_property
    def _exact(self) -> Minkowski:
        return Minkowski(self.bandwidth, 1.0, 1.0)

    @cached_property
    def _step(self) -> float:
        """Such that distances are below 2^16 steps, with a step of rounding a column and side."""
        sides = [b - a for a, b in zip(self.low, self.high, strict=True)]
        return max(sum(sides), 2 * max(sides)) / (NUMBERS - 4 * len(sides) - 4) or 1.0

    @cached_property
    def _box(self) -> dict[torch.dtype, tuple[Tensor, Tensor, Tensor]]:
        """Its ends, with a step for what is rounded, and its middle (d,)."""
        low, high = (torch.tensor(ends, dtype=torch.float64) for ends in (self.low, self.high))
        low, high, middle = low - self._step, high + self._step, (low + high) / 2
        return {t: (low.to(t), high.to(t), middle.to(t)) for t in (torch.float32, torch.float64)}

    @property
    def scratch(self) -> int:
        return 4

    def on_grid(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """r(x)."""
        wide = X.double()
        return self._steps(wide)[0].mul_(self._step).add_(self._box[wide.dtype][2]).to(X)

    def _steps(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Whole steps from the middle to r(x), and x within the box."""
        low, high, middle = self._box[X.dtype]
        inside = X.clamp(low, high)
        return (inside - middle).mul_(1 / self._step).round_(), inside

    def _codes(self, X: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """2 a of each column (d, n), sum of a (n,), both modulo 2^16; exp(-e / bandwidth) (n,).

        None where all are in the box.
        """
        steps, inside = self._steps(X)
        a = steps.T.to(torch.int16, memory_format=torch.contiguous_format)
        total = a.sum(0, dtype=torch.int16)
        if torch.equal(X, inside):
            return a.mul_(2), total, None
        return a.mul_(2), total, decay(inside.sub_(X).abs_().sum(1), 1 / self.bandwidth)

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return self.between(X, Z)(slice(None), None)

    def between(self, X: Tensor, Z: Tensor) -> KernelRows:
        (x, own, far), (z, other, share) = self._codes(X), self._codes(Z)
        x, z, own, rate = x[:, :, None], z.unbind(), own + HALF, self._step / self.bandwidth

        def values(rows: slice, room: Tensor | None) -> Tensor:
            each = x[:, rows].unbind()
            shape, entries = (len(each[0]), len(Z)), len(each[0]) * len(Z)
            room = X.new_empty(2 * entries) if room is None else room
            K = room[:entries].view(shape)
            D, beside = room[entries : 2 * entries].view(torch.int16)[: 2 * entries].view(2, *shape)
            torch.maximum(each[0], z[0], out=D)
            for k in range(1, len(each)):
                D.add_(torch.maximum(each[k], z[k], out=beside))
            D.sub_(own[rows, None]).sub_(other)
            K = decay(K.copy_(D).add_(HALF), rate, out=K)
            if far is not None and share is not None:
                return K.mul_(torch.outer(far[rows], share))
            K = K if far is None else K.mul_(far[rows, None])
            return K if share is None else K.mul_(share)

        return values

    def rounded(self, X: Tensor) -> tuple[Kernel, Tensor]:
        return self, X

    def diagonal(self, X: Tensor) -> Tensor:
        far = self._codes(X)[2]
        return X.new_ones(len(X)) if far is None else far.square_()

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        """Of the kernel without rounding."""
        return self._exact.gradient(X, Z, c)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        return self._exact.own_gradient(X, c, tiles)

    def spec(self) -> Mapping[str, Any]:
        return {"name": "RoundedLaplace", **asdict(self)}
