"""The truncated ReLU averaged over Gaussian noise before the activation, in closed form."""

# Apart: theory reads the other activations without torch, which this one needs.

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from .activations import Activation, TruncatedReLU


@final
@dataclass(frozen=True)
class SmoothedTruncatedReLU(Activation):
    """sigma_s(z) = E min(1, max(z + s xi, 0)), xi ~ N(0, 1): r(z) - r(z - 1).

    r(z) = E max(z + s xi, 0) = z Phi(z/s) + s phi(z/s), and
    sigma_s'(z) = Phi((1 - z)/s) - Phi(-z/s).

    Source: Shi22, the smoothing noise of the first two steps.

    >>> SmoothedTruncatedReLU(0.1)(torch.tensor([0.5])).tolist()
    [0.5]
    """

    name: ClassVar[str] = "smoothed_truncated_relu"
    noise: float  # s, the standard deviation of the noise, above 0
    breakpoints: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.noise) and self.noise > 0):
            raise ValueError(
                f"noise is {self.noise}: give a finite standard deviation above 0, or use"
                " TruncatedReLU."
            )
        # A small noise bends the function within a fraction of a unit.
        edges = {corner + side * self.noise for corner in (0, 1) for side in (-6, 0, 6)}
        object.__setattr__(self, "breakpoints", tuple(sorted(edges)))

    def _ramp(self, z: Tensor) -> Tensor:
        u = z / self.noise
        density = torch.exp(-u.square() / 2) * (self.noise / math.sqrt(2 * math.pi))
        return torch.addcmul(density, z, torch.special.ndtr(u))

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return self._ramp(z) - self._ramp(z - 1)

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return torch.special.ndtr((1 - z) / self.noise) - torch.special.ndtr(-z / self.noise)

    def spec(self) -> dict[str, Any]:
        raise ValueError(
            "A smoothed activation is for training and is not saved: save the network with"
            " TruncatedReLU, its limit without noise."
        )


def smoothed(activation: Activation, noise: float) -> Activation:
    """`activation` averaged over noise of standard deviation `noise`; itself where that is 0."""
    if noise == 0:
        return activation
    if activation == TruncatedReLU():
        return SmoothedTruncatedReLU(noise)
    raise ValueError(
        f"noise is {noise} with {activation}: noise before the activation is for TruncatedReLU"
        " alone, use 0 with others."
    )
