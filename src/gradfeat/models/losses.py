"""Losses of a prediction against a target, and likelihoods of class labels given logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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


#: F (n, c) -> H F of a matrix with one symmetric block a row.
Blocks = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Likelihood(ABC):
    """sum_i w_i loss(y_i, f_i) of logits f (n, c), convex."""

    w: Float[Tensor, " n"]

    @abstractmethod
    def value(self, f: Float[Tensor, "n c"]) -> Tensor:
        """The loss, summed over rows."""

    @abstractmethod
    def slope(self, f: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """Its gradient in f."""

    @abstractmethod
    def curvature(self, f: Float[Tensor, "n c"]) -> Blocks:
        """F -> H F, H its Hessian at f."""

    @abstractmethod
    def size(self, f: Float[Tensor, "n c"]) -> Float[Tensor, " n"]:
        """One number for each row's block of H: the mean of its eigenvalues but the gauge's."""

    @abstractmethod
    def constant(self) -> Float[Tensor, "n c"]:
        """The best constant logits, at every row; finite where every class has weight."""


@final
@dataclass(frozen=True, eq=False)
class TwoClasses(Likelihood):
    """sum_i w_i log(1 + exp(-y_i f_i)), y = +-1 (n, 1)."""

    y: Float[Tensor, "n 1"]

    def value(self, f: Tensor) -> Tensor:
        return self.w @ Logistic()(f, self.y)[:, 0]

    def slope(self, f: Tensor) -> Tensor:
        """-w y sigmoid(-y f)."""
        return self.w[:, None] * Logistic().slope(f, self.y)

    def curvature(self, f: Tensor) -> Blocks:
        """F -> w p (1 - p) F."""
        H = self.size(f)[:, None]
        return lambda F: H * F

    def size(self, f: Tensor) -> Tensor:
        """w p (1 - p)."""
        return self.w * (torch.sigmoid(f) * torch.sigmoid(-f))[:, 0]

    def constant(self) -> Tensor:
        up = self.w @ (self.y > 0).to(self.w)
        return (up / (self.w.sum() - up)).log().expand_as(self.y)


@final
@dataclass(frozen=True, eq=False)
class ManyClasses(Likelihood):
    """-sum_i w_i log softmax(f_i)[class of i], classes one-hot (n, c), c >= 2."""

    hot: Float[Tensor, "n c"]

    def value(self, f: Tensor) -> Tensor:
        return -self.w @ (self.hot * f.log_softmax(1)).sum(1)

    def slope(self, f: Tensor) -> Tensor:
        """w (p - hot)."""
        return self.w[:, None] * (f.softmax(1) - self.hot)

    def curvature(self, f: Tensor) -> Blocks:
        """F -> w (p F - p (p . F))."""
        p = f.softmax(1)
        wp = self.w[:, None] * p
        return lambda F: wp * (F - (p * F).sum(1, keepdim=True))

    def size(self, f: Tensor) -> Tensor:
        """w (1 - |p|^2) / (c - 1): the trace over c - 1 dimensions."""
        p = f.softmax(1)
        return self.w * (p * (1 - p)).sum(1) / (f.shape[1] - 1)

    def constant(self) -> Tensor:
        """Log-shares of the weights, of mean zero."""
        logs = (self.w @ self.hot).log()
        return (logs - logs.mean()).expand_as(self.hot)
