"""Singular values without a full decomposition, against a full decomposition."""

from __future__ import annotations

import pytest
import torch

from gradfeat.maths.linear_algebra import leading_singular, singular_values

SHAPES = [(120, 70), (70, 120), (60, 60)]


def spiked(n, m):
    """A Gaussian matrix (edge about 19 to 22) with two spikes."""
    gen = torch.Generator().manual_seed(0)
    F = torch.randn(n, m, generator=gen, dtype=torch.float64)
    for size in (90.0, 45.0):
        u, v = (torch.randn(k, generator=gen, dtype=torch.float64) for k in (n, m))
        F += size * torch.outer(u / u.norm(), v / v.norm())
    return F


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_all_values_are_those_of_a_decomposition(n, m):
    F = spiked(n, m)
    exact = torch.linalg.svdvals(F)
    # Squares: rounding of s_1^2 over twice the smallest value (.1 or more).
    bound = 10 * 2.2e-16 * exact[0] ** 2 / exact[-1]
    assert float((singular_values(F) - exact).abs().max()) < bound


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_leading_values_and_vectors_are_those_of_a_decomposition(n, m, k):
    F = spiked(n, m)
    U, exact, _ = torch.linalg.svd(F)
    s, u = leading_singular(F, k)
    # tol = 2e-10: squared over a relative gap of 1e-3 it is below rounding of squares.
    assert float((s - exact[:k]).abs().max()) < 1e-11 * float(exact[0])
    assert float((u.T @ u - torch.eye(k)).abs().max()) < 1e-10
    # Vectors are right to tol over a relative gap of 1e-4 or more: 2e-6, and cosines to its square.
    assert float((1 - (u * U[:, :k]).sum(0).abs()).abs().max()) < 1e-11


def test_a_small_rank_and_a_zero_matrix():
    F = torch.zeros(30, 20, dtype=torch.float64)
    assert leading_singular(F, 3)[0].tolist() == [0.0] * 3
    F[:, 0], F[0, 1] = 1.0, 2.0
    s, u = leading_singular(F, 4)
    assert float((s - torch.linalg.svdvals(F)[:4]).abs().max()) < 1e-7  # roots of rounding
    assert float((u.T @ u - torch.eye(4)).abs().max()) < 1e-10


def test_it_repeats_itself_and_leaves_the_global_generator_alone():
    state = torch.get_rng_state()
    first, second = (leading_singular(spiked(70, 50).float(), 2) for _ in range(2))
    assert torch.equal(first[1], second[1])
    assert first[0].dtype == torch.float32
    assert torch.equal(torch.get_rng_state(), state)


def test_values_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="of 4 x 3 were asked for: give 1 to 3"):
        leading_singular(torch.ones(4, 3), 4)
