"""Does learning features beat fixed features? By how much, and is that worth naming?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradfeat.table.methods import Method
from gradfeat.table.results import Answer, Interval, Verdict
from gradfeat.table.scores import Draws, interval, merit, worth

#: Of fewer test rows the resamples are too alike for an interval to mean anything.
FEWEST_TEST_ROWS = 10

#: The smallest difference worth naming: of a score whose best is 1, and as a share of others.
SMALLEST, SMALLEST_SHARE = 0.005, 0.01

_WORDS: dict[Answer, str] = {
    "yes": "Learning features helps here: {} beats {}",
    "no": "Learning features does not help here: {} falls behind {}",
    "same": "Learning features makes no practical difference here: {} against {}",
    "unclear": "These test rows do not decide whether learning features helps: {} against {}",
}


def verdict(
    methods: Sequence[Method],
    draws: Mapping[str, Draws],
    rows: int,
    fewer: Mapping[str, str] | None = None,
) -> Verdict | None:
    """Compare the best learned with the best fixed method on the same resamples.

    The best of each family is taken anew in every resample, so that picking it does not
    flatter either side. Unclear for fewer than 10 test rows. No practical difference where the
    whole interval is within the smallest difference worth naming (.005 of R2 or accuracy, 1 % of
    an RMSE).

    `methods`: methods that were fitted; `draws` (B,): their scores, of which the first one decides;
    `rows`: number of test rows; `fewer`: what is said of methods that were fitted to fewer rows
    than there are.
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
    answer = _answer(sign, gap, rows, least)
    said = fewer or {}
    rival = f"{fixed.label.lower()}, the best fixed-feature method{said.get(fixed.name, '')}"
    words = _WORDS[answer].format(learned.label + said.get(learned.name, ""), rival)
    words += f", by {_signed(gap.estimate)} in {score} "
    words += f"(95 % interval {_signed(gap.low)} to {_signed(gap.high)})"
    words += f"; less than {least:.3g} is not worth naming." if answer == "same" else "."
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


def _signed(value: float) -> str:
    text = f"{value:+.3f}" if abs(value) < 1e4 else f"{value:+.2e}"
    return "0.000" if text in {"+0.000", "-0.000"} else text.replace("-", "−", 1)
