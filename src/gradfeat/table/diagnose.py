"""Diagnose a table: what kind of signal its inputs carry about the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gradfeat.diagnostics.degree_tests import DegreeTest, degree_test, information_exponent
from gradfeat.diagnostics.direction_count import (
    CurvatureTest,
    DirectionCount,
    count_directions,
    curvature_test,
)
from gradfeat.diagnostics.hermite_degrees import Residual, residuals_by_degree
from gradfeat.maths.limits import Deadline, quickest_threads, within
from gradfeat.maths.streams import NullDraws, null_draws
from gradfeat.rows.engine import Engine
from gradfeat.rows.sources.tables import Tables
from gradfeat.table.diagnosis import (
    FEWEST_UNITS,
    Curvature,
    DegreeFinding,
    DiagnosisReport,
    FoundDirections,
    SampleSize,
    Shares,
)
from gradfeat.table.diagnosis_rows import DiagnosisRows, diagnosis_rows, label_slices
from gradfeat.table.interpret import fold
from gradfeat.table.request import Request, Steps
from gradfeat.table.results import Interval, Remark, package_versions
from gradfeat.table.split import number_of
from gradfeat.table.variance_shares import FOLDS, variance_shares
from gradfeat.theory.damian22_rates import reuse_samples, suggested_samples

#: Degrees tested.
DEGREES = 4

#: Probability of calling anything a signal where there is none, over all degrees (Bonferroni);
#: and of each step of the count of directions.
LEVEL = 0.01

#: Functions of the target are constant on so many slices of it, and tested at so many degrees: by
#: theory gradient steps that use rows again need a signal there.
SLICES, TRANSFORMED_DEGREES = 6, 2

#: Shuffles and signs of a test of a degree; of curvature, directions and functions of the target.
DRAWS, FEWER_DRAWS = 499, 199


@dataclass(frozen=True)
class Statistics:
    """What the tests found, as tensors.

    ``residuals`` and ``tests`` are for degrees 1, 2, ...; ``exponent`` is the lowest degree
    beyond chance and ``found`` are all of them. ``transformed`` are of functions of the target.
    """

    residuals: list[Residual]
    tests: list[DegreeTest]
    exponent: int | None
    found: list[int]
    curvature: CurvatureTest
    directions: DirectionCount
    transformed: tuple[DegreeFinding, ...]


def statistics(
    Z: Tensor, y: Tensor, nulls: NullDraws, tell: Callable[[int], None], level: float = LEVEL
) -> Statistics:
    """Tests of degrees 1 to 4, spectrum of H, and count of directions.

    `Z` (n, d) are whitened, `y` (n, c) not all constant. `tell` hears each degree before its test,
    and `DEGREES` + 1 before the rest.
    """
    total = float(y.var(0, correction=0).sum())
    y = (y - y.mean(0)) / total**0.5
    residuals = residuals_by_degree(Z, y, DEGREES)
    tests = []
    for k, residual in enumerate(residuals, start=1):
        tell(k)
        tests.append(degree_test(Z, residual, 1.0, k, nulls))
    tell(DEGREES + 1)
    few = NullDraws(nulls.orders[:, :FEWER_DRAWS], nulls.signs[:, :FEWER_DRAWS])
    found = [test.degree for test in tests if test.p_value <= level / len(tests)]
    curvature = curvature_test(Z, residuals[1], few, level)
    directions = count_directions(Z, residuals, found, few, level)
    exponent = information_exponent(tests, level)
    functions = transformed(Z, y, exponent, few, level)
    return Statistics(residuals, tests, exponent, found, curvature, directions, functions)


def transformed(
    Z: Tensor, y: Tensor, exponent: int | None, nulls: NullDraws, level: float = LEVEL
) -> tuple[DegreeFinding, ...]:
    """Degrees 1 and 2 below the exponent, of all functions that are constant on slices of y.

    None for classes and for targets of two values, which have no other functions.
    """
    most = min(TRANSFORMED_DEGREES, (exponent or DEGREES) - 1)
    slices = label_slices(y, SLICES) if y.shape[1] == 1 else y[:, :0]
    if most < 1 or slices.shape[1] < 3:
        return ()
    total = float(slices.var(0, correction=0).sum())
    residuals = residuals_by_degree(Z, slices - slices.mean(0), most)
    tests = [degree_test(Z, one, total, k, nulls) for k, one in enumerate(residuals, start=1)]
    return tuple(
        _finding(test, one, level / most, test.p_value <= level / most)
        for test, one in zip(tests, residuals, strict=True)
    )


#: Columns named for the spread of the target: so many, from this share of the first one's on.
_NAMED, _NEXT = 3, 0.5


def spread_columns(table: DiagnosisRows, nulls: NullDraws, level: float = LEVEL) -> tuple[str, ...]:
    """The columns with which the distance of y from its median moves, first ones first.

    Ranks of the distances are tested at degrees 1 and 2; () where they depend on no input, or on
    several together. Each column counts by its correlation with them, or its square's.
    """
    distance = (table.y - table.y.median(0).values).abs()
    ranks = distance.argsort(0).argsort(0).to(distance)
    ranks = (ranks - ranks.mean(0)) / ranks.std(0, correction=0)
    Z = table.inputs.whitened
    residuals = residuals_by_degree(Z, ranks, TRANSFORMED_DEGREES)
    tests = [degree_test(Z, one, 1.0, k, nulls) for k, one in enumerate(residuals, start=1)]
    if information_exponent(tests, level) is None:
        return ()
    X, columns = table.inputs.columns, tuple(dict.fromkeys(table.source))
    both = np.hstack([X.T @ ranks.numpy(), (X**2 - 1).T @ ranks.numpy() / 2**0.5])
    size = np.abs(fold(both, table.source, columns)).max(axis=1)
    first = np.argsort(-size, kind="stable")[:_NAMED]
    return tuple(columns[i] for i in first if size[i] >= _NEXT * size.max())


def degree_findings(stats: Statistics) -> tuple[DegreeFinding, ...]:
    """The tests as plain values."""
    return tuple(
        _finding(test, residual, LEVEL / len(stats.tests), test.degree in stats.found)
        for test, residual in zip(stats.tests, stats.residuals, strict=True)
    )


def _finding(test: DegreeTest, residual: Residual, level: float, found: bool) -> DegreeFinding:
    ends = torch.tensor([0.025, 0.975], dtype=test.null.dtype)
    low, high = test.null.quantile(ends, dim=1)
    return DegreeFinding(
        degree=test.degree,
        strength=test.strength,
        null_low=float(low.min()),
        null_high=float(high.max()),
        visible_from=test.critical(level),
        p_value=test.p_value,
        found=found,
        without=residual.removed,
    )


def with_blind_spots(shares: Shares, degrees: Sequence[DegreeFinding]) -> Shares:
    """Shares without evidence may be as large as what the tests of their degrees would not see.

    The bootstrap knows of the models that were fitted: where these are constant its interval is a
    point, whatever they missed.
    """
    blind = {"linear": degrees[0], "quadratic": degrees[1]}
    rest = max(degrees[2:], key=lambda one: one.visible_from)
    parts = tuple(
        part if part.found else replace(part, share=_up_to(part.share, blind.get(part.name, rest)))
        for part in shares.parts
    )
    highest = max(part.share.high for part in parts)
    total = replace(shares.total, high=max(shares.total.high, highest))
    return replace(shares, parts=parts, total=total)


def _up_to(share: Interval, degree: DegreeFinding) -> Interval:
    """What was found at the degree, and no model could use, may be there too."""
    seen = degree.strength if degree.found else 0.0
    return replace(share, high=min(1.0, max(share.high, degree.visible_from, seen)))


def curvature_values(found: CurvatureTest, signed: bool) -> Curvature:
    """The spectrum as plain values."""
    arrays = (found.eigenvalues.numpy(), found.low.numpy(), found.high.numpy())
    return Curvature(*arrays, found.threshold, found.p_value, signed)


def sample_sizes(
    inputs: int, directions: int, exponent: int | None, degree: int, generative: int | None
) -> tuple[SampleSize, ...]:
    """One gradient step, any learner by noisy correlations, kernels; none without a signal.

    Where a function of the target has a lower degree, `generative`, steps that use rows again.

    >>> [(size.rate, size.rows) for size in sample_sizes(10, 1, 2, 4, 2)]
    [('d^2', 100.0), ('d^4', 10000.0)]
    >>> [size.rate for size in sample_sizes(10, 1, 3, 3, 1)]
    ['d', 'd^1.5', 'd^3', 'd^3']
    """
    again = ()
    if generative is not None and generative != exponent:
        words = "steps that use rows again see a function of the target"
        again = (SampleSize(words, "d", reuse_samples(inputs, generative)),)
    if exponent is None:
        return again
    scales = suggested_samples(inputs, max(1, directions), exponent, degree)
    step = SampleSize(
        f"one gradient step sees the signal of degree {exponent}", power(exponent), scales.one_step
    )
    kernel = SampleSize(
        f"a kernel fits everything up to degree {degree}", power(degree), scales.kernel
    )
    if exponent < 3:
        return *again, step, kernel
    bound = "lower bound for correlational queries (CSQ) of the target"
    query = SampleSize(bound, f"d^{exponent / 2:g}", scales.query_bound)
    return *again, query, step, kernel


def power(k: int) -> str:
    """``d`` or ``d^k``."""
    return "d" if k == 1 else f"d^{k}"


#: Share of the time that the tests take, about; the rest is fitting models.
_TESTS = 0.4


def diagnose(
    table: Tables, request: Request, steps: Steps | None = None, engine: Engine | None = None
) -> DiagnosisReport:
    """Which degrees, how much of the variance, how many directions, how many rows.

    Rows stream where there is an `engine`, made with ``report=steps``.

    >>> import pandas as pd
    >>> from gradfeat.rows.sources.tables import FrameTables
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] ** 2)
    >>> found = diagnose(FrameTables(frame), Request("table.csv", "y"))
    >>> found.exponent, found.directions.number
    (2, 1)
    """
    steps = steps or Steps()
    request = request.spelt(table.names)
    rows = diagnosis_rows(table, request, engine)
    until = steps.page_begins(request.seconds, len(table.names))
    with within(until, steps.tell), quickest_threads():
        return _diagnosed(rows, request, steps)


def _diagnosed(table: DiagnosisRows, request: Request, steps: Steps) -> DiagnosisReport:
    """What tests and models find in the rows."""

    def degree(k: int) -> None:
        label = f"Signal of degree {k}" if k <= DEGREES else "Directions"
        steps.begin(label, _TESTS * (k - 1) / (DEGREES + 1))

    def part(i: int) -> None:
        steps.begin(f"Shares, fold {i + 1} of {FOLDS}", _TESTS + (1 - _TESTS) * i / FOLDS)

    there = len(table.y)
    table = table.first(_rows_in_time(table, request.seed, steps.deadline.part(_TESTS)))
    Z = table.inputs.whitened
    by = f"groups of {request.group_column!r}" if request.group_column is not None else ""
    by = by if request.time_column is None else f"stretches of {request.time_column!r}"
    units = 0 if table.units is None else number_of(table.units)
    level = 0.0 if by and units < FEWEST_UNITS else LEVEL
    stats = statistics(Z, table.y, table.nulls(DRAWS, request.seed), degree, level)
    shares = variance_shares(table.inputs, table.y, request.seed, part, table.stretch, table.units)
    steps.begin("Summary", 1.0)
    directions, degrees = _directions(stats, table), degree_findings(stats)
    highest = max(stats.found, default=1)
    functions = (one.degree for one in stats.transformed if one.found)
    lowest = min(functions, default=stats.exponent)
    found = DiagnosisReport(
        data=request.data,
        target=request.target,
        task=table.target.task,
        classes=table.target.classes,
        n_rows=table.known,
        n_tested=len(Z),
        n_encoded=table.inputs.columns.shape[1],
        n_inputs=Z.shape[1],
        columns=table.encoder.notes_,
        shares=with_blind_spots(shares, degrees),
        degrees=degrees,
        exponent=stats.exponent,
        generative=lowest,
        curvature=curvature_values(stats.curvature, table.y.shape[1] == 1),
        directions=directions,
        sample_sizes=sample_sizes(Z.shape[1], directions.number, stats.exponent, highest, lowest),
        transformed=stats.transformed,
        level=LEVEL,
        draws=DRAWS,
        seed=request.seed,
        versions=package_versions(),
        command=request.command,
        seconds=steps.seconds,
        remarks=(*table.remarks, *_about_fewer(there, len(Z))),
        units=units,
        units_are=by,
    )
    if not found.mean_unseen:
        return found
    nulls = table.nulls(FEWER_DRAWS, request.seed)
    return replace(found, sample_sizes=(), spread=spread_columns(table, nulls))


#: Rows by which the time of the tests is told, how much longer all of them take than the last, and
#: how often it is timed: the first time anything runs takes longer, as does any with other work.
_FEW, _ALL_TESTS, _TIMED = 500, 4.0, 3


def _rows_in_time(table: DiagnosisRows, seed: int, until: Deadline) -> int:
    """The rows whose tests end in time, by the time of one test of a few: they grow as squares."""
    n, start = len(table.y), until.clock()
    if n <= _FEW or math.isinf(until.end):
        return n
    few = table.first(_FEW)
    y = few.y - few.y.mean(0)
    if not y.any():  # a class that is rarer than one in so many
        return n
    residual = residuals_by_degree(few.inputs.whitened, y, 1)[0]
    times = [start]
    for _ in range(_TIMED):
        degree_test(few.inputs.whitened, residual, 1.0, DEGREES, null_draws(_FEW, DRAWS, seed))
        times.append(until.clock())
    seconds = _ALL_TESTS * float(np.diff(times).min())
    while n > _FEW and seconds * (n / _FEW) ** 2 > until.left:
        n = max(_FEW, n * 7 // 10)
    return n


def _about_fewer(rows: int, tested: int) -> list[Remark]:
    words = "To keep to the time asked for, fewer rows were used than are there: --time takes more."
    return [Remark(words, "last")] if tested < rows else []


def _directions(stats: Statistics, table: DiagnosisRows) -> FoundDirections:
    """Correlations with the position along each direction: of columns, and of each level."""
    found = stats.directions
    columns = tuple(dict.fromkeys(table.source))
    along = (table.inputs.whitened @ found.directions).numpy()
    along = (along - along.mean(axis=0)) / np.where(along.std(axis=0) > 0, along.std(axis=0), 1.0)
    correlations = table.inputs.columns.T @ along / len(along)
    folded = fold(correlations, table.source, columns)
    return FoundDirections(
        number=along.shape[1],
        columns=columns,
        loadings=folded * _signs(folded),
        degrees=found.degrees,
        left_out=found.left_out,
    )


def _signs(loadings: np.ndarray) -> np.ndarray:
    """Signs of directions (r,) that make the largest loading of each positive."""
    largest = np.abs(loadings).argmax(axis=0)
    return np.where(loadings[largest, np.arange(loadings.shape[1])] < 0, -1.0, 1.0)
