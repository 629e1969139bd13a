"""Test scores with their intervals: exact ones of proportions, the bootstrap's of all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from gradfeat.drawing.numbers import listed, number, percent
from gradfeat.maths.streams import numpy_stream
from gradfeat.rows.sources.words import counted
from gradfeat.table.results import Answer, Interval, MethodResult, Verdict
from gradfeat.table.target import AS_IS, TargetScale

#: Bootstrap resamples of the test rows.
RESAMPLES = 500

#: A spread about the mean below this share of the squares is one of equal values, rounded.
ROUNDING = 1e-10

#: Of fewer test rows the resamples are too alike for an interval to mean anything.
FEWEST_TEST_ROWS = 10

#: Numbers of resamples that are held at once.
HELD_NUMBERS = 2**21

#: Scores that are kept with a model for its intervals: a random sample of the held-out rows.
KEPT = 10_000

#: Scores of which the lower is the better.
LOWER_IS_BETTER = frozenset({"RMSE", "log-loss"})

Floats = NDArray[np.float64]

#: Each score with its resamples.
Draws = Mapping[str, tuple[float, Floats]]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What one method says about the test rows.

    `values` (n,): predicted target, or predicted class code; `probabilities` (n, K): of the K
    classes; None for regression.
    """

    values: NDArray[np.float64]
    probabilities: Floats | None


def resamples(n: int, seed: int) -> Floats:
    """Multinomial weights (RESAMPLES, n) of the bootstrap: how often each row is drawn."""
    rng = numpy_stream(seed, "test bootstrap")
    return rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)


def resampled(y: Floats, said: Predictions, seed: int) -> dict[str, tuple[float, Floats]]:
    """Each score on the test rows, and on each of :func:`resamples`, drawn a few at a time."""
    rng, n = numpy_stream(seed, "test bootstrap"), len(y)
    each = max(1, min(RESAMPLES, HELD_NUMBERS // n))
    sizes = [min(each, RESAMPLES - start) for start in range(0, RESAMPLES, each)]
    many = [
        replicates(y, said, rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64))
        for size in sizes
    ]
    return {
        name: (value, np.concatenate([draws[name][1] for draws in many]))
        for name, (value, _) in many[0].items()
    }


def replicates(y: Floats, said: Predictions, W: Floats) -> dict[str, tuple[float, Floats]]:
    """Each score on the test rows, and on each resample W (B, n).

    Regression: R2 = 1 - sum (y - f)^2 / sum (y - mean y)^2 where y varies, and RMSE.
    Classification: accuracy, log-loss, and AUC for two classes (one-vs-rest average for more)
    where y holds two classes.
    """
    one = np.ones((1, len(y)))
    every = np.vstack([one, W])
    if said.probabilities is None:
        table = _regression(y, said.values, every)
    else:
        table = _classification(y.astype(int), said.values, said.probabilities, every)
    return {name: (float(values[0]), values[1:]) for name, values in table.items()}


def _regression(y: Floats, f: Floats, W: Floats) -> dict[str, Floats]:
    """In units of the largest residual or deviation, whose square cannot overflow."""
    total = W.sum(axis=1)
    centred, residual = y - y.mean(), y - f
    unit = max(np.abs(centred).max(), np.abs(residual).max()) or 1.0
    error = W @ (residual / unit) ** 2
    rmse = {"RMSE": unit * np.sqrt(error / total)}
    if np.ptp(y) == 0:
        return rmse
    square = W @ (centred / unit) ** 2
    spread = square - (W @ (centred / unit)) ** 2 / total
    varies = spread > ROUNDING * square
    return {"R2": 1 - error / np.where(varies, spread, np.nan), **rmse}


def _classification(y: NDArray[np.int_], f: Floats, P: Floats, W: Floats) -> dict[str, Floats]:
    total = W.sum(axis=1)
    loss = -np.log(np.clip(P[np.arange(len(y)), y], 1e-15, None))
    scores = {"accuracy": W @ (y == f) / total, "log-loss": W @ loss / total}
    if len(np.unique(y)) > 1:
        scores["AUC"] = _auc(y, P, W)
    return scores


def _auc(y: NDArray[np.int_], P: Floats, W: Floats) -> Floats:
    """Weighted one-vs-rest AUC of each resample; nan where a resample lacks a class."""
    present = [k for k in range(P.shape[1]) if 0 < (y == k).sum() < len(y)]
    present = present[-1:] if P.shape[1] == 2 else present
    return np.mean([_one_auc(y == k, P[:, k], W) for k in present], axis=0)


def _one_auc(positive: NDArray[np.bool_], p: Floats, W: Floats) -> Floats:
    """Pr[p of a positive > p of a negative] + 1/2 Pr[equal], by ranks, for every resample."""
    order = np.argsort(p, kind="stable")
    _, start = np.unique(p[order], return_index=True)
    up, down = W[:, order] * positive[order], W[:, order] * ~positive[order]
    up, down = np.add.reduceat(up, start, axis=1), np.add.reduceat(down, start, axis=1)
    below = np.cumsum(down, axis=1) - down / 2
    mass = up.sum(axis=1) * down.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mass > 0, (up * below).sum(axis=1) / mass, np.nan)


