"""Targets as they would be if the inputs said nothing: shuffled, and with random signs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .streams import stream


@dataclass(frozen=True)
class NullDraws:
    """The same shuffles and signs for every degree and output.

    Shuffling is exact where y is independent of x, but it also breaks the tie between the size of
    y and x: where y^2 depends on x (as for y = He_4(u.x)) the true estimates spread wider than the
    shuffled ones. Random signs keep y_i^2 at x_i and so have the right spread there; they are
    exact where y is symmetric given x, else as n grows. A finding has to pass both.

    Source: Fisher 1935 (shuffles); Wu 1986, Liu 1988 (signs: the wild bootstrap).
    """

    orders: Int[Tensor, "n draws"]  # a permutation of the rows in each column
    signs: Float[Tensor, "n draws"]  # +1 or -1

    def shuffled(self, r: Float[Tensor, " n"]) -> Float[Tensor, "n draws"]:
        return r[self.orders]

    def flipped(self, r: Float[Tensor, " n"]) -> Float[Tensor, "n draws"]:
        return r[:, None] * self.signs


def null_draws(n: int, draws: int, seed: int) -> NullDraws:
    order, sign = stream(seed, "shuffles"), stream(seed, "signs")
    orders = torch.stack([torch.randperm(n, generator=order) for _ in range(draws)], dim=1)
    signs = torch.randint(0, 2, (n, draws), generator=sign, dtype=torch.float64) * 2 - 1
    return NullDraws(orders, signs)


def p_value(observed: float, null: Float[Tensor, " draws"]) -> float:
    """(1 + number of draws at least as large) / (1 + draws)."""
    return float(1 + (null >= observed).sum()) / (1 + len(null))
