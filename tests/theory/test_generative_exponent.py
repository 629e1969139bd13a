"""What transforms of a label show: closed forms, Monte Carlo, and targets made to hide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from gradfeat.maths.hermite import HermiteSeries, orthonormal_hermite
from gradfeat.theory.generative_exponent import generative_exponent, label_strengths


def hidden_until_4(z):
    return z**2 * np.exp(-(z**2))


def signs_of_degree_3(z):
    """E |z| sign(z^2 - c) = 0 at exp(-c/2) = 1/2, so E y z = 0."""
    return np.sign(z * (z**2 - 2 * math.log(2)))


@pytest.mark.parametrize(
    ("g", "information", "generative"),
    [
        (HermiteSeries((0, 1)), 1, 1),
        (HermiteSeries((0, 0, 1)), 2, 2),
        (HermiteSeries((0, 0, 0, 1)), 3, 1),
        (HermiteSeries((0, 0, 0, 0, 1)), 4, 2),
        (HermiteSeries((0, 0, 0, 0, 0, 1)), 5, 1),
        (HermiteSeries((0, 0, 0.5, 0, 0.1)), 2, 2),
        (HermiteSeries((0, 0, 0.5, 0.1)), 2, 1),
        (HermiteSeries((3.0,)), None, None),
    ],
)
def test_polynomials_have_1_unless_they_are_even(g, information, generative):
    assert (g.information_exponent(), generative_exponent(g)) == (information, generative)


def test_targets_that_no_transform_shows_at_low_degrees():
    assert generative_exponent(hidden_until_4) == 4
    assert generative_exponent(signs_of_degree_3) == 3
    assert generative_exponent(np.sign) == 1
    assert generative_exponent(lambda z: 0 * z) is None


def cubic_strengths():
    """Of He_3: three inputs 2 cos(t + 2 pi j/3) have the label 2 cos(3 t), one those beyond 2."""
    t = (np.arange(4_000) + 0.5) * math.pi / 4_000
    z = 2 * np.cos((t[:, None] + 2 * math.pi * np.arange(3)) / 3)
    share = np.exp(-(z**2) / 2) * (np.sin(t)[:, None] / np.abs(3 * z**2 - 3)) / 1_000
    met = np.einsum("tj,tjk->tk", share, orthonormal_hermite(4, z)) * math.sqrt(math.pi / 8)
    outer = np.arange(2.00005, 9, 1e-4)
    alone = 1e-4 * np.exp(-(outer**2) / 2) * math.sqrt(2 / math.pi)
    inner = (met**2 / met[:, :1]).sum(0)
    return (inner + alone @ orthonormal_hermite(4, outer) ** 2)[1:]


def test_slices_end_where_a_density_jumps():
    found, known = label_strengths(HermiteSeries((0, 0, 0, 1)), 4), cubic_strengths()
    assert (found <= known).all()
    assert found == pytest.approx(known, rel=1e-3)


@pytest.mark.parametrize(
    ("noise", "known"),  # by integrals over 12,000 labels and 20,000 inputs
    [(0.125, (0.63252, 0.60535, 0.99769, 0.70264)), (0.5, (0.52874, 0.55353, 0.96767, 0.67776))],
)
def test_slices_are_fine_where_labels_are_far_apart(noise, known):
    found = label_strengths(HermiteSeries((0, 0, 0, 1)), 4, noise=noise)
    assert (found <= known).all()
    assert found == pytest.approx(known, rel=5e-3)


def test_a_jump_and_noise_show_no_even_degree():
    found = label_strengths(np.sign, 4, noise=0.05)
    assert found == pytest.approx([2 / math.pi, 0, 1 / (3 * math.pi), 0], rel=5e-3, abs=1e-12)


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
def test_a_linear_target_has_powers_of_its_share_of_the_variance(noise):
    known = (1 / (1 + noise**2)) ** np.arange(1, 5)
    found = label_strengths(lambda z: z, 4, noise=noise)
    assert (found <= known + 1e-9).all()  # slices lose, they do not add
    assert found == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("g", [HermiteSeries((0, 0, 0, 6**-0.5)), HermiteSeries((0, 0, 0.5, 0.2))])
def test_strengths_are_those_of_simulated_slices(g, noise):
    draw = np.random.default_rng(0)
    z = draw.standard_normal(400_000)
    y = g(z) + noise * draw.standard_normal(len(z))
    ends = np.quantile(y, ndtr(np.arange(-4.2, 4.2, 0.03)))  # narrow ones in the tails
    slices = np.searchsorted(ends, y)
    sizes = np.bincount(slices)
    features = orthonormal_hermite(3, z)[:, 1:]
    sums, squares = (
        np.stack([np.bincount(slices, f) for f in of.T], 1)[sizes > 1]
        for of in (features, features**2)
    )
    size = sizes[sizes > 1, None]
    unbiased = (sums**2 - squares) / (size - 1) / len(z)
    # Four standard errors of 400,000 rows are about 3 % (k = 4 would ask for more in the tails).
    assert unbiased.sum(0) == pytest.approx(label_strengths(g, 3, noise=noise), rel=0.03, abs=0.005)


def test_no_transform_gives_more():
    """T(y) = y, y^2, |y|, 1{y > 1} of a target: E[T He_k]^2/(k! Var T) is at most lambda_k^2."""
    g = HermiteSeries((0, 0.3, 0.5, 0.4))
    z = np.linspace(-9, 9, 20_001)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    most = label_strengths(g, 4)
    for T in (lambda y: y, np.square, np.abs, lambda y: (y > 1) * 1.0):
        values = T(g(z)) - weights @ T(g(z))
        seen = (weights * values) @ orthonormal_hermite(4, z)[:, 1:]
        assert (seen**2 / (weights @ values**2) <= most + 2e-3).all()


@pytest.mark.parametrize(
    ("g", "k_max", "noise", "words"),
    [
        (lambda z: z, 0, 0.0, "k_max is 0"),
        (lambda z: z, 2, -1.0, "noise is -1.0"),
        (lambda z: np.where(z > 8, np.nan, z), 2, 0.0, "not finite"),
    ],
)
def test_what_cannot_be_is_refused(g, k_max, noise, words):
    with pytest.raises(ValueError, match=words):
        label_strengths(g, k_max, noise=noise)
