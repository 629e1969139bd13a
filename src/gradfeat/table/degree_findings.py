"""The statistics of a diagnosis: degrees, curvature and directions of whitened rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
from gradfeat.maths.null_draws import NullDraws, null_draws
from gradfeat.table.diagnosis import Curvature, DegreeFinding

#: Degrees tested.
DEGREES = 4

#: Probability of calling anything a signal where there is none, over all degrees (Bonferroni);
#: and of each step of the count of directions.
LEVEL = 0.01

#: Shuffles and signs of a test of a degree, and of curvature and directions.
DRAWS, FEWER_DRAWS = 499, 199


@dataclass(frozen=True)
class Statistics:
    """What the tests found, as tensors.

    ``residuals`` and ``tests`` are for degrees 1, 2, ...; ``exponent`` is the lowest degree
    beyond chance and ``found`` are all of them.
    """

    residuals: list[Residual]
    tests: list[DegreeTest]
    exponent: int | None
    found: list[int]
    curvature: CurvatureTest
    directions: DirectionCount


def statistics(
    Z: Tensor, y: Tensor, seed: int, tell: Callable[[int], None], level: float = LEVEL
) -> Statistics:
    """Tests of degrees 1 to 4, spectrum of H, and count of directions.

    Parameters
    ----------
    Z, y : Tensor (n, d), (n, c)
        Whitened inputs; targets, not all constant.
    seed : int
        Of shuffles and signs.
    tell : callable (int)
        Told each degree before its test, and `DEGREES` + 1 before the rest.
    level : float
        See `LEVEL`.
    """
    total = float(y.var(0, correction=0).sum())
    y = (y - y.mean(0)) / total**0.5
    nulls = null_draws(len(Z), DRAWS, seed)
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
    return Statistics(residuals, tests, exponent, found, curvature, directions)


def degree_findings(stats: Statistics, level: float = LEVEL) -> tuple[DegreeFinding, ...]:
    """The tests as plain values."""
    return tuple(
        _finding(test, residual, level / len(stats.tests), test.degree in stats.found)
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


def curvature_values(found: CurvatureTest, signed: bool) -> Curvature:
    """The spectrum as plain values."""
    arrays = (found.eigenvalues.numpy(), found.low.numpy(), found.high.numpy())
    return Curvature(*arrays, found.threshold, found.p_value, signed)
