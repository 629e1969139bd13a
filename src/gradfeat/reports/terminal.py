"""The comparison as a table for the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gradfeat.drawing.numbers import number, seconds
from gradfeat.figures.intervals import span
from gradfeat.figures.ranking import failed, ranked, score_names
from gradfeat.reports import first_step
from gradfeat.reports.answer import answer
from gradfeat.table.results import Family, FirstStep, FitReport, MethodResult

_MARKS: dict[Family, tuple[str, str]] = {
    "learned": ("*", "yellow"),
    "fixed": ("o", "blue"),
    "reference": ("+", "green"),
}
_KEY = "* learned features   o fixed features   + reference"


def terminal_table(report: FitReport) -> RenderableType:
    """Methods by their first score, with its interval and the fit time; the answer below.

    Nothing is printed: pass the result to a `rich.console.Console`. It fits 80 columns.

    Parameters
    ----------
    report : FitReport

    Returns
    -------
    RenderableType
    """
    names = score_names(report.methods)
    parts: list[RenderableType] = []
    if names:
        parts += [_table(report, names), Text(_KEY, style="dim")]
    parts += [_lost(m) for m in failed(report.methods)]
    parts.append(Text(f"\n{answer(report)}", style="bold"))
    if report.first_step:
        parts += [Text(line) for line in _first_step(report, report.first_step)]
    return Group(*parts)


def _table(report: FitReport, names: list[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("method")
    table.add_column(Text(names[0]), justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    for name in names[1:]:
        table.add_column(Text(name), justify="right", no_wrap=True)
    table.add_column("fit", justify="right", no_wrap=True)
    for method in ranked(report.methods, names[0]):
        table.add_row(*_cells(method, names), style="bold" if method.name == report.best else "")
    return table


def _cells(method: MethodResult, names: list[str]) -> list[Text]:
    mark, color = _MARKS[method.family]
    first = method.scores[names[0]]
    others = [number(method.scores[n].estimate) if n in method.scores else "" for n in names[1:]]
    words = [number(first.estimate), span(first), *others, seconds(method.fit_seconds)]
    label = " ".join(method.label.split())
    return [Text(mark, style=color), Text(label), *(Text(word) for word in words)]


def _first_step(report: FitReport, found: FirstStep) -> list[str]:
    """What the first gradients find: the sentence, a line a direction, the scores."""
    told = [f"  {line}" for line in first_step.lines(found)]
    return [f"\n{first_step.sentence(found)}", *told, first_step.scores(report, found)]


def _lost(method: MethodResult) -> Text:
    return Text(f"{method.label} failed: {method.error}", style="red")
