"""Several last fits of an RFM in the place of one, where their weighted mean does better."""

# Apart: what a mean of several fits gains is another question than which fit is best.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ..stacked import stacking_weights
from .head_search import (
    NEGLIGIBLE,
    Head,
    HeadSearch,
    HeadTrial,
    Split,
    evaluate_head,
    held_out_loss,
    row_errors,
)
from .rounds import Round, Rounds, loss_of_mean

#: Fits in a stack at least and at most, points of all of them together, and their least weight.
LEAST_MEMBERS, MOST, POINTS, LEAST = 2, 4, 6000, 0.1
#: Share of the loss of the best single fit that a stack must gain.
GAIN = 0.01


@dataclass(frozen=True, eq=False)
class Searched:
    """The heads tried in the metric of a round."""

    last: Round
    rounds: Rounds
    search: HeadSearch


class Member(NamedTuple):
    """One of several last fits."""

    weight: float
    rounds: Rounds
    head: Head

    def __str__(self) -> str:
        r = self.head.directions
        where = "all directions" if r is None else f"{r} direction{'s' * (r > 1)}"
        return f"{self.weight:.2f} {self.head.kernel} in {where}"


@dataclass(frozen=True, eq=False)
class StackTrial:
    """The members, the held-out loss of their mean, and its predictions on each split."""

    members: tuple[Member, ...]
    loss: float
    predictions: tuple[Tensor, ...]


def best_stack(
    found: Sequence[Searched], single: float, n: int, alphas: Sequence[float]
) -> StackTrial | None:
    """Of all heads tried those whose mean has the least held-out loss, if it is below `single`.

    Fewer of them the more rows there are, as what predictions cost grows with both. Weights are
    those of fits to all training rows of the splits.

    `single`: Loss of the best fit alone.
    `n`: Rows of the last fit, which allow two members or more.
    """
    most = min(MOST, POINTS // n)
    pool = [(one, t) for one in found for t in one.search.tried if t.predictions]
    if not pool:
        return None
    v = _weights([(one.search.splits, t) for one, t in pool], most)
    few = [pool[i] for i in v.nonzero().flatten().tolist()]
    fits = [(one, evaluate_head(one.last.splits, t.head, alphas)) for one, t in few]
    if not all(t.predictions for _, t in fits):
        return None  # a matrix of more rows is singular
    splits = found[0].last.splits
    v = _weights([(splits, t) for _, t in fits], most)
    each = zip(*(t.predictions for _, t in fits), strict=True)
    mean = tuple(torch.tensordot(v.to(f[0]), torch.stack(f), 1) for f in each)
    loss = held_out_loss(splits, mean)
    weighted = zip(v.tolist(), fits, strict=True)
    members = [Member(w, one.rounds, t.head) for w, (one, t) in weighted if w > 0]
    bound = (1 - GAIN) * single - NEGLIGIBLE * loss_of_mean([s.held for s in splits])
    if len(members) < LEAST_MEMBERS or not loss < bound:
        return None
    return StackTrial(tuple(members), loss, mean)


def _weights(trials: Sequence[tuple[Sequence[Split], HeadTrial]], most: int) -> Float[Tensor, " k"]:
    """By the errors of each trial at the held-out rows of its splits."""
    errors = [row_errors(splits, trial.predictions).flatten() for splits, trial in trials]
    return stacking_weights(torch.stack(errors, 1), most, LEAST)
