"""The permutation test of the first gradient: power and level."""

from __future__ import annotations

import pytest
import torch

from gradfeat.models.first_gradient import first_gradient_test
from gradfeat.models.gradient_step import GradientStep

SMALL = GradientStep(32)


@pytest.mark.parametrize(
    ("target", "informative"),
    [(lambda z: z, True), (lambda z: z**2 - 1, True), (lambda z: z**3 - 3 * z, False)],
)
def test_verdict_by_information_exponent(target, informative):
    X = torch.randn(1500, 20, generator=torch.Generator().manual_seed(1)).double()
    assert first_gradient_test(X, target(X[:, :1]), learner=SMALL).informative == informative


def test_false_positives_on_noise_are_within_the_level():
    hits = 0
    for seed in range(40):
        g = torch.Generator().manual_seed(100 + seed)
        X, y = torch.randn(200, 5, generator=g).double(), torch.randn(200, 1, generator=g).double()
        hits += first_gradient_test(X, y, permutations=79, seed=seed, learner=SMALL).informative
    # 5 % of 40 is 2; z = 3 standard errors of sqrt(40 x .05 x .95) = 1.38 above is 6.1.
    assert hits <= 6
