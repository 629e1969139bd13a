"""What a fitted model loses where columns of the test rows are shuffled, whatever model it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from gradfeat.maths.streams import numpy_stream
from gradfeat.table.results import ColumnGroup, ColumnLoss, Importances, Interval
from gradfeat.table.scores import (
    FEWEST_TEST_ROWS,
    LEAST_PROBABILITY,
    Units,
    interval,
    of_equal,
    resamples,
)
from gradfeat.table.split import number_of, numbered

Floats = NDArray[np.float64]

#: What a model predicts for encoded rows (n, d): targets, codes of classes or (n, K) probabilities.
Predict = Callable[[Floats], Floats]

#: Test rows that are shuffled, at least and at most, and how often.
FEWEST_ROWS, MOST_ROWS, SHUFFLES = 256, 2_000, 10
#: Times that each column should be shuffled, by which fewer rows are taken.
WANTED = 3
#: Rows that are predicted at once.
AT_ONCE = 4_096
#: Share of rows in all other classes below which they are predicted as nearly one.
FEW = 0.1


@dataclass(frozen=True, eq=False)
class ColumnBlock:
    """Original columns that are shuffled together, and the places of their encoded columns."""

    columns: tuple[str, ...]
    encoded: NDArray[np.intp]
    rest: bool = False


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Test rows X (n, d), encoded, their `units`, and y (n,): targets, or codes of classes."""

    X: Floats
    y: Floats
    classes: bool
    units: Units
    probabilities: bool = False  # what classes are judged by, in place of being right or wrong

    @property
    def score(self) -> str:
        """Accuracy or log-loss of classes, R2 of numbers."""
        of_classes = "log-loss" if self.probabilities else "accuracy"
        return of_classes if self.classes else "R2"

    @property
    def drawn(self) -> int:
        """How many units a resample draws."""
        return number_of(self.units)

    @property
    def unit(self) -> float:
        """Of residuals, so that their squares do not overflow."""
        return float(np.abs(self.y - self.y.mean()).max()) or 1.0

    def lost(self, values: Floats) -> Floats:
        """For predictions (..., n): wrong or not, or the squared error; -log p of (..., n, K)."""
        if self.probabilities:
            p = values[..., np.arange(len(self.y)), self.y.astype(np.intp)]
            return -np.log(np.clip(p, LEAST_PROBABILITY, None))
        if self.classes:
            return (values != self.y).astype(np.float64)
        return ((self.y - values) / self.unit) ** 2

    def whole(self, W: Floats) -> Floats:
        """What losses are a share of in each resample W (B, n): the rows, or the spread of y."""
        total = W.sum(axis=1)
        if self.classes:
            return total
        z = (self.y - self.y.mean()) / self.unit
        spread = W @ z**2 - (W @ z) ** 2 / total
        return np.where(spread > 0, spread, np.nan)


def of_one_class(codes: Floats) -> bool:
    """Whether nearly all rows are predicted as one class.

    Log-loss judges them then: shuffles move their probabilities, and hardly one changes its class.

    >>> of_one_class(np.array([0.0] * 19 + [1.0])), of_one_class(np.array([0.0, 1.0]))
    (True, False)
    """
    return bool(np.unique(codes, return_counts=True)[1].max() > (1 - FEW) * len(codes))


def importances(
    method: str,
    predict: Predict,
    rows: HeldRows,
    blocks: Sequence[ColumnBlock],
    seconds: float,
    seed: int,
) -> Importances | None:
    """How much the score falls where columns are shuffled, all others kept as they are.

    ``score(y, f(X)) - mean over shuffles of score(y, f(X with the columns of a block permuted))``:
    scikit-learn's permutation importance, but that all encoded columns of a block move together.
    Intervals are of the bootstrap over test rows, or over their groups. Blocks are shuffled in
    their order, as often as the time allows and at most 10 times; those that the first round does
    not reach, as one.

    `predict` gives predictions in the units of y for encoded rows, of which at most 2,000 are used,
    drawn at random; the most important `blocks` come first.

    Source: Breiman 2001, "Random forests", section 10; Fisher, Rudin and Dominici 2019.
    """
    if not blocks or (not rows.classes and np.ptp(rows.y) == 0):
        return None
    start = time.perf_counter()
    rows = _some(predict, rows, len(blocks), seconds, seed)
    whole = rows.lost(predict(rows.X))
    lost, blocks = _first_round(predict, rows, whole, blocks, start + seconds, seed)
    each, rounds = time.perf_counter() - start, 1
    while rounds < SHUFFLES and time.perf_counter() - start + each < seconds:
        lost = lost + _round(predict, rows, whole, blocks, rounds, seed)
        rounds += 1
    gaps, draws = _resampled(rows, lost / rounds, seed)
    losses = [_loss(rows, b, gap, draw) for b, gap, draw in zip(blocks, gaps, draws.T, strict=True)]
    by = [(not one.sure, one.rest, -one.loss.estimate) for one in losses]
    first, *others = order = sorted(range(len(losses)), key=by.__getitem__)
    tied = 1
    for k in others:
        ahead = interval(float(gaps[first] - gaps[k]), draws[:, first] - draws[:, k], rows.drawn)
        if by[k][:2] != (False, False) or ahead.low > 0:
            break
        tied += 1
    found = tuple(losses[k] for k in order)
    return Importances(method, rows.score, found, len(rows.y), rounds, tied)


