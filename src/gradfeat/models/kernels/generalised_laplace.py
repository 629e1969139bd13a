"""The Laplace kernel with any exponent, of any norm between l_0+ and l_2; of rounded inputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.limits import slices
from ..base import Kernel, KernelRows, OwnTiles
from .radial import RadialKernel, as_matrix, check_bandwidth, decay

# Coefficients are transposed: BLAS is several times faster on few rows than on few columns.

#: Entries of a tile: on a CPU such that a few of them stay in the cache, large on a GPU.
CPU_TILE, GPU_TILE = 3 * 2**16, 2**24


def power_distances(
    X: Float[Tensor, "n d"],
    Z: Float[Tensor, "m d"],
    p: float,
    out: Float[Tensor, "n m"] | None = None,
) -> Float[Tensor, "n m"]:
    """sum_k |x_ik - z_jk|^p, one column at a time within a tile.

    Equal rows are at distance 0; ``Z is X`` evaluates half of the tiles and gives an exactly
    symmetric matrix. `out` is memory for the result.
    """
    D = X.new_empty(len(X), len(Z)) if out is None else out
    columns = (X.T.contiguous(), Z.T.contiguous())
    for i, j in _tiles(X, Z):
        if X is Z and j.start > i.start:
            continue
        tile = D[i, j].zero_()
        for difference in _differences(columns[0][:, i], columns[1][:, j]):
            tile += _power_(difference.abs_(), p)
        if X is Z and i == j:
            tile.copy_((tile + tile.T).div_(2))
        elif X is Z:
            D[j, i] = tile.T
    return D


def power_pull(
    slopes: Float[Tensor, "n m"],
    X: Float[Tensor, "n d"],
    Z: Float[Tensor, "m d"],
    c: Float[Tensor, "m c"],
    p: float,
) -> Float[Tensor, "n c d"]:
    """sum_j s_ij c_j d/dx_i |x_i - z_j|_p^p, with derivative 0 where coordinates coincide."""
    J, given = X.new_zeros(X.shape[1], c.shape[1], len(X)), c.T.contiguous()
    for i, j in _tiles(X, Z):
        for k, pull in enumerate(_pulls(slopes[i, j], X[i], Z[j], p)):
            J[k, :, i].addmm_(given[:, j], pull.T)
    return J.permute(2, 1, 0)


def mirrored_pull_(
    J: Float[Tensor, "d c n"],
    pair: tuple[slice, slice],
    slopes: Float[Tensor, "a b"],
    X: Float[Tensor, "n d"],
    given: Float[Tensor, "c n"],
    p: float,
) -> None:
    """Add to J what rows `pair` of an expansion in X's own rows pull at each other.

    Off the diagonal each tile is evaluated once for both of its sides.
    """
    left, right = X[pair[0]], X[pair[1]]
    (own, of_left), (other, of_right) = ((J[:, :, rows], given[:, rows]) for rows in pair)
    for i, j in _tiles(left, right):
        for k, pull in enumerate(_pulls(slopes[i, j], left[i], right[j], p)):
            own[k, :, i].addmm_(of_right[:, j], pull.T)
            if pair[0] != pair[1]:
                other[k, :, j].addmm_(of_left[:, i], pull, alpha=-1)


def _pulls(slopes: Tensor, X: Tensor, Z: Tensor, p: float) -> Iterator[Tensor]:
    """p s |u|^{p-1} sign u of one column after the other, in one buffer."""
    slopes = slopes * p
    for u in _differences(X.T, Z.T):
        if p == 1:
            yield u.sign_().mul_(slopes)
        else:
            size = _power_(u.abs(), p - 1)
            yield torch.copysign(size.nan_to_num_(posinf=0.0) if p < 1 else size, u).mul_(slopes)


def _differences(x: Float[Tensor, "d a"], z: Float[Tensor, "d b"]) -> Iterator[Tensor]:
    """x_k - z_k for each column k, in one buffer that the caller may overwrite."""
    buffer = x.new_empty(x.shape[1], z.shape[1])
    for one, other in zip(x[:, :, None].unbind(), z.unbind(), strict=True):
        yield torch.sub(one, other, out=buffer)


def _power_(size: Tensor, p: float) -> Tensor:
    """size^p of numbers >= 0; may overwrite them. exp(p log) is several times faster than pow."""
    if p == 1:
        return size
    if p in (-0.5, 0.5, 2.0):
        return size.pow_(p)
    if p == 1.5:
        return size.mul_(size.sqrt())
    return size.log_().mul_(p).exp_()


def _tiles(X: Tensor, Z: Tensor) -> Iterator[tuple[slice, slice]]:
    entries = CPU_TILE if X.device.type == "cpu" else GPU_TILE
    height = max(1, min(len(X), math.isqrt(entries)))
    width = entries // height
    for i, j in itertools.product(range(0, len(X), height), range(0, len(Z), width)):
        yield slice(i, min(i + height, len(X))), slice(j, min(j + width, len(Z)))


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
        return _Minkowski(self.bandwidth, self.p, self.q)

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


def profile_(s: Tensor, e: float) -> Tensor:
    """exp(-s^e); overwrites s >= 0."""
    return decay(s if e == 1 else s.pow_(e), out=s)


def slope_from(s: Tensor, K: Tensor, e: float) -> Tensor:
    """d/ds exp(-s^e) = -e s^{e-1} K from K = exp(-s^e), 0 at a kink in s = 0; overwrites s."""
    if e == 1:
        return torch.neg(K, out=s)
    return s.pow_(e - 1).nan_to_num_(posinf=0.0).mul_(K).mul_(-e)


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


@final
@dataclass(frozen=True)
class _Minkowski(Kernel):
    """p < 2: exp(-s^{q/p}) of s = |x - z|_p^p / bandwidth^p."""

    bandwidth: float
    p: float
    q: float

    @property
    def scratch(self) -> int:
        return 4

    @property
    def _scale(self) -> float:
        return self.bandwidth**-self.p

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return self._values(X, Z, None)

    def _values(self, X: Tensor, Z: Tensor, out: Tensor | None) -> Tensor:
        s = power_distances(X, Z, self.p, out).mul_(self._scale)
        return profile_(s, self.q / self.p)

    def between(self, X: Tensor, Z: Tensor) -> KernelRows:
        # By so many rows at a time that one pass after the other finds them in the cache.
        def values(rows: slice, room: Tensor | None) -> Tensor:
            few = X[rows]
            K = as_matrix(room, len(few), len(Z))
            if K is None or K.device.type != "cpu":
                return self._values(few, Z, K)
            for part in slices(len(few), max(1, CPU_TILE // len(Z))):
                K[part] = self._values(few[part], Z, K[part])
            return K

        return values

    def rounded(self, X: Tensor) -> tuple[Kernel, Tensor]:
        return self, X

    def diagonal(self, X: Tensor) -> Tensor:
        return X.new_ones(len(X))

    def _slopes(self, X: Tensor, Z: Tensor, K: Tensor) -> Tensor:
        """dk/ds; distances are needed where it is not -K."""
        if self.p == self.q:
            return -K
        s = power_distances(X, Z, self.p).mul_(self._scale)
        return slope_from(s, K, self.q / self.p)

    def gradient(self, X: Tensor, Z: Tensor, c: Tensor) -> Tensor:
        s, e = power_distances(X, Z, self.p).mul_(self._scale), self.q / self.p
        slopes = slope_from(s, profile_(s.clone(), e), e)
        return power_pull(slopes, X, Z, c, self.p).mul_(self._scale)

    def own_gradient(self, X: Tensor, c: Tensor, tiles: OwnTiles) -> Tensor:
        J, given = X.new_zeros(X.shape[1], c.shape[1], len(X)), c.T.contiguous()
        for i, rows in enumerate(tiles.rows):
            for j, columns in enumerate(tiles.rows[i:], i):
                slopes = self._slopes(X[rows], X[columns], tiles(i, j))
                mirrored_pull_(J, (rows, columns), slopes, X, given, self.p)
        return J.permute(2, 1, 0).mul_(self._scale)

    def spec(self) -> Mapping[str, Any]:
        return {"name": "GeneralisedLaplace", **asdict(self)}


NUMBERS, IN_CACHE = 2**16, 13 * 2**14


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
    def _exact(self) -> _Minkowski:
        return _Minkowski(self.bandwidth, 1.0, 1.0)

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
        middle = self._box[torch.float64][2]
        return self._steps(X.double())[0].mul_(self._step).add_(middle).to(X)

    def _steps(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Whole steps from the middle to r(x), and x within the box."""
        low, high, middle = self._box[X.dtype]
        inside = X.clamp(low, high)
        return (inside - middle).mul_(1 / self._step).round_(), inside

    def _codes(self, X: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """2 a (d, n) and sum of a (n,) modulo 2^16; exp(-e / bandwidth), None where it is 1."""
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
        x, own, rate = x[:, :, None], own[:, None], self._step / self.bandwidth
        height = max(1, min(len(X), IN_CACHE // max(1, len(Z))))
        both = own.new_empty(2, height, len(Z))  # they stay in the cache

        def values(rows: slice, room: Tensor | None) -> Tensor:
            few, total = x[:, rows], own[rows]
            K = as_matrix(room, len(total), len(Z))
            K = X.new_empty(len(total), len(Z)) if K is None else K
            for part in slices(len(K), height):
                D, beside = both[:, : part.stop - part.start]
                torch.maximum(few[0, part], z[0], out=D)
                for a, b in zip(few[1:, part], z[1:], strict=True):
                    D.add_(torch.maximum(a, b, out=beside))
                K[part] = D.sub_(total[part]).sub_(other).view(torch.uint16)
            K = decay(K, rate, out=K)
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
