"""Test scores with intervals: exact ones of proportions, those of ranks, resamples of losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, stdtrit

from gradfeat.maths.streams import numpy_stream
from gradfeat.table.results import Interval
from gradfeat.table.split import number_of
from gradfeat.table.target import AS_IS, TargetScale
from gradfeat.wording import counted

#: Bootstrap resamples of the test rows.
RESAMPLES = 500

#: A spread about the mean below this share of the squares is one of equal values, rounded.
ROUNDING = 1e-10

#: Of fewer test rows the resamples are too alike for an interval to mean anything.
FEWEST_TEST_ROWS = 10

#: Quantiles at the ends of 95 % intervals, and the normal law's.
SIDES, NORMAL = (0.025, 0.975), 1.959964

#: Studentised ends lie at most so many times as far away as percentiles.
FARTHEST = 2.0

#: Numbers of resamples that are held at once.
HELD_NUMBERS = 2**21

#: Probabilities of a class are no less to a log-loss.
LEAST_PROBABILITY = 1e-15

#: Scores that are kept with a model for its intervals: a random sample of the held-out rows.
KEPT = 10_000

#: Scores of which the lower is the better.
LOWER_IS_BETTER = frozenset({"RMSE", "log-loss"})

Floats = NDArray[np.float64]

#: (n,) The unit that each row belongs to, 0, 1, ...: itself, or its group or stretch of time.
Units = NDArray[np.intp]


class Drawn(NamedTuple):
    """A score with its resamples.

    `errors` (1 + B,): standard errors on the sample itself, then on each resample: of the logarithm
    of the loss (1 - R2, RMSE, log-loss), or of an accuracy; None where they are not known.
    """

    value: float
    draws: Floats
    errors: Floats | None = None


Draws = Mapping[str, Drawn]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What one method says about the test rows.

    `values` (n,): predicted target, or predicted class code; `probabilities` (n, K): of the K
    classes; None for regression.
    """

    values: NDArray[np.float64]
    probabilities: Floats | None


def resamples(units: Units, seed: int) -> Floats:
    """Multinomial weights (RESAMPLES, U) of the bootstrap: how often each unit is drawn.

    Rows of one group, or near in time, err together: as many as there are, they say less than
    independent rows, and whole units are drawn.
    """
    return _some_resamples(numpy_stream(seed, "test bootstrap"), number_of(units), RESAMPLES)


def _some_resamples(rng: np.random.Generator, U: int, some: int) -> Floats:
    return rng.multinomial(U, np.full(U, 1 / U), size=some).astype(np.float64)


