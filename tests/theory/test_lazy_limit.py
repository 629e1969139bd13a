"""Both ends of a network's output scale: simulated kernel flow, the bound on any network."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradfeat.theory.kernel_curve import ridge_risk
from gradfeat.theory.kernel_flow import flow_risk, kernel_growth_bound, lazy_loss
from gradfeat.theory.zonal_spectrum import ZonalSpectrum


def quadratic(z):
    return (z + (z * z - 1) / math.sqrt(2)) / math.sqrt(2)


def sphere(rng, n, d):
    X = rng.standard_normal((n, d))
    return X * math.sqrt(d) / np.linalg.norm(X, axis=1, keepdims=True)


def flow_loss(n, d, time, noise, seed):
    """Of the tangent kernel of a wide network, divided by its scale, after flow for `time`."""
    n_test = 600
    rng = np.random.default_rng(seed)
    X = sphere(rng, n + n_test, d)
    cosine = np.clip(X @ X[:n].T / d, -1, 1)
    t = np.arccos(cosine)
    head = (np.sin(t) + (math.pi - t) * cosine) / (2 * math.pi)
    K = head + (math.pi - t) / (2 * math.pi) * (1 + d * cosine)
    y = quadratic(X[:, 0])
    e, U = np.linalg.eigh(K[:n])
    learned = -np.expm1(-2 * time * e / n) / e
    fitted = U @ (learned * (U.T @ (y[:n] + noise * rng.normal(size=n))))
    return np.square(K[n:] @ fitted - y[n:]).mean()


@pytest.mark.parametrize(
    ("n", "d", "time", "noise"),
    [(60, 10, 2_000, 0.0), (150, 20, 30.0, 0.0), (200, 20, 3.0, 0.5), (60, 40, 1_000, 0.0),
     (150, 5, 0.3, 0.0), (150, 5, 3.0, 0.0), (150, 5, 30.0, 0.0), (150, 5, 3.0, 0.5)],
)  # fmt: skip
def test_the_loss_is_that_of_simulated_kernel_flow(n, d, time, noise):
    """20 draws; 3 % for n of a few tens."""
    found = np.array([flow_loss(n, d, time, noise, seed) for seed in range(20)])
    expected = lazy_loss(quadratic, d, n, time, noise)
    assert abs(found.mean() - expected) < 4 * found.std() / 20**0.5 + 0.03 * expected


def test_long_flow_is_ridge_without_a_penalty_and_none_learns_nothing():
    spectrum, shares = ZonalSpectrum((1.0, 8.0, 20.0), (0.5, 0.2, 0.02), 0.3), (0.2, 1.0, 0.5)
    said = {"noise": 0.4, "beyond": 0.1}
    long, none = (flow_risk(spectrum, shares, 60, time=time, **said) for time in (1e7, 1e-7))
    assert long == pytest.approx(ridge_risk(spectrum, shares, 60, ridge=0.0, **said), rel=1e-6)
    assert none == pytest.approx(1.8, rel=1e-6)


def test_less_time_is_more_penalty():
    loss = [lazy_loss(quadratic, 20, 150, time) for time in (3.0, 30.0, 3_000.0)]
    assert loss[0] > 1.1 * loss[1] > 1.1 * loss[2]


@pytest.mark.parametrize("seed", range(4))
def test_no_network_has_a_smaller_kernel_than_the_bound(seed):
    """E k(x, x) of any network, and one unbiased neuron with the best balance, which is near it."""
    rng, d, m = np.random.default_rng(seed), 6, 5
    X = sphere(rng, 20_000, d)
    W, b, a = rng.normal(size=(m, d)), rng.normal(size=m), rng.normal(size=m)
    if seed == 0:  # one neuron: Cauchy and Schwarz lose sqrt(2/pi) sqrt(2) of it alone
        W, b, a = W[:1], np.zeros(1), np.ones(1)
        a *= np.linalg.norm(W) / math.sqrt(d + 1)
    Z = X @ W.T + b
    relu = np.maximum(Z, 0)
    kernel = (np.square(relu).sum(1) + (d + 1) * (a**2 * (Z > 0)).sum(1)).mean()
    size = abs(relu @ a).mean()
    bound = kernel_growth_bound(d, 1.0, size) * (d + 2) / 2  # times E k_0(x, x)
    assert kernel >= bound
    if seed == 0:
        assert bound > 0.7 * kernel


def test_arguments_below_zero_are_refused():
    with pytest.raises(ValueError, match=r"time is 0\.0: give a finite number above 0"):
        lazy_loss(quadratic, 20, 10, 0.0)
    with pytest.raises(ValueError, match="scale is"):
        kernel_growth_bound(20, 0.0, 1.0)


@pytest.mark.parametrize(("n", "time"), [(20, 0.0), (20, -1.0), (20, float("inf")), (0, 1.0)])
def test_flow_of_no_rows_or_for_no_time_is_refused_in_a_sentence(n: float, time: float):
    with pytest.raises(ValueError, match="give a finite number above 0"):
        flow_risk(ZonalSpectrum((1.0, 10.0), (0.0, 1.0)), (0.0, 1.0), n, time=time)