def merit(score: str, value: float) -> float:
    """`value` with the sign that makes more of it better."""
    return -value if score in LOWER_IS_BETTER else value


def interval(estimate: float, draws: Floats) -> Interval:
    """Estimate with the 2.5 % and 97.5 % quantiles of the resamples that are finite."""
    draws = draws[np.isfinite(draws)]
    if len(draws) < 2:
        return Interval(estimate, float("nan"), float("nan"))
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(estimate, float(low), float(high))


def intervals(y: Floats, draws: Draws) -> dict[str, Interval]:
    """Each score of the test rows `y` with its 95 % interval.

    Accuracy is a proportion, whose interval is exact (Clopper-Pearson): of 48 right in 48 rows no
    resample has a wrong one, and still the rate may be .926. An AUC of 1 gets the interval of as
    many independent pairs, all in order, as the rarest class has rows. Other scores have none where
    there are few test rows.

    >>> found = intervals(np.zeros(48), {"accuracy": (1.0, np.ones(9))})["accuracy"]
    >>> round(found.low, 3), found.high
    (0.926, 1.0)
    """
    rarest = int(np.unique(y, return_counts=True)[1].min())

    def one(name: str, value: float, many: Floats) -> Interval:
        if name == "accuracy":
            return proportion(round(value * len(y)), len(y))
        if name == "AUC" and value == 1.0:
            return proportion(rarest, rarest)
        few = len(y) < FEWEST_TEST_ROWS
        return Interval(value, float("nan"), float("nan")) if few else interval(value, many)

    return {name: one(name, value, many) for name, (value, many) in draws.items()}


def about_few(rows: int) -> list[str]:
    """A remark on so few test rows that scores have no intervals."""
    if rows >= FEWEST_TEST_ROWS:
        return []
    return [
        f"Only {counted(rows, 'row')} tested on: scores of so few say little and have no interval "
        "from resamples; cross-validation, which tests on every row in turn, says more."
    ]


def beyond_chance(y: Floats, scores: Mapping[str, Interval]) -> bool:
    """Whether scores say more than the mean of test rows `y`, or the most frequent class, does.

    >>> beyond_chance(np.arange(30.0), {"R2": Interval(0.1, -0.1, 0.2)})
    False
    >>> codes, auc = np.repeat([0, 1], [9, 1]), Interval(0.9, 0.7, 0.99)
    >>> beyond_chance(codes, {"accuracy": Interval(0.9, 0.6, 1.0), "AUC": auc})
    True
    """
    if "accuracy" in scores:
        ranks = scores.get("AUC")
        return scores["accuracy"].low > _usual(y) or (ranks is not None and ranks.low > 0.5)
    return len(y) >= FEWEST_TEST_ROWS and ("R2" not in scores or scores["R2"].low > 0)


def below_chance(y: Floats, scores: Mapping[str, Interval]) -> bool:
    """Whether the mean of test rows `y`, or the most frequent class, does better than scores say.

    >>> below_chance(np.arange(9.0), {"R2": Interval(-4.0, -4.8, -3.4)})
    True
    """
    if "accuracy" in scores:
        return scores["accuracy"].high < _usual(y)
    return "R2" in scores and scores["R2"].high < 0


def _usual(y: Floats) -> float:
    """The share of the most frequent class."""
    return float(np.unique(y, return_counts=True)[1].max() / len(y))


