"""A function of few linear combinations of the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float
from torch import Tensor

from .base import Predictor


@final
@dataclass(frozen=True, eq=False)
class Projected(Predictor):
    """f(x) = inner(B^T x), gradient B grad inner(B^T x), in the float type of B.

    Results are in that of x.

    Attributes
    ----------
    inner : Predictor
        A function on R^r.
    B : Tensor (d, r)
        Directions, one a column.

    Examples
    --------
    >>> import torch
    >>> from gradfeat.models.kernel_machine import KernelMachine
    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> one = torch.ones(1, 1)
    >>> inner = KernelMachine(Gaussian(1.0), one, one, 0 * one[0], one[0])
    >>> f = Projected(inner, torch.tensor([[1.0], [0.0]]))
    >>> f(torch.tensor([[1.0, 5.0]])).tolist()
    [[1.0]]
    """

    inner: Predictor
    B: Float[Tensor, "d r"]

    def scratch_per_row(self) -> int:
        """Of the inner function, and gradients in both spaces."""
        return self.inner.scratch_per_row() + 2 * self.B.numel() * self.B.element_size()

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return self.inner(X.to(self.B.dtype) @ self.B).to(X.dtype)

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        """The chain rule."""
        return (self.inner.gradient(X.to(self.B.dtype) @ self.B) @ self.B.T).to(X.dtype)

    def tensors(self) -> dict[str, Tensor]:
        """The directions, and the inner function's."""
        return {"B": self.B, **{f"inner.{k}": t for k, t in self.inner.tensors().items()}}

    def spec(self) -> dict[str, Any]:
        """The inner function."""
        return {"type": "Projected", "inner": self.inner.spec()}
