"""What a data model with known truth offers, and what several of them draw and evaluate alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.multi_indices import RealFunctionOfRows, row_values
from ..maths.ranges import at_least


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


#: eps ~ N(0, 1), or eps = -1 or +1 with probability 1/2 each; both have mean 0 and variance 1.
NoiseLaw = Literal["gaussian", "sign"]


def normal(n: int, d: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
    """n rows of N(0, I_d), float64; ValueError where n is below 1."""
    return torch.randn(check_rows(n), d, generator=generator, dtype=torch.float64)


def uniform(n: int, d: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
    """n rows uniform on [0, 1)^d, float64; ValueError where n is below 1."""
    return torch.rand(check_rows(n), d, generator=generator, dtype=torch.float64)


def side(z: Tensor) -> Tensor:
    """The side of 0 that z lies on: -1, or +1, at 0 too.

    >>> side(torch.tensor([-2.0, 0.0])).tolist()
    [-1.0, 1.0]
    """
    return torch.where(z < 0, -1.0, 1.0).to(z)


def unit_noise(n: int, law: NoiseLaw, generator: torch.Generator) -> Float[Tensor, "n 1"]:
    """n values of eps; those of the law "sign" are the signs of those of "gaussian"."""
    eps = normal(n, 1, generator)
    return side(eps) if law == "sign" else eps


def orthonormal_columns(d: int, r: int, generator: torch.Generator) -> Float[Tensor, "d r"]:
    """Haar columns: Q of the QR factors of a Gaussian matrix, signs such that R has diagonal > 0.

    >>> U = orthonormal_columns(5, 2, torch.Generator().manual_seed(0))
    >>> bool(torch.allclose(U.T @ U, torch.eye(2).double()))
    True
    """
    Q, R = torch.linalg.qr(torch.randn(d, r, generator=generator, dtype=torch.float64))
    return Q * R.diagonal().sign()


def function_of_projection(
    g: RealFunctionOfRows, X: Float[Tensor, "n d"], U: Float[Tensor, "d r"]
) -> Float[Tensor, "n 1"]:
    """g(U^T x) at the rows of X, in X's dtype and on its device; g works in float64 on the CPU.

    Raises ValueError if g returns anything but one real, finite value a row.
    """
    z = (X.double() @ U.to(X.device)).cpu().numpy()
    return torch.as_tensor(row_values(g, z)).to(X)[:, None]


def check_inputs(d: int, r: int) -> None:
    """ValueError unless 1 <= r <= d."""
    at_least(1, d=d)
    if not 1 <= r <= d:
        raise ValueError(f"r is {r}: give 1 to d = {d} directions.")
