"""Gaussian inputs with a linear target, the sign of one, or the product of such signs."""

# Apart: a data model has a file of its own.
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.ranges import not_negative, one_of, within
from ..maths.streams import stream
from .base import Sample, Task, check_inputs, normal, orthonormal_columns, side, uniform

#: y = sign(u.x), or y = u.x.
LinearKind = Literal["sign", "real"]


@final
@dataclass(frozen=True)
class LinearLabels(Task):
    """x ~ N(0, I_d), y = sign(u.x), or y = u.x + noise * eps with eps ~ N(0, 1); |u| = 1.

    Raises ValueError when a parameter is outside its range, or belongs to the other kind.
    Source: Shi23, section 4 (linear data; truth u).

    >>> task = LinearLabels(10, flip=0.1)
    >>> sample = task.sample(4, stream(0, "train"))
    >>> sample.X.shape, sorted(set(task.target(sample.X)[:, 0].tolist()))
    (torch.Size([4, 10]), [-0.8, 0.8])
    """

    d: int  #: Number of inputs.
    kind: LinearKind = "sign"  #: {"sign", "real"}, labels -1 and +1, or the linear function itself.
    #: Probability that a sign is turned over, in [0, 1/2]; 1/2 leaves no structure.
    flip: float = 0.0
    noise: float = 0.0  #: Standard deviation of the noise on a real y.
    seed: int = 0  #: Chooses u.

    def __post_init__(self) -> None:
        check_inputs(self.d, 1)
        not_negative(noise=self.noise)
        one_of(("sign", "real"), kind=self.kind)
        within(0, 0.5, flip=self.flip)
        if self.kind == "sign" and self.noise > 0:
            raise ValueError(f"noise is {self.noise} with signs as labels: give flip instead.")
        if self.kind == "real" and self.flip > 0:
            raise ValueError(f"flip is {self.flip} with real labels: give noise instead.")

    @property
    def directions(self) -> Float[Tensor, "d 1"]:
        """u, the same for the same `d` and `seed`."""
        return self._direction

    @cached_property
    def _direction(self) -> Float[Tensor, "d 1"]:
        return orthonormal_columns(self.d, 1, stream(self.seed, "directions"))

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Inputs first: tasks that differ in kind, flip or noise share them."""
        X = normal(n, self.d, generator)
        along = X @ self.directions
        if self.kind == "real":
            return Sample(X, along + self.noise * normal(n, 1, generator))
        turned = uniform(n, 1, generator) < self.flip
        return Sample(X, torch.where(turned, -side(along), side(along)))

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """u.x, or (1 - 2 flip) sign(u.x)."""
        along = X.double() @ self.directions.to(X.device)
        mean = along if self.kind == "real" else (1 - 2 * self.flip) * side(along)
        return mean.to(X.dtype)


@final
@dataclass(frozen=True)
class GaussianParity(Task):
    """x ~ N(0, I_d), y = prod_{i <= k} sign(M_i.x), M (d, D) with orthonormal columns.

    The function that labels the rows of `ParityBlocks` with r = 1, on inputs in which no direction
    is planted: E[y x] = 0 for k >= 2, and y is uncorrelated with every polynomial of degree below
    k.

    Raises ValueError when a parameter is outside its range.
    Source: Shi23, section 4.2 (the labels); inputs without structure for comparison.

    >>> sample = GaussianParity(10, 8, k=3).sample(4, stream(0, "train"))
    >>> sample.X.shape, sample.y.abs().unique().tolist()
    (torch.Size([4, 10]), [1.0])
    """

    #: d, D, k: inputs, columns of M, and how many count: 1 <= k <= D <= d.
    d: int
    D: int
    k: int
    seed: int = 0  #: Chooses M: that of `ParityBlocks` with equal d, D and seed.

    def __post_init__(self) -> None:
        check_inputs(self.d, 1)
        if not 1 <= self.k <= self.D <= self.d:
            raise ValueError(
                f"k, D, d are {self.k}, {self.D}, {self.d}: 1 <= k <= D <= d is needed."
            )

    @property
    def directions(self) -> Float[Tensor, "d k"]:
        """M_1, ..., M_k."""
        return self._frame[:, : self.k]

    @cached_property
    def _frame(self) -> Float[Tensor, "d D"]:
        return orthonormal_columns(self.d, self.D, stream(self.seed, "dictionary"))

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Labels follow from the inputs."""
        X = normal(n, self.d, generator)
        return Sample(X, self.target(X))

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        along = X.double() @ self.directions.to(X.device)
        return side(along).prod(1, keepdim=True).to(X)
