"""show --card: a saved model as a page, in Markdown or HTML, for those who are given the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text

from gradfeat.cli.terminal import Terminal
from gradfeat.estimators.container import rebuilding
from gradfeat.figures.comparison import SLOPE, loss_rows, span
from gradfeat.interface.page import markdown_page
from gradfeat.table.interpret import bars_of
from gradfeat.table.results import Importances, Interval
from gradfeat.table.saved import fitted_on, load_table_model
from gradfeat.table.table_model import TableModel
from gradfeat.wording import counted, number, percent, plain, signed, text_table

#: Columns and levels that are told of the first direction, and the least weight or share of the
#: slope: what stands as 0.00 is not told.
TOLD, LEAST = 8, 0.005

#: What holds for every model that a fit wrote.
LIMITS = (
    "Scores are of rows of the same table that no fit has seen: rows from another time, place or "
    "way of measuring may be predicted worse.",
    "What the model needs is not what causes the target.",
    "A cell that is not what its column held, or a level never seen, is taken as missing; "
    "`gradfeat predict` counts them, and refuses them with `--strict`.",
)


def show_card(path: Path, html: bool) -> None:
    """Print the card of the model in `path`."""
    with rebuilding(path):
        text = card(load_table_model(path))
    Terminal().say(markdown_page(text) if html else text)


def card(model: TableModel) -> str:
    """The page: what the model is, its data, columns, scores, what it reads, and its limits."""
    about = model.about
    parts = [f"# {_cell(model.target)}: {about['method']}"]
    parts += ["\n".join(_facts(model)), "## Scores", _scores(about)]
    parts += ["## What the model reads", *_reads(model), "## Columns", _columns(model)]
    limits = (_intervals(model), *LIMITS[0 if about["scores"] else 1 :])
    parts += ["## Limits", "\n".join(f"- {one}" for one in limits)]
    return "\n\n".join(parts)


def _facts(model: TableModel) -> Iterator[str]:
    about = model.about
    settings = ", ".join(f"{name} {value}" for name, value in about["settings"].items())
    classes = f" of {', '.join(map(_cell, model.classes))}" if model.classes else ""
    yield f"- **Predicts** {_cell(model.target)} ({about['task']}{classes})"
    yield f"- **Method** {about['method']}; {settings or 'no settings were chosen'}"
    yield f"- **Data** {fitted_on({**about, 'data': _cell(about['data'])})}"
    seed = "" if about["seed"] is None else f", seed {about['seed']}"
    yield f"- **Version** gradfeat {about.get('version', '(an earlier one)')}{seed}"
    if about.get("command"):
        yield f"- **Command** `{about['command']}`"


def _scores(about: Mapping[str, Any]) -> str:
    if not about["scores"]:
        return "Not measured."
    rows = [(name, number(ends[0]), span(Interval(*ends))) for name, *ends in about["scores"]]
    said = _cell(about.get("classes", ""))
    return _table(("score", "on test rows", "95 % interval"), rows) + (said and f"\n\n{said}")


def _reads(model: TableModel) -> Iterator[str]:
    """What the loss is without a column; of gradfeat's own also where the gradient points."""
    shares = shares_of_slope(model) if model.own else {}
    if model.about.get("importances"):
        needed = Importances.from_record(model.about["importances"])
        rows = [(_cell(name), *words) for _, name, *words in loss_rows(needed)]
        yield _table(("column, shuffled", f"{needed.score} lost", "95 % interval"), rows)
    elif shares:
        rows = [(_cell(name), percent(share)) for name, share in shares.items()]
        yield _table(("column", "share of slope"), rows)
    else:
        yield "Not measured."
    if model.own:
        yield _cell(directions(model))


def shares_of_slope(model: TableModel) -> dict[str, float]:
    """Of the AGOP on each original column, the largest first."""
    share, source = np.asarray(model.estimator_.importances_), np.array(model.encoder.source_)
    each = {name: float(share[source == name].sum()) for name in dict.fromkeys(source.tolist())}
    return dict(sorted(each.items(), key=lambda one: -one[1]))


def slopes_table(shares: Mapping[str, float]) -> Group:
    table = text_table(("column", "share of slope"), right=(1,), fold=(0,))
    told = {name: share for name, share in shares.items() if share >= LEAST}
    for name, share in told.items():
        table.add_row(Text(name), percent(share))
    if left := len(shares) - len(told):
        table.add_row(Text(f"and {left:,} more", style="dim"), f"each {percent(LEAST / 2)}")
    return Group(table, Text(SLOPE, style="dim"))


def directions(model: TableModel) -> str:
    """How many there are, and the first: what adds up in it, a level of a category by itself."""
    encoder, fitted = model.encoder, model.estimator_
    n = fitted.n_effective_directions_
    levels = frozenset(note.name for note in encoder.notes_ if note.kind == "category")
    loadings = fitted.leading_directions(1)
    bars = bars_of(fitted, loadings, encoder.feature_names_, encoder.source_, levels)
    order = np.argsort(-np.abs(bars.weights[:, 0]), kind="stable")[:TOLD]
    order = order[np.abs(bars.weights[order, 0]) >= LEAST]
    words = {True: signed, False: plain}
    each = [f"{bars.names[i]} {words[bars.signed[i]](bars.weights[i, 0])}" for i in order]
    return f"{counted(n, 'effective direction')}; the first adds up {', '.join(each)}."


def _columns(model: TableModel) -> str:
    rows = [
        (_cell(note.name), note.kind, f"{note.missing:,}", _cell(note.treatment))
        for note in model.encoder.notes_
    ]
    return _table(("column", "kind", "missing", "how it is read"), rows)


def _intervals(model: TableModel) -> str:
    if not len(model.held):
        return "The model has no held-out rows, so it gives no intervals."
    return (
        f"Intervals and sets of classes rest on {len(model.held):,} held-out rows, and hold on "
        "average over rows that come as these did."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def _cell(text: object) -> str:
    """A name of the table as text of Markdown: nothing in it is markup."""
    words = " ".join(str(text).split())
    for mark in "\\`*_[]<>|#":
        words = words.replace(mark, f"\\{mark}")
    return words
