"""Losses of a prediction against a target, and likelihoods of class labels given logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

Entries = Float[Tensor, "*shape"]


class Loss(ABC):
    """l(f, y), convex in f."""

    @abstractmethod
    def __call__(self, f: Entries, y: Entries) -> Entries:
        """l(f, y)."""

    @abstractmethod
    def slope(self, f: Entries, y: Entries) -> Entries:
        """dl/df; at the kink of the hinge 0."""


@final
@dataclass(frozen=True)
class Hinge(Loss):
    """l = max(0, 1 - y f), y = +-1.

    Source: Shi22.
    """

    def __call__(self, f: Entries, y: Entries) -> Entries:
        return torch.relu(1 - y * f)

    def slope(self, f: Entries, y: Entries) -> Entries:
        return torch.where(y * f < 1, -y, 0)


@final
@dataclass(frozen=True)
class Squared(Loss):
    """l = (f - y)^2, any real y."""

    def __call__(self, f: Entries, y: Entries) -> Entries:
        return (f - y).square()

    def slope(self, f: Entries, y: Entries) -> Entries:
        return 2 * (f - y)


@final
@dataclass(frozen=True)
class Logistic(Loss):
    """l = log(1 + exp(-y f)), y = +-1."""

    def __call__(self, f: Entries, y: Entries) -> Entries:
        return torch.nn.functional.softplus(-y * f)

    def slope(self, f: Entries, y: Entries) -> Entries:
        return -y * torch.sigmoid(-y * f)


#: By the names that users type.
NAMED: dict[str, Loss] = {"hinge": Hinge(), "squared": Squared(), "logistic": Logistic()}


def loss(name: str | Loss) -> Loss:
    match name:
        case Loss():
            return name
        case "hinge" | "squared" | "logistic":
            return NAMED[name]
    raise ValueError(f"loss was {name!r}; give one of {', '.join(NAMED)}, or a Loss object.")
