"""A diagnosis: its sentences, and which figures and tables its page shows."""

from __future__ import annotations

import numpy as np

from gradfeat.figures.comparison import inside_whole, span
from gradfeat.figures.directions import loadings_figure
from gradfeat.figures.signal import (
    DEGREE_NAMES,
    curvature_figure,
    degrees_figure,
    variance_parts_figure,
)
from gradfeat.table.diagnosis import (
    FEWEST_UNITS,
    DegreeFinding,
    DiagnosisReport,
    FoundDirections,
    Share,
)
from gradfeat.table.results import Interval
from gradfeat.wording import counted, listed, number, percent

#: Share of the variance that may be hidden from which it cannot be told whether it is there.
WORTH_NAMING = 0.05

#: Of a share whose interval is so wide the interval is told.
WIDE = 0.05

#: A column is named for a direction from this correlation on.
NAMED_FROM = 0.3


def signal_sentence(found: DiagnosisReport) -> str:
    """Is there a signal, where does it start, and does a function of the target start lower?"""
    hidden = _hidden_from_the_mean(found)
    function = (
        f"a non-linear function of {found.target} would show one at degree {found.generative} "
        f"(generative exponent {found.generative})"
    )
    if found.few_units:
        return (
            f"Of {found.units} {found.units_are} no test can tell a signal about {found.target} "
            f"from chance ({FEWEST_UNITS} are the fewest)"
        )
    if found.exponent is None:
        tested = listed([str(one.degree) for one in found.degrees])
        words = (
            f"There is no evidence of a signal about {found.target} at degrees {tested} in "
            f"{counted(found.n_tested, 'row')}"
        )
        if _open(found):
            linear, quadratic = (percent(one.visible_from) for one in found.degrees[:2])
            words += (
                f", which are too few to tell: a linear part below {linear} or a quadratic one "
                f"below {quadratic} of the variance would not show"
            )
        if found.mean_unseen:
            return f"{words}; {_unseen(found)}"
        return f"{words}, but {function}" if hidden else words
    name = DEGREE_NAMES[found.exponent]
    words = (
        f"The lowest-degree signal about {found.target} is {name} (information exponent "
        f"{found.exponent})"
    )
    return f"{words}, but {function}" if hidden else words


def _unseen(found: DiagnosisReport) -> str:
    """What depends on the inputs where the mean of the target shows nothing."""
    if not found.spread:
        return f"what depends on the inputs is the shape of the distribution of {found.target}"
    columns = listed([*found.spread])
    return f"what depends on the inputs is the spread of {found.target}, which moves with {columns}"


def _open(found: DiagnosisReport) -> bool:
    """Whether nothing was found, and a linear or quadratic part worth naming may be there."""
    hidden = max(one.visible_from for one in found.degrees if one.degree <= 2)
    return found.exponent is None and (found.few_units or hidden >= WORTH_NAMING)


def _apart(found: DiagnosisReport, one: DegreeFinding) -> bool:
    """Whether what was found at a degree cannot be a lower one that was left in."""
    lower = (other.degree for other in found.degrees if other.found)
    return not any(one.without < degree < one.degree for degree in lower)


def _hidden_from_the_mean(found: DiagnosisReport) -> bool:
    """Whether a function of the target shows a degree that its mean does not."""
    return found.generative != found.exponent


def gradient_sentence(found: DiagnosisReport) -> str:
    """Is the first gradient informative?"""
    again = "steps that use the same rows again can follow that function"
    match found.exponent:
        case None if _hidden_from_the_mean(found) and not found.mean_unseen:
            return f"the first gradient step of a network has nothing to follow, and {again}"
        case None if _open(found):
            return "whether a network's first gradient step has anything to follow stays open"
        case None:
            return "the first gradient step of a network has nothing to follow that shows here"
        case 1 | 2:
            return "the first gradient step of a network is informative"
    hidden = "the signal is hidden from linear and quadratic views"
    if _enough(found):
        return (
            f"the leading terms of a network's first gradient have nothing to follow: {hidden}, "
            "and a step sees it by its further terms with so many rows"
        )
    if _hidden_from_the_mean(found):
        return f"a first gradient step alone sees little of it, and {again}"
    return f"the first gradient step of a network is not informative with so few rows: {hidden}"


def _enough(found: DiagnosisReport) -> bool:
    """Whether one gradient step sees the lowest degree by theory's rate, d^k rows."""
    return found.exponent is not None and found.n_rows >= found.n_inputs**found.exponent


