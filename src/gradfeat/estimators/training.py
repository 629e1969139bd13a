"""From arrays or streamed rows to standardised training rows, distinct, in an order of their own.

Merging equal rows and sorting by content makes a fit independent of the order of the rows, and
makes integer weights the same thing as repeated rows, also where rows are split for validation:
there copies are one row, or rows each where the same inputs have several targets. Weights then have
mean 1 over the rows that settings are chosen on, so that their scale changes no penalty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import SourceError
from ..maths.blocks import Block
from ..maths.limits import refuse_beyond
from ..maths.statistics.combined import Joint
from ..maths.statistics.moments import Affine, Moments, MomentState
from ..maths.statistics.sample import RowSample
from ..maths.statistics.value_counts import CountState, ValueCounts
from ..maths.streams import column_hash, numpy_stream
from ..rows.rows import Rows, of_block
from ..rows.sources.tables import ArrayRows
from .checks import NUMPY, Floats, Placement
from .class_codes import ClassCodes
from .scaled import Standardiser, units

#: Rows of the sample that settings are chosen on, and the numbers that it may hold.
SAMPLE_ROWS, SAMPLE_NUMBERS = 22_000, 2**25

#: Share of the weight in rows whose inputs come with several targets from which copies of a row are
#: rows of their own to a search.
SEVERAL_TARGETS = 0.1

#: Largest multiple of a common measure that weights are taken for, and rounding of one.
LARGEST_MULTIPLE, ROUNDED = 10**6, 1e-9

#: Bytes of a table in float64 from which on sums over its rows take it in chunks, and the numbers
#: of a chunk.
LARGE_TABLE, CHUNK_NUMBERS = 2**28, 2**18

#: Tables in float64 that validation, order, scales and a fit to rows in memory hold at once.
COPIES = 5

#: Of rows whose targets are quantities.
NO_LABELS = CountState(torch.zeros(0), torch.zeros(0))

#: Below it a square has few digits, or none.
LEAST_SQUARE = 1e-290


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows in standardised units, with the maps x -> z and y -> its standardised value.

    `block`: The rows that settings are chosen on, in an order of their own; of streamed rows a
        sample, in the order that rows in memory would have: see :func:`apart`.
    `like`: In whose namespace the fitted arrays are.
    """

    rows: Rows
    block: Block
    inputs: Standardiser
    outputs: Standardiser
    like: Any


def in_memory_training(
    X: Floats,
    y: Floats,
    w: Floats,
    where: Placement,
    seed: int,
    *,
    inputs: Standardiser | None,
    scale_targets: bool,
) -> Training:
    """Merge equal rows, standardise (by `inputs`, unless they are to be learnt), move."""
    X, y, w, count = distinct_rows(X, y, w, seed)
    if not len(X):
        raise ValueError("every sample_weight is zero: give at least one row a positive weight.")
    inputs = Standardiser.fit(X, w) if inputs is None else inputs
    outputs = Standardiser.fit(y, w)
    if not scale_targets:
        outputs = Standardiser(outputs.mean, np.ones(y.shape[1]))
    outputs, copies = _turned(outputs, X, y), apart(X, y, count, seed)
    w = w / worth(w, copies)
    block = Block(where.tensor(inputs(X)), where.tensor(outputs(y)), where.tensor(w))
    return Training(of_block(block), split_up(block, copies), inputs, outputs, NUMPY)


@dataclass(frozen=True, eq=False)
class FirstPass:
    """What one pass tells of the rows: `moments` in the `unit` of each input and each target."""

    moments: MomentState
    sample: Block
    labels: CountState
    unit: tuple[torch.Tensor, torch.Tensor]


