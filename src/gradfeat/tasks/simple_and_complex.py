"""Two features that tell the label, along directions of their own: a sign, and slabs in turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.ranges import at_least, not_negative, within
from ..maths.streams import stream
from .base import Sample, Task, check_inputs, normal, orthonormal_columns, side, uniform


@final
@dataclass(frozen=True)
class SimpleAndComplex(Task):
    """x = s (1 + jitter e) u + h (t + jitter e'/2) v + noise * xi, y = +1 or -1 by halves.

    The simple feature s is y with probability `predictive`, else -y. The complex one, t, is one of
    K = `slabs` neighbouring places -(K-1)/2, ..., (K-1)/2 that belong to +1 and -1 in turn, the
    last to +1, uniform on those of y: it tells y with certainty, but a function of v.x must turn
    K - 1 times to read it. e, e' are uniform on [-1, 1], xi is N(0, I) at right angles to u and v,
    and h makes h^2 E t^2 = 1 = s^2: the two features have one size.

    At K = 2 the second feature is as simple as the first. For odd K, E[y v.x] = 0: no linear
    function reads anything off it. At `predictive` = 1/2 the first feature says nothing, and rows
    are what tells which of two features a function follows: s and y are then independent.

    Raises ValueError when a parameter is outside its range.
    Source: simple and complex features as in Shi23 (simplicity bias); slabs after Shah et al. 2020.

    >>> task = SimpleAndComplex(10, slabs=3)
    >>> sample = task.sample(4, stream(0, "train"))
    >>> sample.X.shape, bool((task.simple_signs(sample.X) == sample.y).all())
    (torch.Size([4, 10]), True)
    """

    d: int  #: Inputs, 2 or more.
    slabs: int = 3  #: K, 2 or more.
    predictive: float = 1.0  #: Pr[s = y], in [1/2, 1].
    jitter: float = 0.2  #: Spread within a place, in [0, 1): places never touch.
    noise: float = 1.0  #: Standard deviation of the other d - 2 directions.
    seed: int = 0  #: Chooses u and v.

    def __post_init__(self) -> None:
        check_inputs(self.d, 2)
        not_negative(noise=self.noise)
        at_least(2, slabs=self.slabs)
        within(0.5, 1, predictive=self.predictive)
        if not 0 <= self.jitter < 1:
            raise ValueError(f"jitter is {self.jitter}: give a number from 0 to below 1.")

    @property
    def directions(self) -> Float[Tensor, "d 2"]:
        return self._frame

    @cached_property
    def _frame(self) -> Float[Tensor, "d 2"]:
        return orthonormal_columns(self.d, 2, stream(self.seed, "directions"))

    @property
    def spacing(self) -> float:
        """h = (E t^2)^{-1/2}, each label having half of the probability."""
        t, y = self._places(), self._labels()
        means = [float(t[y == label].square().mean()) for label in (1, -1)]
        return 1 / math.sqrt(sum(means) / 2)

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Signs and jitter first, then noise: tasks that differ in numbers share their draws."""
        label, agrees, place, e, f = uniform(n, 5, generator).T
        y = torch.where(label < 0.5, -1.0, 1.0).double()
        s = torch.where(agrees < self.predictive, y, -y)
        xi = self.noise * normal(n, self.d, generator)
        U = self.directions
        first = s * (1 + self.jitter * (2 * e - 1))
        second = self.spacing * (self._place_of(y, place) + self.jitter * (f - 0.5))
        along = torch.stack([first, second], 1)
        return Sample(xi + (along - xi @ U) @ U.T, y[:, None])

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """y: the label of the place nearest to v.x."""
        along = X.double() @ self.directions.to(X.device)[:, 1] / self.spacing
        nearest = (along + (self.slabs - 1) / 2).round().clamp(0, self.slabs - 1).long()
        return self._labels().to(X)[nearest][:, None]

    def simple_signs(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """s: +1 or -1, the side of 0 that u.x lies on."""
        along = X.double() @ self.directions.to(X.device)[:, :1]
        return side(along).to(X)

    def _places(self) -> Float[Tensor, " K"]:
        return torch.arange(self.slabs, dtype=torch.float64) - (self.slabs - 1) / 2

    def _labels(self) -> Float[Tensor, " K"]:
        turns = self.slabs - 1 - torch.arange(self.slabs)
        return 1.0 - 2.0 * (turns % 2).double()

    def _place_of(self, y: Float[Tensor, " n"], share: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """t: of the places of label y, the one that a uniform number falls to."""
        t, labels = self._places(), self._labels()
        plus, minus = t[labels > 0], t[labels < 0]
        return torch.where(
            y > 0, plus[(share * len(plus)).long()], minus[(share * len(minus)).long()]
        )
