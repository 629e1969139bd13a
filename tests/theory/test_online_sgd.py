"""Law of one step of online SGD on the sphere, and hitting times, against simulated inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from gradfeat.catalogue.benarous21_times import batch
from gradfeat.theory.online_sgd import SphereSGD, step_size, time_exponent

#: Degree, inputs, constant and exponent of lambda = d^power.
SETTINGS = [(2, 12, 0.3, 0.0), (3, 30, 0.3, 0.0), (3, 40, 0.2, 0.25), (4, 20, 0.2, 0.25)]


def sgd_of(k, d, c, power):
    lam = d**power if power else 0.0
    return SphereSGD(k, d, step_size(k, d, c, lam), lam)


def link(k, z):
    return hermite_e.hermeval(z, np.eye(k + 1)[k]) / math.sqrt(math.factorial(k))


@pytest.mark.parametrize(
    ("k", "d", "c", "power", "m"),
    [*((*one, m) for one in SETTINGS for m in (0.1, 0.6)), (4, 10, 30.0, 0.0, 0.9)],
)
def test_moments_of_a_step_are_those_of_whole_inputs(k, d, c, power, m):
    sgd, n = sgd_of(k, d, c, power), 60_000
    x = np.random.default_rng(k + d).standard_normal((n, d))
    w = np.r_[m, math.sqrt(1 - m * m), np.zeros(d - 2)]
    across = x - np.outer(x @ w, w)
    g = link(k, x[:, 0]) * sgd.slope(x @ w, np.square(across).sum(1))
    moved = w + sgd.eta * g[:, None] * across
    step = moved[:, 0] / np.linalg.norm(moved, axis=1) - m
    for value, expected in zip((step, step**2), sgd.moments(m), strict=True):
        assert abs(value.mean() - expected) < 4 * value.std() / math.sqrt(n)


@pytest.mark.parametrize(("k", "power"), [(2, 0.0), (3, 0.0), (3, 0.25), (4, 0.25), (5, 0.25)])
def test_the_signal_is_the_drift_to_first_order(k, power):
    d, m = 50, np.array([-0.5, 0.2, 0.7])
    lam = d**power if power else 0.0
    drift, _ = SphereSGD(k, d, 1e-7, lam).moments(m)
    np.testing.assert_allclose(drift / 1e-7, SphereSGD(k, d, 1.0, lam).signal(m), rtol=1e-3)
    if not power:
        np.testing.assert_allclose(SphereSGD(k, d, 1.0).signal(m), k * m ** (k - 1) * (1 - m**2))


@pytest.mark.parametrize(("k", "d"), [(2, 30), (3, 15), (4, 40)])
def test_the_smoothed_slope_is_that_of_an_average_over_the_sphere(k, d):
    sgd, rng = SphereSGD(k, d, 0.1, 1.5), np.random.default_rng(k)
    z = rng.standard_normal((60_000, d - 1))
    z1 = z[:, 0] / np.linalg.norm(z, axis=1)
    p, rest, h = 0.7, float(d), 1e-4

    def averaged(move: float) -> np.ndarray:
        side = math.sqrt(rest + p**2 - (p + move) ** 2)
        return link(k, (p + move + 1.5 * side * z1) / math.sqrt(1 + 1.5**2))

    slopes = (averaged(h) - averaged(-h)) / (2 * h)
    error = 4 * slopes.std() / math.sqrt(len(z1))
    assert abs(slopes.mean() - float(sgd.slope(p, rest))) < error


@pytest.mark.parametrize(("k", "d", "c", "power"), [(2, 100, 0.2, 0.0), (3, 64, 0.2, 0.25)])
def test_mean_times_are_those_of_simulated_overlaps(k, d, c, power):
    """400 seeds; theory is a diffusion, whose own error is within 5 % here."""
    found = [o["time"] for o in batch(k, d, c, power, seeds=range(400))]
    expected = sgd_of(k, d, c, power).mean_time(0.6)
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / 20 + 0.05 * expected


def test_times_are_averaged_over_starts_of_few_inputs():
    """4,000 seeds: with 12 inputs starts are spread enough to matter; 1 % for the diffusion."""
    found = [o["time"] for o in batch(2, 12, 0.05, 0.0, seeds=range(4000))]
    expected = sgd_of(2, 12, 0.05, 0.0).mean_time(0.6)
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / 4000**0.5 + 0.01 * expected


def test_times_grow_like_the_powers_of_theory():
    d = np.array([2**8, 2**10, 2**12])
    for (k, c, power), most in {
        (3, 0.3, 0.0): 0.03,
        (3, 0.2, 0.25): 0.06,
        (4, 0.2, 0.0): 0.06,
    }.items():
        times = [sgd_of(k, int(one), c, power).mean_time(0.5) for one in d]
        slope = np.polyfit(np.log(d), np.log(times), 1)[0]
        assert abs(slope - time_exponent(k, smoothed=power > 0)) < most, (k, power)


def test_a_small_step_follows_the_gradient_flow():
    """dm/ds = 2 m (1 - m^2), s = eta t: m^2/(1 - m^2) grows like exp(4 s)."""
    sgd, steps = SphereSGD(2, 50, 1e-6), np.array([0.0, 2e5, 5e5])
    m = sgd.path(0.1, steps)
    np.testing.assert_allclose(m**2 / (1 - m**2), 1 / 99 * np.exp(4e-6 * steps), rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SphereSGD(1, 10, 0.1), "k from 2 to 6"),
        (lambda: SphereSGD(2, 2, 0.1), "d of 3 or more"),
        (lambda: SphereSGD(2, 10, math.nan), "eta above 0"),
        (lambda: SphereSGD(2, 10, 0.1, -1.0), "0 or more"),
        (lambda: SphereSGD(2, 10, 0.1).mean_time(1.0), "between 0 and 1"),
        (lambda: time_exponent(0), "1 or more"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
