"""A comparison and a diagnosis as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradfeat.drawing.numbers import number, percent, seconds, text_table
from gradfeat.figures.comparison import failed, fewer, marked, ranked, score_names, span
from gradfeat.figures.losses import loss_rows
from gradfeat.reports import diagnosis, fit_words
from gradfeat.reports.fit import shares_of_slope
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.results import Family, FirstStep, FitReport, Importances, MethodResult, Remark

_MARKS: dict[Family, tuple[str, str]] = {
    "learned": ("*", "yellow"),
    "fixed": ("o", "blue"),
    "reference": ("+", "green"),
}
_KEY = "* learned features   o fixed features   + reference"
_FEWER = "(n of m rows): fitted to fewer rows than the others, by its time or memory"

#: Columns whose losses are listed.
LOSSES = 8

_SHARES = ("part of the variance", "share", "95 % interval", "evidence")
_DEGREES = ("signal", "strength", "counts from", "p-value", "evidence")
_SIZES = ("by theory's rates", "rate", "rows", "here")


def terminal_table(report: FitReport) -> RenderableType:
    """What was read, remarks, the answer; methods by first score, what the best needs, remarks.

    Nothing is printed: pass the result to a `rich.console.Console`. It fits 80 columns.
    """
    parts: list[RenderableType] = [Text(fit_words.rows_sentence(report))]
    parts += _remarks(report.remarks, "first", "yellow")
    parts += [Text(f"\n{fit_words.answer(report)}", style="bold"), *_compared(report)]
    if report.importances:
        parts += [Text(""), losses_table(report.importances, shares_of_slope(report))]
    if report.first_step:
        parts += _first_step(report.first_step)
    return Group(*parts, *_remarks(report.remarks, "last", "dim"))


def _remarks(remarks: Sequence[Remark], place: str, style: str) -> list[RenderableType]:
    return [Text(f"\n{one.text}", style=style) for one in remarks if one.place == place]


def _compared(report: FitReport) -> list[RenderableType]:
    """The table of methods, and why some are not in it."""
    names, parts = score_names(report.methods), []
    if names:
        parts = [Text(""), _methods(report, names), Text(_KEY, style="dim")]
    if any(map(fewer, report.methods)):
        parts.append(Text(_FEWER, style="dim"))
    return parts + [
        Text(f"{m.label} failed: {m.error}", style="red") for m in failed(report.methods)
    ]


def diagnosis_text(found: DiagnosisReport) -> RenderableType:
    """What was read, remarks, the answer; shares, degrees, sample sizes; what follows, remarks.

    Nothing is printed: pass the result to a `rich.console.Console`. It fits 80 columns.
    """
    tables = [_diagnosis_table(_SHARES, diagnosis.share_rows(found))]
    tables.append(_diagnosis_table(_DEGREES, diagnosis.degree_rows(found)))
    if found.sample_sizes:
        tables.append(_diagnosis_table(_SIZES, diagnosis.size_rows(found)))
    return Group(
        Text(diagnosis.rows_sentence(found)),
        *_remarks(found.remarks, "first", "yellow"),
        Text(f"\n{diagnosis.answer(found)}", style="bold"),
        *(part for table in tables for part in (Text(""), table)),
        Text(f"\n{diagnosis.advice(found)}"),
        *_remarks(found.remarks, "last", "dim"),
    )


def _diagnosis_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = text_table(headings, right=range(1, len(headings) - 1))
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _methods(report: FitReport, names: list[str]) -> Table:
    headings = ("", "method", names[0], "95 % interval", *names[1:], "fit")
    right = (2, *range(4, len(headings)))
    table = text_table(headings, right=right, fold=(0, 1))
    for method in ranked(report.methods):
        table.add_row(*_cells(method, names), style="bold" if method.name == report.best else "")
    return table


def _cells(method: MethodResult, names: list[str]) -> list[Text]:
    mark, color = _MARKS[method.family]
    first = method.scores[names[0]]
    others = [number(method.scores[n].estimate) if n in method.scores else "" for n in names[1:]]
    words = [number(first.estimate), span(first), *others, seconds(method.fit_seconds)]
    label = " ".join(marked(method).split())
    return [Text(mark, style=color), Text(label), *map(Text, words)]


def losses_table(found: Importances, share: Mapping[str, float]) -> Table:
    """What the model loses without a column; beside it where the slope of the learner is."""
    headings = ("column, shuffled", f"{found.score} lost", "95 % interval")
    more = ("share of slope",) if share else ()
    table = text_table([*headings, *more], right=(1, 3), fold=(0,))
    for one, *words in loss_rows(found)[:LOSSES]:
        beside = [percent(sum(share.get(c, 0.0) for c in one.columns))] if share else []
        table.add_row(*map(Text, [*words, *beside]))
    left = len(found.losses) - LOSSES
    if left > 0:
        table.add_row(Text(f"and {left:,} that cost less", style="dim"))
    return table


def _first_step(found: FirstStep) -> list[RenderableType]:
    """What the first gradients find: a line a direction."""
    if not found.mass:
        return [Text(f"\n{fit_words.first_step_sentence(found)}")]
    told = fit_words.first_step_lines(found, fit_words.TOLD)
    lines = [Padding(Text(line), (0, 0, 0, 2)) for line in told]
    return [Text(f"\n{fit_words.first_step_number(found)}:"), *lines]
