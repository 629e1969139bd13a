"""Order parameters of committee machines: moments by Monte Carlo, special cases, the path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

from gradfeat.theory.committee import committee_error, committee_flow, committee_path


def fields(K, M, n, seed):
    rng = np.random.default_rng(seed)
    A = 0.5 * rng.standard_normal((K + M, K + M + 2))
    C = A @ A.T
    return C[:K, :K], C[:K, K:], C[K:, K:], rng.standard_normal((n, K + M + 2)) @ A.T, rng


@pytest.mark.parametrize(("K", "M", "noise"), [(1, 1, 0.0), (2, 3, 0.0), (3, 2, 0.7)])
def test_flow_and_error_are_moments_of_gaussian_fields(K, M, noise):
    n, eta = 400_000, 0.6
    Q, R, T, Z, rng = fields(K, M, n, K + M)
    g = erf(Z / 2**0.5)
    left = g[:, K:].sum(1) - g[:, :K].sum(1)
    delta = (2 / np.pi) ** 0.5 * np.exp(-(Z[:, :K] ** 2) / 2)
    delta *= (left + noise * rng.standard_normal(n))[:, None]
    flow = committee_flow(Q, R, T, eta, noise)

    def close(values, expected):
        assert abs(values.mean() - expected) < 4.5 * values.std() / n**0.5

    close(left**2 / 2, committee_error(Q, R, T))
    for i in range(K):
        for m in range(M):
            close(eta * delta[:, i] * Z[:, K + m], flow.R[i, m])
        for k in range(K):
            both = delta[:, i] * Z[:, k] + delta[:, k] * Z[:, i]
            close(eta * both + eta**2 * delta[:, i] * delta[:, k], flow.Q[i, k])


def test_a_student_that_is_the_teacher_stays_there():
    T = np.array([[1.0, 0.3], [0.3, 0.8]])
    flow = committee_flow(T, T, T, 1.0)
    assert committee_error(T, T, T) == pytest.approx(0, abs=1e-15)
    assert max(abs(flow.Q).max(), abs(flow.R).max()) < 1e-14


def test_units_may_change_places_and_the_path_ends_at_the_teacher():
    Q, R, T = 0.5 * np.eye(2), np.array([[0.2, 0.0], [0.0, 0.1]]), np.eye(2)
    path = committee_path(Q, R, T, 1.0, [0.0, 20.0, 150.0])
    swapped = committee_path(Q, R[::-1], T, 1.0, [0.0, 20.0, 150.0])
    np.testing.assert_allclose(path.R[1], swapped.R[1][::-1], atol=1e-7)
    assert committee_error(path.Q[1], path.R[1], T) > 0.01  # the plateau
    assert committee_error(path.Q[2], path.R[2], T) < 1e-4


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"give \(K, K\), \(K, M\) and \(M, M\)"):
        committee_error(np.eye(2), np.ones((3, 1)), np.eye(1))
