"""The losses as a primal-dual method needs them: Newton terms, conjugates, and own multipliers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..losses import Hinge, Logistic, Loss, Squared

Vector = Float[Tensor, " n"]
State = Float[Tensor, "k n"]


@dataclass(frozen=True, eq=False)
class RowLoss(ABC):
    """sum_i v_i l(f_i, y_i), v_i > 0; the state (k, n) holds what a loss adds to a point f."""

    y: Vector
    v: Vector

    @abstractmethod
    def conjugate(self, u: Vector) -> Vector:
        """l*(u) = sup_f u f - l(f, y), for the slopes that :meth:`pull` gives over v."""

    @abstractmethod
    def balanced(self, u: Vector) -> Vector:
        """Slopes near u with v.u = 0: what a free constant asks of a dual point."""

    @abstractmethod
    def begin(self, f: Vector) -> State:
        """The state that `pull` starts from, at predictions f."""

    @abstractmethod
    def pull(self, state: State, f: Vector) -> Vector:
        """v u: the slopes of the terms in f."""

    @abstractmethod
    def newton(
        self, state: State, f: Vector, target: Float[Tensor, "h n"]
    ) -> tuple[Vector, Vector]:
        """p and q of the linearised slopes p + q df, the state's own equations solved.

        Those ask of each slack times its multiplier to become `target`.
        """

    @abstractmethod
    def change(self, state: State, f: Vector, df: Vector, target: Float[Tensor, "h n"]) -> State:
        """The state's Newton step where f moves by df."""

    @abstractmethod
    def slacks(self, state: State, f: Vector) -> Float[Tensor, "j n"]:
        """What must stay positive, linear in (state, f): h slacks, then their h multipliers."""


class SmoothRows(RowLoss):
    """A loss with two derivatives: no state."""

    @abstractmethod
    def slopes(self, f: Vector) -> tuple[Vector, Vector]:
        """l'(f) and l''(f), row by row."""

    def begin(self, f: Vector) -> State:
        return f.new_zeros(0, len(f))

    def pull(self, state: State, f: Vector) -> Vector:
        del state
        return self.v * self.slopes(f)[0]

    def newton(
        self, state: State, f: Vector, target: Float[Tensor, "h n"]
    ) -> tuple[Vector, Vector]:
        del state, target
        first, second = self.slopes(f)
        return self.v * first, self.v * second

    def change(self, state: State, f: Vector, df: Vector, target: Float[Tensor, "h n"]) -> State:
        del f, df, target
        return state

    def slacks(self, state: State, f: Vector) -> Float[Tensor, "j n"]:
        del f
        return state


@final
class SquaredRows(SmoothRows):
    """l = (f - y)^2, l* = u^2/4 + u y."""

    def conjugate(self, u: Vector) -> Vector:
        return u * (u / 4 + self.y)

    def balanced(self, u: Vector) -> Vector:
        return u - self.v @ u / self.v.sum()

    def slopes(self, f: Vector) -> tuple[Vector, Vector]:
        return 2 * (f - self.y), torch.full_like(f, 2.0)


@final
class LogisticRows(SmoothRows):
    """l = log(1 + exp(-y f)); with p = -u y in [0, 1], l* = p log p + (1 - p) log(1 - p)."""

    def conjugate(self, u: Vector) -> Vector:
        p = (-u * self.y).clamp(0, 1)
        return torch.xlogy(p, p) + torch.special.xlog1py(1 - p, -p)

    def balanced(self, u: Vector) -> Vector:
        return _of_equal_mass(u, self.y, self.v)

    def slopes(self, f: Vector) -> tuple[Vector, Vector]:
        p = torch.sigmoid(-self.y * f)
        return -self.y * p, p * torch.sigmoid(self.y * f)


@final
class HingeRows(RowLoss):
    """l = max(0, 1 - y f) = min xi with xi >= 0 and xi >= 1 - y f; l* = u y, u y in [-1, 0].

    The state is xi and beta, the multiplier of the second constraint; that of the first one is
    v - beta, and u = -y beta / v.
    """

    def conjugate(self, u: Vector) -> Vector:
        return u * self.y

    def balanced(self, u: Vector) -> Vector:
        return _of_equal_mass(u, self.y, self.v)

    def begin(self, f: Vector) -> State:
        return torch.stack([torch.relu(1 - self.y * f) + 1, self.v / 2])

    def pull(self, state: State, f: Vector) -> Vector:
        del f
        return -self.y * state[1]

    def newton(
        self, state: State, f: Vector, target: Float[Tensor, "h n"]
    ) -> tuple[Vector, Vector]:
        _, missing, K = self._eliminated(state, f, target)
        return -self.y * (state[1] + missing / K), state[1] / K

    def change(self, state: State, f: Vector, df: Vector, target: Float[Tensor, "h n"]) -> State:
        first, missing, K = self._eliminated(state, f, target)
        dbeta = (missing - state[1] * self.y * df) / K
        return torch.stack([(first + state[0] * dbeta) / (self.v - state[1]), dbeta])

    def slacks(self, state: State, f: Vector) -> Float[Tensor, "j n"]:
        xi, beta = state
        return torch.stack([xi, xi - 1 + self.y * f, self.v - beta, beta])

    def _eliminated(
        self, state: Tensor, f: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """d xi and d beta from alpha dxi - s1 dbeta = e1, beta (dxi + y df) + s2 dbeta = e2."""
        s1, s2, alpha, beta = self.slacks(state, f)
        e1, e2 = target[0] - alpha * s1, target[1] - beta * s2
        return e1, e2 - beta * e1 / alpha, beta * s1 / alpha + s2


def _of_equal_mass(u: Tensor, y: Tensor, v: Tensor) -> Tensor:
    """The slopes of the heavier label scaled down, so that both labels pull alike."""
    up, down = (float((v * u.abs())[side].sum()) for side in (y < 0, y > 0))
    light = min(up, down)
    shares = u.new_tensor([light / up if up else 0.0, light / down if down else 0.0])
    return u * torch.where(y < 0, shares[0], shares[1])


def longest(x: Float[Tensor, "*shape"], dx: Float[Tensor, "*shape"]) -> float:
    """The largest s with x + s dx >= 0, x > 0."""
    falling = dx < 0
    return float((x[falling] / -dx[falling]).min()) if bool(falling.any()) else math.inf


_OF_ROWS = {Squared(): SquaredRows, Hinge(): HingeRows, Logistic(): LogisticRows}


def row_loss(loss: Loss, y: Vector, v: Vector) -> RowLoss:
    """The loss of these targets and weights.

    Source: conjugates as in Rockafellar 1970, section 12.

    >>> u, y = torch.tensor([-0.5]), torch.tensor([1.0])
    >>> [float(row_loss(l, y, 0 * y + 1).conjugate(u)) for l in (Hinge(), Squared())]
    [-0.5, -0.4375]
    """
    if loss != Squared() and not bool((y.abs() == 1).all()):
        raise ValueError(f"the targets of {loss!r} must be +1 and -1: code the two classes so.")
    if loss not in _OF_ROWS:
        raise ValueError(f"{loss!r} has no conjugate here: give Squared(), Hinge() or Logistic().")
    return _OF_ROWS[loss](y, v)
