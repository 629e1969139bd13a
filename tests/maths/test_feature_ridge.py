"""Ridge on features beside columns without penalty: optimality, and both Gram matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from gradfeat.maths.feature_ridge import feature_ridge, ridge_fit
from gradfeat.maths.linear_algebra import smaller_gram

SHAPES = [(40, 25), (25, 40), (30, 30)]


def problem(n, m):
    gen = torch.Generator().manual_seed(7)
    F, U, y = (torch.randn(n, k, generator=gen, dtype=torch.float64) for k in (m, 3, 2))
    return F, 50 * U + F[:, :3], y


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_the_smaller_gram_matrix(n, m):
    F, _, _ = problem(n, m)
    whole = F.T @ F if m <= n else F @ F.T
    for given in (F, F.T.contiguous().T):  # rows or columns first in memory
        # Entries near 100, sums of 40 terms.
        assert float((smaller_gram(given) - whole).triu().abs().max()) < 1e-12


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_the_fit_is_that_of_scikit_learn(n, m):
    F, _, y = problem(n, m)
    found = ridge_fit(F, y, 0.1)
    other = Ridge(0.1 * n, fit_intercept=False).fit(F.numpy(), y.numpy())
    # Condition about 100.
    np.testing.assert_allclose(found.a, other.coef_.T, rtol=0, atol=1e-12)
    error = (y - F @ found.a).square().mean(0)
    torch.testing.assert_close(found.error, error, rtol=1e-12, atol=0)
    loss = error + 0.1 * found.a.square().sum(0)
    torch.testing.assert_close(found.loss, loss, rtol=1e-12, atol=0)
    assert found.b.shape == (0, 2)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_a_fit_with_columns_is_stationary_for_every_nested_set(n, m):
    F, U, y = problem(n, m)
    fits = feature_ridge(F, 0.1).fit_nested(U, y)
    assert [len(fit.b) for fit in fits] == [0, 1, 2, 3]
    for k, fit in enumerate(fits):
        rest = y - F @ fit.a - U[:, :k] @ fit.b
        # Gradients of sums of 40 terms, columns near 50.
        assert float((F.T @ rest / n - 0.1 * fit.a).abs().max()) < 1e-12
        assert float((U[:, :k].T @ rest / n).abs().sum()) < 1e-10
        torch.testing.assert_close(fit.error, rest.square().mean(0), rtol=1e-11, atol=0)
        loss = fit.error + 0.1 * fit.a.square().sum(0)
        torch.testing.assert_close(fit.loss, loss, rtol=1e-11, atol=0)
    losses = torch.stack([fit.loss for fit in fits])
    assert bool((losses[1:] < losses[:-1]).all())
    torch.testing.assert_close(
        feature_ridge(F, 0.1).fit_nested(U, y)[-1].b, fits[-1].b, rtol=0, atol=0
    )


def test_columns_without_penalty_are_the_limit_of_large_ones():
    F, U, y = problem(40, 25)
    large = ridge_fit(torch.cat([F, 1e4 * U], 1), y, 0.1)
    # The penalty left on b is 0.1 / 1e8 of columns of size 50.
    torch.testing.assert_close(
        1e4 * large.a[25:], feature_ridge(F, 0.1).fit_nested(U, y)[-1].b, rtol=1e-6, atol=1e-9
    )


def test_what_cannot_be_solved_is_refused_in_words():
    F, U, y = problem(40, 25)
    with pytest.raises(ValueError, match=r"lam is -1\.0: give a penalty of 0 or more"):
        ridge_fit(F, y, -1.0)
    twice = torch.cat([F, F[:, :1]], 1)
    with pytest.raises(np.linalg.LinAlgError, match=r"40 x 26 features plus n lam .* lam = 0:"):
        ridge_fit(torch.zeros_like(twice), y, 0.0)
    for bad in (float("nan"), float("inf"), 1e200):
        twice[3, 4] = bad
        with pytest.raises(np.linalg.LinAlgError, match="see that the squares of the features are"):
            ridge_fit(twice, y, 0.1)
    with pytest.raises(np.linalg.LinAlgError, match="column 3 of those without penalty"):
        feature_ridge(F, 0.1).fit_nested(torch.cat([U[:, :2], U[:, :2].sum(1, keepdim=True)], 1), y)
