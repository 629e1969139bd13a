"""The claims of an experiment judged on a table, and what is said of cells that no grid has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradfeat.lab.cells import strangers
from gradfeat.lab.verdicts import UNCHECKED, Claim, Verdict

if TYPE_CHECKING:
    import pandas as pd

    from gradfeat.lab.experiment import Experiment


def judge(experiment: Experiment, table: pd.DataFrame) -> list[tuple[Claim, Verdict]]:
    """Each claim of an experiment with the verdict of a table.

    A check that stops leaves the others as they are: its verdict is "cannot be checked", and its
    words say why. A verdict that would be another without the cells that no grid has says in
    `elsewhere` what is different there.

    >>> from gradfeat.lab import Experiment, above, run
    >>> def trial(n: int, *, seed: int) -> dict[str, float]:
    ...     return {"sum": n + seed}
    >>> checks = {"Sums are positive. [arithmetic]": above("sum", 0)}
    >>> demo = Experiment("demo", "?", trial, {"quick": {"n": 10}}, seeds=5, checks=checks)
    >>> [verdict.words for _, verdict in judge(demo, run(demo))]
    ['mean sum 12 [10.49, 13.51] over 5 seeds; bound 0']
    """
    judged = [(claim, _judged(experiment, claim, table)) for claim in experiment.claims]
    strange, words = _strange(experiment, table)
    if not words:
        return judged
    own = table.loc[~strange]
    same = [repr(_judged(experiment, claim, own)) == repr(verdict) for claim, verdict in judged]
    return [
        (claim, verdict if alike else replace(verdict, elsewhere=words))
        for alike, (claim, verdict) in zip(same, judged, strict=True)
    ]


def _strange(experiment: Experiment, table: pd.DataFrame) -> tuple[NDArray[np.bool_], str]:
    """Which rows are of no grid's cell, and their settings that are not the grids'."""
    names = [name for name in experiment.factors if name in table]
    grids = [cell for scale in experiment.grids for cell in experiment.cells(scale)]
    found = strangers(
        [dict(zip(names, own, strict=True)) for own in table[names].itertuples(index=False)],
        [{name: cell[name] for name in names} for cell in grids],
    )
    values = {name: {own[name]: 0 for own in found if name in own} for name in names}
    words = [f"{name} = {', '.join(map(str, own))}" for name, own in values.items() if own]
    return np.array([bool(own) for own in found], dtype=bool), ", ".join(words)


def _judged(experiment: Experiment, claim: Claim, table: pd.DataFrame) -> Verdict:
    try:
        return claim.check(table)
    except Exception as error:
        text = not_checked(experiment, claim, error)
        return Verdict(UNCHECKED, np.nan, np.nan, np.nan, text, 0)


def not_checked(experiment: Experiment, claim: Claim, error: Exception) -> str:
    """What is said of a claim whose check stops."""
    return f"claim {claim.text!r} of {experiment.name!r} cannot be checked: {error}"
