"""What a comparison says, in sentences of its own numbers, and what the terminal shows of it.

The terminal shows a diagnosis by the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradfeat.figures.comparison import (
    SLOPE,
    best_method,
    failed,
    fewer,
    first_score,
    label_of,
    less_known,
    loss_rows,
    marked,
    ranked,
    score_names,
    span,
    tied,
    together,
    told_losses,
)
from gradfeat.figures.first_step import DIRECTIONS, asked, named_columns
from gradfeat.reports import diagnosis
from gradfeat.table.diagnosis import DiagnosisReport
from gradfeat.table.results import (
    NEARLY_ALL,
    TOO_GOOD,
    Answer,
    Family,
    FirstStep,
    FitReport,
    Importances,
    MethodResult,
    Remark,
    Streaming,
)
from gradfeat.table.scores import FEWEST_TEST_ROWS
from gradfeat.table.verdict import about_classes, below_chance, beyond_chance
from gradfeat.wording import counted, listed, number, percent, seconds, text_table

#: Directions of a first step that are described, and that get a figure of their own.
TOLD = 3
#: Share of a direction (of its squared weights) that its named columns have where it is theirs.
HALF = 0.5


def rows_sentence(report: FitReport) -> str:
    """``t.csv: 240 rows, 4 input columns; 60 of 240 rows held out: by ...``."""
    pieces = report.streaming and report.streaming.pieces
    streamed = f", streamed in {counted(pieces, 'piece')}" if pieces else ""
    size = f"{counted(report.n_rows, 'row')}, {counted(len(report.columns), 'input column')}"
    return f"{report.data}: {size}{streamed}; {report.split}."


def answer(report: FitReport) -> str:
    """Best method and its score, verdict, columns that matter most: a sentence each."""
    best, features = _outcome(report)
    classes = about_classes(report.y_true, report.y_pred, report.classes)
    columns = ""
    if report.importances and not chance(report):
        columns = columns_sentence(report, report.importances)
    return _sentences(best, classes, features, columns)


def outcome(report: FitReport) -> str:
    """Best method and its score, and whether learning features helps: a sentence each."""
    return _sentences(*_outcome(report))


def _outcome(report: FitReport) -> tuple[str, str]:
    best = f"No method could be fitted to predict {report.target}, for the reasons below"
    if best_method(report):
        best = chance(report) or best_sentence(report) + _copies(report)
    return best, report.verdict.sentence if report.verdict else ""


def _copies(report: FitReport) -> str:
    """That the rows which the score is of have copies among those learned from; "" for none."""
    if not any(TOO_GOOD in remark.text for remark in report.remarks):
        return ""
    return "; copies of test rows are among the rows learned from, so that new rows may do worse"


def _sentences(*parts: str) -> str:
    said = [part.rstrip(". ") for part in parts if part]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in said)


def chance(report: FitReport) -> str:
    """That no method does better than a constant, where test rows do not show that one does."""
    methods = ranked(report.methods)
    if not methods or beyond_chance(report.y_true, methods[0].scores):
        return ""
    best, score, n = methods[0].label, first_score(methods[0]), len(report.y_true)
    if n < FEWEST_TEST_ROWS and not report.classes:
        few = "1 test row is" if n == 1 else f"{n} test rows are"
        return (
            f"{few} too few to tell whether any method predicts {report.target}: {best} has {score}"
        )
    told = f"{report.target} beyond chance on these {n:,} test rows"
    words = f"No method predicts {told}: the best ({best}) has {score}"
    if len(methods) < len(report.methods):
        words = f"None of the {len(methods)} methods that were fitted predicts {told}"
        words += f": the best ({best}) has {score}"
    if len(methods) == 1:
        words = f"The only method that was fitted ({best}) does not predict {told}: {score}"
    constant = "the most frequent class" if report.classes else "the mean"
    how = "is worse than" if below_chance(report.y_true, methods[0].scores) else ""
    words += f", which {how or 'these rows do not tell from'} predicting {constant}"
    if any(f"{NEARLY_ALL} {report.target!r}" in remark.text for remark in report.remarks):
        words += ". A column that alone explains it is named above, and is not found among so many "
        words += "columns in so few rows: leave others out with --ignore, or give more rows"
    return words


_FOLLOWS: dict[Answer, str] = {
    "yes": "Learned features helped: gradfeat refit keeps those of features.gradfeat, or of the "
    "model where that is not there, for another target of the same columns.",
    "no": "Fixed features did better: they are quicker to fit too, and --methods with their names "
    "spends all of --time on them.",
    "same": "Learned and fixed features predict alike here: choose by fit time, or by what you "
    "want to read from the model.",
    "unclear": "Whether learning features helps is open: more test rows decide it, and --time "
    "gives each method a longer search.",
    "uneven": "Whether learning features helps is open: --time with more seconds may give all "
    "methods the same rows.",
}


def follows(report: FitReport) -> str:
    """What to do after the verdict; "" where there is none."""
    return _FOLLOWS[report.verdict.answer] if report.verdict and not chance(report) else ""


def not_fitted(report: FitReport) -> list[str]:
    """The methods without a fit, a sentence a reason."""
    methods = failed(report.methods)
    errors = dict.fromkeys(m.error for m in methods)
    labels = {e: listed([m.label for m in methods if m.error == e]) for e in errors}
    return [f"{labels[e]} could not be fitted: {e.rstrip('.')}." for e in errors]


def best_sentence(report: FitReport) -> str:
    """Which method predicts best; where several are as good, what decided between them."""
    same = tied(report)
    score = first_score(same[0])
    if len(same) == 1:
        return f"{marked(same[0])} predicts {report.target} best, with test {score}"
    names, first = listed([marked(m) for m in same]), next(iter(same[0].scores))
    words = f"{names} predict {report.target} equally well, with test {score}: a tie in {first}"
    losses = [m.scores["log-loss"].estimate for m in same if "log-loss" in m.scores]
    if len(set(losses)) < 2:
        return words
    return f"{words}, of which {same[0].label} has the best log-loss ({number(losses[0])})"


def columns_sentence(report: FitReport, found: Importances) -> str:
    """``Boosting needs hr most: shuffled, R2 falls by 0.81, then temp with atemp (0.12)``."""
    top, which, less = told_losses(found), label_of(report, found.method), less_known(found)
    if not top:
        return f"shuffling any one column costs {which} nothing that these test rows show{less}"
    first, rest = top[0], top[found.tied :]
    level = top[: found.tied]
    apart = [one for one in found.losses if not one.rest]
    unknown = any(o.rest and o.loss.estimate > first.loss.estimate for o in found.losses)
    of = f" of the {len(apart)} that were shuffled apart" if unknown else ""
    no_order = ", in no order that these test rows tell" if len(level) > 1 else ""
    words = f"{which} needs {listed([together(one) for one in level])} most{of}{no_order}"
    words += f": shuffled, {found.score} {found.worse} by "
    words += listed([number(one.loss.estimate) for one in level])
    others = listed([f"{together(one)} ({number(one.loss.estimate)})" for one in rest])
    return words + (f", then {others}" if others else "") + less


def first_step_sentence(found: FirstStep) -> str:
    """``A first gradient step would find 2 directions: temp and hr; hum.``"""
    if not found.mass:
        return (
            "A first gradient step would find no direction: none is shared by at least "
            f"{100 * found.p:.2g} % of {asked(found)} beyond what shuffled targets give."
        )
    n = len(found.mass)
    parts = [_columns(found, k) for k in range(min(n, TOLD))]
    more = f"; and {n - TOLD} more" if n > TOLD else ""
    return f"{first_step_number(found)}: {'; '.join(parts)}{more}."


def first_step_number(found: FirstStep) -> str:
    """``A first gradient step would find 2 directions``; *may* where an interval begins below p."""
    sure = sum(mass.low >= found.p for mass in found.mass)
    n = len(found.mass)
    more = f", and may find {n - sure} more" if 0 < sure < n else ""
    verb = "would" if sure else "may"
    return f"A first gradient step {verb} find {counted(sure or n, 'direction')}{more}"


def _columns(found: FirstStep, k: int) -> str:
    """``mainly temp and hr`` of one direction."""
    named = named_columns(found, k)
    names = listed([name for name, _, _ in named])
    if len(found.columns) == 1:
        return names
    if sum(weight**2 for _, weight, _ in named) < HALF:
        return f"spread over many columns, led by {names}"
    return f"mainly {names}"


def first_step_scores(report: FitReport, found: FirstStep) -> str:
    """The induced network's test score beside those of the methods that learn directions."""
    rows = ranked(report.methods)
    own = next((m for m in rows if m.name == found.method), None)
    if own is None:
        return ""
    trained = [m for m in rows if m.family == "learned" and m.name != found.method]
    words = f"{own.label}, {_made_of(own, len(found.mass))}: test {first_score(own)}."
    if not trained:
        return words
    others = listed([f"{m.label} {first_score(m)}" for m in trained])
    return f"{words} With directions learned step by step: {others}."


