"""Maps of rows that fit kernel machines in passes: what workers are sent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block
from .base import Kernel
from .kernel_machine import apply_metric


@final
@dataclass(frozen=True, eq=False)
class NystromFeatures:
    """phi(x) = T^{-T} k(Z, A x) in the place of x, in float64: phi(x).phi(z) is near k(A x, A z).

    Attributes
    ----------
    kernel : Kernel
        k.
    Z : Tensor (m, d)
        Centres in coordinates A x.
    T : Tensor (m, m)
        Upper triangular, T^T T = k(Z, Z).
    A : Tensor (d, d) or (d,)
        Square root of the metric.

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> one = torch.ones(1, 1).double()
    >>> phi = NystromFeatures(Gaussian(1.0), one, 2 * one, one[0])
    >>> phi(Block(one, one, one[0])).X.tolist()
    [[0.5]]
    """

    kernel: Kernel
    Z: Float[Tensor, "m d"]
    T: Float[Tensor, "m m"]
    A: Tensor

    @cached_property
    def _copies(self) -> dict[torch.device, tuple[Tensor, Tensor, Tensor]]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return NystromFeatures, (self.kernel, self.Z, self.T, self.A)

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Z, T and A there; copied once, as T may be large."""
        if device not in self._copies:
            self._copies[device] = (self.Z.to(device), self.T.to(device), self.A.to(device))
        return self._copies[device]

    def scratch_per_row(self) -> int:
        """Bytes of a kernel row, of its features and of what they are multiplied from."""
        return (self.kernel.scratch + 3) * len(self.Z) * self.Z.element_size()

    def __call__(self, rows: Block) -> Block:
        """Mapped rows."""
        Z, T, A = self._on(rows.X.device)
        K = self.kernel(apply_metric(rows.X.double(), A), Z)
        phi = torch.linalg.solve_triangular(T, K, upper=True, left=False)
        return Block(phi, rows.y.double(), rows.w.double())


@final
@dataclass(frozen=True, eq=False)
class ExpansionGradient:
    """Gradient of sum_j c_j k(z_j, u) at u = A x, in the float type of x.

    Attributes
    ----------
    kernel : Kernel
        k.
    Z, c : Tensor (m, d), (m, k)
        Centres in coordinates A x, and their coefficients.
    A : Tensor (d, d) or (d,)
        Square root of the metric.

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> one = torch.ones(1, 1).double()
    >>> ExpansionGradient(Gaussian(1.0), 0 * one, one, one[0])(one).round(decimals=4).tolist()
    [[[-0.6065]]]
    """

    kernel: Kernel
    Z: Float[Tensor, "m d"]
    c: Float[Tensor, "m k"]
    A: Tensor

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n k d"]:
        """Gradients at the rows of X."""
        return self.kernel.gradient(apply_metric(X, self.A.to(X)), self.Z.to(X), self.c.to(X))
