"""Kernels, features and strengths of Hermite degrees against their definitions."""

from __future__ import annotations

import math

import pytest
import torch

from gradfeat.diagnostics.degree_tests import (
    _through_features,
    _through_kernel,
    degree_strength,
    hermite_kernels,
)
from gradfeat.diagnostics.direction_count import gradient_coefficients
from gradfeat.diagnostics.hermite_degrees import (
    axes_of,
    degree_coefficients,
    feature_count,
    hermite_features,
)
from gradfeat.maths.hermite import hermite
from gradfeat.maths.multi_indices import multi_indices

# Products of a few terms of size below 1e4 are off by rounding times their size.
CLOSE = {"rtol": 1e-11, "atol": 1e-10}


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_definition(X: torch.Tensor, Z: torch.Tensor, k: int) -> torch.Tensor:
    """sum_{|alpha| = k} He_alpha(x) He_alpha(z) / alpha!, a multi-index at a time."""
    tables = [torch.as_tensor(hermite(k, T.numpy())) for T in (X, Z)]
    total = torch.zeros(len(X), len(Z), dtype=torch.float64)
    for alpha in multi_indices(X.shape[1], k):
        x, z = (math.prod(T[:, i, a] for i, a in enumerate(alpha)) for T in tables)
        total += torch.outer(x, z) / math.prod(map(math.factorial, alpha))
    return total


@pytest.mark.parametrize("k", range(7))
@pytest.mark.parametrize("d", [1, 3])
def test_the_kernel_is_the_sum_over_multi_indices(d, k):
    X, Z = normal(4, d), normal(5, d, seed=1)
    squares = X.square().sum(1)[:, None] + Z.square().sum(1)
    kernel = hermite_kernels(X @ Z.T, squares, d, 6)[k]
    torch.testing.assert_close(kernel, by_definition(X, Z, k), **CLOSE)


@pytest.mark.parametrize("k", range(5))
def test_features_multiply_to_the_kernel(k):
    X = normal(6, 3)
    features = hermite_features(X, axes_of(3, k))
    assert len(features) == feature_count(3, k)
    torch.testing.assert_close(features.T @ features, by_definition(X, X, k), **CLOSE)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_gradient_coefficients_are_those_of_the_gradient(k):
    d, x = 3, normal(5, 3)
    c = normal(feature_count(d, k), 2, seed=2)
    G = gradient_coefficients(c, d, k)
    step = 1e-5
    for a in range(d):
        shift = torch.zeros(d, dtype=torch.float64)
        shift[a] = step
        ends = [hermite_features(x + s * shift, axes_of(d, k)).T @ c for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2 * step)
        found = hermite_features(x, axes_of(d, k - 1)).T @ G[:, a].T
        # Central differences: step^2 times third derivatives, of size below 1e3.
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_both_paths_to_the_sum_over_pairs_agree(k):
    Z, Y = normal(60, 3), normal(60, 2, seed=1)
    ways = [f(Z, Y, k) for f in (_through_features, _through_kernel)]
    torch.testing.assert_close(*ways, rtol=1e-9, atol=1e-7)  # sums of 3,600 terms below 1e3


def test_the_strength_is_the_sum_over_pairs():
    Z, y = normal(7, 2), normal(7, 1, seed=1)
    K = by_definition(Z, Z, 3).fill_diagonal_(0)
    expected = (y.T @ K @ y)[0] / 42
    torch.testing.assert_close(degree_strength(Z, y, 3), expected, **CLOSE)


def test_strengths_are_unbiased():
    """y = He_1/2 + He_3/sqrt 24 in one direction: shares 1/4 and 1/4 at degrees 1 and 3."""
    draws, found = 200, []
    for seed in range(draws):
        Z = normal(50, 3, seed=seed)
        z = Z[:, :1]
        y = z / 2 + (z**3 - 3 * z) / math.sqrt(24)
        found.append([float(degree_strength(Z, y, k)) for k in (1, 2, 3)])
    values = torch.tensor(found)
    z_scores = (values.mean(0) - torch.tensor([0.25, 0.0, 0.25])) / (values.std(0) / draws**0.5)
    assert float(z_scores.abs().max()) < 4


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_rotation_changes_nothing(k):
    Z, Y = normal(80, 4), normal(80, 2, seed=1)
    Q = torch.linalg.qr(normal(4, 4, seed=2))[0]
    rotated = degree_strength(Z @ Q, Y, k)
    torch.testing.assert_close(degree_strength(Z, Y, k), rotated, rtol=1e-9, atol=1e-9)


def test_coefficients_are_those_of_a_series():
    """Of y = phi_alpha itself they are 1 at alpha and 0 elsewhere, within 4 standard errors."""
    Z = normal(20_000, 3)
    axes = axes_of(3, 2)
    F = hermite_features(Z, axes)
    c = degree_coefficients(Z, F.T, 2)
    error = (F[:, None] * F).std(2) / len(Z) ** 0.5
    assert float(((c - torch.eye(6)) / error).abs().max()) < 4
