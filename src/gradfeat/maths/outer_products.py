"""A mean of outer products, kept as thin as it is: a factor of few rows, or the matrix itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from .gradients import agop
from .memory import BLOCK_BYTES, rows_per_block
from .subspaces import leading_directions, upright


class OuterProducts(ABC):
    """M (d, d), symmetric and positive semi-definite."""

    @abstractmethod
    def matrix(self) -> Float[Tensor, "d d"]:
        """All of M, formed where it is kept as a factor."""

    @abstractmethod
    def diagonal(self) -> Float[Tensor, " d"]:
        """The diagonal of M, without the rest."""

    @abstractmethod
    def turned(self, turn: Callable[[Tensor], Tensor]) -> OuterProducts:
        """A M A, where `turn` multiplies rows by the symmetric matrix A."""

    @abstractmethod
    def spectrum(self) -> tuple[Float[Tensor, " d"], Float[Tensor, "d k"]]:
        """All eigenvalues, decreasing, and the vectors of those that M can have above zero."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """The numbers that it is kept as, by name (for saving)."""


@final
@dataclass(frozen=True, eq=False)
class Whole(OuterProducts):
    agop: Float[Tensor, "d d"]

    def matrix(self) -> Float[Tensor, "d d"]:
        return self.agop

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.agop.diagonal()

    def turned(self, turn: Callable[[Tensor], Tensor]) -> Whole:
        return Whole(turn(turn(self.agop).T))

    def spectrum(self) -> tuple[Float[Tensor, " d"], Float[Tensor, "d k"]]:
        return leading_directions(self.agop)

    def tensors(self) -> dict[str, Tensor]:
        return {"agop": self.agop}


@final
@dataclass(frozen=True, eq=False)
class Thin(OuterProducts):
    """M = F^T F with F (k, d), k < d: nothing of it costs d^3."""

    agop_factor: Float[Tensor, "k d"]

    def matrix(self) -> Float[Tensor, "d d"]:
        return self.agop_factor.T @ self.agop_factor

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.agop_factor.square().sum(0)

    def turned(self, turn: Callable[[Tensor], Tensor]) -> Thin:
        return Thin(turn(self.agop_factor))

    def spectrum(self) -> tuple[Float[Tensor, " d"], Float[Tensor, "d k"]]:
        d, (found, V) = self.agop_factor.shape[1], outer_spectrum(self.agop_factor)
        values = found.new_zeros(d)
        values[: len(found)] = found
        return values, V

    def tensors(self) -> dict[str, Tensor]:
        return {"agop_factor": self.agop_factor}


def outer_spectrum(F: Float[Tensor, "m d"]) -> tuple[Float[Tensor, " k"], Float[Tensor, "d k"]]:
    """The k = min(m, d) eigenvalues of F^T F, decreasing, and their vectors."""
    if len(F) >= F.shape[1]:
        return leading_directions(F.T @ F)
    _, s, Vh = torch.linalg.svd(F, full_matrices=False)
    return s.square(), upright(Vh.T)


def outer_products(held: Mapping[str, Tensor]) -> OuterProducts:
    """What :meth:`OuterProducts.tensors` gave, among other numbers."""
    factor = held.get("agop_factor")
    return Whole(held["agop"]) if factor is None else Thin(factor)


def mean_outer_products(
    gradient: Callable[[Tensor], Tensor],
    X: Float[Tensor, "n d"],
    weights: Float[Tensor, " n"],
    outputs: int,
    bytes_per_row: int,
) -> OuterProducts:
    """The AGOP over the rows of X, a factor where there are fewer gradients (n c) than columns."""
    n, d = X.shape
    if n * outputs >= d:
        G = agop(gradient, X, weights=weights, bytes_per_row=bytes_per_row)
        return Whole(G.double().cpu())
    step = rows_per_block(max(bytes_per_row, 4 * d * X.element_size()), BLOCK_BYTES)
    J = torch.cat([gradient(rows).double().cpu() for rows in X.split(step)])
    return thin_products(J, weights.to(J))


def thin_products(
    J: Float[Tensor, "n c d"], weights: Float[Tensor, " n"], *, centre: bool = False
) -> Thin:
    """The factor of :func:`gradfeat.maths.gradients.outer_product`."""
    p = weights / weights.sum()
    if centre:
        J = J - torch.einsum("n,ncd->cd", p, J)
    return Thin((J * p.sqrt()[:, None, None]).flatten(0, 1))
