"""Does learning features beat fixed features here? A paired bootstrap over the test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gradfeat.tabular.methods import Method
from gradfeat.tabular.results import Verdict
from gradfeat.tabular.scores import interval

Draws = Mapping[str, tuple[float, NDArray[np.float64]]]


def verdict(methods: Sequence[Method], draws: Draws, score: str) -> Verdict | None:
    """Compare the best learned with the best fixed method on the same resamples.

    The best of each family is taken anew in every resample, so that picking it does not
    flatter either side.

    Parameters
    ----------
    methods : sequence of Method
        Methods that were fitted.
    draws : mapping of name to (estimate, resampled estimates (B,))
        Their score, higher is better.
    score : str
        Its name.

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
    best = {k: max(ms, key=lambda m: draws[m.name][0]) for k, ms in family.items()}
    top = {k: np.max([draws[m.name][1] for m in ms], axis=0) for k, ms in family.items()}
    learned, fixed = best["learned"], best["fixed"]
    gap = interval(draws[learned.name][0] - draws[fixed.name][0], top["learned"] - top["fixed"])
    answer = "yes" if gap.low > 0 else "no" if gap.high < 0 else "unclear"
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
    words += f", by {gap.estimate:+.3f} in {score} "
    words += f"(95 % interval {gap.low:+.3f} to {gap.high:+.3f})."
    return Verdict(answer, words, score, gap, learned.name, fixed.name)