def sample_rows(d: int) -> int:
    """Rows of the sample of rows of d columns."""
    return max(2, min(SAMPLE_ROWS, SAMPLE_NUMBERS // d))


def first_pass(rows: Rows, seed: int, *, labelled: bool, standardise: bool = True) -> FirstPass:
    """Moments, a sample and, where rows are `labelled`, the labels, as far as they are few.

    Where sizes are extreme, the moments are of another pass, in units that the sample tells.
    """
    size = sample_rows(rows.template.X.shape[1])
    parts = (Moments(), RowSample(size, seed), *([ValueCounts()] if labelled else []))
    m, sample, *counts = rows.collect(Joint(parts), "moments")
    if m.count < 2:
        raise SourceError(
            f"there {'is 1 row' if m.count == 1 else 'are 0 rows'} of positive weight, and at "
            "least 2 are needed to fit: give more rows."
        )
    unit = units(sample.X, standardise), units(sample.y, not labelled)
    if (again := rows.over(*unit)) is not rows:
        m = again.moments("moments in other units")
    _check_squares(rows, m)
    return FirstPass(m, sample, counts[0] if counts else NO_LABELS, unit)


def _check_squares(rows: Rows, m: MomentState) -> None:
    """Refuse columns whose squares leave floating-point numbers, or nearly vanish among them."""
    names = [f"input {n!r}" for n in rows.columns.inputs] + ["the target"] * len(m.yy)
    mean, squares = torch.cat([m.mean_x, m.mean_y]), torch.cat([m.xx.diagonal(), m.yy])
    small = (squares / m.weight < LEAST_SQUARE) & (mean.abs() < LEAST_SQUARE**0.5) & (mean != 0)
    large = ~(squares.isfinite() & mean.isfinite())
    for wrong, side, unit in ((large, "beyond", "larger"), (small, "below", "smaller")):
        if wrong.any():
            raise SourceError(
                f"the squares of {names[int(wrong.nonzero()[0])]} are {side} floating-point "
                f"numbers: give it in a {unit} unit."
            )


def streamed_training(
    rows: Rows,
    found: FirstPass,
    where: Placement,
    seed: int,
    *,
    standardise: bool,
    codes: ClassCodes | None,
    scale_targets: bool = True,
) -> Training:
    """Rows and sample in the units of a fit: from the moments, without another pass."""
    m, d = found.moments, len(found.moments.mean_x)
    inputs = Standardiser.of_moments(m.mean_x, m.xx.diagonal() / m.weight, found.unit[0])
    if not standardise:
        inputs = Standardiser.identity(d)
    outputs = Standardiser.of_moments(m.mean_y, m.yy / m.weight, found.unit[1])
    if not scale_targets:
        outputs = Standardiser(outputs.mean, np.ones(len(outputs.mean)))
    sample = found.sample
    rows = rows.over(*found.unit).knowing(m)
    if codes is not None:
        rows, sample, outputs = rows.mapped(codes), codes(sample), codes.scales(found.labels)
    X, y, w = (t.double().numpy() for t in (sample.X, sample.y, sample.w))
    X, y, w, count = distinct_rows(X, y, w, seed)
    outputs, copies = _turned(outputs, X, y), apart(X, y, count, seed)
    unit = worth(w, copies)
    block = Block(where.tensor(inputs(X)), where.tensor(outputs(y)), where.tensor(w / unit))
    (mean, scale), (to_y, by_y) = (
        (a / one, b / one)
        for (a, b), one in zip((inputs.tensors(), outputs.tensors()), found.unit, strict=True)
    )
    scaled = rows.mapped(Affine(mean, 1 / scale, to_y, by_y, where.dtype, where.device, unit))
    return Training(scaled.with_sample(block), split_up(block, copies), inputs, outputs, NUMPY)


def is_large(numbers: NDArray[Any]) -> bool:
    """Whether sums over the rows of such a table take it in chunks."""
    return 8 * numbers.size > LARGE_TABLE


def chunked_training(
    numbers: NDArray[Any],
    targets: Floats,
    w: Floats,
    where: Placement,
    seed: int,
    *,
    standardise: bool,
    scale_targets: bool,
) -> Training:
    """Arrays as they are, of any type of numbers, which stream: nothing is copied as a whole."""
    rows = Rows(ArrayRows(numbers, targets, w, max(1, CHUNK_NUMBERS // numbers.shape[1])))
    found = first_pass(rows, seed, labelled=False, standardise=standardise)
    how = {"standardise": standardise, "codes": None, "scale_targets": scale_targets}
    return streamed_training(rows, found, where, seed, **how)


def refuse_copies(n: int, d: int) -> None:
    """Raise where n rows of d columns will not fit in memory as a fit holds them."""
    refuse_beyond(
        COPIES * 8 * n * d,
        None,
        f"a fit to {n:,} rows of {d:,} columns in memory",
        "fit on fewer rows, stream them (gradfeat.rows), or use a linear model, random features or "
        "gradient features, which take a large table in chunks",
    )


def refuse_other_columns(rows: Rows, names: list[str] | None, n: int) -> None:
    """ValueError where streamed rows have other inputs than the n (of these names) of a fit."""
    found = list(rows.columns.inputs)
    if len(found) != n:
        raise ValueError(
            f"the rows have {len(found)} inputs and the estimator was fitted on "
            f"{n}: open them with the inputs of the fit."
        )
    if names is not None and rows.named and found != names:
        other = next(a for a, b in zip(found, names, strict=True) if a != b)
        raise ValueError(
            f"the rows' input {other!r} is not where the fit had it: open them with inputs={names}."
        )


def row_hashes(table: Floats, seed: int, h: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """64-bit hash of each row's values; `h` is that of further columns before."""
    h = np.full(len(table), np.uint64(seed), dtype=np.uint64) if h is None else h
    for column in table.T:
        h = column_hash(column, h)
    return h


def ranks(table: Floats) -> Floats:
    """Rank of each entry among the distinct values of its column: free of shift and scale."""
    columns = [np.unique(column, return_inverse=True)[1] for column in table.T]
    return np.column_stack(columns).astype(np.float64)


def spread(y: Floats, seed: int) -> NDArray[np.int64]:
    """An order of rows in which every run of neighbours is a fair sample of the targets.

    The row of rank p along the targets (the first column, ties by the next) stands where
    p (sqrt 5 - 1) / 2 + seed sqrt 2 has its fractional part among all: consecutive rows are evenly
    spread over the ranks, extremes included, so that held-out rows judge heavy tails as the
    training rows have them.

    Source: Niederreiter 1992, chapter 3 (one-dimensional low-discrepancy sequences).
    """
    along = np.lexsort(y.T[::-1])
    place = (np.arange(len(y)) * ((5**0.5 - 1) / 2) + seed * 2**0.5) % 1.0
    return along[np.argsort(place, kind="stable")]


def distinct_rows(
    X: Floats, y: Floats, w: Floats, seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Distinct rows (x, y) of positive weight, weights of equal rows summed, :func:`spread` out.

    And how many rows each stands for: see :func:`counts`. Rows of equal targets are in hash order,
    to which values contribute by their ranks: units and origins change no order. The seed varies
    the order (and with it every later split).
    """
    if not (w > 0).all():
        keep = w > 0
        X, y, w = X[keep], y[keep], w[keep]
    if len(X) == 0:
        return X, y, w, w
    X, y, w, times = _merged(X, y, w, seed)
    count = counts(w, times)
    columns, targets, sign = _oriented(X, y)
    z = y[:, targets] * sign[targets]
    order = _by_content(X[:, columns], z, seed)
    order = order[spread(z[order], seed)]
    return X[order], y[order], w[order], count[order]


def _merged(X: Floats, y: Floats, w: Floats, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Equal rows once, in any order; where there are none, what came in."""
    h = row_hashes(y, seed, row_hashes(X, seed))
    order = np.argsort(h)
    same = np.flatnonzero(h[order[1:]] == h[order[:-1]])
    if len(same) == 0:
        return X, y, w, np.ones(len(w))
    order = np.lexsort((*y.T, *X.T, h))
    new = np.ones(len(X), dtype=bool)
    new[1:] = (X[order[1:]] != X[order[:-1]]).any(1) | (y[order[1:]] != y[order[:-1]]).any(1)
    rows, first = order[new], np.flatnonzero(new)
    times = np.diff(first, append=len(X)).astype(np.float64)
    return X[rows], y[rows], np.add.reduceat(w[order], first), times


def counts(w: Floats, times: Floats) -> Floats:
    """How many rows distinct ones of these weights stand for, whatever the unit of the weights.

    Weights over the largest number of which all are whole multiples, up to rounding; where they
    would be beyond LARGEST_MULTIPLE, how many `times` each row came.

    >>> counts(np.array([0.1, 0.3, 0.2]), np.ones(3)).tolist()
    [1.0, 3.0, 2.0]
    """
    measure = largest = float(w.max())
    for one in np.unique(w)[::-1].tolist():
        while one > ROUNDED * largest:
            measure, one = one, abs(measure - one * round(measure / one))
        if measure * LARGEST_MULTIPLE < largest:
            return times
    return np.rint(w / measure)


def worth(w: Floats, copies: NDArray[np.int64]) -> float:
    """The mean weight of a row, or of a copy where rows are split up into `copies`.

    Of merged rows both a scale of the weights and what repeats all rows are the same thing, so a
    penalty can only be relative to their sum.
    """
    return float(w.max() * (w / w.max()).sum() / (len(copies) or len(w)))


def apart(X: Floats, y: Floats, count: Floats, seed: int) -> NDArray[np.int64]:
    """Numbers of the distinct rows (X, y), as a search that holds some out takes them; none: as is.

    Where inputs have several targets, as in tables of a few levels, each of the `count` copies of a
    row is a row, at most about 22,000 in all, in random order among those of one target. As one row
    the copies would all be held out together, and the others of the same inputs, which then have
    the other targets alone, would foretell the wrong one. Copies of inputs that have one target
    stay one row, which counts more: a row that was repeated for its weight is never on both sides.
    """
    none = np.zeros(0, np.int64)
    if count.max(initial=1) < 2:
        return none
    _, group, targets = np.unique(row_hashes(X, seed), return_inverse=True, return_counts=True)
    several = (count * (targets[group] > 1)).sum() / count.sum()
    each = np.rint(count * min(1.0, SAMPLE_ROWS / count.sum())).astype(np.int64).clip(1)
    if several < SEVERAL_TARGETS or each.max() < 2:
        return none
    rows = np.repeat(np.arange(len(X)), each)
    rows = rows[numpy_stream(seed, "copies").permutation(len(rows))]
    _, targets, sign = _oriented(X, y)
    return rows[spread((y[:, targets] * sign[targets])[rows], seed)]


def split_up(block: Block, copies: NDArray[np.int64]) -> Block:
    """The rows of a block as the `copies` of :func:`apart`, which share a row's weight."""
    if not len(copies):
        return block
    each = np.bincount(copies)[copies]
    found = block.at(torch.from_numpy(copies).to(block.w.device))
    return Block(found.X, found.y, found.w / torch.from_numpy(each).to(found.w))


def _oriented(X: Floats, y: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """An order of the columns of X and of y, and signs of those of y, that names do not decide.

    Columns of X are in the order of their covariances with the targets, targets z in that of
    c = mean_i z_i |x_i|^2, which gives their sign too, all in standard units: which class is called
    the first, -y in place of y, and columns in another order change no split. Where c is 0, so that
    the inputs do not tell the sign, c = mean_i z_i^3.
    """
    Z, T = (Standardiser.fit(a, np.ones(len(a)))(a) for a in (X, y))
    along = _grid(np.square(T.T @ Z / len(X)).sum(axis=0))
    c = _grid(T.T @ np.square(Z).mean(axis=1) / len(X))
    c = np.where(c == 0, _grid((T**3).mean(axis=0)), c)
    sign = np.where(c < 0, -1.0, 1.0)
    columns, targets = (np.argsort(-by, kind="stable") for by in (along, np.abs(c)))
    return columns, targets, sign


def _turned(outputs: Standardiser, X: Floats, y: Floats) -> Standardiser:
    """The scale of one target with its sign, so that a fit to -y is minus that to y.

    Several are codes of classes, of which one is up.
    """
    return outputs if y.shape[1] > 1 else replace(outputs, scale=outputs.scale * _oriented(X, y)[2])


def _grid(moments: Floats) -> Floats:
    """Multiples of about 1e-9, so that sums in another order of rows are the same numbers.

    The step is no fraction, as moments of designed tables are.
    """
    return np.rint(moments * (1e9 / np.pi))


def _by_content(X: Floats, y: Floats, seed: int) -> NDArray[np.int64]:
    """Rows in the order of their hashes, as far as that shows: among rows of equal targets."""
    along = np.lexsort(y.T[::-1])
    same = (y[along[1:]] == y[along[:-1]]).all(1)
    tied = np.append(same, False) | np.insert(same, 0, False)
    few = along[tied]
    h = np.full(len(few), np.uint64(seed))
    for column in X[few].T:
        h = row_hashes(ranks(column[:, None]), seed, h)
    along[tied] = few[np.argsort(h, kind="stable")]
    return along
