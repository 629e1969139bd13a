"""Under every figure of a diagnosis: how to read it, and what this one says."""

from __future__ import annotations

from gradfeat.drawing.numbers import count, listed, number, percent, signed
from gradfeat.figures.curvature import beyond_chance
from gradfeat.figures.intervals import span
from gradfeat.reports.diagnosis_tables import nonnegative
from gradfeat.reports.diagnosis_words import DEGREE_NAMES
from gradfeat.table.diagnosis import Diagnosis


def shares(found: Diagnosis) -> str:
    values = found.shares
    read = (
        f"What a linear model explains of rows it has not seen, what quadratic terms add, and what "
        f"a flexible model (a recursive feature machine) adds to both; lines are 95 % bootstrap "
        f"intervals over {count(values.rows, 'row')} in {values.folds} folds."
    )
    total, inside = nonnegative(values.total.estimate), span(values.total, nonnegative)
    return (
        f"{read} Together they explain {total} ({inside}); the rest is noise, or beyond these "
        "models and rows."
    )


def degrees(found: Diagnosis) -> str:
    read = (
        "Each point is the test strength of one degree of the whitened inputs, with lower degrees "
        "taken out; for Gaussian inputs it estimates a share of the variance, for others it is "
        "evidence and no share. Grey is what "
        "shuffled and sign-flipped targets give; a point counts above the bar, which keeps the "
        f"chance of any signal where there is none to {percent(found.level)}."
    )
    seen = [DEGREE_NAMES[one.degree] for one in found.degrees if one.found]
    words = f"Beyond chance: {listed(seen)}." if seen else "No degree is beyond chance."
    blind = max(found.degrees, key=lambda one: one.visible_from)
    return (
        f"{read} {words} With {count(found.n_inputs, 'input')} and "
        f"{count(found.n_tested, 'row')} a strength below {number(blind.visible_from)} at degree "
        f"{blind.degree} would not be seen."
    )


def curvature(found: Diagnosis) -> str:
    values = found.curvature
    many = int(beyond_chance(values).sum())
    read = (
        "Eigenvalues of H, the second derivative of the target averaged over the inputs, in "
        "standard units; positive ones bend up, negative ones down. Grey is what chance gives each "
        "in order, the dashed lines what the largest of them reaches by chance."
    )
    if not values.signed:
        read = read.replace(
            "; positive ones bend up, negative ones down", "; summed over classes, without sign"
        )
    first = max(values.eigenvalues, key=abs)
    return (
        f"{read} {many or 'None'} of {len(values.eigenvalues)} beyond; the largest is "
        f"{number(float(first))}."
    )


def direction(found: Diagnosis, index: int) -> str:
    loadings = found.directions.loadings[:, index]
    order = sorted(range(len(loadings)), key=lambda i: -abs(loadings[i]))[:3]
    top = [f"{found.directions.columns[i]} ({signed(float(loadings[i]))})" for i in order]
    return (
        "Correlation of each column with a row's position along this direction; the sign of a "
        f"whole direction has no meaning. It moves most with {listed(top)}."
    )
