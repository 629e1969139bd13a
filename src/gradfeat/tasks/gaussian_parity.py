"""Gaussian inputs with the labels of one parity block: the rule without the structure."""

# Apart: a data model has a file of its own.
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.streams import stream
from .base import Sample, Task
from .draws import check_inputs, normal, orthonormal_columns, side


@final
@dataclass(frozen=True)
class GaussianParity(Task):
    """x ~ N(0, I_d), y = prod_{i <= k} sign(M_i.x), M (d, D) with orthonormal columns.

    The function that labels the rows of a `ParityBlocks` with r = 1, on inputs in which no
    direction is planted: E[y x] = 0 for k >= 2, and y is uncorrelated with every polynomial of
    degree below k.

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
    seed: int = 0  #: Chooses M: the same as that of a `ParityBlocks` of equal d, D and seed.

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
