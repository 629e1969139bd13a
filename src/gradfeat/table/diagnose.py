"""Diagnose a table: what kind of signal its inputs carry about the target."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np
import pandas as pd

from gradfeat.rows.sources.tables import Tables
from gradfeat.table.degree_findings import (
    DEGREES,
    DRAWS,
    LEVEL,
    Statistics,
    curvature_values,
    degree_findings,
    statistics,
)
from gradfeat.table.diagnosis import DiagnosisReport, FoundDirections, SampleSize
from gradfeat.table.diagnosis_rows import DiagnosisRequest, DiagnosisRows, diagnosis_rows
from gradfeat.table.interpret import fold
from gradfeat.table.results import Remark
from gradfeat.table.steps import Steps
from gradfeat.table.variance_shares import FOLDS, variance_shares
from gradfeat.theory.damian22_rates import suggested_samples


def sample_sizes(
    inputs: int, directions: int, exponent: int | None, degree: int
) -> tuple[SampleSize, ...]:
    """One gradient step, any learner by noisy correlations, kernels; none without a signal.

    Parameters
    ----------
    inputs, directions : int
        Whitened inputs d, and directions beyond chance.
    exponent : int or None
        Information exponent k.
    degree : int
        Highest degree beyond chance.

    Examples
    --------
    >>> [(size.rate, size.rows) for size in sample_sizes(10, 1, 2, 4)]
    [('d^2', 100.0), ('d^4', 10000.0)]
    """
    if exponent is None:
        return ()
    scales = suggested_samples(inputs, max(1, directions), exponent, degree)
    step = SampleSize(
        f"one gradient step sees the signal of degree {exponent}", power(exponent), scales.one_step
    )
    kernel = SampleSize(
        f"a kernel fits everything up to degree {degree}", power(degree), scales.kernel
    )
    if exponent < 3:
        return step, kernel
    bound = "the least for learners that average products of the target"
    query = SampleSize(bound, f"d^{exponent / 2:g}", scales.query_bound)
    return query, step, kernel


def power(k: int) -> str:
    """``d`` or ``d^k``.

    Examples
    --------
    >>> power(1), power(3)
    ('d', 'd^3')
    """
    return "d" if k == 1 else f"d^{k}"


#: Share of the time that the tests take, about; the rest is fitting models.
_TESTS = 0.4


def diagnose(
    frame: pd.DataFrame,
    request: DiagnosisRequest,
    steps: Steps | None = None,
    read_from: Tables | None = None,
) -> DiagnosisReport:
    """Which degrees, how much of the variance, how many directions, how many rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, target included.
    request : DiagnosisRequest
        Options.
    steps : Steps, optional
        Told before each step.
    read_from : Tables, optional
        Where the rows were read, for their places.

    Returns
    -------
    DiagnosisReport
        Plain values.

    Raises
    ------
    TableError
        For a table or target that cannot be used, or fewer than 50 rows, in one sentence.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] ** 2)
    >>> found = diagnose(frame, DiagnosisRequest("table.csv", "y"))
    >>> found.exponent, found.directions.number
    (2, 1)
    """
    steps = steps or Steps()

    def degree(k: int) -> None:
        label = f"Signal of degree {k}" if k <= DEGREES else "Directions"
        steps.begin(label, _TESTS * (k - 1) / (DEGREES + 1))

    def part(i: int) -> None:
        steps.begin(f"Shares, fold {i + 1} of {FOLDS}", _TESTS + (1 - _TESTS) * i / FOLDS)

    table = diagnosis_rows(frame, request, read_from)
    Z = table.inputs.whitened
    stats = statistics(Z, table.y, request.seed, degree)
    shares = variance_shares(table.inputs, table.y, request.seed, part)
    steps.begin("Summary", 1.0)
    directions = _directions(stats, table)
    highest = max(stats.found, default=1)
    return DiagnosisReport(
        data=request.data,
        target=request.target,
        task=table.target.task,
        classes=table.target.classes,
        n_rows=len(table.target.values),
        n_tested=len(Z),
        n_encoded=table.inputs.columns.shape[1],
        n_inputs=Z.shape[1],
        columns=table.encoder.notes_,
        shares=shares,
        degrees=degree_findings(stats),
        exponent=stats.exponent,
        curvature=curvature_values(stats.curvature, table.y.shape[1] == 1),
        directions=directions,
        sample_sizes=sample_sizes(Z.shape[1], directions.number, stats.exponent, highest),
        level=LEVEL,
        draws=DRAWS,
        seed=request.seed,
        versions=_versions(),
        command=request.command,
        seconds=steps.seconds,
        remarks=(*table.remarks, *_about_shares(shares.rows, len(Z))),
    )


def _about_shares(rows: int, tested: int) -> list[Remark]:
    words = f"The shares of the variance are of {rows:,} of these rows."
    return [Remark(words, "last")] if rows < tested else []


def _directions(stats: Statistics, table: DiagnosisRows) -> FoundDirections:
    """Correlations of the columns with the position along each direction, folded by column."""
    found = stats.directions
    columns = tuple(name for name in table.encoder.columns_ if name in table.source)
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


def _versions() -> dict[str, str]:
    packages = ("gradfeat", "torch", "numpy", "scikit-learn", "pandas", "skrub")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}
