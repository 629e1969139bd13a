"""What a data model with known truth offers: samples, the regression function, its directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from a task: inputs (n, d) and targets (n, c), float64 on the CPU."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, "n c"]


class Task(ABC):
    """A distribution of (x, y) whose regression function depends on x through few directions."""

    @property
    @abstractmethod
    def directions(self) -> Float[Tensor, "d r"]:
        """The true directions U: E[y|x] is a function of U^T x. Orthonormal columns."""

    @abstractmethod
    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Return n independent rows, drawn from `generator` alone.

        Raises ValueError when `n` is below 1.
        """

    @abstractmethod
    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """E[y|x] at the rows of X, in X's dtype and on its device."""


def check_rows(n: int) -> int:
    """`n` itself, or ValueError where it is below 1."""
    if n < 1:
        raise ValueError(f"a sample of {n} rows was asked for: give at least 1.")
    return n
