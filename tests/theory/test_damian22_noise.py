"""Sampling error of the first gradient against simulated gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.damian22_gradient import beyond_linear, gradient_series
from gradfeat.theory.damian22_noise import sampling_variance

NOISE = 0.7


def problem(r, degree, d, m=2):
    rng = np.random.default_rng(r + 10 * degree)
    U = np.linalg.qr(rng.standard_normal((d, r)))[0]
    return MultiHermite.random(r, degree, rng), U, rng.normal(size=(m, d)), rng


@pytest.mark.parametrize(
    ("r", "degree", "b"), [(1, 2, 0.0), (2, 3, -1.0), (3, 4, 0.5), (2, 5, 2.0)]
)
def test_known_affine_part_is_exact_at_three_rows(r, degree, b):
    g, U, W, rng = problem(r, degree, 5)
    n, trials = 3, 40_000
    x = rng.standard_normal((trials, n, 5))
    eps = NOISE * rng.choice([-1.0, 1.0], (trials, n))
    G = gradient_series(beyond_linear(g), U, W, b)
    V = sampling_variance(g, U, W, b, noise=NOISE, estimated=False)
    for j in range(len(W)):
        weight = (beyond_linear(g)(x @ U) + eps) * (x @ W[j] + b > 0)
        error = n * np.square(np.einsum("tn,tnd->td", weight, x) / n - G[j]).sum(1)
        assert abs(error.mean() - V[j]) < 4 * error.std() / math.sqrt(trials)


@pytest.mark.parametrize(("r", "degree", "b"), [(1, 2, 0.0), (2, 3, -1.0), (3, 4, 0.5)])
def test_estimated_affine_part_is_the_variance_of_the_linearised_statistic(r, degree, b):
    g, U, W, rng = problem(r, degree, 5)
    N = 200_000
    x = rng.standard_normal((N, 5))
    y = (g(x @ U) - float(g.tensor(0)) + NOISE * rng.choice([-1.0, 1.0], N))[:, None]
    beta = U @ g.tensor(1)
    V = sampling_variance(g, U, W, b, noise=NOISE)
    for j, w in enumerate(W):
        u, t = w / np.linalg.norm(w), -b / np.linalg.norm(w)
        s0, s1, s2 = stats.norm.sf(t), stats.norm.pdf(t), t * stats.norm.pdf(t)
        slope = s0 * np.eye(5) + s2 * np.outer(u, u)
        psi = (y - (x @ beta)[:, None]) * x * (x @ w + b > 0)[:, None]
        psi = psi - y * s1 * u - (y * x - beta) @ slope
        square = np.square(psi - psi.mean(0)).sum(1)
        assert abs(square.mean() - V[j]) < 4 * square.std() / math.sqrt(N)


def test_estimated_affine_part_is_that_of_simulated_gradients():
    g, U, W, rng = problem(1, 3, 5, m=1)
    n, trials = 1000, 1000
    x = rng.standard_normal((trials, n, 5))
    y = g((x @ U).reshape(-1, 1)).reshape(trials, n) + NOISE * rng.choice([-1.0, 1.0], (trials, n))
    y -= y.mean(1, keepdims=True)
    beta = np.einsum("tn,tnd->td", y, x) / n
    weight = (y - np.einsum("tnd,td->tn", x, beta)) * (x @ W[0] > 0)
    G = gradient_series(beyond_linear(g), U, W)
    error = n * np.square(np.einsum("tn,tnd->td", weight, x) / n - G).sum(1)
    V = sampling_variance(g, U, W, noise=NOISE)[0]
    # Beyond sampling: the second order, of relative size about d/n.
    assert abs(error.mean() - V) < 4 * error.std() / math.sqrt(trials) + 2 * 5 / n * V


@pytest.mark.parametrize(("estimated", "share"), [(False, 2), (True, 4)])
def test_in_many_dimensions_the_variance_is_a_half_or_a_quarter_of_the_energy(estimated, share):
    g, d = MultiHermite(((2,),), (0.6,)), 4000
    W = np.random.default_rng(0).normal(size=(3, d))
    V = sampling_variance(g, np.eye(d)[:, :1], W, noise=NOISE, estimated=estimated)
    # Corrections are of relative order (degree)^2/d.
    np.testing.assert_allclose(V, d * (g.norm_squared() + NOISE**2) / share, rtol=0.01)


@pytest.mark.parametrize("b", [0.0, 0.8, -1.5])
def test_a_linear_target_by_hand(b):
    # rho = 0: psi = -s_1 u (beta.x) - A (x x^T - I) beta, A = s_0 I + s_2 u u^T, and
    # Cov[(x x^T - I) beta] = |beta|^2 I + beta beta^T.
    u, beta = np.array([0.6, 0.8, 0.0]), np.array([1.5, 0.0, 0.0])
    s0, s1, s2 = stats.norm.cdf(b), stats.norm.pdf(b), -b * stats.norm.pdf(b)
    A = s0 * np.eye(3) + s2 * np.outer(u, u)
    expected = 1.5**2 * (s1**2 + np.sum(A**2)) + np.sum((A @ beta) ** 2)
    found = sampling_variance(MultiHermite(((1,),), (1.5,)), np.eye(3)[:, :1], u[None], b)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_all_directions_relevant_or_a_neuron_on_one_is_no_special_case():
    # The same law described by r = 1, and by r = d with a target of one variable.
    W = np.vstack([np.eye(3), [[0.3, -0.5, 2.0]]])
    one = sampling_variance(MultiHermite(((3,),), (0.4,)), np.eye(3)[:, :1], W, 0.3, noise=0.2)
    g = MultiHermite(((3, 0, 0),), (0.4,))
    np.testing.assert_allclose(sampling_variance(g, np.eye(3), W, 0.3, noise=0.2), one, rtol=1e-11)


def test_bad_noise_is_named():
    with pytest.raises(ValueError, match="noise is -1"):
        sampling_variance(MultiHermite(((2,),), (1.0,)), np.eye(2)[:, :1], np.eye(2), noise=-1.0)