def blocks_of(
    source: Sequence[str], groups: Sequence[ColumnGroup], shares: Mapping[str, float]
) -> list[ColumnBlock]:
    """Each group of correlated columns and each other column, the largest shares first.

    >>> together = [ColumnGroup(("a", "c"), 0.99)]
    >>> found = blocks_of(("a", "b", "b", "c"), together, {"b": 1.0})
    >>> [(block.columns, block.encoded.tolist()) for block in found]
    [(('b',), [1, 2]), (('a', 'c'), [0, 3])]
    """
    grouped = {name: group.columns for group in groups for name in group.columns}
    owner = np.array(source)
    sets = dict.fromkeys(grouped.get(name, (name,)) for name in source)
    blocks = [ColumnBlock(names, np.flatnonzero(np.isin(owner, names))) for names in sets]
    return sorted(blocks, key=lambda b: -sum(shares.get(name, 0.0) for name in b.columns))


def _first_round(
    predict: Predict,
    rows: HeldRows,
    whole: Floats,
    blocks: Sequence[ColumnBlock],
    until: float,
    seed: int,
) -> tuple[Floats, list[ColumnBlock]]:
    """Losses (k, n) of each block once; of those that are not reached in time, as one block."""
    found: list[Floats] = []
    while len(found) < len(blocks) and (not found or time.perf_counter() < until):
        some = blocks[len(found) : len(found) + max(1, AT_ONCE // len(rows.y))]
        found += [*_round(predict, rows, whole, some, 0, seed)]
    left = blocks[len(found) :]
    if not left:
        return np.array(found), [*blocks]
    columns = tuple(name for block in left for name in block.columns)
    rest = ColumnBlock(columns, np.concatenate([block.encoded for block in left]), rest=True)
    last = _round(predict, rows, whole, [rest], 0, seed)
    return np.array([*found, *last]), [*blocks[: len(found)], rest]


def _round(
    predict: Predict,
    rows: HeldRows,
    whole: Floats,
    blocks: Sequence[ColumnBlock],
    turn: int,
    seed: int,
) -> Floats:
    """What each row adds to the loss (k, n) beyond `whole` (n,), each block shuffled once.

    A row counts by its own loss and by that of the row which has its cells, less the mean, so that
    the bootstrap over rows has the spread of both: a loss is a mean over pairs of rows. Several
    blocks are predicted at once.

    Source: Hoeffding 1948 (the first projection of a statistic of pairs).
    """
    n, out = len(rows.y), []
    step = max(1, AT_ONCE // n)
    for at in range(0, len(blocks), step):
        some = blocks[at : at + step]
        names = [f"shuffle {turn} of {block.columns[0]}" for block in some]
        orders = [numpy_stream(seed, name).permutation(n) for name in names]
        X = np.tile(rows.X, (len(some), 1))
        for k, (block, order) in enumerate(zip(some, orders, strict=True)):
            X[k * n : (k + 1) * n, block.encoded] = rows.X[np.ix_(order, block.encoded)]
        f = predict(X)
        own = rows.lost(f.reshape(len(some), n, *f.shape[1:])) - whole
        given = np.array([one[np.argsort(order)] for one, order in zip(own, orders, strict=True)])
        out.append(own + given - own.mean(axis=1, keepdims=True))
    return np.concatenate(out)


def _some(predict: Predict, rows: HeldRows, blocks: int, seconds: float, seed: int) -> HeldRows:
    """So many rows at random that every block can be shuffled a few times, as timed on some."""
    n = len(rows.y)
    order = numpy_stream(seed, "rows to shuffle").permutation(n)[:MOST_ROWS]
    timed = rows.X[order[:FEWEST_ROWS]]
    start = time.perf_counter()
    predict(timed)
    each = (time.perf_counter() - start) / len(timed)
    wanted = int(seconds / max(each * blocks * WANTED, 1e-12))
    order = np.sort(order[: max(FEWEST_ROWS, wanted)])
    return replace(rows, X=rows.X[order], y=rows.y[order], units=numbered(rows.units[order]))


def _resampled(rows: HeldRows, gaps: Floats, seed: int) -> tuple[Floats, Floats]:
    """Mean gaps (k, n) as shares of the whole (k,), and in each resample of the rows (B, k)."""
    one, W = np.ones((1, len(rows.y))), resamples(rows.units, seed)[:, rows.units]
    estimates, draws = ((w @ gaps.T) / rows.whole(w)[:, None] for w in (one, W))
    return estimates[0], draws


def _loss(rows: HeldRows, block: ColumnBlock, gap: float, draws: Floats) -> ColumnLoss:
    """With its interval; where no row's answer changes, of how often one may elsewhere.

    Without ends where there are few units: all resamples of two rows may say the same.
    """
    if rows.drawn < FEWEST_TEST_ROWS:
        return ColumnLoss(block.columns, Interval(float(gap), np.nan, np.nan), block.rest)
    found = interval(float(gap), draws, rows.drawn)
    found = of_equal(found, rows.drawn) if rows.score == "accuracy" else found
    return ColumnLoss(block.columns, found, block.rest)


#: Correlation from which columns are a group.
LEAST_CORRELATION = 0.9

#: Rows and columns that are compared at most, and the fewest rows that say anything.
COMPARED_ROWS, COMPARED_COLUMNS, FEWEST_COMPARED = 2_000, 4_000, 20

#: Share of a column that as many parts of another explain by chance, above which none is told.
MOST_CHANCE = 0.1

#: Relative to the largest singular value of a column's parts: what is below is none of its own.
RANK = 1e-8


def correlated_groups(
    X: Floats, source: Sequence[str], encoded: Sequence[str] = ()
) -> tuple[ColumnGroup, ...]:
    """Columns of a table that are correlated by .9 or more (average linkage), two or more a group.

    Of two columns with orthonormal bases Q, R of their centred ranks (of their encoded parts, where
    they have several) the correlation is ``|Q^T R| / sqrt(min(q, r))`` in the Frobenius norm, less
    what chance gives the larger basis: Spearman's of two numbers without sign, and 1 where one
    column follows from the other, as a grade from its sub-grades. Where the larger basis has more
    than a tenth of the rows, ``max`` stands in place of ``min``. Of two dates, whose hours and
    months may differ, that of their seconds counts where it is larger.

    `X` (n, d): encoded rows; `source`: the original column of each encoded one; the first 4,000
    columns are looked at; `encoded`: names of the encoded columns, which tell the seconds.

    >>> x, z = np.random.default_rng(0).normal(size=(2, 100))
    >>> X = np.column_stack([x, z, np.exp(x)])
    >>> correlated_groups(X, ("a", "b", "c"))
    (ColumnGroup(columns=('a', 'c'), correlation=1.0),)
    """
    names = [*dict.fromkeys(source)][:COMPARED_COLUMNS]
    if len(X) < FEWEST_COMPARED or len(names) < 2:
        return ()
    X = X[:COMPARED_ROWS]
    R = correlations(X, source, names)
    clock = [i for i, name in enumerate(encoded) if name == f"{source[i]}_seconds"]
    owners = [source[i] for i in clock]
    at = np.flatnonzero(np.isin(names, owners))
    if len(at) > 1:
        seconds = correlations(X[:, clock], owners, [names[i] for i in at])
        R[np.ix_(at, at)] = np.maximum(R[np.ix_(at, at)], seconds)
    tree = linkage(squareform(1 - R, checks=False), method="average")
    label = fcluster(tree, 1 - LEAST_CORRELATION, criterion="distance")
    groups = [np.flatnonzero(label == k) for k in np.unique(label)]
    found = [_group(names, at, R) for at in groups if len(at) > 1]
    return tuple(sorted(found, key=lambda group: -group.correlation))


def _group(names: list[str], at: NDArray[np.intp], R: Floats) -> ColumnGroup:
    """The columns at these places, with their least correlation."""
    least = R[np.ix_(at, at)].min()
    return ColumnGroup(tuple(str(names[i]) for i in at), round(float(least), 3))


def correlations(X: Floats, source: Sequence[str], columns: Sequence[str]) -> Floats:
    """Of each pair of `columns` (p, p), from 0 to 1; 1 on the diagonal."""
    owner = np.array(source)
    bases = [_basis(X[:, owner == name]) for name in columns]
    sizes = np.array([max(1, basis.shape[1]) for basis in bases])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    Q = np.column_stack(bases)
    squares = (Q.T @ Q) ** 2
    total = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
    smaller, larger = np.minimum(sizes[:, None], sizes), np.maximum(sizes[:, None], sizes)
    chance = (larger - smaller) / (len(X) - 1)
    nested = np.where(chance < MOST_CHANCE, total / smaller - chance, 0.0) / (1 - chance).clip(0.5)
    R = np.sqrt(np.clip(np.maximum(total / larger, nested), 0, 1))
    np.fill_diagonal(R, 1.0)
    return R


def _basis(part: Floats) -> Floats:
    """An orthonormal basis (n, k) of the centred ranks; one column of zeros where none varies."""
    ranks = rankdata(part, axis=0)
    ranks -= ranks.mean(axis=0)
    U, s, _ = np.linalg.svd(ranks, full_matrices=False)
    kept = s > RANK * max(s[0] if len(s) else 0.0, 1e-300)
    return U[:, kept] if kept.any() else np.zeros((len(part), 1))