def directions_sentence(found: DiagnosisReport) -> str:
    """How many directions, and the columns of the first."""
    directions = found.directions
    if directions.number == 0:
        return "no direction of the inputs stands out"
    verb = "stands" if directions.number == 1 else "stand"
    out_of = counted(found.n_inputs, "input")
    words = f"{counted(directions.number, 'direction')} {verb} out of {out_of}"
    top = leading_columns(directions, 0)
    lead = "it moves" if directions.number == 1 else "the first moves"
    return f"{words}; {lead} with {listed(top)}" if top else words


def leading_columns(directions: FoundDirections, index: int, most: int = 3) -> list[str]:
    """Columns that move most with a direction, with no weak ones after the first."""
    size = np.abs(directions.loadings[:, index])
    order = np.argsort(-size, kind="stable")[:most]
    return [directions.columns[i] for i in order if size[i] >= NAMED_FROM or i == order[0]]


def shares_sentence(found: DiagnosisReport) -> str:
    """Linear, quadratic, higher: in one sentence."""
    words = {
        "linear": "a linear model explains {}",
        "quadratic": "quadratic terms add {}",
        "higher": "a flexible model adds {}",
    }
    parts = [
        words[part.name].format(_size(part.share)) for part in found.shares.parts if part.found
    ]
    if not parts:
        return "out of sample, none of the models does better than the mean"
    return f"out of sample, {listed(parts)} of the variance"


def _size(share: Interval) -> str:
    """The share, or its interval where that is wide.

    >>> _size(Interval(0.5, 0.49, 0.52)), _size(Interval(0.5, 0.31, 0.62))
    ('50 %', '31 % to 62 %')
    """
    return percent(share.estimate) if share.high - share.low < WIDE else span(share, inside_whole)


def advice(found: DiagnosisReport) -> str:
    """What follows for the choice of a method."""
    if found.mean_unseen:
        y = found.target
        what = (
            f"{y} lies further from its median in some rows than in others (how far may be a "
            "target of its own)"
            if found.spread
            else f"the distribution of {y} changes with the inputs"
        )
        return (
            f"That is no signal to predict {y} by: {what}, and neither its mean nor any model "
            "fitted here shows more in so many rows. More rows or other columns are needed before "
            "the choice of a method matters."
        )
    if found.exponent not in (1, 2) and _hidden_from_the_mean(found) and not _enough(found):
        return (
            f"A function of {found.target} shows what its mean hides: methods that go over the "
            f"same rows many times, such as a trained network, may find it from the order of d = "
            f"{found.n_inputs:,} rows. Try them with gradfeat fit, on a transformed target too."
        )
    linear, quadratic, higher = found.shares.parts
    bent = quadratic.found or higher.found
    if found.exponent is None and not bent and not linear.found:
        more = f"more {found.units_are}" if found.few_units else "more rows"
        return (
            f"Nothing here is beyond chance: {more} or other columns are needed before the "
            "choice of a method matters."
        )
    if found.exponent is None:
        return (
            "The tests by degree see nothing, but the models do: trust the shares, and compare "
            "methods with gradfeat fit."
        )
    if found.exponent > 2:
        return _hidden(found, found.exponent)
    if not bent and any(
        one.found and one.degree > 1 and _apart(found, one) for one in found.degrees
    ):
        return (
            "There is more than the linear part, and none of the models fitted here could use it "
            "with so many rows: with more of them, methods that learn features may. gradfeat fit "
            "compares them."
        )
    if not bent and max(quadratic.share.high, higher.share.high) >= WORTH_NAMING:
        return (
            f"Nothing beyond the linear part could be shown, and {counted(found.n_tested, 'row')} "
            "do not rule it out: gradfeat fit compares other models with a linear one on held-out "
            "rows."
        )
    if not bent:
        return (
            "Nothing beyond the linear part could be shown: a linear model may do as well as any "
            "other here."
        )
    if max(quadratic.share.high, higher.share.high) < WORTH_NAMING:
        more = percent(sum(one.share.estimate for one in (quadratic, higher) if one.found))
        return (
            f"Beyond the linear part the models find {more} of the variance: no method can gain "
            "much on a linear model here, whether it learns features or not."
        )
    return (
        "There is more than a linear model can say, and a gradient can see where it starts: "
        "methods that learn features are worth trying. gradfeat fit compares them with fixed "
        "features on held-out rows."
    )


def _hidden(found: DiagnosisReport, k: int) -> str:
    """What follows where linear and quadratic views show nothing."""
    theory = f"theory: of the order of d^{k} = {found.n_inputs**k:,}; here {found.n_rows:,}"
    if _enough(found):
        seen = f"and there are rows enough for one gradient step to see the signal ({theory})"
        chances = "Methods that iterate may still need fewer"
    else:
        seen = f"and one gradient step sees the signal only with many more rows ({theory})"
        chances = "Methods that iterate have better chances"
    return (
        f"Linear and quadratic views show nothing, {seen}. {chances}, such as the recursive "
        "feature machine: compare with gradfeat fit."
    )


