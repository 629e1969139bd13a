"""Whether learning features helps, and whether any method says more than a constant does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradfeat.table.results import Answer, Interval, MethodResult, Verdict
from gradfeat.table.scores import FEWEST_TEST_ROWS, Draws, Floats, interval, merit, of_equal, worth
from gradfeat.wording import listed, number, percent

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
    units: int,
    about: Mapping[str, str] | None = None,
    *,
    beyond: bool = True,
) -> Verdict | None:
    """Compare the best learned with the best fixed method on the same resamples.

    The best of each family is taken anew in every resample, so that picking it does not
    flatter either side. Unclear for fewer than 10 `units` of test rows (rows, groups or stretches
    of time), and where no method is `beyond` chance: nothing is there then that features could help
    with. No practical difference where the whole interval is within the smallest difference worth
    naming (.005 of R2 or accuracy, 1 % of an RMSE). Uneven where the method that does worse, or
    either of two that do as well, was fitted to fewer rows than the other and more rows alone may
    make the difference: where the answer changes if the loss of that method (1 - R2, 1 - accuracy,
    an RMSE) falls as one over its rows.

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
    gap = interval(ends[0] - ends[1], top["learned"] - top["fixed"], units)
    gap = of_equal(gap, units) if score == "accuracy" else gap
    least = smallest(score, ends[1])
    ratio = learned.rows_used / fixed.rows_used
    even = _answer(sign, _with_as_many(gap, sign, ends, ratio), units, least)
    answer = _of_rows(_answer(sign, gap, units, least), ratio, even) if beyond else "unclear"
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


def _answer(sign: float, gap: Interval, units: int, least: float) -> Answer:
    low, high = sorted((sign * gap.low, sign * gap.high))
    if units < FEWEST_TEST_ROWS:
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
