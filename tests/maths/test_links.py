"""Links: sums and products of series, functions with their projection."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.links import FunctionLink, product_of_series, sum_of_series
from gradfeat.maths.multi_hermite import MultiHermite

FACTORS = [HermiteSeries((1.0, 0.5, 0.0, 2.0)), HermiteSeries((0.0, -1.0, 0.3))]


def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((9, 2))


def test_sums_and_products_have_the_values_of_their_factors() -> None:
    z = points()
    one, other = FACTORS[0](z[:, 0]), FACTORS[1](z[:, 1])
    # A dozen terms of size up to 50.
    np.testing.assert_allclose(sum_of_series(FACTORS)(z), one + other, atol=1e-13)
    np.testing.assert_allclose(product_of_series(FACTORS, 5)(z), one * other, atol=1e-13)


def test_a_product_stops_at_the_degree_asked_for() -> None:
    whole, low = product_of_series(FACTORS, 5), product_of_series(FACTORS, 2)
    assert (whole.degree, low.degree) == (5, 2)
    for k in range(3):
        assert whole.part(k) == low.part(k)


def test_nothing_left_is_zero() -> None:
    nothing = MultiHermite(((0, 0),), (0.0,))
    assert product_of_series([FACTORS[1], FACTORS[1]], 1) == nothing
    assert sum_of_series([HermiteSeries((0.0,))] * 2) == nothing


def test_a_function_is_evaluated_as_it_is_and_projected_beside() -> None:
    def f(z: np.ndarray) -> np.ndarray:
        return np.sin(z[:, 0]) * z[:, 1] ** 2

    g, z = FunctionLink.projected(f, 2, 3), points()
    np.testing.assert_array_equal(g(z), f(z))
    assert (g.r, g.series.degree, g.series.information_exponent()) == (2, 3, 1)
    assert np.abs(g.series(z) - f(z)).max() > 1e-3
    assert FunctionLink.projected(f, 2, 5).series.degree == 5


def test_a_function_that_does_not_return_rows_is_refused() -> None:
    for bad in (lambda z: z, lambda z: z.sum(), lambda z: z[:, 0] + 1j):
        with pytest.raises(ValueError, match="return one real number for each row"):
            FunctionLink(bad, MultiHermite(((0,),), (1.0,)))(np.zeros((3, 1)))