def _made_of(own: MethodResult, n: int) -> str:
    """What the induced network is, with n directions."""
    linear = own.settings.get("linear", "none") != "none"
    if n == 0:
        return f"which has no direction to read and so is {'linear' if linear else 'constant'}"
    those = "this direction" if n == 1 else "these directions"
    beside = ", beside a linear part" if linear else ""
    return f"whose neurons read {those} alone and are never trained{beside}"


def first_step_lines(found: FirstStep, most: int = DIRECTIONS) -> list[str]:
    """A line a direction: its mass, interval and columns; of at most so many."""
    out = [
        f"{k + 1}. {percent(mass.estimate)} of {asked(found)} ({span(mass, percent)}): "
        + ", ".join(f"{name} {words}" for name, _, words in named_columns(found, k))
        for k, mass in enumerate(found.mass[:most])
    ]
    rest = len(found.mass) - len(out)
    return [*out, f"and {rest} more"] if rest > 0 else out


def streaming_sentence(report: FitReport, found: Streaming) -> str:
    """Pieces, who computed, how long all passes took, and what was held."""
    taken = [each for each in found.passes if each.rows]
    sampled = any(method.sampled for method in report.methods)
    pieces = f"in {counted(found.pieces, 'piece')} " if found.pieces else ""
    return (
        f"The rows were not held in memory but streamed {pieces}by {found.engine}: "
        f"{counted(len(taken), 'pass')} in {seconds(sum(each.seconds for each in taken))}. "
        f"Columns are encoded and settings chosen by a sample of {found.sample:,} training rows; "
        f"every fit is to all {report.n_train:,}"
        f"{', but for those marked as of a sample' if sampled else ''}."
    )