def answer(found: DiagnosisReport) -> str:
    """Signal, gradient and shares in two sentences."""
    join = ", and" if found.exponent is None else ", so"
    first = (
        f"{signal_sentence(found)}{join} {gradient_sentence(found)}; {directions_sentence(found)}."
    )
    second = shares_sentence(found)
    return f"{first} {second[0].upper()}{second[1:]}."


def evidence(part: Share) -> str:
    """``yes``, or what at most it could be, which may be too much to tell."""
    if part.found:
        return "yes"
    most = percent(max(0.0, part.share.high))
    return f"cannot tell (up to {most})" if part.share.high >= WORTH_NAMING else f"no (<{most})"


#: Directions drawn at most.
DRAWN = 4


def rows_sentence(found: DiagnosisReport) -> str:
    """``t.csv: 721 rows used, in 23 whitened inputs.``"""
    return f"{found.data}: {used(found)}, in {counted(found.n_inputs, 'whitened input')}."


def used(found: DiagnosisReport) -> str:
    """``721 rows used``, or of how many.

    Only rows with a target count.
    """
    if found.n_tested == found.n_rows:
        return f"{counted(found.n_tested, 'row')} used"
    return f"{found.n_tested:,} of {counted(found.n_rows, 'row')} used"


def contents(found: DiagnosisReport) -> dict[str, object]:
    """What the template of the page shows."""
    drawn = range(min(DRAWN, found.directions.number))
    return {
        "report": found,
        "answer": answer(found),
        "advice": advice(found),
        "facts": _facts(found),
        "used": used(found),
        "shares": variance_parts_figure(found.shares),
        "share_rows": share_rows(found),
        "degrees": degrees_figure(found),
        "degree_rows": degree_rows(found),
        "curvature": curvature_figure(found.curvature),
        "directions": [loadings_figure(found.directions, k) for k in drawn],
        "directions_sentence": directions_sentence(found),
        "sizes": size_rows(found),
        "columns": [
            (c.name, c.kind, f"{c.distinct:,}", f"{c.missing:,}", c.treatment)
            for c in found.columns
        ],
    }


def _facts(found: DiagnosisReport) -> list[tuple[str, str, str]]:
    """Tiles under the answer: heading, value, detail."""
    name = "no evidence" if found.exponent is None else str(found.exponent)
    kind = DEGREE_NAMES.get(found.exponent or 0, "at degrees 1 to 4")
    gradient = gradient_sentence(found)
    informative = "Yes" if found.informative else "Cannot tell" if _open(found) else "No"
    directions = found.directions
    top = leading_columns(directions, 0) if directions.number else ["none beyond chance"]
    total = found.shares.total
    inside = span(total, inside_whole)
    return [
        ("Information exponent", name, f"lowest degree with a signal: {kind}"),
        ("Is the first gradient informative?", informative, gradient),
        ("Directions", str(directions.number), ", ".join(top)),
        ("Explained out of sample", inside_whole(total.estimate), f"95 % interval {inside}"),
    ]


def share_rows(found: DiagnosisReport) -> list[tuple[str, str, str, str]]:
    """Part, share, 95 % interval, evidence: linear, quadratic, higher, all together."""
    named = [(part.name, part.share, evidence(part)) for part in found.shares.parts]
    named.append(("together", found.shares.total, ""))
    return [(n, inside_whole(s.estimate), span(s, inside_whole), said) for n, s, said in named]


def degree_rows(found: DiagnosisReport) -> list[tuple[str, str, str, str, str]]:
    """Degree, test strength, from where it counts, p-value, evidence; functions of the target."""
    named = [(DEGREE_NAMES[one.degree], one) for one in found.degrees]
    named += [(f"{DEGREE_NAMES[one.degree]}, transformed", one) for one in found.transformed]
    return [
        (
            name,
            number(one.strength),
            number(one.visible_from),
            number(one.p_value),
            evidence_of_degree(found, one),
        )
        for name, one in named
    ]


def evidence_of_degree(found: DiagnosisReport, one: DegreeFinding) -> str:
    """Whether a degree is beyond chance, and by itself."""
    if one.found and not _apart(found, one):
        return "cannot tell"
    return "yes" if one.found else "no"


def size_rows(found: DiagnosisReport) -> list[tuple[str, str, str, str]]:
    """Learner, rate, rows by theory, against the rows there are."""
    return [
        (
            size.learner,
            f"{size.rate} (d = {found.n_inputs})",
            f"about {size.rows:,.0f}",
            "enough" if found.n_rows >= size.rows else f"too few: {found.n_rows:,}",
        )
        for size in found.sample_sizes
    ]
