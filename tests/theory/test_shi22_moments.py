"""Moments of the gradient: against full enumeration for small D, Monte Carlo for large D."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gradfeat.theory.patterns import PatternLaw
from gradfeat.theory.shi22_moments import gradient_moments, smoothed_step, step_series

LAWS = [
    PatternLaw.hard_instance(D=11, k=3, p_o=0.3),
    PatternLaw.majority(D=12, k=5, p_o=0.5),
    PatternLaw(9, 4, 0.2, (0.1, 0.2, 0.2, 0.1, 0.4), (1, -1, -1, 1, -1)),
    PatternLaw.uniform(D=5, k=5, P=[1, 3, 5]),
]


def neurons(law: PatternLaw, m: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return scale * rng.standard_normal((m, law.D)), 0.3 * rng.standard_normal(m)


def rows_of(law: PatternLaw, phi: np.ndarray, q: np.ndarray, b: float, s: float) -> np.ndarray:
    """X_j of one neuron at patterns phi (n, D), then y g: (n, D + 1)."""
    y = np.array(law.labels)[phi[:, : law.k].sum(1)]
    codes = (phi - law.means) / law.sigma
    yg = y * smoothed_step(codes @ q + b, s)
    return np.column_stack([yg[:, None] * codes, yg])


def probability(law: PatternLaw, phi: np.ndarray) -> np.ndarray:
    s = phi[:, : law.k].sum(1)
    count = np.bincount(s) // 2 ** (law.D - law.k)
    ones = phi[:, law.k :].sum(1)
    background = law.p_o**ones * (1 - law.p_o) ** (law.D - law.k - ones)
    return (np.array(law.probabilities) / count)[s] * background


@pytest.mark.parametrize("scale", [0.2, 5.0])
@pytest.mark.parametrize("s", [0.5, 0.02])
@pytest.mark.parametrize("law", LAWS)
def test_moments_are_those_of_the_enumerated_law(law, s, scale):
    Q, b = neurons(law, 3, scale)
    phi = np.array(list(product([0, 1], repeat=law.D)))
    p = probability(law, phi)
    moments = gradient_moments(law, Q, b, s)
    for i in range(3):
        X = rows_of(law, phi, Q[i], b[i], s)
        mean, total = p @ X, X[:, : law.k].sum(1)
        variance = p @ X**2 - mean**2
        # sums of a few hundred frequencies with coefficients below 1: rounding of 1e-14 each
        tight = {"rtol": 0, "atol": 1e-12}
        np.testing.assert_allclose(moments.T[i], mean[:-1], **tight)
        np.testing.assert_allclose(moments.activity[i], mean[-1], **tight)
        np.testing.assert_allclose(moments.variance[i], variance[:-1], **tight)
        expected = p @ total**2 - (p @ total) ** 2
        np.testing.assert_allclose(moments.sum_variance[i], expected, **tight)


def sample(law: PatternLaw, n: int, rng: np.random.Generator) -> np.ndarray:
    """Patterns (n, D) of the law."""
    s = rng.choice(law.k + 1, size=n, p=law.probabilities)
    inside = rng.random((n, law.k)).argsort(1) < s[:, None]
    return np.hstack([inside, rng.random((n, law.D - law.k)) < law.p_o]).astype(int)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_moments_agree_with_monte_carlo_on_many_patterns(seed):
    law = PatternLaw.hard_instance(D=60, k=5, p_o=0.5)
    rng = np.random.default_rng(seed)
    q, b, s = rng.standard_normal(60) / 5, rng.standard_normal() / 25, 5**-1.5
    moments = gradient_moments(law, q[None], np.array([b]), s)
    n = 150_000
    X = rows_of(law, sample(law, n, rng), q, b, s)
    z = (X.mean(0) - np.r_[moments.T[0], moments.activity]) / (X.std(0) / n**0.5)
    assert np.abs(z).max() < 5  # 61 statistics, three seeds: chance 1e-4
    # variance of a variance of a bounded variable: at most E X^4/n
    V, spread = X.var(0)[:60], (X**2).std(0)[:60] / n**0.5
    assert (np.abs(V - moments.variance[0]) / spread).max() < 5
    total = X[:, :5].sum(1)
    error = 5 * (total**2).std() / n**0.5
    assert total.var() == pytest.approx(moments.sum_variance[0], abs=error)


def test_order_of_background_patterns_and_of_neurons_does_not_matter():
    law = PatternLaw.hard_instance(D=30, k=3, p_o=0.4)
    Q, b = neurons(law, 4, 0.5)
    moments = gradient_moments(law, Q, b, 0.1)
    columns = np.r_[0, 2, 1, np.random.default_rng(0).permutation(27) + 3]
    moved = gradient_moments(law, Q[::-1, columns], b[::-1], 0.1)
    np.testing.assert_allclose(moved.T, moments.T[::-1, columns], rtol=0, atol=1e-13)
    np.testing.assert_allclose(moved.variance, moments.variance[::-1, columns], atol=1e-13)


def test_series_is_the_function_on_its_whole_reach_and_for_its_square():
    z = np.linspace(-3, 3, 301)
    for s, power in product([0.5, 0.01], [1, 2]):
        t, c = step_series(s, 3.0, power)
        series = (np.exp(1j * np.outer(z, t)) @ c).real
        np.testing.assert_allclose(series, smoothed_step(z, s) ** power, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"Q": np.zeros((2, 7))}, r"Q has shape \(2, 7\)"),
        ({"b": np.zeros(3)}, r"b \(3,\)"),
        ({"Q": np.full((2, 8), np.nan)}, "Q holds nan"),
        ({"s": 0.0}, "s is 0.0"),
        ({"law": PatternLaw.majority(D=15, k=15, p_o=0.5), "Q": np.zeros((2, 15))}, "k is 15"),
    ],
)
def test_bad_input_is_named(change, says):
    right = {
        "law": PatternLaw.majority(8, 3, 0.5),
        "Q": np.zeros((2, 8)),
        "b": np.zeros(2),
        "s": 0.1,
    }
    with pytest.raises(ValueError, match=says):
        gradient_moments(**(right | change))
