"""Intervals and sets of classes that hold the target of a new row with a stated frequency.

Split conformal prediction: of m held-out rows, which the fit has not seen, the ceil((m + 1) q)-th
smallest score s bounds that of a new row with frequency q or more, whatever the model and the
distribution, where new rows come as the held-out ones did. Scores are \\|y - f(x)\\| for
quantities, on the scale on which they were learned, and 1 - p_y(x) for classes.

Source: Vovk et al. 2005; Sadinle et al. 2019 (sets of classes).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradfeat.errors import TableError
from gradfeat.table.scores import Floats
from gradfeat.table.target import AS_IS, TargetScale


def bound(scores: Floats, percent: float) -> float:
    """The score that a new row stays within, in `percent` of all cases or more.

    >>> bound(np.arange(19.0), 90.0)
    17.0
    """
    try:
        percent = float(percent)
    except (TypeError, ValueError):
        raise TableError(f"interval is {percent!r}: give per cent, as 90.") from None
    if not 1 <= percent < 100:
        raise TableError(
            f"An interval of {percent:g} % was asked for: give per cent from 1 to below 100, as 90."
        )
    m = len(scores)
    if m == 0:
        raise TableError(
            "The model holds no scores of held-out rows, so it gives no intervals: a comparison "
            "(gradfeat.compare, gradfeat fit) holds rows out and keeps theirs with its models."
        )
    rank = math.ceil((m + 1) * percent / 100 - 1e-9)
    if rank > m:
        raise TableError(
            f"An interval of {percent:g} % was asked for, and the {m:,} held-out rows of the "
            f"model's fit give one of at most {math.floor(1000 * m / (m + 1)) / 10:g} %: ask for "
            "less, or fit on more rows."
        )
    return float(scores[max(rank, 1) - 1])


def interval_columns(
    target: str, f: Floats, score: float, scale: TargetScale = AS_IS
) -> dict[str, Floats]:
    """``low_TARGET`` and ``high_TARGET``: f(x) less and more the score, on the scale of the fit.

    >>> ends = interval_columns("y", np.array([10.0]), np.log(2.0), TargetScale(0.0))
    >>> [float(end[0].round(9)) for end in ends.values()]
    [5.0, 20.0]
    """
    z = scale.learned(f)
    return {f"low_{target}": scale.back(z - score), f"high_{target}": scale.back(z + score)}


def set_column(
    target: str, P: Floats, classes: tuple[str, ...], score: float
) -> dict[str, list[str]]:
    """``set_TARGET``: a JSON list of the classes that fit the row, the predicted one among them."""
    inside = (1.0 - score <= P) | (P.max(axis=1, keepdims=True) == P)
    names = [
        json.dumps([classes[k] for k in np.flatnonzero(row)], ensure_ascii=False) for row in inside
    ]
    return {f"set_{target}": names}


def stated_columns(
    held: Floats,
    percent: float,
    f: Floats,
    target: str,
    classes: tuple[str, ...],
    scale: TargetScale,
) -> dict[str, Any]:
    """Columns beside predictions (n,), or probabilities (n, K), of a model with these scores."""
    score = bound(held, percent)
    if classes:
        return set_column(target, f, classes, score)
    return dict(interval_columns(target, f, score, scale))


def interval_sentence(target: str, classes: Sequence[str], rows: int, percent: float) -> str:
    """What the columns hold, how often, and of which rows."""
    what = f"set_{target}" if classes else f"low_{target} to high_{target}"
    return (
        f"{what} holds {target} in {percent:g} % of new rows or more, if they come as the "
        f"{rows:,} held-out rows did: on average over rows, and more or less often where values "
        "are large or rare."
    )