def about_classes(y: NDArray[Any], f: NDArray[Any], classes: Sequence[str]) -> str:
    """What accuracy is to be read against, of codes y (n,) that are predicted as f (n,).

    The share of the most frequent class, balanced accuracy (the mean over classes of the share that
    is right), and classes with test rows that are never predicted.

    >>> about_classes(np.array([0, 0, 0, 1]), np.zeros(4), ("no", "yes")).partition("; ")[2]
    "balanced accuracy, the mean of what is right by class, is 0.500; 'yes' is never predicted"
    """
    if not classes or len(y) != len(f) or len(np.unique(y)) < 2:
        return ""
    y, f, K = y.astype(int), f.astype(int), len(classes)
    rows, said = np.bincount(y, minlength=K), np.bincount(f, minlength=K)
    right = np.bincount(y[y == f], minlength=K)[rows > 0] / rows[rows > 0]
    never = [repr(classes[int(k)]) for k in np.flatnonzero((rows > 0) & (said == 0))]
    names = listed([*never[:3], *([f"{len(never) - 3} more"] if len(never) > 3 else [])])
    last = f"; {names} {'is' if len(never) == 1 else 'are'} never predicted" if never else ""
    return (
        f"always {classes[int(rows.argmax())]!r} would be right in {percent(rows.max() / len(y))}; "
        "balanced accuracy, the mean of what is right by class, is "
        f"{number(float(right.mean()))}{last}"
    )


def proportion(right: int, rows: int) -> Interval:
    """`right` of `rows` with the exact 95 % interval of the probability.

    Source: Clopper and Pearson 1934.

    >>> proportion(0, 10).estimate, round(proportion(0, 10).high, 3)
    (0.0, 0.308)
    """
    ends = binomtest(right, rows).proportion_ci(confidence_level=0.95, method="exact")
    return Interval(right / rows, float(ends.low), float(ends.high))


def worth(draws: Draws) -> tuple[float, ...]:
    """What methods are ranked by: the first score, and log-loss where it is the same.

    >>> none = np.zeros(0)
    >>> worth({"accuracy": (1.0, none), "log-loss": (0.5, none)})
    (1.0, -0.5)
    """
    first = next(iter(draws))
    values = [merit(n, value) for n, (value, _) in draws.items() if n in (first, "log-loss")]
    return tuple(-np.inf if np.isnan(value) else value for value in values)


#: The smallest difference worth naming: of a score whose best is 1, and as a share of others.
SMALLEST, SMALLEST_SHARE = 0.005, 0.01

_WORDS: dict[Answer, str] = {
    "yes": "Learning features helps here: {} beats {}",
    "no": "Learning features does not help here: {} falls behind {}",
    "same": "Learning features makes no practical difference here: {} against {}",
    "unclear": "These test rows do not decide whether learning features helps: {} against {}",
    "uneven": "Methods fitted to different rows do not tell whether learning features helps: {} "
    "against {}",
}
_MORE: dict[Answer, str] = {
    "same": "; less than {:.3g} is not worth naming",
    "uneven": "; --time with more seconds may give both the same rows",
}
#: Methods were fitted to about as many rows where the fewer are this share of the others.
AS_MANY = 0.9


