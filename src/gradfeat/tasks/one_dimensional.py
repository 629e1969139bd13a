"""A function of one uniform input, of any smoothness, alone or among irrelevant inputs."""

# Apart: a data model has a file of its own.
from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.hermite import RealFunction
from ..maths.ranges import not_negative
from .base import Sample, Task, check_inputs, function_of_projection, uniform, unit_noise


@final
@dataclass(frozen=True)
class OneDimensional(Task):
    """y = g(x_1) + noise * eps, x uniform on [-1, 1]^d, eps ~ N(0, 1).

    Raises ValueError when a parameter is outside its range.
    Source: the talk Feature learning and limitations of kernels, smoothness.

    >>> from gradfeat.maths.streams import stream
    >>> from gradfeat.tasks.targets import heaviside
    >>> sample = OneDimensional(heaviside()).sample(4, stream(0, "train"))
    >>> sample.X.shape, bool((sample.y == sample.X.sign()).all())
    (torch.Size([4, 1]), True)
    """

    #: Maps a float64 array (p,) to real, finite values (p,): a `TruncatedPower` or any other.
    g: RealFunction
    d: int = 1  #: Number of inputs, at least 1; those after the first are irrelevant.
    noise: float = 0.0  #: Standard deviation of the noise, in the units of y.

    def __post_init__(self) -> None:
        check_inputs(self.d, 1)
        not_negative(noise=self.noise)

    @property
    def directions(self) -> Float[Tensor, "d 1"]:
        return torch.eye(self.d, 1, dtype=torch.float64)

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Inputs first, then noise: tasks that differ only in the noise share their inputs."""
        X = 2 * uniform(n, self.d, generator) - 1
        return Sample(X, self.target(X) + self.noise * unit_noise(n, "gaussian", generator))

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """g(x_1)."""
        return function_of_projection(lambda z: self.g(z[:, 0]), X, self.directions)
