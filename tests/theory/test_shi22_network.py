"""Lemma 4: the explicit network has no loss, for every P, at every pattern."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gradfeat.theory.bounds import explicit_network
from gradfeat.theory.patterns import PatternLaw


def codes_of(law: PatternLaw, phi: np.ndarray) -> np.ndarray:
    return (phi - law.means) / law.sigma


@pytest.mark.parametrize("k", range(1, 7))
def test_hinge_loss_is_exactly_zero_for_every_P_at_every_pattern(k):
    phi = np.array(list(product([0, 1], repeat=k + 2)))
    s = phi[:, :k].sum(1)
    for keep in product([0, 1], repeat=k + 1):
        law = PatternLaw.uniform(D=k + 2, k=k, P=np.flatnonzero(keep).tolist())
        net = explicit_network(law)
        y = np.array(law.labels)[s]
        f = net(codes_of(law, phi))
        assert np.maximum(0, 1 - y * f).max() == 0
        # 3(k+1) terms of size up to 32 k, each rounded
        np.testing.assert_allclose(f, 2 * y, rtol=0, atol=3 * (k + 1) * 32 * k * 2e-16)


@pytest.mark.parametrize("p_o", [0.1, 0.5])
def test_it_fits_laws_with_any_rate_in_and_outside_A(p_o):
    law = PatternLaw(9, 4, p_o, (0.1, 0.0, 0.2, 0.1, 0.6), (1, 1, -1, 1, -1))
    phi = np.array(list(product([0, 1], repeat=9)))
    y = np.array(law.labels)[phi[:, :4].sum(1)]
    assert (y * explicit_network(law)(codes_of(law, phi)) >= 1).all()


def test_neurons_are_as_many_as_the_lemma_says_and_along_the_truth():
    law = PatternLaw.hard_instance(D=100, k=5, p_o=0.5)
    net = explicit_network(law)
    assert net.Q.shape == (18, 100)
    assert np.abs(net.a).max() <= 32 * 5
    M = np.linalg.qr(np.random.default_rng(0).standard_normal((120, 100)))[0]
    W, u = net.weights(M), M[:, :5].sum(1)
    cosines = W @ u / (np.linalg.norm(W, axis=1) * np.linalg.norm(u))
    np.testing.assert_allclose(cosines, 1, rtol=1e-12)  # rounding of 100-term sums


def test_truncation_never_acts_and_matters_beyond():
    law = PatternLaw.hard_instance(D=10, k=5, p_o=0.5)
    net = explicit_network(law)
    ends = codes_of(law, np.array([[0] * 10, [1] * 10]))
    assert (ends @ net.Q.T + net.b).max() < 1
    far = net(1000 * np.ones((1, 10)))
    assert far == pytest.approx(0.0)  # all neurons at 1: the three of each p cancel
