"""What the first gradients of an untrained network point along, in the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradfeat.models.gradient_features.found_features import FoundFeatures
from gradfeat.table.fitting import Fitted
from gradfeat.table.interpret import fold
from gradfeat.table.prepared import Prepared
from gradfeat.table.results import FirstStep, Interval, Part


def first_step(fits: Sequence[Fitted], table: Prepared) -> FirstStep | None:
    """Of the first fit that is made of gradient features; None where none of them is."""
    for fit in fits:
        found = None if fit.estimator is None else fit.method.found(fit.estimator)
        if found is not None:
            source = table.encoder.source_
            columns = tuple(c for c in table.encoder.columns_ if c in source)
            return described(fit.method.name, found, source, columns)
    return None


def described(
    name: str, found: FoundFeatures, source: tuple[str, ...], columns: tuple[str, ...]
) -> FirstStep:
    """The set of method `name` by directions, their weights folded to the original columns."""
    leading = [found.leading(k) for k in range(found.n_directions)]
    mass = [Interval(*(float(a[i]) for a in (found.mass, found.low, found.high))) for i in leading]
    return FirstStep(
        method=name,
        columns=columns,
        folded=fold(found.directions[:, leading], source, columns),
        mass=tuple(mass),
        parts=tuple(_part(found, k) for k in range(found.n_directions)),
        p=found.p,
        width=found.width,
        unexplained=found.unexplained,
        short=found.short,
        rows=found.rows,
    )


def _part(found: FoundFeatures, k: int) -> Part:
    """Which neurons find direction k: those that fire on most rows, on few, or both."""
    signs = np.unique(found.signs[found.group == k]).tolist()
    return "both" if len(signs) == 2 else ("few" if signs == [1] else "most")
