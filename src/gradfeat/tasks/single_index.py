"""Single-index model: one direction of a Gaussian input carries the whole target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.hermite import HermiteSeries, RealFunction
from ..maths.streams import stream
from .base import Sample, Task, check_rows


def he2_he4() -> HermiteSeries:
    """g = He_2 / 2 + He_4 / sqrt(48): E g^2 = 2/4 + 24/48 = 1, information exponent 2.

    Source: Damian22, the experiments: He_2/2 + He_p/sqrt(2 p!) at p = 4.

    Examples
    --------
    >>> round(he2_he4().norm_squared(), 12), he2_he4().information_exponent()
    (1.0, 2)
    """
    return HermiteSeries((0.0, 0.0, 1 / 2, 0.0, 1 / math.sqrt(48)))


@final
@dataclass(frozen=True)
class SingleIndex(Task):
    """y = g(u.x) + noise * eps, x ~ N(0, I_d), eps ~ N(0, 1), u uniform on the unit sphere.

    Parameters
    ----------
    d : int
        Number of inputs, at least 1.
    series : callable
        g, from a float64 array (n,) to an array (n,): a HermiteSeries, or any other function.
    noise : float
        Standard deviation of the noise, in the units of y.
    seed : int
        Chooses u.

    Raises
    ------
    ValueError
        When `d` is below 1, or `noise` is negative or not finite.

    Source: the single-index case of Damian22 and Moniri24.

    Examples
    --------
    >>> task = SingleIndex(20, he2_he4(), noise=0.1)
    >>> sample = task.sample(5, stream(0, "train"))
    >>> sample.X.shape, sample.y.shape, task.directions.shape
    (torch.Size([5, 20]), torch.Size([5, 1]), torch.Size([20, 1]))
    """

    d: int
    series: RealFunction
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.d < 1:
            raise ValueError(f"d is {self.d}: a task needs at least 1 input.")
        if not (math.isfinite(self.noise) and self.noise >= 0):
            raise ValueError(f"noise is {self.noise}: give a finite standard deviation, 0 or more.")

    @property
    def directions(self) -> Float[Tensor, "d 1"]:
        """u as a column, the same for the same `d` and `seed`."""
        u = torch.randn(self.d, 1, generator=stream(self.seed, "directions"), dtype=torch.float64)
        return u / u.norm()

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Inputs first, then noise: tasks that differ only in the noise share their inputs."""
        X = torch.randn(check_rows(n), self.d, generator=generator, dtype=torch.float64)
        eps = torch.randn(n, 1, generator=generator, dtype=torch.float64)
        return Sample(X, self.target(X) + self.noise * eps)

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """g(u.x)."""
        z = (X.double() @ self.directions.to(X.device)).squeeze(1)
        return torch.as_tensor(self.series(z.cpu().numpy())).to(X)[:, None]
