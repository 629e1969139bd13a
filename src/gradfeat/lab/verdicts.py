"""Claims and verdicts: a sentence of the source, and whether a table bears it out.

And all claims of an experiment on a table, with what is said of cells that no grid has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gradfeat.errors import ExperimentError
from gradfeat.lab.cells import strangers

if TYPE_CHECKING:
    import pandas as pd

    from gradfeat.lab.experiment import Experiment

Outcome = Literal["cannot be checked", "fails", "not enough evidence", "holds"]

UNDECIDED: Outcome = "not enough evidence"
#: The check itself stops, say on a metric that the trial does not give.
UNCHECKED: Outcome = "cannot be checked"
#: From worst to best.
SEVERITY: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, with the number it rests on.

    `estimate, low, high`: The number and its interval (each limit one-sided at 95 % unless the
        check says otherwise); nan where there is none.
    `words`: All of it in a phrase. `n`: Seeds it rests on.
    `clearance`: How far inside its bound the deciding limit lies, in lengths of the interval;
        below 0 where it lies outside, -inf where there is no interval.
    `elsewhere`: The settings that it rests on and that no grid of the experiment has, as
        "n = 600, d = 300"; "" where there are none. The sentence of the claim is not about these.
    """

    outcome: Outcome
    estimate: float
    low: float
    high: float
    words: str
    n: int
    clearance: float = -math.inf
    elsewhere: str = ""


Check = Callable[["pd.DataFrame"], Verdict]


@dataclass(frozen=True)
class Claim:
    """A sentence of the source that the experiment checks.

    `source`: Where it stands, to the theorem, figure or page.
    `check`: See `above`, `below`, `within`, `greater`, `ordered`, `agrees`, `each`, `every`.

    >>> from gradfeat.lab.claims import above
    >>> import pandas as pd
    >>> table = pd.DataFrame({"n": [1, 1], "seed": [0, 1], "accuracy": [0.99, 0.992]})
    >>> Claim("It learns.", "Fig. 1", above("accuracy", 0.9)).check(table).outcome
    'holds'
    """

    text: str
    source: str
    check: Check

    @staticmethod
    def cited(sentence: str, check: Check) -> Claim:
        """The claim of a sentence that ends in its source in brackets.

        >>> Claim.cited("It learns. [Fig. 1]", lambda table: undecided("no rows")).source
        'Fig. 1'
        """
        text, _, source = sentence.rpartition(" [")
        if not text or not source.endswith("]"):
            raise ExperimentError(
                f"the claim {sentence!r} has no source: end the sentence in one, such as [Fig. 1]."
            )
        return Claim(text, source[:-1], check)


def undecided(words: str, n: int = 0) -> Verdict:
    return Verdict(UNDECIDED, np.nan, np.nan, np.nan, words, n)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst; of equals the least clearance; of none, not enough evidence."""
    if not verdicts:
        return undecided("no such cells in this run")
    return min(verdicts, key=lambda one: (SEVERITY.index(one.outcome), one.clearance))


def holding(table: pd.DataFrame, *claims: Claim) -> bool:
    """Whether all of these claims hold on a table: what a title may then state.

    >>> import pandas as pd
    >>> from gradfeat.lab import above
    >>> learned = Claim("It learns.", "Figure 1", above("accuracy", 0.9))
    >>> holding(pd.DataFrame({"seed": [0, 1], "accuracy": [0.99, 0.98]}), learned)
    True
    """
    return all(claim.check(table).outcome == "holds" for claim in claims)


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
        return Verdict(UNCHECKED, np.nan, np.nan, np.nan, not_checked(experiment, claim, error), 0)


def not_checked(experiment: Experiment, claim: Claim, error: Exception) -> str:
    """What is said of a claim whose check stops."""
    return f"claim {claim.text!r} of {experiment.name!r} cannot be checked: {error}"
