"""The passes that a fit makes, in order, and what the machine that asks computes after each."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.solvers.nystrom_direct import CANDIDATES
from . import flops
from .job import Job
from .kernel_kinds import NystromEquations
from .kinds import Kind, Shape
from .network_kinds import FirstPass, Gradient, Gradients, LeftOut, NormalEquations


@dataclass(frozen=True)
class PlannedPass:
    """One pass over all rows.

    Attributes
    ----------
    label : str
        Its name, as engines report it.
    kind : Kind
        What it sums.
    shape : Shape
        Of what size.
    spectra : tuple of int
        Sides of the symmetric matrices whose spectrum is found afterwards.
    products : float
        Floating-point operations of products and factors, before or after it, on the machine that
        asks.
    """

    label: str
    kind: Kind
    shape: Shape
    spectra: tuple[int, ...] = ()
    products: float = 0.0


def passes_of(job: Job) -> tuple[PlannedPass, ...]:
    """All passes of a fit at given settings.

    Examples
    --------
    >>> [p.label for p in passes_of(Job(rows=100, columns=5, width=4))]
    ['moments', 'gradient', 'normal equations']
    """
    match job.method:
        case "linear":
            return _linear(job)
        case "random-features":
            return _random_features(job)
        case "gradient-features":
            return _gradient_features(job)
    return _kernel(job)


def _first(job: Job, *spectra: int) -> PlannedPass:
    return PlannedPass("moments", FirstPass(), Shape(job.columns, job.outputs, 0), spectra)


def _linear(job: Job) -> tuple[PlannedPass, ...]:
    shape, first = Shape(job.columns, job.outputs, 0), _first(job, job.columns)
    if job.penalty_by == "gcv":
        return (first,)
    return first, PlannedPass("normal equations, left out", LeftOut(inputs=True), shape)


def _head(job: Job, shape: Shape) -> tuple[PlannedPass, ...]:
    equations = PlannedPass("normal equations", NormalEquations(), shape, (shape.m,))
    if job.penalty_by == "gcv":
        return (equations,)
    return equations, PlannedPass("normal equations, left out", LeftOut(), shape)


def _random_features(job: Job) -> tuple[PlannedPass, ...]:
    return (_first(job), *_head(job, Shape(job.columns, job.outputs, job.m)))


def _gradient_features(job: Job) -> tuple[PlannedPass, ...]:
    """Whitened, with a linear part by ridge: a spectrum of d for each of the two."""
    d = job.columns
    shape = Shape(d, job.outputs, job.m, whitened=True)
    linear = PlannedPass("linear part, left out", LeftOut(inputs=True), shape)
    found = [_first(job, d, d), *([linear] if job.penalty_by == "loo" else [])]
    for step in range(1, job.steps + 1):
        if step == 1:
            found.append(PlannedPass("gradient", Gradient(), shape))
        else:
            label = f"gradients after step {step - 1}"
            found.append(PlannedPass(label, Gradients(), shape, (d,)))
        found.extend(_head(job, shape))
    return tuple(found)


def _kernel(job: Job) -> tuple[PlannedPass, ...]:
    """An RFM is planned with its last fit inside directions; these are found in the sample."""
    shape = Shape(job.columns, job.outputs, job.m, whitened=job.method == "rfm")
    factors = flops.pivots(job.columns, job.m, min(job.rows, CANDIDATES)) + flops.factor(job.m)
    return (
        _first(job),
        PlannedPass("normal equations", NystromEquations(), shape, products=factors),
    )
