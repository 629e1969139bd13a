"""Tests of degrees: level, power, residuals, invariance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gradfeat.diagnostics.degree_tests import degree_test, information_exponent
from gradfeat.diagnostics.hermite_degrees import residuals_by_degree
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.streams import null_draws, p_value
from gradfeat.table.diagnose import DRAWS, statistics
from gradfeat.table.diagnosis_rows import label_slices, standard_inputs
from gradfeat.theory.generative_exponent import label_strengths


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def results_of(Z: torch.Tensor, y: torch.Tensor, k_max: int = 3, draws: int = 99):
    nulls = null_draws(len(Z), draws, seed=0)
    left = residuals_by_degree(Z, y, k_max)
    total = float(y.var(0, correction=0).sum())
    return [degree_test(Z, r, total, k, nulls) for k, r in enumerate(left, start=1)]


def test_p_values_of_noise_are_uniform():
    """Over 120 draws the share below .2 is within 4 standard errors of at most .2.

    The larger of two p-values is no smaller than either, so there are fewer, not more.
    """
    draws, below = 120, 0
    for seed in range(draws):
        Z, y = normal(60, 3, seed=seed), normal(60, 1, seed=1000 + seed)
        below += results_of(Z, y, 2, 49)[1].p_value <= 0.2
    assert 0.05 * draws <= below <= 0.2 * draws + 4 * math.sqrt(draws * 0.2 * 0.8)


TARGETS = {
    1: lambda z: z + z**2,
    2: lambda z: z**2 - 1,
    3: lambda z: z**3 - 3 * z,
}


@pytest.mark.parametrize("k", TARGETS)
def test_the_lowest_degree_is_named(k):
    Z = normal(1500, 4)
    tests = results_of(Z, TARGETS[k](Z[:, :1]), 3, 299)
    assert information_exponent(tests, 0.05) == k
    assert information_exponent(tests[: k - 1], 0.05) is None


def test_shuffles_alone_would_see_what_is_not_there():
    """y = He_4(u.x): y^2 depends on x, so estimates at lower degrees spread wider than shuffled."""
    wrong = {"shuffles": 0, "both": 0}
    for seed in range(12):
        Z = normal(1000, 4, seed=seed)
        z = Z[:, :1]
        test = results_of(Z, z**4 - 6 * z**2 + 3, 3)[2]
        wrong["shuffles"] += p_value(test.strength, test.null[0]) <= 0.05
        wrong["both"] += test.p_value <= 0.05
    # At a level of .05 there are 0.6 of 12; 4 standard errors of sqrt(12 x .05 x .95) above: 3.6.
    assert wrong["both"] <= 3 < wrong["shuffles"]


def test_a_linear_target_leaves_nothing_at_degree_two():
    """On skewed inputs x^2 is correlated with x; the linear part is taken out first."""
    Z = normal(500, 2).exp()
    Z = (Z - Z.mean(0)) / Z.std(0, correction=0)
    y = Z[:, :1] + 0.1 * normal(500, 1, seed=1)
    one, two, _ = results_of(Z, y)
    assert one.p_value == 0.01
    assert two.p_value > 0.05


def test_an_exact_fit_leaves_no_rounding_to_be_tested():
    Z = normal(300, 3)
    assert results_of(Z, Z[:, :1])[1].p_value == 1.0


def test_degrees_with_too_many_features_are_not_taken_out():
    left = residuals_by_degree(normal(60, 5), normal(60, 1, seed=1), 4)
    assert [r.removed for r in left] == [0, 1, 1, 1]  # 1 + 5 + 15 features are above 20


def test_a_linear_target_of_few_rows_and_levels_shows_no_higher_degree():
    """The powers of a level's 0 and 1 are linear in it: degree 2 is degree 1 seen again."""
    rng = np.random.default_rng(0)
    p = []
    for seed in range(10):
        levels = rng.integers(0, 3, 70)
        X = np.column_stack([levels == 0, levels == 1, rng.random((70, 5)) < 0.3]).astype(float)
        Z = standard_inputs(X).whitened
        y = torch.as_tensor(X @ [4.0, 2.0, 1.0, 0, 0, 0, 0] + rng.standard_normal(70))[:, None]
        p += [one.p_value for one in statistics(Z, y, null_draws(70, DRAWS, seed), print).tests[1:]]
    assert np.mean(np.array(p) < 0.05) < 0.2  # 30 of 5 %: above 0.2 once in 10^4 where independent


def test_the_scale_of_the_target_does_not_matter():
    Z, y = normal(200, 3), normal(200, 1, seed=1)
    one, other = (results_of(Z, s * y + m)[1] for s, m in ((1.0, 0.0), (1e6, 1e7)))
    assert one.p_value == other.p_value
    # 1e7 beside 1e6 costs one digit of sixteen.
    assert one.strength == pytest.approx(other.strength, abs=1e-9)


def test_the_critical_strength_is_where_p_reaches_the_level():
    Z, y = normal(200, 3), normal(200, 1, seed=1)
    test = results_of(Z, y)[0]
    critical = test.critical(0.05)
    assert max(p_value(critical + 1e-9, one) for one in test.null) <= 0.05
    assert max(p_value(critical - 1e-9, one) for one in test.null) > 0.05


def test_slices_show_what_functions_of_a_label_show():
    """Strengths of slices sum to lambda_k^2 of theory, less what six slices lose."""
    Z = normal(20_000, 2)
    y = Z[:, :1] ** 3 - 3 * Z[:, :1]
    slices = label_slices(y, 40)
    shares = (slices.T @ Z[:, 0] / len(Z)).square() / slices.mean(0)
    # 4 standard errors of 20,000 rows, and 40 slices of equal size lose the tails.
    assert float(shares.sum()) == pytest.approx(
        float(label_strengths(HermiteSeries((0, 0, 0, 1)), 1)[0]), rel=0.08
    )
    assert label_slices(torch.tensor([[0.0], [1.0], [1.0], [1.0]]).double(), 6).shape[1] == 2


@pytest.mark.slow
def test_shuffles_keep_the_level_of_slices():
    """y^2 depends on x and no function of y has degree 1: named at most as often as the level."""
    named = 0
    for seed in range(60):
        Z = normal(300, 3, seed=seed)
        y = (Z[:, :1] ** 2 - 1) * normal(300, 1, seed=1000 + seed).abs()
        slices = label_slices(y, 6)
        left = residuals_by_degree(Z, slices - slices.mean(0), 1)[0]
        test = degree_test(Z, left, 1.0, 1, null_draws(300, 99, seed))
        named += test.p_value <= 0.05
    assert named <= 9  # of 60 at 5 %: a larger count has probability below 0.2 %
