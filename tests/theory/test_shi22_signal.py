"""Signal, noise and the predicted cosine of the first gradient, against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.theory.patterns import PatternLaw
from gradfeat.theory.shi22_moments import (
    gradient_moments,
    leading_signal,
    population_step,
    predicted_cosine,
    signal_to_noise,
    smoothed_step,
)

K = 5
NOISE = K**-1.5
HARD = PatternLaw.hard_instance(D=100, k=K, p_o=0.5)


def start(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The initialisation: w ~ N(0, I/k^2), b ~ N(0, 1/k^4)."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, 100)) / K, rng.standard_normal(m) / K**2


def measured_cosines(law: PatternLaw, Q: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """|cos| of each neuron's gradient over its own n rows with sum_A M_j."""
    rng = np.random.default_rng(7)
    cosines = []
    for q, c in zip(Q, b, strict=True):
        s = rng.choice(law.k + 1, size=n, p=law.probabilities)
        inside = rng.random((n, law.k)).argsort(1) < s[:, None]
        phi = np.hstack([inside, rng.random((n, law.D - law.k)) < law.p_o])
        codes = (phi - law.means) / law.sigma
        G = (np.array(law.labels)[s] * smoothed_step(codes @ q + c, NOISE)) @ codes
        cosines.append(abs(G[: law.k].sum()) / (law.k**0.5 * np.linalg.norm(G)))
    return np.array(cosines)


@pytest.mark.parametrize(("n", "median"), [(1_000, 0.94), (10_000, 0.994)])
def test_predicted_cosine_is_the_measured_one_neuron_by_neuron(n, median):
    Q, b = start(60)
    predicted = predicted_cosine(gradient_moments(HARD, Q, b, NOISE), n)
    measured = measured_cosines(HARD, Q, b, n)
    gap = measured - predicted
    # mean gap over 60 neurons: 5 standard errors, and the bias of a ratio of order 1/D
    assert abs(gap.mean()) < 5 * gap.std() / 60**0.5 + (1 - median) / 10
    # neurons differ, and the prediction knows how
    assert np.corrcoef(measured, predicted)[0, 1] > 0.5
    assert np.median(predicted) == pytest.approx(median, abs=(1 - median) / 2)  # value as printed


def test_without_structure_the_squared_cosine_is_that_of_noise():
    law = PatternLaw.uniform(D=100, k=K, P=[1, 3, 5])
    Q, b = start(200)
    predicted = predicted_cosine(gradient_moments(law, Q, b, NOISE), 1_000)
    squares = measured_cosines(law, Q, b, 1_000) ** 2
    gap = squares - predicted**2
    assert abs(gap.mean()) < 5 * gap.std() / 200**0.5
    assert predicted.max() < 0.2  # chance level 1/sqrt(D) = 0.1


def test_cosine_grows_with_rows_to_that_of_the_population():
    moments = gradient_moments(HARD, *start(20), NOISE)
    rows = [1, 100, 10_000, 10**12, np.inf]
    path = np.array([predicted_cosine(moments, n) for n in rows])
    assert (np.diff(path[1:], axis=0) > 0).all()
    T = moments.T
    direct = np.abs(T[:, :K].sum(1)) / (K**0.5 * np.linalg.norm(T, axis=1))
    np.testing.assert_allclose(path[-1], direct, rtol=1e-12)  # rounding of 100-term sums


def test_a_dead_neuron_has_no_cosine():
    moments = gradient_moments(HARD, np.zeros((1, 100)), np.array([-9.0]), NOISE)
    assert np.isnan(predicted_cosine(moments, 100)).all()


@pytest.mark.parametrize("scale", [0.01, 0.1])
def test_leading_signal_is_reached_in_proportion_to_the_weights_in_A(scale):
    Q, b = start(10)
    Q[:, :K] *= scale
    T = gradient_moments(HARD, Q, b, NOISE).T[:, :K]
    leading = leading_signal(HARD, Q, b, NOISE)[:, None]
    # first order in q_A/sigma~, with |g'| <= 0.4/s and |q_A| of a few scale/k
    bound = 5 * scale / K / HARD.sigma * 0.4 / NOISE
    assert (np.abs(T / leading - 1) < bound * HARD.gamma**-1).all()
    assert (np.abs(T / leading - 1) > 0).all()


def test_leading_signal_is_gamma_over_sigma_for_a_neuron_that_is_always_active():
    for p_o in (0.2, 0.5):
        law = PatternLaw.hard_instance(D=40, k=3, p_o=p_o)
        value = leading_signal(law, np.zeros((1, 40)), np.array([0.5]), 0.01)
        assert value[0] == pytest.approx(law.gamma / law.sigma, rel=1e-12)


def test_second_step_has_more_signal_to_noise_than_the_first():
    Q, b = start(20)
    a = np.where(np.arange(20) < 10, 1.0, -1.0)
    first = gradient_moments(HARD, Q, b, NOISE)
    again = population_step(HARD, Q, b, a, NOISE, eta=1.0)
    second = gradient_moments(HARD, *again, NOISE)
    ratio = signal_to_noise(second.T, K) / signal_to_noise(first.T, K)
    assert np.median(ratio) > 2
    assert np.median(predicted_cosine(second, np.inf)) > np.median(predicted_cosine(first, np.inf))


def test_population_step_follows_minus_the_gradient():
    Q, b = start(3)
    a = np.array([1.0, -2.0, 0.5])
    moments = gradient_moments(HARD, Q, b, NOISE)
    stepped, biases = population_step(HARD, Q, b, a, NOISE, eta=3.0)
    np.testing.assert_array_equal(stepped, 3 * a[:, None] * moments.T)
    np.testing.assert_array_equal(biases, b + 3 * a * moments.activity)


def test_signal_to_noise_without_noise_and_of_zero():
    ratio = signal_to_noise(np.array([[1.0, 0.0], [0.0, 0.0]]), 1)
    assert ratio[0] == np.inf
    assert np.isnan(ratio[1])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: signal_to_noise(np.ones((2, 3)), 3), "k is 3"),
        (lambda: predicted_cosine(gradient_moments(HARD, *start(1), NOISE), 0), "n is 0"),
        (lambda: population_step(HARD, *start(2), np.ones(3), NOISE, 1.0), r"a has shape \(3,\)"),
    ],
)
def test_bad_input_is_named(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()
