"""What a first gradient step would find, in words: the sentence, the scores, the captions."""

from __future__ import annotations

from gradfeat.drawing.numbers import count, listed, percent, signed
from gradfeat.figures.first_step import DIRECTIONS, named_columns
from gradfeat.figures.intervals import span
from gradfeat.figures.ranking import ranked, score_names
from gradfeat.reports.answer import first_score
from gradfeat.table.results import FirstStep, FitReport, MethodResult, Part

#: Directions that the sentence describes, and that get a figure of their own.
TOLD = 3
#: Share of a direction (of its squared weights) that its named columns have where it is theirs.
HALF = 0.5

_WHERE: dict[Part, str] = {
    "most": "they fire on most rows: an overall trend",
    "few": "they fire on few rows: something that part of the rows shows, not an overall trend",
    "both": "some fire on most rows and some on few: an overall trend, seen in parts of them too",
}


def sentence(found: FirstStep) -> str:
    """``A first gradient step would find 2 directions: temp and hr; hum.``"""
    if not found.mass:
        return (
            "A first gradient step would find none: no direction is shared by "
            f"{percent(found.p)} of random neurons beyond what shuffled targets give."
        )
    n = len(found.mass)
    parts = [_columns(found, k) for k in range(min(n, TOLD))]
    more = f"; and {n - TOLD} more" if n > TOLD else ""
    return f"A first gradient step would find {count(n, 'direction')}: {'; '.join(parts)}{more}."


def _columns(found: FirstStep, k: int) -> str:
    """``mainly temp and hr`` of one direction."""
    named = named_columns(found, k)
    names = listed([name for name, _ in named])
    if len(found.columns) == 1:
        return names
    if sum(weight**2 for _, weight in named) < HALF:
        return f"spread over many columns, led by {names}"
    return f"mainly {names}"


def scores(report: FitReport, found: FirstStep) -> str:
    """The induced network's test score beside those of the methods that learn directions."""
    names = score_names(report.methods)
    rows = ranked(report.methods, names[0]) if names else []
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


def lines(found: FirstStep) -> list[str]:
    """A line a direction: its mass, interval and columns."""
    out = [
        f"{k + 1}. {percent(mass.estimate)} of random neurons ({span(mass, percent)}): "
        + ", ".join(f"{name} {signed(w)}" for name, w in named_columns(found, k))
        for k, mass in enumerate(found.mass[:DIRECTIONS])
    ]
    rest = len(found.mass) - len(out)
    return [*out, f"and {rest} more"] if rest > 0 else out


def caption(found: FirstStep) -> str:
    """Under the figure of masses."""
    read = (
        "Before any training, each neuron of a wide random network is asked which way its first "
        f"gradient points, over {count(found.rows, 'training row')}. A bar is the share of neurons "
        "that agree on one direction (up to sign), with its 95 % interval. Shuffled targets, which "
        "say nothing about the inputs, have a bar beyond the dashed line in 5 % of cases."
    )
    return (
        f"{read} Of all neurons, {percent(found.short)} have a gradient too short to tell from "
        f"chance, and {percent(found.unexplained)} point elsewhere without agreeing."
    )


def direction(found: FirstStep, k: int) -> str:
    """Under the columns of one direction."""
    mass = found.mass[k]
    return (
        f"What direction {k + 1} adds up (blue raises it, orange lowers it). "
        f"{percent(mass.estimate)} of random neurons point along it (95 % interval "
        f"{span(mass, percent)}); {_WHERE[found.parts[k]]}."
    )