def resampled(y: Floats, said: Predictions, units: Units, seed: int) -> dict[str, Drawn]:
    """Each score on the test rows, and on each of :func:`resamples`, drawn a few at a time."""
    rng, U = numpy_stream(seed, "test bootstrap"), number_of(units)
    each = max(1, min(RESAMPLES, HELD_NUMBERS // len(y)))
    sizes = [min(each, RESAMPLES - start) for start in range(0, RESAMPLES, each)]
    many = [replicates(y, said, units, _some_resamples(rng, U, size)) for size in sizes]
    return {name: _joined([one[name] for one in many]) for name in many[0]}


def _joined(parts: Sequence[Drawn]) -> Drawn:
    draws = np.concatenate([part.draws for part in parts])
    errors = [part.errors[min(k, 1) :] for k, part in enumerate(parts) if part.errors is not None]
    return Drawn(parts[0].value, draws, np.concatenate(errors) if errors else None)


def replicates(y: Floats, said: Predictions, units: Units, W: Floats) -> dict[str, Drawn]:
    """Each score on the test rows, and on each resample of their units, W (B, U).

    Regression: R2 = 1 - sum (y - f)^2 / sum (y - mean y)^2 where y varies, and RMSE.
    Classification: accuracy, log-loss, and AUC for two classes (one-vs-rest average for more)
    where y holds two classes.
    """
    every = np.vstack([np.ones((1, W.shape[1])), W])
    with np.errstate(divide="ignore", invalid="ignore"):
        if said.probabilities is None:
            table = _regression(y, said.values, units, every)
        else:
            code = y.astype(int)
            table = _classification(code, said.values, said.probabilities, units, every)
    return {name: Drawn(float(v[0]), v[1:], errors) for name, (v, errors) in table.items()}


Table = Mapping[str, tuple[Floats, Floats | None]]


def _sums(units: Units, *columns: Floats) -> list[Floats]:
    """Of each column (n,) over the rows of each unit (U,)."""
    return [np.bincount(units, weights=column).astype(np.float64) for column in columns]


def _error(W: Floats, influence: Floats, total: Floats) -> Floats:
    """Standard error of a mean over rows whose units have this influence (U,) or (B, U)."""
    return np.sqrt((W * influence**2).sum(axis=1)) / total


def _regression(y: Floats, f: Floats, units: Units, W: Floats) -> Table:
    """In units of the largest residual or deviation, whose square cannot overflow.

    Of log mean (y - f)^2 a unit's influence is its squares over their mean less its rows; that of
    log (1 - R2) has the unit's squares about the mean of y, over their mean, in place of the rows.
    """
    centred, residual = y - y.mean(), y - f
    scale = max(np.abs(centred).max(), np.abs(residual).max()) or 1.0
    z = centred / scale
    rows, error, first, second = _sums(units, np.ones(len(y)), (residual / scale) ** 2, z, z**2)
    total = W @ rows
    loss = (W @ error / total)[:, None]
    rmse = {"RMSE": (scale * np.sqrt(loss[:, 0]), _error(W, error / loss - rows, total) / 2)}
    if np.ptp(y) == 0:
        return rmse
    mean, square = (W @ first / total)[:, None], (W @ second / total)[:, None]
    spread = square - mean**2
    spread = np.where(spread > ROUNDING * square, spread, np.nan)
    about = second - 2 * mean * first + mean**2 * rows
    errors = _error(W, error / loss - about / spread, total)
    return {"R2": (1 - (loss / spread)[:, 0], errors), **rmse}


def _classification(y: NDArray[np.int_], f: Floats, P: Floats, units: Units, W: Floats) -> Table:
    cost = -np.log(np.clip(P[np.arange(len(y)), y], LEAST_PROBABILITY, None))
    rows, right, cost = _sums(units, np.ones(len(y)), (y == f).astype(np.float64), cost)
    total = W @ rows
    share, loss = W @ right / total, W @ cost / total
    scores: dict[str, tuple[Floats, Floats | None]] = {
        "accuracy": (share, _error(W, right - share[:, None] * rows, total)),
        "log-loss": (loss, _error(W, cost / loss[:, None] - rows, total)),
    }
    if len(np.unique(y)) > 1:
        scores["AUC"] = (_auc(y, P, W[:, units]), None)
    return scores


def _auc(y: NDArray[np.int_], P: Floats, W: Floats) -> Floats:
    """Weighted one-vs-rest AUC of each resample; nan where a resample lacks a class."""
    return np.mean([_one_auc(y == k, P[:, k], W) for k in _ranked(y, P.shape[1])], axis=0)


def _ranked(y: NDArray[np.int_], K: int) -> list[int]:
    """The classes of which each has an AUC against the others: the second of two."""
    present = [k for k in range(K) if 0 < (y == k).sum() < len(y)]
    return present[-1:] if K == 2 else present


def _one_auc(positive: NDArray[np.bool_], p: Floats, W: Floats) -> Floats:
    """Pr[p of a positive > p of a negative] + 1/2 Pr[equal], by ranks, for every resample."""
    order = np.argsort(p, kind="stable")
    _, start = np.unique(p[order], return_index=True)
    up, down = W[:, order] * positive[order], W[:, order] * ~positive[order]
    up, down = np.add.reduceat(up, start, axis=1), np.add.reduceat(down, start, axis=1)
    below = np.cumsum(down, axis=1) - down / 2
    mass = up.sum(axis=1) * down.sum(axis=1)
    return np.where(mass > 0, (up * below).sum(axis=1) / mass, np.nan)


def merit(score: str, value: float) -> float:
    """`value` with the sign that makes more of it better."""
    return -value if score in LOWER_IS_BETTER else value


def interval(estimate: float, draws: Floats, units: int) -> Interval:
    """The 2.5 % and 97.5 % quantiles of the resamples that are finite, their distances widened.

    By t / z of `units` - 1 degrees of freedom times sqrt(units / (units - 1)): resamples of few
    are too alike.

    Source: Hesterberg 2015 (expanded percentiles).
    """
    draws = draws[np.isfinite(draws)]
    if len(draws) < 2 or units < 2:
        return Interval(estimate, float("nan"), float("nan"))
    reach = _widened(units) * (np.quantile(draws, SIDES) - estimate)
    return Interval(estimate, *(estimate + reach).tolist())


def _widened(units: int) -> float:
    return float(stdtrit(units - 1, SIDES[1]) / NORMAL * (units / (units - 1)) ** 0.5)


def of_equal(gap: Interval, units: int) -> Interval:
    """Of two sets of predictions: how often they may differ elsewhere, where they do not here.

    None of n units leaves 1 - .025^(1/n), the exact bound of a proportion.
    """
    if gap.low != gap.high:
        return gap
    bound = 1 - 0.025 ** (1 / units)
    return Interval(gap.estimate, gap.low - bound, gap.high + bound)


def intervals(y: Floats, draws: Draws, units: Units) -> dict[str, Interval]:
    """Each score of the test rows `y` with its 95 % interval.

    Accuracy is a proportion, whose interval is exact (Clopper-Pearson; Korn and Graubard 1998 where
    rows are of groups): of 48 right in 48 rows no resample has a wrong one, and still the rate may
    be .926. An AUC has that of Newcombe 2006 (method 5), which holds with a single row of a class.
    Losses have the wider of the percentiles and the studentised resamples of their logarithm (Efron
    1981), as where few rows decide percentiles alone are too short by far; none where there are few
    units.

    >>> drawn = Drawn(1.0, np.ones(9), np.zeros(10))
    >>> found = intervals(np.zeros(48), {"accuracy": drawn}, np.arange(48))["accuracy"]
    >>> round(found.low, 3), found.high
    (0.926, 1.0)
    """
    n, U = len(y), number_of(units)
    none = float("nan"), float("nan")

    def one(name: str, drawn: Drawn) -> Interval:
        if name == "accuracy":
            rows = n if n == U else _as_independent(drawn, n, U)
            return proportion(rows * drawn.value, rows)
        if U < FEWEST_TEST_ROWS and not (name == "AUC" and n == U):
            return Interval(drawn.value, *none)
        if name == "AUC":
            return _of_ranks(y.astype(int), drawn, n > U)
        return _of_loss(name, drawn, U)

    return {name: one(name, drawn) for name, drawn in draws.items()}


def _as_independent(drawn: Drawn, n: int, U: int) -> float:
    """So many independent rows say as much of a proportion as n rows of U units do.

    Source: Korn and Graubard 1998.
    """
    if U < 2 or drawn.errors is None:
        return float(U)
    alone = drawn.value * (1 - drawn.value) / n
    if alone == 0:
        return float(U)
    fewer = max(1.0, float(drawn.errors[0]) ** 2 * U / (U - 1) / alone)
    return n / fewer * float(stdtrit(n - 1, SIDES[1]) / stdtrit(U - 1, SIDES[1])) ** 2


def _of_ranks(y: NDArray[np.int_], drawn: Drawn, grouped: bool) -> Interval:
    """Where (AUC - q)^2 = z^2 V(q), V the variance of Hanley and McNeil 1982 at an AUC of q.

    Of several classes V is that of the mean of as many as are wholly correlated. Rows of groups
    count for fewer, by what resamples of groups vary more.

    Source: Newcombe 2006.
    """
    value = drawn.value
    sizes = np.bincount(y)
    m = sizes[_ranked(y, max(2, len(sizes)))].astype(np.float64)
    n, each = len(y) - m, (len(y) / 2) - 1

    def variance(q: float) -> float:
        more = 1 + each * ((1 - q) / (2 - q) + q / (1 + q))
        return float(np.mean(np.sqrt(q * (1 - q) * more / (m * n)))) ** 2

    fewer = 1.0
    if grouped:
        fewer = max(1.0, float(np.nanvar(drawn.draws)) / max(variance(value), 1e-300))

    def beyond(q: float) -> float:
        return (value - q) ** 2 - NORMAL**2 * fewer * variance(q)

    near = 1e-9
    low = _root(beyond, 0.0, min(value, 1 - near)) if value > near else 0.0
    high = _root(beyond, max(value, near), 1.0) if value < 1 - near else 1.0
    return Interval(value, low, high)


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    return float(cast(float, brentq(f, low, high)))


def _of_loss(name: str, drawn: Drawn, U: int) -> Interval:
    """On the logarithm of the loss: 1 - R2, or the score itself."""
    turned = name not in LOWER_IS_BETTER
    loss, draws = (1 - drawn.value, 1 - drawn.draws) if turned else (drawn.value, drawn.draws)
    plain = interval(drawn.value, drawn.draws, U)
    if drawn.errors is None or not (loss > 0 and drawn.errors[0] > 0):
        return plain
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.log(draws / loss)
        studentised = moved / drawn.errors[1:]
    moved, studentised = moved[np.isfinite(moved)], studentised[np.isfinite(studentised)]
    if min(len(moved), len(studentised)) < 2:
        return plain
    a, b = _widened(U) * np.quantile(moved, SIDES)
    c, d = -drawn.errors[0] * np.quantile(studentised, SIDES)[::-1]
    # Of few units some resamples hardly vary, and what is divided by their errors has no bound.
    most = FARTHEST * max(-a, b)
    c, d = max(c, -most), min(d, most)
    low, high = loss * np.exp(min(a, c)), loss * np.exp(max(b, d))
    ends = (1 - high, 1 - low) if turned else (low, high)
    return Interval(drawn.value, *map(float, ends))


def about_few(units: Units) -> list[str]:
    """A remark on so few test rows, or groups of them, that scores have no intervals."""
    U = number_of(units)
    if U >= FEWEST_TEST_ROWS:
        return []
    what = counted(U, "row") if len(units) == U else f"{counted(U, 'group')} of rows"
    return [
        f"Only {what} tested on: scores of so few say little and have no interval "
        "from resamples; cross-validation, which tests on every row in turn, says more."
    ]


def proportion(right: float, rows: float) -> Interval:
    """`right` of `rows` with the exact 95 % interval of the probability.

    Source: Clopper and Pearson 1934.

    >>> proportion(0, 10).estimate, round(proportion(0, 10).high, 3)
    (0.0, 0.308)
    """
    wrong = max(0.0, rows - right)
    low = betaincinv(right, wrong + 1, SIDES[0]) if right > 0 else 0.0
    high = betaincinv(right + 1, wrong, SIDES[1]) if wrong > 0 else 1.0
    return Interval(right / rows, float(low), float(high))


def worth(draws: Draws) -> tuple[float, ...]:
    """What methods are ranked by: the first score, and log-loss where it is the same.

    >>> none = np.zeros(0)
    >>> worth({"accuracy": Drawn(1.0, none), "log-loss": Drawn(0.5, none)})
    (1.0, -0.5)
    """
    first = next(iter(draws))
    values = [merit(n, drawn.value) for n, drawn in draws.items() if n in (first, "log-loss")]
    return tuple(-np.inf if np.isnan(value) else value for value in values)


def held_scores(y: NDArray[np.generic], said: Predictions, scale: TargetScale = AS_IS) -> Floats:
    """Scores (m,) of held-out rows, rising, `KEPT` at most; `y`: targets or codes.

    Quantities are compared on the scale on which they were learned.
    """
    if said.probabilities is None:
        scores = np.abs(scale.learned(y.astype(np.float64)) - scale.learned(said.values))
    else:
        scores = 1.0 - said.probabilities[np.arange(len(y)), y.astype(np.int64)]
    places = np.linspace(0, len(scores) - 1, min(len(scores), KEPT)).round().astype(np.int64)
    return np.sort(scores[places])
