"""Convex sets of coefficients as inequalities with slacks and multipliers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths import box_ball

Vector = Float[Tensor, " r"]
Slacks = Float[Tensor, " k"]
Columns = Float[Tensor, "n r"]


class Bounds(ABC):
    """A convex set {a in R^r : s(a) >= 0} with interior; lam >= 0 are multipliers of s."""

    @abstractmethod
    def start(self, F: Columns) -> Vector:
        """A point well inside, for the columns of F."""

    @abstractmethod
    def slacks(self, a: Vector) -> Slacks:
        """s(a)."""

    @abstractmethod
    def slack_change(self, a: Vector, da: Vector) -> Slacks:
        """s'(a) da."""

    @abstractmethod
    def pull(self, a: Vector, lam: Slacks) -> Vector:
        """-s'(a)^T lam: what the multipliers add to the loss's gradient."""

    @abstractmethod
    def second(self, a: Vector, lam: Slacks, slack: Slacks) -> tuple[Vector, Vector]:
        """D, z: diag(D) + z z^T = -sum_k lam_k s_k'' + s'^T diag(lam / slack) s'."""

    @abstractmethod
    def nearest(self, a: Vector) -> Vector:
        """A point of the set, a itself where it is one."""

    @abstractmethod
    def support(self, v: Vector) -> float:
        """max v.a over the set."""


@final
@dataclass(frozen=True)
class BoxBall(Bounds):
    """|a_j| <= B1, |a|_2 <= B2: slacks B1 - a, B1 + a, (B2^2 - |a|^2)/2 of the finite bounds."""

    B1: float
    B2: float

    def start(self, F: Columns) -> Vector:
        return F.new_zeros(F.shape[1])

    def slacks(self, a: Vector) -> Slacks:
        size = a.norm()[None]
        ball = (self.B2 - size) * (self.B2 + size) / 2
        return self._joined([self.B1 - a, self.B1 + a], ball)

    def slack_change(self, a: Vector, da: Vector) -> Slacks:
        return self._joined([-da, da], -(a @ da)[None])

    def pull(self, a: Vector, lam: Slacks) -> Vector:
        up, down, ball = self._parts(a, lam)
        return up - down + ball * a

    def second(self, a: Vector, lam: Slacks, slack: Slacks) -> tuple[Vector, Vector]:
        up, down, ball = self._parts(a, lam / slack)
        return up + down + self._parts(a, lam)[2], ball.sqrt() * a

    def nearest(self, a: Vector) -> Vector:
        return box_ball.project(a, self.B1, self.B2)

    def support(self, v: Vector) -> float:
        return box_ball.support(v, self.B1, self.B2)

    def _joined(self, box: list[Tensor], ball: Tensor) -> Tensor:
        of_box = box if math.isfinite(self.B1) else [ball[:0]]
        return torch.cat([*of_box, ball] if math.isfinite(self.B2) else of_box)

    def _parts(self, a: Tensor, lam: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Entries of the box's two sides and of the ball, zero for an infinite bound."""
        r, zero = len(a), torch.zeros_like(a)
        up, down = (lam[:r], lam[r : 2 * r]) if math.isfinite(self.B1) else (zero, zero)
        return up, down, lam[-1] if math.isfinite(self.B2) else lam.new_zeros(())


@final
@dataclass(frozen=True)
class Simplex(Bounds):
    """a_j >= 0, sum_j a_j <= M: slacks a, M - sum_j a_j.

    On the columns [F, -F] it is the ball |a|_1 <= M.
    """

    M: float

    def start(self, F: Columns) -> Vector:
        return F.new_full((F.shape[1],), self.M / (F.shape[1] + 1))

    def slacks(self, a: Vector) -> Slacks:
        return torch.cat([a, self.M - a.sum()[None]])

    def slack_change(self, a: Vector, da: Vector) -> Slacks:
        del a
        return torch.cat([da, -da.sum()[None]])

    def pull(self, a: Vector, lam: Slacks) -> Vector:
        del a
        return lam[-1] - lam[:-1]

    def second(self, a: Vector, lam: Slacks, slack: Slacks) -> tuple[Vector, Vector]:
        del a
        left = lam / slack
        return left[:-1], left[-1].sqrt().expand(len(left) - 1)

    def nearest(self, a: Vector) -> Vector:
        a = a.clamp(min=0)
        return a * min(1.0, self.M / max(float(a.sum()), 1e-300))

    def support(self, v: Vector) -> float:
        return self.M * max(0.0, float(v.max()))
