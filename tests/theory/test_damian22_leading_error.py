"""Average error of Lemma 1's leading term: exact, against draws of the start, and its slope."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.activation_coefficients import coefficients_of
from gradfeat.theory.damian22_gradient import (
    expected_squares,
    leading_term,
    population_gradient,
    relative_error,
)

D = np.unique(np.geomspace(20, 500, 8).astype(int))


def slope(x, y):
    """Least-squares slope and its standard error."""
    x = np.asarray(x) - np.mean(x)
    found = float(x @ y / (x @ x))
    rest = y - np.mean(y) - found * x
    return found, math.sqrt(float(rest @ rest) / (len(x) - 2) / float(x @ x))


def squares(g, d, b, W):
    """|leading|^2 and |remainder|^2 of each neuron, divided by the 4 of -2 a."""
    U, a = np.eye(d)[:, : g.r], np.ones(len(W))
    lead = population_gradient(g, U, W, a, b, order=1)
    rest = population_gradient(g, U, W, a, b) - lead
    return np.square(lead).sum(1) / 4, np.square(rest).sum(1) / 4


@pytest.mark.parametrize(("r", "degree"), [(1, 2), (2, 4), (3, 5)])
@pytest.mark.parametrize(("d", "b"), [(3, 0.0), (6, 0.7), (40, -0.8)])
def test_expected_squares_are_averages_over_the_sphere(r, degree, d, b):
    rng = np.random.default_rng(d + r)
    g, W = MultiHermite.random(r, degree, rng), rng.normal(size=(20_000, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    for drawn, exact in zip(squares(g, d, b, W), expected_squares(g, d, b), strict=True):
        assert abs(drawn.mean() - exact) < 4 * drawn.std() / math.sqrt(len(W))


def test_gaussian_start_without_bias_has_the_same_squares():
    rng = np.random.default_rng(0)
    g, W = MultiHermite.random(2, 4, rng), rng.normal(size=(20_000, 12)) / math.sqrt(12)
    for drawn, exact in zip(squares(g, 12, 0.0, W), expected_squares(g, 12), strict=True):
        assert abs(drawn.mean() - exact) < 4 * drawn.std() / math.sqrt(len(W))


TALK = MultiHermite(((2,), (4,)), (1 / 2, 1 / math.sqrt(48)))
DRAWN = [MultiHermite.random(2, p, np.random.default_rng(p)) for p in (2, 3, 5)]


@pytest.mark.parametrize("g", [TALK, *DRAWN], ids=["talk", "degree 2", "degree 3", "degree 5"])
def test_relative_error_falls_like_the_root_of_d(g):
    rng, logs = np.random.default_rng(3), np.log(D)
    exact = np.log([relative_error(g, int(d)) for d in D])
    drawn = []
    for d in D.tolist():
        lead, rest = squares(g, d, 0.0, rng.normal(size=(2000, d)) / math.sqrt(d))
        drawn.append(0.5 * math.log(rest.mean() / lead.mean()))
    found, error = slope(logs, drawn)
    true, _ = slope(logs, exact)
    # A t-interval of level 0.9998.
    assert abs(found - true) < stats.t.ppf(0.9999, len(D) - 2) * error
    # Corrections of relative order 1/d, about 1/20 at the lower end, move the slope by as much.
    assert abs(true + 0.5) < 0.05
    assert abs(found + 0.5) < 0.05


def test_a_large_part_of_degree_four_delays_the_rate():
    # Its term falls like 1/d relative to the leading one: steeper first, -1/2 in the end.
    g = MultiHermite(((2,), (4,)), (0.1, 0.2))

    def rate(sizes):
        return slope(np.log(sizes), [math.log(relative_error(g, d)) for d in sizes])[0]

    assert rate([20, 60, 180, 500]) < -0.6
    assert abs(rate([10_000, 30_000, 100_000]) + 0.5) < 0.01  # the correction is below 100/d


def test_leading_term_is_better_the_larger_d_for_given_neurons():
    rng = np.random.default_rng(7)
    g, errors = MultiHermite.random(1, 3, rng), []
    for d in (20, 2000):
        U, a = np.eye(d)[:, :1], np.ones(500)
        W = rng.normal(size=(500, d))
        lead = leading_term(g, U, W, a)
        rest = population_gradient(g, U, W, a) - lead
        errors.append(np.linalg.norm(rest) / np.linalg.norm(lead))
    # d^{-1/2}: a factor 10, known to about 10 % from 500 neurons.
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.4)


def test_another_activation_has_another_error():
    g = MultiHermite(((2,), (3,)), (0.5, 0.1))
    softplus = coefficients_of(lambda z: np.logaddexp(0, z))
    assert relative_error(g, 50, coefficients=softplus) < 0.5 * relative_error(g, 50)


def test_bad_input_is_named():
    g = MultiHermite(((3,),), (1.0,))
    with pytest.raises(ValueError, match="leading term is zero"):
        relative_error(g, 10)
    with pytest.raises(ValueError, match="d is 1: give a whole number from 2"):
        expected_squares(MultiHermite(((2, 0),), (1.0,)), 1)
    with pytest.raises(ValueError, match=r"needs 6\^12 points"):
        expected_squares(MultiHermite(((5, *[0] * 11),), (1.0,)), 20)