def shares_of_slope(report: FitReport) -> dict[str, float]:
    """Of the AGOP, by original column; none where there are no directions."""
    found = report.directions
    return dict(zip(found.columns, found.importances.tolist(), strict=True)) if found else {}


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
    parts: list[RenderableType] = [Text(rows_sentence(report))]
    parts += _remarks(report.remarks, "first", "yellow")
    parts += [Text(f"\n{answer(report)}", style="bold"), *_compared(report)]
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
    return parts + [Text(words, style="red") for words in not_fitted(report)]


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
    headings = ("column, shuffled", found.lost, "95 % interval")
    more = ("share of slope",) if share else ()
    table = text_table([*headings, *more], right=(1, 3), fold=(0,))
    table.caption, table.caption_justify = SLOPE if share else None, "left"
    for one, *words in loss_rows(found)[:LOSSES]:
        beside = [percent(sum(share.get(c, 0.0) for c in one.columns))] if share else []
        table.add_row(*map(Text, [*words, *beside]))
    left = len(found.losses) - LOSSES
    if left > 0:
        table.add_row(Text(f"and {left:,} more", style="dim"))
    return table


def _first_step(found: FirstStep) -> list[RenderableType]:
    """What the first gradients find: a line a direction."""
    if not found.mass:
        return [Text(f"\n{first_step_sentence(found)}")]
    lines = [Padding(Text(line), (0, 0, 0, 2)) for line in first_step_lines(found, TOLD)]
    return [Text(f"\n{first_step_number(found)}:"), *lines]
