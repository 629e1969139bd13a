"""Does learning features beat fixed features here? A paired bootstrap over the test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gradfeat.table.methods import Method
from gradfeat.table.results import Verdict
from gradfeat.table.scores import interval, merit

#: Of fewer test rows the resamples are too alike for an interval to mean anything.
FEWEST_TEST_ROWS = 10

Draws = Mapping[str, tuple[float, NDArray[np.float64]]]


def verdict(methods: Sequence[Method], draws: Draws, score: str, rows: int) -> Verdict | None:
    """Compare the best learned with the best fixed method on the same resamples.

    The best of each family is taken anew in every resample, so that picking it does not
    flatter either side. Unclear for fewer than 10 test rows.

    Parameters
    ----------
    methods : sequence of Method
        Methods that were fitted.
    draws : mapping of name to (estimate, resampled estimates (B,))
        Their score.
    score : str
        Its name, which says whether more or less of it is better.
    rows : int
        Number of test rows.

    Returns
    -------
    Verdict or None
        None unless both families are there.
    """
    family = {
        kind: [m for m in methods if m.family == kind and m.name in draws]
        for kind in ("learned", "fixed")
    }
    if not (family["learned"] and family["fixed"]):
        return None
    sign = merit(score, 1.0)
    best = {k: max(ms, key=lambda m: sign * draws[m.name][0]) for k, ms in family.items()}
    top = {
        k: sign * np.max([sign * draws[m.name][1] for m in ms], axis=0) for k, ms in family.items()
    }
    learned, fixed = best["learned"], best["fixed"]
    gap = interval(draws[learned.name][0] - draws[fixed.name][0], top["learned"] - top["fixed"])
    answer = _answer(sign * gap.low, sign * gap.high, rows)
    rival = f"{fixed.label.lower()}, the best fixed-feature method"
    match answer:
        case "yes":
            words = f"Learning features helps here: {learned.label} beats {rival}"
        case "no":
            words = f"Learning features does not help here: {learned.label} falls behind {rival}"
        case _:
            words = (
                "These test rows do not decide whether learning features helps: "
                f"{learned.label} against {rival}"
            )
    words += f", by {_signed(gap.estimate)} in {score} "
    words += f"(95 % interval {_signed(gap.low)} to {_signed(gap.high)})."
    return Verdict(answer, words, score, gap, learned.name, fixed.name)


def _answer(low: float, high: float, rows: int) -> Literal["yes", "no", "unclear"]:
    if rows >= FEWEST_TEST_ROWS and min(low, high) > 0:
        return "yes"
    if rows >= FEWEST_TEST_ROWS and max(low, high) < 0:
        return "no"
    return "unclear"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 1e4 else f"{value:+.2e}"
