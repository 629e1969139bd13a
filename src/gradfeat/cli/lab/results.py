"""What is told of results: claims with their verdicts, cells that failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from gradfeat.cli.guard import refuse
from gradfeat.cli.terminal import Terminal
from gradfeat.lab.cells import several
from gradfeat.lab.experiment import Experiment, Point
from gradfeat.lab.store import Store
from gradfeat.lab.verdicts import SEVERITY, UNCHECKED, Claim, Outcome, Verdict, worst
from gradfeat.wording import text_table

Judged = Sequence[tuple[Claim, Verdict]]

_STYLES: dict[Outcome, str] = {
    "holds": "green",
    "fails": "bold red",
    "not enough evidence": "yellow",
    "cannot be checked": "bold red",
}


def claims_table(judged: Judged) -> Table:
    """Number, claim with its source and what was estimated, verdict; it fits 80 columns."""
    table = text_table()
    table.add_column("", justify="right", width=2)
    table.add_column("claim", ratio=1)
    table.add_column("verdict", width=10)
    for number, (claim, verdict) in enumerate(judged, start=1):
        outcome = verdict.outcome + " at other settings" * bool(verdict.elsewhere)
        said = Text(outcome, style=_STYLES[verdict.outcome])
        table.add_row(str(number), Group(*_about(claim, verdict)), said)
    return table


def _about(claim: Claim, verdict: Verdict) -> list[Text]:
    lines = [Text(claim.text), Text(claim.source, style="dim"), Text(verdict.words, style="italic")]
    if verdict.elsewhere:
        lines.append(Text(f"at settings that the claim is not about: {verdict.elsewhere}"))
    return lines


def counted(judged: Judged) -> str:
    """Return how many claims there are of each verdict.

    >>> counted([])
    'no claims'
    """
    if not judged:
        return "no claims"
    counts = Counter((verdict.outcome, bool(verdict.elsewhere)) for _, verdict in judged)
    verbs = {"holds": ("holds", "hold"), "fails": ("fails", "fail")}
    parts = [
        f"{n} {verbs.get(outcome, (outcome,) * 2)[n != 1]}{' at other settings' * elsewhere}"
        for outcome in reversed(SEVERITY)
        for elsewhere in (False, True)
        if (n := counts[outcome, elsewhere])
    ]
    return f"{len(judged)} claim{'s' * (len(judged) != 1)}: {', '.join(parts)}"


def print_claims(judged: Judged, console: Terminal) -> None:
    """Print the table of claims where there are any."""
    if judged:
        console.print(claims_table(judged))


def verdict_code(judged: Judged) -> int:
    """2 where a claim cannot be checked, told on stderr; 1 where one fails at its own; or 0."""
    for _, verdict in judged:
        if verdict.outcome == UNCHECKED:
            refuse(verdict.words)
    own = [v for _, v in judged if v.outcome == UNCHECKED or not v.elsewhere]
    return {UNCHECKED: 2, "fails": 1}.get(worst(own).outcome, 0)


def claim_records(name: str, judged: Judged) -> list[dict[str, Any]]:
    """The same as plain values, a record a claim of the experiment."""
    return [
        {
            "experiment": name,
            "number": n,
            "claim": one.text,
            "source": one.source,
            **asdict(verdict),
        }
        for n, (one, verdict) in enumerate(judged, start=1)
    ]


def varying(points: Sequence[Point]) -> list[str]:
    """Return the settings that differ between cells, all where there is but one cell.

    >>> varying([Point({"n": 1, "m": 5}, 0, "a"), Point({"n": 2, "m": 5}, 0, "b")])
    ['n']
    """
    names = points[0].cell if points else ()
    return several({name: [point.cell[name] for point in points] for name in names})


def cell_in_words(failure: dict[str, Any], names: Sequence[str]) -> str:
    """Return the settings and the seed of a failure.

    >>> cell_in_words({"n": 3, "seed": 1, "error": "..."}, ["n"])
    'n=3, seed=1'
    """
    return ", ".join(f"{name}={failure[name]}" for name in [*names, "seed"])


def reason(error: str) -> str:
    """Return the last line of a traceback, without the module of the exception.

    >>> reason("Traceback ...\\nmine.errors.FileError: 'a.npz' is broken: give another.")
    "FileError: 'a.npz' is broken: give another."
    """
    return re.sub(r"^(\w+\.)+(?=\w+(:|$))", "", error.strip().splitlines()[-1])


def tell_outdated(
    store: Store, experiment: Experiment, points: Sequence[Point], console: Terminal
) -> None:
    """Say of how many cells the results are those of another text of the trial."""
    if old := store.outdated(experiment, points):
        text = f"by another text of the trial of {experiment.name!r}: such results are left aside."
        console.say(f"{old:,} {'cell was' if old == 1 else 'cells were'} computed {text}")
