"""Another target in the metric that a recursive feature machine has learned: the last fit alone."""

# Apart: it searches no rounds, and the search of the rounds does not know of it.

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from ...maths.blocks import Block
from ...rows.rows import Rows
from ..base import Learner, Predictor
from ..local_machines import LocalRidge
from ..solvers.direct import Adaptive
from ..subspace_refit import InMetric
from .head_search import (
    Head,
    HeadSearch,
    HeadTrial,
    Split,
    candidate_directions,
    fit_head,
    held_out_loss,
    is_learnt,
)
from .kernel_space import kernel
from .rfm_space import HEAD_ROWS, joined, penalties
from .rounds import splits
from .search import Effort, FinishedFit, MethodSetting, Space, Trial


@final
@dataclass(frozen=True)
class MetricSetting(MethodSetting):
    """A last fit in a metric that is given."""

    head: Head

    def named(self) -> dict[str, Any]:
        return self.head.named()


@final
@dataclass(frozen=True, eq=False)
class MetricSpace(Space[MetricSetting]):
    """Heads in the metric M = A^2: directions, kernel, bandwidth and penalty.

    `A`: As :func:`~gradfeat.models.predictors.apply_metric` takes it.
    `memory_limit`: Bytes that kernel matrices of the fit may take.
    """

    A: Tensor
    memory_limit: int | None = None
    start: MetricSetting = MetricSetting(Head())

    @property
    def open(self) -> bool:
        return True

    def learner(self, setting: MetricSetting) -> Learner[Predictor]:
        """The fit to all rows, in the directions of M."""
        head = setting.head
        k = kernel(head.kernel, head.bandwidth)
        last = LocalRidge(k, head.alpha, memory_limit=self.memory_limit)
        return InMetric(self.A, last, head.directions, head.power)

    def fit(self, setting: MetricSetting, rows: Rows, seed: int) -> FinishedFit:
        return FinishedFit(self.learner(setting).fit(rows, seed=seed))

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[MetricSetting]:
        """The head chosen on held-out rows, searched on part of many, and fitted to all of them."""
        del seed
        whole = [Split(train, held, self.A) for train, held in splits(data, effort)]
        rows = HEAD_ROWS[effort.sweeps]
        tried = candidate_directions("auto", len(self.A), is_learnt(self.A))
        small = [split.first(rows) for split in whole]
        found = HeadSearch(small, tried, penalties(self.A)).run()
        if any(len(split.train.X) > rows for split in whole) and math.isfinite(found.loss):
            predictions = tuple(fit_head(split, found.head, Adaptive()) for split in whole)
            found = HeadTrial(found.head, held_out_loss(whole, predictions), predictions)
            small = whole
        setting = MetricSetting(found.head)
        return Trial(setting, found.loss, torch.cat(found.predictions), *joined(small))
