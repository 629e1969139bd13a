"""The order of methods: by their first score, best first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradfeat.table.results import MethodResult

LOWER_IS_BETTER = frozenset({"RMSE", "MAE", "MSE", "log-loss"})


def score_names(methods: Sequence[MethodResult]) -> list[str]:
    """All scores in the order in which methods list them; the first one ranks."""
    return list(dict.fromkeys(name for method in methods for name in method.scores))


def ranked(methods: Sequence[MethodResult], score: str) -> list[MethodResult]:
    """Methods with that score, best first; a nan estimate comes last."""
    sign = 1.0 if score in LOWER_IS_BETTER else -1.0

    def key(method: MethodResult) -> float:
        estimate = method.scores[score].estimate
        return math.inf if math.isnan(estimate) else sign * estimate

    return sorted((m for m in methods if score in m.scores), key=key)


def failed(methods: Sequence[MethodResult]) -> list[MethodResult]:
    """Methods without any score."""
    return [m for m in methods if not m.scores]