def verdict(
    methods: Sequence[MethodResult],
    draws: Mapping[str, Draws],
    rows: int,
    about: Mapping[str, str] | None = None,
) -> Verdict | None:
    """Compare the best learned with the best fixed method on the same resamples.

    The best of each family is taken anew in every resample, so that picking it does not
    flatter either side. Unclear for fewer than 10 test rows. No practical difference where the
    whole interval is within the smallest difference worth naming (.005 of R2 or accuracy, 1 % of
    an RMSE). Uneven where the method that does worse, or either of two that do as well, was fitted
    to fewer rows than the other and more rows alone may make the difference: where the answer
    changes if the loss of that method (1 - R2, 1 - accuracy, an RMSE) falls as one over its rows.

    Of `draws`, the scores of each method with their resamples, the first one decides. `about` has
    what is said of methods that were fitted to fewer rows than there are, or are judged without
    their boosted trees.
    """
    family = {
        kind: [m for m in methods if m.family == kind and m.name in draws]
        for kind in ("learned", "fixed")
    }
    if not (family["learned"] and family["fixed"]):
        return None
    score = next(iter(draws[family["fixed"][0].name]))
    sign = merit(score, 1.0)
    best = {k: max(ms, key=lambda m: worth(draws[m.name])) for k, ms in family.items()}
    top = {
        k: sign * np.max([sign * draws[m.name][score][1] for m in ms], axis=0)
        for k, ms in family.items()
    }
    learned, fixed = best["learned"], best["fixed"]
    ends = [draws[m.name][score][0] for m in (learned, fixed)]
    gap = interval(ends[0] - ends[1], top["learned"] - top["fixed"])
    gap = _of_equal(gap, rows) if score == "accuracy" else gap
    least = smallest(score, ends[1])
    ratio = learned.rows_used / fixed.rows_used
    even = _answer(sign, _with_as_many(gap, sign, ends, ratio), rows, least)
    answer = _of_rows(_answer(sign, gap, rows, least), ratio, even)
    said = about or {}
    rival = f"{fixed.label.lower()}, the best fixed-feature method{said.get(fixed.name, '')}"
    words = _WORDS[answer].format(learned.label + said.get(learned.name, ""), rival)
    words += f", by {_signed(gap.estimate)} in {score} "
    words += f"(95 % interval {_signed(gap.low)} to {_signed(gap.high)})"
    words += _MORE.get(answer, "").format(least) + "."
    return Verdict(answer, words, score, gap, learned.name, fixed.name)


def smallest(score: str, value: float) -> float:
    """The smallest difference to a score of that value that is worth naming."""
    return SMALLEST if merit(score, 1.0) > 0 else SMALLEST_SHARE * abs(value)


def _of_equal(gap: Interval, rows: int) -> Interval:
    """Of methods that are right and wrong on the same rows: how often they may differ elsewhere.

    None of n rows leaves 1 - .025^(1/n), the exact bound of a proportion.
    """
    if gap.low != gap.high:
        return gap
    bound = 1 - 0.025 ** (1 / rows)
    return Interval(gap.estimate, gap.low - bound, gap.high + bound)


def _answer(sign: float, gap: Interval, rows: int, least: float) -> Answer:
    low, high = sorted((sign * gap.low, sign * gap.high))
    if rows < FEWEST_TEST_ROWS:
        return "unclear"
    if -least < low and high < least:
        return "same"
    middle = (low + high) / 2
    if low > 0 and middle >= least:
        return "yes"
    if high < 0 and middle <= -least:
        return "no"
    return "unclear"


def _with_as_many(gap: Interval, sign: float, ends: Sequence[float], ratio: float) -> Interval:
    """The difference if the method of fewer rows (the learned one below 1) loses as 1 over rows."""
    learned, fixed = (1 - value if sign > 0 else value for value in ends)
    fall = learned * (1 - ratio) if ratio < 1 else -fixed * (1 - 1 / ratio)
    return Interval(*(end + sign * fall for end in (gap.estimate, gap.low, gap.high)))


def _of_rows(answer: Answer, ratio: float, even: Answer) -> Answer:
    """The same, where the `ratio` of the learned method's rows to the fixed one's lets it stand.

    Or where it is so with as many rows, `even`.
    """
    fair = {"yes": ratio * AS_MANY <= 1 or even == "yes", "no": ratio >= AS_MANY or even == "no"}
    fair["same"] = AS_MANY <= ratio <= 1 / AS_MANY
    return answer if fair.get(answer, True) else "uneven"


def _signed(value: float) -> str:
    text = f"{value:+.3f}" if abs(value) < 1e4 else f"{value:+.2e}"
    return "0.000" if text in {"+0.000", "-0.000"} else text.replace("-", "−", 1)


def held_scores(y: NDArray[np.generic], said: Predictions, scale: TargetScale = AS_IS) -> Floats:
    """Scores of held-out rows (m,), rising, of `gradfeat.table.conformal`; `y`: targets or codes.

    Quantities are compared on the scale on which they were learned.
    """
    if said.probabilities is None:
        scores = np.abs(scale.learned(y.astype(np.float64)) - scale.learned(said.values))
    else:
        scores = 1.0 - said.probabilities[np.arange(len(y)), y.astype(np.int64)]
    places = np.linspace(0, len(scores) - 1, min(len(scores), KEPT)).round().astype(np.int64)
    return np.sort(scores[places])
