"""The two function classes: two-layer networks (and their expansion) and kernel machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation
from ..maths.gradients import autodiff_gradient
from ..maths.limits import row_blocks
from .base import Kernel, Predictor
from .solvers.base import Meter
from .solvers.tiles import Tiles, tile_shape

#: Share of the targets' standard deviation that a sum's rounding may reach.
CANCELLED = 1e-2


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


def apply_metric(X: Float[Tensor, "n d"], A: Tensor) -> Float[Tensor, "n d"]:
    """Return X A for a symmetric matrix A (d, d), or X * A for a diagonal A (d,).

    A of k < d columns V diag(s), V orthonormal, stands for the matrix V diag(s) V^T: a metric of
    rank k, kept and applied as thin as it is.

    >>> apply_metric(torch.ones(1, 2), torch.tensor([2.0, 3.0])).tolist()
    [[2.0, 3.0]]
    >>> apply_metric(torch.ones(1, 2), torch.tensor([[2.0], [0.0]])).tolist()
    [[2.0, 0.0]]
    """
    if A.ndim == 1:
        return X * A
    return X @ A if A.shape[0] == A.shape[1] else (X @ A) @ (A / A.norm(dim=0)).T


@final
@dataclass(frozen=True, eq=False)
class KernelMachine(Predictor):
    """f(x) = offset + sum_i c_i k(A x, A z_i), |u|_M^2 = |A u|^2, M = A^2.

    Sums are in the float type of Z, by tiles that stay in a processor's cache; gradients are in
    the wider type of Z and x. Results are in that of x.

    `kernel`: k, on transformed inputs.
    `A` (d, d) symmetric, (d,) for a diagonal one, or (d, k) for one of rank k < d: Square root of
        the feature matrix M, as of :func:`apply_metric`.
    """

    kernel: Kernel
    Z: Float[Tensor, "m d"]
    c: Float[Tensor, "m k"]
    offset: Float[Tensor, " k"]
    A: Tensor

    @cached_property
    def _ZA(self) -> Tensor:
        return apply_metric(self.Z, self.A)

    @property
    def M(self) -> Float[Tensor, "d d"]:
        """The feature matrix A^2 (a diagonal matrix for a diagonal A)."""
        return torch.diag(self.A.square()) if self.A.ndim == 1 else self.A @ self.A.T

    def scratch_per_row(self) -> int:
        """Kernel row, slope row and one output's coefficients; the result's own row."""
        m, k = self.c.shape
        return (self.kernel.scratch * m + 3 * k * self.Z.shape[1]) * self.Z.element_size()

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        if not len(X):
            return X.new_zeros(0, self.c.shape[1])
        XA = whole_tiles(apply_metric(X.to(self.Z), self.A), len(self.Z))
        tiles = Tiles(self.kernel, XA, self._ZA, Meter(len(XA)), 0)
        return (tiles.times(self.c)[: len(X)] + self.offset).to(X)

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n k d"]:
        """Closed form: A times the gradient of the expansion at A x."""
        wide = torch.promote_types(X.dtype, self.Z.dtype)
        A, ZA, c = (t.to(X.device, wide) for t in (self.A, self._ZA, self.c))
        J = self.kernel.gradient(apply_metric(X.to(wide), A), ZA, c)
        return apply_metric(J.flatten(0, 1), A).view_as(J).to(X)

    def in_float64(self) -> KernelMachine:
        """The same function, evaluated in float64.

        Coefficients of a smooth kernel with a small penalty are large and cancel: their sum in
        float32 loses digits, and differs from one block of rows to another.
        """
        return self._in(torch.float64)

    def in_float32(self) -> KernelMachine:
        """The same function but for rounding, with sums in float32."""
        return self._in(torch.float32)

    def _in(self, dtype: torch.dtype) -> KernelMachine:
        moved = {name: tensor.to(dtype) for name, tensor in self.tensors().items()}
        return KernelMachine(self.kernel, **moved)

    def tensors(self) -> dict[str, Tensor]:
        return {"Z": self.Z, "c": self.c, "offset": self.offset, "A": self.A}

    def spec(self) -> dict[str, Any]:
        return {"type": "KernelMachine", "kernel": dict(self.kernel.spec())}


def whole_tiles(X: Float[Tensor, "n d"], m: int) -> Float[Tensor, "p d"]:
    """Rows of float32, and copies of one until they fill the tiles of products with m points.

    Products of other shapes sum in another order, which float32 shows where coefficients cancel: a
    prediction would depend on the rows beside it.
    """
    missing = -len(X) % tile_shape(X, m)[0] if X.dtype == torch.float32 else 0
    return torch.cat([X, X[:1].expand(missing, -1)]) if missing else X


def machine_of(
    kernel: Kernel, Z: Float[Tensor, "m d"], c: Float[Tensor, "m c"], offset: Float[Tensor, " c"]
) -> KernelMachine:
    """The expansion in the metric I."""
    return KernelMachine(kernel, Z, c, offset, Z.new_ones(Z.shape[1]))


def expansion(
    kernel: Kernel,
    Z: Float[Tensor, "m d"],
    c: Float[Tensor, "m k"],
    offset: Float[Tensor, " k"],
    A: Tensor,
    size: float,
) -> KernelMachine:
    """The machine with coefficients c in float64, in Z's type or, where they cancel, float64.

    The sum's rounding is eps |c|_1 k(z, z) at most; more than 1 % of `size`, the standard deviation
    of the targets, is too much.
    """
    f = KernelMachine(kernel, Z, c.to(Z.dtype), offset, A)
    largest = float(kernel.diagonal(Z[:100]).abs().max())
    rounding = torch.finfo(Z.dtype).eps * float(c.abs().sum(0).max()) * largest
    if Z.dtype == torch.float64 or rounding <= CANCELLED * size:
        return f
    return KernelMachine(kernel, Z.double(), c.double(), offset.double(), A.double())
