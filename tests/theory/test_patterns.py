"""Constants of the pattern laws against enumeration, and the best linear accuracy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gradfeat.theory.patterns import PatternLaw, best_linear_accuracy, best_threshold_accuracy

LAWS = [
    PatternLaw.hard_instance(D=8, k=5, p_o=0.3),
    PatternLaw.majority(D=9, k=4, p_o=0.2),
    PatternLaw.uniform(D=6, k=3, P=[0, 2]),
    PatternLaw(7, 2, 0.4, (0.2, 0.5, 0.3), (1, -1, 1)),
]


def patterns_of(law: PatternLaw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All patterns of A (2^k, k), their probabilities and their labels."""
    phi = np.array(list(product([0, 1], repeat=law.k)))
    s = phi.sum(1)
    sizes = np.bincount(s)
    return phi, np.array(law.probabilities)[s] / sizes[s], np.array(law.labels)[s]


@pytest.mark.parametrize("law", LAWS)
def test_constants_are_those_of_the_enumerated_law(law):
    phi, p, y = patterns_of(law)
    rate = p @ phi
    variance = rate * (1 - rate)
    background = (law.D - law.k) * law.p_o * (1 - law.p_o)
    # rounding of sums of at most 32 terms below 1
    np.testing.assert_allclose(rate, law.rate, rtol=0, atol=1e-14)
    np.testing.assert_allclose((p * y) @ phi - (p @ y) * rate, law.gamma, rtol=0, atol=1e-14)
    assert law.sigma == pytest.approx(np.sqrt(variance.sum() + background), rel=1e-14)
    assert law.balance == pytest.approx(p @ (y > 0), abs=1e-14)
    assert law.means.tolist() == [law.rate] * law.k + [law.p_o] * (law.D - law.k)


@pytest.mark.parametrize("p_o", [0.1, 0.5])
@pytest.mark.parametrize("k", [3, 5, 7])
def test_hard_instance_is_balanced_with_its_gamma(k, p_o):
    law = PatternLaw.hard_instance(D=20, k=k, p_o=p_o)
    assert law.gamma == pytest.approx((1 - p_o) / 2, abs=1e-14)
    assert law.balance == pytest.approx(0.5, abs=1e-14)
    flipped = np.ones(k) - 2 * (np.arange(k) < (k % 4 == 3))
    # rounding of sums of at most 2^7 terms below 1
    assert best_over_weights(law, flipped[None]) == pytest.approx(
        best_linear_accuracy(k, p_o), abs=1e-12
    )


@pytest.mark.parametrize("k", [3, 5, 7, 9])
def test_thresholds_of_s_are_best_only_for_k_of_1_mod_4(k):
    law = PatternLaw.hard_instance(D=20, k=k, p_o=0.5)
    gap = best_linear_accuracy(k, 0.5) - best_threshold_accuracy(law)
    assert (gap > 1e-3) == (k % 4 == 3)
    assert gap > -1e-14


def best_over_weights(law: PatternLaw, weights: np.ndarray) -> float:
    """Largest accuracy over all thresholds and orientations of phi_A . w, for rows w."""
    phi, p, y = patterns_of(law)
    best = 0.0
    for score in weights @ phi.T:
        cuts = np.unique(score)
        predicted = np.where(score >= cuts[:, None], 1, -1)
        best = max(best, np.abs((predicted * y) @ p).max(), abs(p @ y))
    return (1 + best) / 2


def test_no_linear_function_of_three_patterns_beats_the_formula():
    # integer weights up to 2 give every halfspace of three variables
    weights = np.array(list(product(range(-2, 3), repeat=3)))
    law = PatternLaw.hard_instance(D=4, k=3, p_o=0.5)
    assert best_over_weights(law, weights) == pytest.approx(best_linear_accuracy(3, 0.5))


def test_no_random_linear_function_of_five_patterns_beats_27_of_32():
    weights = np.random.default_rng(0).standard_normal((300, 5))
    law = PatternLaw.hard_instance(D=6, k=5, p_o=0.5)
    assert best_over_weights(law, np.vstack([weights, np.ones(5)])) == pytest.approx(27 / 32)
    assert best_over_weights(law, weights) <= 27 / 32 + 1e-12


def test_weights_of_both_signs_beat_thresholds_of_s_where_labels_are_not_monotone():
    law = PatternLaw(3, 2, 0.5, (0.3, 0.4, 0.3), (-1, 1, -1))
    assert best_threshold_accuracy(law) == pytest.approx(0.7)
    assert best_over_weights(law, np.array([[1, -1]])) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: PatternLaw.hard_instance(D=10, k=4, p_o=0.5), "k is 4"),
        (lambda: PatternLaw.hard_instance(D=4, k=5, p_o=0.5), "k is 5 and D is 4"),
        (lambda: PatternLaw.majority(D=4, k=3, p_o=1.0), "p_o is 1.0"),
        (lambda: PatternLaw.uniform(D=4, k=3, P=[4]), r"P is \[4\]"),
        (lambda: PatternLaw(4, 2, 0.5, (0.5, 0.5), (1, 1)), "2 probabilities and 2 labels"),
        (lambda: PatternLaw(4, 1, 0.5, (0.5, 0.6), (1, 1)), "sum to 1"),
        (lambda: PatternLaw(4, 1, 0.5, (0.5, 0.5), (1, 0)), "-1 or"),
    ],
)
def test_bad_input_is_named(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()
