"""Losses of a prediction f against a target y, entry by entry, with their slope in f."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

#: The names that `loss` resolves.
NAMES = ("hinge", "squared", "logistic")


class Loss(ABC):
    """l(f, y), convex in f."""

    @abstractmethod
    def __call__(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        """l(f, y)."""

    @abstractmethod
    def slope(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        """dl/df; at the kink of the hinge 0."""


@final
@dataclass(frozen=True)
class Hinge(Loss):
    """l = max(0, 1 - y f), y = +-1.

    Source: Shi22.

    Examples
    --------
    >>> Hinge().slope(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0])).tolist()
    [-1.0, 0.0]
    """

    def __call__(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        return torch.relu(1 - y * f)

    def slope(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        return torch.where(y * f < 1, -y, 0)


@final
@dataclass(frozen=True)
class Squared(Loss):
    """l = (f - y)^2, any real y.

    Examples
    --------
    >>> Squared().slope(torch.tensor([3.0]), torch.tensor([1.0])).tolist()
    [4.0]
    """

    def __call__(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        return (f - y).square()

    def slope(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        return 2 * (f - y)


@final
@dataclass(frozen=True)
class Logistic(Loss):
    """l = log(1 + exp(-y f)), y = +-1.

    Examples
    --------
    >>> Logistic().slope(torch.tensor([0.0]), torch.tensor([1.0])).tolist()
    [-0.5]
    """

    def __call__(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        return torch.nn.functional.softplus(-y * f)

    def slope(
        self, f: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        return -y * torch.sigmoid(-y * f)


def loss(name: str | Loss) -> Loss:
    """The loss of that name; a `Loss` is returned as it is.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> loss("hinge")
    Hinge()
    """
    match name:
        case Loss():
            return name
        case "hinge":
            return Hinge()
        case "squared":
            return Squared()
        case "logistic":
            return Logistic()
    raise ValueError(f"loss was {name!r}; give one of {', '.join(NAMES)}, or a Loss object.")
