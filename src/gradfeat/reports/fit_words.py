"""What a comparison says, in sentences of its own numbers, for the page and the terminal."""

from __future__ import annotations

from gradfeat.drawing.numbers import count, listed, number, percent, seconds
from gradfeat.figures.comparison import (
    best_method,
    first_score,
    label_of,
    marked,
    ranked,
    span,
    tied,
)
from gradfeat.figures.first_step import DIRECTIONS, asked, named_columns
from gradfeat.figures.losses import together, told_losses
from gradfeat.table.results import FirstStep, FitReport, Importances, MethodResult, Streaming

#: Directions of a first step that are described, and that get a figure of their own.
TOLD = 3
#: Share of a direction (of its squared weights) that its named columns have where it is theirs.
HALF = 0.5


def rows_sentence(report: FitReport) -> str:
    """``t.csv: 240 rows, 4 input columns; 60 of 240 rows held out: by ...``."""
    pieces = report.streaming and report.streaming.pieces
    streamed = f", streamed in {count(pieces, 'piece')}" if pieces else ""
    size = f"{count(report.n_rows, 'row')}, {count(len(report.columns), 'input column')}"
    return f"{report.data}: {size}{streamed}; {report.split}."


def answer(report: FitReport) -> str:
    """Verdict, best method and its score, columns that matter most: a sentence each."""
    parts = [report.verdict.sentence.rstrip(". ")] if report.verdict else []
    if best_method(report):
        parts.append(best_sentence(report))
    else:
        parts.append(f"No method could be fitted to predict {report.target}, for the reasons below")
    if report.importances:
        parts.append(columns_sentence(report, report.importances))
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)


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
    """``it needs hr most: shuffled, R2 falls by 0.81, then temp with atemp (0.12)``."""
    top = told_losses(found)
    which = "it" if found.method == report.best else label_of(report, found.method)
    if not top:
        return f"shuffling any one column costs {which} nothing that these test rows show"
    first, *rest = top
    words = f"{which} needs {together(first)} most: shuffled, {found.score} falls by "
    words += number(first.loss.estimate)
    others = listed([f"{together(one)} ({number(one.loss.estimate)})" for one in rest])
    return f"{words}, then {others}" if others else words


def first_step_sentence(found: FirstStep) -> str:
    """``A first gradient step would find 2 directions: temp and hr; hum.``"""
    if not found.mass:
        return (
            "A first gradient step would find none: no direction is shared by "
            f"{percent(found.p)} of {asked(found)} beyond what shuffled targets give."
        )
    n = len(found.mass)
    parts = [_columns(found, k) for k in range(min(n, TOLD))]
    more = f"; and {n - TOLD} more" if n > TOLD else ""
    return f"{first_step_number(found)}: {'; '.join(parts)}{more}."


def first_step_number(found: FirstStep) -> str:
    """``A first gradient step would find 2 directions``."""
    return f"A first gradient step would find {count(len(found.mass), 'direction')}"


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
    pieces = f"in {count(found.pieces, 'piece')} " if found.pieces else ""
    return (
        f"The rows were not held in memory but streamed {pieces}by {found.engine}: "
        f"{count(len(taken), 'pass')} in {seconds(sum(each.seconds for each in taken))}. "
        f"Columns are encoded and settings chosen by a sample of {found.sample:,} training rows; "
        f"every fit is to all {report.n_train:,}"
        f"{', but for those marked as of a sample' if sampled else ''}."
    )
