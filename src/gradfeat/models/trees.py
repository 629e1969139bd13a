"""Boosted trees as a fitted function: they have the thresholds that a kernel machine lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits
from torch import Tensor

from ..maths.blocks import Block
from ..maths.limits import slices
from ..rows.rows import Rows
from .base import Predictor, Staged
from .search.calibration import codes_of, logit_share, two_sided
from .softmax_newton import absent_logits

#: Splits of a tree one under another at most.
LEVELS = 6
#: Leaves of a tree at most, and what a round counts: of few rows, and of more than so many.
LEAVES, RATES, FEW_ROWS = (15, 31), (0.15, 0.1), 6000
#: Values that a column has at most before they are put into bins.
BINS = 255
#: Numbers up to which threads would only wait for each other.
ALONE = 2 * 10**5
#: Trees that a row passes at once, and rows.
GROUP, ROWS = 300, 1024
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

    @cached_property
    def _leaves(self) -> list[Leaves]:
        size, arrays = max(1, GROUP // len(self.mix)) * len(self.mix), []
        for first in range(0, len(self.features), size):
            part = (t[first : first + size] for t in (self.features, self.thresholds, self.values))
            arrays.append([t.cpu().numpy() for t in part])
        return [Leaves.of(*part).to(self.values.device) for part in arrays]

    def scratch_per_row(self) -> int:
        return 48 * GROUP + 16 * len(self.features) + 8 * len(self.offset)

    def __call__(self, X: Tensor) -> Float[Tensor, "n c"]:
        sums = [self._rounds(X[rows]).sum(1) @ self.mix for rows in slices(len(X), ROWS)]
        return (torch.cat([*sums, self.mix[:0]]) + self.offset).to(X)

    def staged(self, X: Float[Tensor, "n d"], step: int) -> Float[Tensor, "s n c"]:
        """After each `step` rounds of boosting; a round is a tree for each row of `mix`."""
        sums = torch.cat([self._rounds(X[rows]) for rows in slices(len(X), ROWS)]).cumsum(1)
        return (sums[:, step - 1 :: step] @ self.mix + self.offset).transpose(0, 1).to(X)

    def _rounds(self, X: Tensor) -> Float[Tensor, "n r k"]:
        found = [leaves(X.double()) for leaves in self._leaves]
        return torch.cat(found, 1).reshape(len(X), -1, len(self.mix))

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
@dataclass(frozen=True, eq=False)
class Leaves:
    """The value of the leaf that a row ends in, of each of T trees of complete binary form.

    A bit of an integer stands for a leaf, from left to right. A threshold below x takes those away
    that are left of its node; the lowest bit that no column takes away is the leaf of x. So a row
    costs one `and` of T integers a column.

    `columns`: Those that are asked for. `cuts`: Their thresholds, increasing.
    `kept` (cuts + 1, T): Of each column the leaves that are kept by a value above so many cuts.
    `values` (T, l): Of the leaves that rows can reach.

    Source: Lucchese et al. 2015 (QuickScorer).
    """

    columns: list[int]
    cuts: list[Tensor]
    kept: list[Tensor]
    values: Float[Tensor, "t l"]

    @classmethod
    def of(cls, features: Any, thresholds: Any, values: Any) -> Leaves:
        """From the arrays of :class:`Trees`; ValueError where a tree has more leaves than bits."""
        (trees, inner), asked = features.shape, thresholds < ALL
        reached = np.ones((trees, 2 * inner + 1), bool)
        for i in range(inner):
            reached[:, 2 * i + 1] = reached[:, i]
            reached[:, 2 * i + 2] = reached[:, i] & asked[:, i]
        ends = reached[:, inner:]
        place = ends.cumsum(1) - 1
        if place.max() >= LEAVES[1]:
            most = f"at most {LEAVES[1]} are allowed"
            raise ValueError(f"a tree has {place.max() + 1} leaves: {most}.")
        below = np.zeros_like(reached, np.int32)
        below[:, inner:] = np.where(ends, 1 << place.clip(0), 0)
        for i in reversed(range(inner)):
            below[:, i] = below[:, 2 * i + 1] | below[:, 2 * i + 2]
        found = np.zeros((trees, place.max() + 1))
        found[np.nonzero(ends)[0], place[ends]] = values[ends]
        tree, node = np.nonzero(asked & reached[:, :inner])
        column, cut, left = features[tree, node], thresholds[tree, node], below[tree, 2 * node + 1]
        columns = np.unique(column).tolist()
        parts = [_kept(cut[at], left[at], tree[at], trees) for at in (column == k for k in columns)]
        return cls(columns, [u for u, _ in parts], [k for _, k in parts], torch.from_numpy(found))

    def to(self, device: torch.device) -> Leaves:
        cuts, kept = ([t.to(device) for t in ts] for ts in (self.cuts, self.kept))
        return Leaves(self.columns, cuts, kept, self.values.to(device))

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n t"]:
        trees, most = self.values.shape
        bits = torch.full((len(X), trees), -1, dtype=torch.int32, device=X.device)
        for k, cuts, kept in zip(self.columns, self.cuts, self.kept, strict=True):
            bits &= kept.index_select(0, torch.searchsorted(cuts, X[:, k].contiguous()))
        # The exponent of the lowest bit, as floating-point numbers have it.
        place = ((bits & -bits).float().view(torch.int32) >> 23) - 127
        place += most * torch.arange(trees, dtype=torch.int32, device=X.device)
        return self.values.flatten().index_select(0, place.flatten()).view(place.shape)


def _kept(cut: Any, left: Any, tree: Any, trees: int) -> tuple[Tensor, Tensor]:
    """Cuts of a column, and the leaves of each tree that are kept above the first ones of them."""
    cuts, rank = np.unique(cut, return_inverse=True)
    kept = np.full((len(cuts) + 1, trees), -1, np.int32)
    np.bitwise_and.at(kept, (rank + 1, tree), ~left)
    return torch.from_numpy(cuts), torch.from_numpy(np.bitwise_and.accumulate(kept, 0))


@final
@dataclass(frozen=True)
class Boosting(Staged[Trees]):
    """Gradient boosting of histogram trees: so many rounds.

    `glance`: Rounds after which a path has a stage, if any.
    `logistic`: Log loss of +-1 codes, one column of two classes, else one a class, from which a
        constant may have been subtracted; decisions are then half the log-odds or the logits.

    Source: Friedman 2001; Ke et al. 2017 (LightGBM), as in scikit-learn.

    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 200).double()[:, None]
    >>> bool((Boosting(100).fit(in_memory(X, X.sign()))(X) - X.sign()).abs().max() < 1e-3)
    True
    """

    trees: int
    logistic: bool = False
    glance: int | None = None

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[Trees]:
        """Of streamed rows their sample; the trees after `glance` rounds, and after all."""
        sample = rows.sample if rows.held is None else None
        block = rows.block("boosted trees") if sample is None else sample
        many = len(block.X) > FEW_ROWS
        how = {"warm_start": True, "early_stopping": False, "max_depth": LEVELS}
        how |= {"learning_rate": RATES[many], "max_leaf_nodes": LEAVES[many]}
        how |= {"random_state": seed % 2**32}
        threads = None if block.X.numel() > ALONE else 1
        grown = self._classes(block, how) if self.logistic else self._numbers(block, how)
        for rounds in (self.trees,) if self.glance is None else (self.glance, self.trees):
            with threadpool_limits(threads, user_api="openmp"):
                trees = grown(rounds)
            yield trees

    def _numbers(self, block: Block, how: dict[str, Any]) -> Callable[[int], Trees]:
        """The trees after so many rounds, which are never fewer than those before."""
        bins, w = BinnedColumns.of(block.X), _weights(block.w)
        columns = [y.double().cpu().numpy() for y in block.y.T]
        models: list[Any] = [HistGradientBoostingRegressor(**how) for _ in columns]

        def grown(rounds: int) -> Trees:
            for model, y in zip(models, columns, strict=True):
                model.set_params(max_iter=rounds).fit(bins.codes, y, w)
            each = zip(*(m._predictors for m in models), strict=True)
            offset = block.y.new_tensor([m._baseline_prediction.item() for m in models])
            mix = torch.eye(len(models)).to(offset)
            return _trees([[*chain(*same)] for same in each], bins, mix, offset)

        return grown

    def _classes(self, block: Block, how: dict[str, Any]) -> Callable[[int], Trees]:
        """Decisions as a :class:`~gradfeat.models.search.rfm_losses.ShiftedLogistic` has them."""
        codes, shift = codes_of(block.y)
        c, absent = codes.shape[1], absent_logits(codes, block.w)
        bins, w = BinnedColumns.of(block.X), _weights(block.w)
        labels = two_sided(codes.cpu().numpy()).argmax(1)
        model: Any = HistGradientBoostingClassifier(**how)

        def grown(rounds: int) -> Trees:
            model.set_params(max_iter=rounds).fit(bins.codes, labels, w)
            signs = _signs(model.classes_.tolist(), c).to(absent)
            raw = absent.new_tensor(model._baseline_prediction[0])
            offset = raw @ signs + logit_share(c) * absent - shift
            return _trees(model._predictors, bins, signs, offset)

        return grown


def _signs(present: list[int], c: int) -> Float[Tensor, "k c"]:
    """How the raw predictions of the classes present make c decisions: one of two, one of each."""
    each = torch.eye(max(c, 2))[present, -c:]
    return each if len(present) > 2 else (each[-1:] - each[:1]) / 2


@final
@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Columns as numbers of bins, and what parts these: means of neighbours, or quantiles of rows.

    (scikit-learn cuts weighted rows at weighted quantiles, one after another in Python: seconds.)
    """

    codes: Any
    cuts: list[Any]

    @classmethod
    def of(cls, X: Tensor) -> BinnedColumns:
        columns = X.double().cpu().numpy().T
        cuts = [*map(_cuts, columns)]
        codes = [np.searchsorted(u, x) for u, x in zip(cuts, columns, strict=True)]
        return cls(np.stack(codes, 1).astype(np.float64), cuts)

    def thresholds(self, features: Any, codes: Any) -> list[float]:
        """Of codes between two bins."""
        return [self.cuts[k][int(at)] for k, at in zip(features, codes, strict=True)]


def _cuts(x: Any) -> Any:
    values = np.unique(x)
    if len(values) <= BINS:
        return (values[1:] + values[:-1]) / 2
    shares = np.linspace(0, 100, BINS + 1)[1:-1]
    return np.unique(np.percentile(x, shares, method="averaged_inverted_cdf"))


def _weights(w: Tensor) -> Any:
    """None of equal ones, which take less time."""
    return None if bool((w == w[0]).all()) else w.double().cpu().numpy()


def _trees(rounds: Any, bins: BinnedColumns, mix: Tensor, offset: Tensor) -> Trees:
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
            asked, cuts = on["feature_idx"], on["num_threshold"]
            features[t, there], thresholds[t, there] = asked, bins.thresholds(asked, cuts)
            at = np.concatenate([at[ends], on["left"], on["right"]])
            place = np.concatenate([2 * place[ends] + 1, 2 * there + 1, 2 * there + 2])
        values[t, place - inner] = nodes["value"][at]
    grown = [torch.as_tensor(one).to(mix.device) for one in (features, thresholds, values)]
    return Trees(*grown, mix=mix.double(), offset=offset.double())
