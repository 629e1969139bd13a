"""A function of one uniform input, of any smoothness, alone or among irrelevant inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.hermite import RealFunction
from .base import Sample, Task
from .draws import check_inputs, check_noise, function_of_projection, uniform, unit_noise


@final
@dataclass(frozen=True)
class TruncatedPower:
    """g(x) = (max(x, 0)^s - m) / v, with m and v such that E g = 0, E g^2 = 1 on [-1, 1].

    max(x, 0)^0 is the step 1{x > 0}.
    For an integer s the derivatives up to s - 1 are continuous and derivative s jumps at 0, so g is
    in C^{s-1} and in the Sobolev space H^t on [-1, 1] exactly for t < s + 1/2. s = 0 is the
    Heaviside step, here sign(x); a fractional s is Hoelder of order s.

    Parameters
    ----------
    s : float
        The power, 0 or more.

    Raises
    ------
    ValueError
        When s is negative or not finite.

    Source: the fourth talk, adaptivity to smoothness (Heaviside, C^s).

    Examples
    --------
    >>> TruncatedPower(0)(np.array([-0.5, 0.5])).tolist()
    [-1.0, 1.0]
    >>> TruncatedPower(2).sobolev_order
    2.5
    """

    s: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.s) and self.s >= 0):
            raise ValueError(f"s is {self.s}: give a finite power, 0 or more.")

    @property
    def sobolev_order(self) -> float:
        """s + 1/2: g is in H^t for t below it, not at it (s an integer)."""
        return self.s + 0.5

    def __call__(self, x: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Values at x (p,)."""
        mean, square = 1 / (2 * (self.s + 1)), 1 / (2 * (2 * self.s + 1))
        power = np.where(x > 0, np.maximum(x, 0) ** self.s, 0.0)
        return (power - mean) / math.sqrt(square - mean**2)


def heaviside() -> TruncatedPower:
    """The normalised step 2 1{x > 0} - 1: `TruncatedPower` of order 0.

    Examples
    --------
    >>> heaviside()
    TruncatedPower(s=0)
    """
    return TruncatedPower(0)


@final
@dataclass(frozen=True)
class OneDimensional(Task):
    """y = g(x_1) + noise * eps, x uniform on [-1, 1]^d, eps ~ N(0, 1).

    Parameters
    ----------
    g : callable
        Maps a float64 array (p,) to real, finite values (p,): a `TruncatedPower` or any other.
    d : int
        Number of inputs, at least 1; those after the first are irrelevant.
    noise : float
        Standard deviation of the noise, in the units of y.

    Raises
    ------
    ValueError
        When a parameter is outside its range.

    Source: the fourth talk, adaptivity to smoothness.

    Examples
    --------
    >>> from gradfeat.maths.streams import stream
    >>> sample = OneDimensional(heaviside()).sample(4, stream(0, "train"))
    >>> sample.X.shape, bool((sample.y == sample.X.sign()).all())
    (torch.Size([4, 1]), True)
    """

    g: RealFunction
    d: int = 1
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_inputs(self.d, 1)
        check_noise(self.noise)

    @property
    def directions(self) -> Float[Tensor, "d 1"]:
        return torch.eye(self.d, 1, dtype=torch.float64)

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Inputs first, then noise: tasks that differ only in the noise share their inputs."""
        X = 2 * uniform(n, self.d, generator) - 1
        eps = unit_noise(n, "gaussian", generator)
        return Sample(X, self.target(X) + self.noise * eps)

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """g(x_1)."""
        return function_of_projection(lambda z: self.g(z[:, 0]), X, self.directions)
