"""Claims with their verdicts, as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from gradfeat.lab.verdicts import SEVERITY, Claim, Outcome, Verdict

Judged = Sequence[tuple[Claim, Verdict]]

_STYLES: dict[Outcome, str] = {
    "holds": "green",
    "fails": "bold red",
    "not enough evidence": "yellow",
}


def claims_table(judged: Judged) -> Table:
    """Claim and source, verdict, estimate with its interval, seeds; it fits 80 columns.

    Of a claim that does not hold the rule is told in words.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("claim", ratio=1)
    table.add_column("verdict", width=10)
    table.add_column("estimate", width=18)
    table.add_column("seeds", justify="right", width=5)
    for claim, verdict in judged:
        table.add_row(
            Group(*_about(claim, verdict)),
            Text(verdict.outcome, style=_STYLES[verdict.outcome]),
            _numbers(verdict),
            str(verdict.n),
        )
    return table


def _about(claim: Claim, verdict: Verdict) -> list[Text]:
    lines = [Text(claim.text), Text(claim.source, style="dim")]
    if verdict.outcome != "holds":
        lines.append(Text(verdict.words, style="italic"))
    return lines


def _numbers(verdict: Verdict) -> Text:
    if not np.isfinite(verdict.estimate):
        return Text("–")
    return Text(f"{verdict.estimate:.4g}\n[{verdict.low:.4g}, {verdict.high:.4g}]")


def counted(judged: Judged) -> str:
    """Return how many claims there are of each verdict.

    Examples
    --------
    >>> counted([])
    'no claims'
    """
    if not judged:
        return "no claims"
    counts = Counter(verdict.outcome for _, verdict in judged)
    verbs = {"holds": ("holds", "hold"), "fails": ("fails", "fail")}
    parts = [
        f"{counts[outcome]} {verbs.get(outcome, (outcome,) * 2)[counts[outcome] != 1]}"
        for outcome in reversed(SEVERITY)
        if counts[outcome]
    ]
    return f"{len(judged)} claim{'s' * (len(judged) != 1)}: {', '.join(parts)}"
