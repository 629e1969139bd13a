"""The set C = {a : |a_j| <= B1, |a|_2 <= B2}: nearest point and support function, exactly."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor


def project(v: Float[Tensor, " r"], B1: float, B2: float) -> Float[Tensor, " r"]:
    """argmin_{a in C} |a - v|_2 = clip(t v, -B1, B1), t in (0, 1] the largest with |a|_2 <= B2.

    |clip(t v)|_2 grows with t; between the points B1 / |v|_j, found by sorting, its square is
    k B1^2 + t^2 S with k entries at the bound, so t has a closed form. Bounds may be infinite.

    Source: optimality conditions, (1 + lam) a = v on entries inside the box, lam >= 0.

    >>> project(torch.tensor([3.0, -1.0]), 1.0, 1.25).tolist()
    [1.0, -0.75]
    """
    check_bounds(B1, B2)
    return _clipped(v, min(1.0, _scale(v, B1, B2)), B1)


def support(v: Float[Tensor, " r"], B1: float, B2: float) -> float:
    """h(v) = max_{a in C} v.a, by sorting; infinite where no bound is finite and v is not 0.

    The maximiser is clip(t v, -B1, B1) with |a|_2 = B2, or the corner B1 sign(v) where that is in
    the ball.
    """
    check_bounds(B1, B2)
    if not bool(v.any()):
        return 0.0
    t = _scale(v, B1, B2)
    if math.isinf(t) and math.isinf(B1):
        return math.inf
    return float(v @ _clipped(v, t, B1))


def check_bounds(B1: float, B2: float) -> None:
    """Refuse bounds that leave no point but 0, or none."""
    if not (B1 > 0 and B2 > 0):
        raise ValueError(f"the bounds are {B1} and {B2}: give positive numbers, or inf for none.")


def _scale(v: Tensor, B1: float, B2: float) -> float:
    """The t with |clip(t v, -B1, B1)|_2 = B2; infinite where no t reaches B2."""
    if math.isinf(B2):
        return math.inf
    size = v.abs().sort(descending=True).values
    size = size[size > 0]
    if len(size) == 0 or B1 * math.sqrt(len(size)) <= B2:
        return math.inf
    # Scaled to the largest entry: squares neither overflow nor vanish.
    top = float(size[0])
    # rest[k]: squares of all but the k largest entries.
    rest = (size / top).square().flip(0).cumsum(0).flip(0)
    if math.isinf(B1):
        return B2 / (top * math.sqrt(float(rest[0])))
    at_bound = torch.arange(1, len(size), dtype=v.dtype, device=v.device)
    # Square of the norm, over B1^2, where the k-th largest entry just reaches the bound.
    reached = at_bound + (top / size[:-1]).square() * rest[1:]
    budget = (B2 / B1) ** 2
    k = int((reached <= budget).sum())
    return B1 * math.sqrt(max(0.0, budget - k) / float(rest[k])) / top


def _clipped(v: Tensor, t: float, B1: float) -> Tensor:
    """clip(t v, -B1, B1), with 0 where v is 0 even at infinite t."""
    return torch.where(v == 0, v, (t * v).clamp(-B1, B1))
