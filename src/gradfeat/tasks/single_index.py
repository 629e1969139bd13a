"""Single-index model: one direction of a Gaussian input carries the whole target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.hermite import HermiteSeries, RealFunction
from ..maths.ranges import not_negative
from ..maths.streams import stream
from .base import Sample, Task, check_inputs, function_of_projection, normal, unit_noise


def he2_he4() -> HermiteSeries:
    """g = He_2 / 2 + He_4 / sqrt(48): E g^2 = 2/4 + 24/48 = 1, information exponent 2.

    Source: Damian22, the experiments: He_2/2 + He_p/sqrt(2 p!) at p = 4.

    >>> round(he2_he4().norm_squared(), 12), he2_he4().information_exponent()
    (1.0, 2)
    """
    return HermiteSeries((0.0, 0.0, 1 / 2, 0.0, 1 / math.sqrt(48)))


@final
@dataclass(frozen=True)
class SingleIndex(Task):
    """y = g(u.x) + noise * eps, x ~ N(0, I_d), eps ~ N(0, 1), u uniform on the unit sphere.

    The case r = 1 of `gradfeat.tasks.multi_index.MultiIndex` (the same u and samples to rounding),
    for a function of one variable whose Hermite series is not needed.

    Raises ValueError when `d` is below 1, or `noise` is negative or not finite.
    Source: the single-index case of Damian22 and Moniri24.

    >>> task = SingleIndex(20, he2_he4(), noise=0.1)
    >>> sample = task.sample(5, stream(0, "train"))
    >>> sample.X.shape, sample.y.shape, task.directions.shape
    (torch.Size([5, 20]), torch.Size([5, 1]), torch.Size([20, 1]))
    """

    d: int  #: Number of inputs, at least 1.
    #: g, from a float64 array (n,) to an array (n,): a HermiteSeries, or any other function.
    series: RealFunction
    noise: float = 0.0  #: Standard deviation of the noise, in the units of y.
    seed: int = 0  #: Chooses u.

    def __post_init__(self) -> None:
        check_inputs(self.d, 1)
        not_negative(noise=self.noise)

    @property
    def directions(self) -> Float[Tensor, "d 1"]:
        """u as a column, the same for the same `d` and `seed`."""
        u = normal(self.d, 1, stream(self.seed, "directions"))
        return u / u.norm()

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Inputs first, then noise: tasks that differ only in the noise share their inputs."""
        X = normal(n, self.d, generator)
        return Sample(X, self.target(X) + self.noise * unit_noise(n, "gaussian", generator))

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """g(u.x)."""
        return function_of_projection(lambda z: self.series(z[:, 0]), X, self.directions)
