"""Boosted trees as a fitted function: they have the thresholds that a kernel machine lacks."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from torch import Tensor

from ..maths.blocks import Block
from ..rows.rows import Rows
from .base import OneStage, Predictor, row_blocks
from .search.calibration import codes_of, logit_share, two_sided
from .softmax_newton import absent_logits

#: Splits of a tree one under another, and leaves of it, at most.
LEVELS, LEAVES = 6, 31
#: No number is above.
ALL = np.finfo(np.float64).max


@final
@dataclass(frozen=True, eq=False)
class Trees(Predictor):
    """f(x) = offset + sum_t values[t, leaf of x in tree t] mix[t mod k]; gradient 0 but on borders.

    Complete binary trees: a row at node i of tree t goes on to node 2 i + 2 where
    x[features[t, i]] > thresholds[t, i], else to node 2 i + 1.

    `features, thresholds` (T, 2^L - 1), `values` (T, 2^L), `mix` (k, c), `offset` (c,).

    >>> at, one = torch.zeros(1, 1).long(), torch.ones(1, 1).double()
    >>> f = Trees(at, one / 2, torch.tensor([[1.0, 3.0]]).double(), one, one[0])
    >>> f(torch.tensor([[0.2], [0.7]]).double()).tolist()
    [[2.0], [4.0]]
    """

    features: Int[Tensor, "t m"]
    thresholds: Float[Tensor, "t m"]
    values: Float[Tensor, "t l"]
    mix: Float[Tensor, "k c"]
    offset: Float[Tensor, " c"]

    def scratch_per_row(self) -> int:
        return 48 * len(self.features) + 8 * len(self.offset)

    def __call__(self, X: Tensor) -> Float[Tensor, "n c"]:
        return self.staged(X, len(self.values) // len(self.mix))[0]

    def staged(self, X: Float[Tensor, "n d"], step: int) -> Float[Tensor, "s n c"]:
        """After each `step` rounds of boosting; a round is a tree for each row of `mix`."""
        parts = [self._rounds(X[rows]) for rows in row_blocks(len(X), self.scratch_per_row())]
        sums = torch.cat(parts).cumsum(1)[:, step - 1 :: step]
        return (sums @ self.mix + self.offset).transpose(0, 1).to(X)

    def _rounds(self, X: Tensor) -> Float[Tensor, "n r k"]:
        trees, leaves = self.values.shape
        tree = torch.arange(trees, device=X.device)
        place, features = tree.new_zeros(len(X), trees), self.features.flatten()
        thresholds = self.thresholds.flatten()
        for _ in range(leaves.bit_length() - 1):
            node = place + tree * (leaves - 1)
            place = 2 * place + 1 + (X.gather(1, features[node]) > thresholds[node]).long()
        found = self.values.flatten()[place - (leaves - 1) + tree * leaves]
        return found.reshape(len(X), -1, len(self.mix))

    def first(self, rounds: int) -> Trees:
        few, grown = rounds * len(self.mix), ("features", "thresholds", "values")
        return replace(self, **{name: getattr(self, name)[:few] for name in grown})

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        return X.new_zeros(len(X), len(self.offset), X.shape[1])

    def tensors(self) -> dict[str, Tensor]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def spec(self) -> dict[str, Any]:
        return {"type": "Trees"}


@final
@dataclass(frozen=True)
class Boosting(OneStage[Trees]):
    """Gradient boosting of histogram trees: so many rounds, of which each counts `rate`.

    `logistic`: Log loss of +-1 codes, one column of two classes, else one a class, from which a
        constant may have been subtracted; decisions are then half the log-odds or the logits.

    Source: Friedman 2001; Ke et al. 2017 (LightGBM), as in scikit-learn.

    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 200).double()[:, None]
    >>> bool((Boosting(100).fit(in_memory(X, X.sign()))(X) - X.sign()).abs().max() < 1e-3)
    True
    """

    trees: int
    rate: float = 0.1
    logistic: bool = False

    def fit(self, rows: Rows, *, seed: int = 0) -> Trees:
        """Of streamed rows their sample."""
        sample = rows.sample if rows.held is None else None
        block = rows.block("boosted trees") if sample is None else sample
        how = {"learning_rate": self.rate, "max_iter": self.trees, "early_stopping": False}
        how |= {"max_depth": LEVELS, "max_leaf_nodes": LEAVES, "random_state": seed % 2**32}
        if self.logistic:
            return _of_classes(HistGradientBoostingClassifier(**how), block)
        X, w, *columns = (t.double().cpu().numpy() for t in (block.X, block.w, *block.y.T))
        each = [HistGradientBoostingRegressor(**how).fit(X, y, w) for y in columns]
        rounds = [[*chain(*same)] for same in zip(*(m._predictors for m in each), strict=True)]
        offset = block.y.new_tensor([m._baseline_prediction.item() for m in each])
        return _trees(rounds, torch.eye(len(each)).to(offset), offset)


def _of_classes(model: Any, block: Block) -> Trees:
    """Decisions as a :class:`~gradfeat.models.search.rfm_losses.ShiftedLogistic` has them."""
    codes, shift = codes_of(block.y)
    c, absent = codes.shape[1], absent_logits(codes, block.w)
    X, codes, w = (t.double().cpu().numpy() for t in (block.X, codes, block.w))
    model.fit(X, two_sided(codes).argmax(1), w)
    signs = _signs(model.classes_.tolist(), c).to(absent)
    raw = absent.new_tensor(model._baseline_prediction[0])
    offset = raw @ signs + logit_share(c) * absent - shift
    return _trees(model._predictors, signs, offset)


def _signs(present: list[int], c: int) -> Float[Tensor, "k c"]:
    """How the raw predictions of the classes present make c decisions: one of two, one of each."""
    each = torch.eye(max(c, 2))[present, -c:]
    return each if len(present) > 2 else (each[-1:] - each[:1]) / 2


def _trees(rounds: Any, mix: Tensor, offset: Tensor) -> Trees:
    """Complete trees of those that scikit-learn grows: what ends early goes left to the end.

    There thresholds are the largest number: models with infinite ones do not load.
    """
    all_nodes = [tree.nodes for each in rounds for tree in each]
    count, inner = len(all_nodes), 2**LEVELS - 1
    features, thresholds = np.zeros((count, inner), int), np.full((count, inner), ALL)
    values = np.zeros((count, inner + 1))
    for t, nodes in enumerate(all_nodes):
        at, place = np.zeros((2, 1), int)  # nodes, and where they stand
        for _ in range(LEVELS):
            ends = nodes["is_leaf"][at].astype(bool)
            on, there = nodes[at[~ends]], place[~ends]
            features[t, there], thresholds[t, there] = on["feature_idx"], on["num_threshold"]
            at = np.concatenate([at[ends], on["left"], on["right"]])
            place = np.concatenate([2 * place[ends] + 1, 2 * there + 1, 2 * there + 2])
        values[t, place - inner] = nodes["value"][at]
    grown = [torch.as_tensor(one).to(mix.device) for one in (features, thresholds, values)]
    return Trees(*grown, mix=mix.double(), offset=offset.double())
