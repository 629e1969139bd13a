"""The AGOP against its definition, and in blocks."""

from __future__ import annotations

import torch

from gradfeat.maths.gradients import agop, autodiff_gradient

X = torch.randn(23, 4, generator=torch.Generator().manual_seed(0)).double()
w = torch.rand(23, generator=torch.Generator().manual_seed(1)).double() + 0.1


def f(X):
    return torch.stack([X[:, 0] * X[:, 1], torch.sin(X[:, 2]) + X[:, 3] ** 2], 1)


def exact(X):
    zero, one = X.new_zeros(len(X)), X.new_ones(len(X))
    first = torch.stack([X[:, 1], X[:, 0], zero, zero], 1)
    second = torch.stack([zero, zero, torch.cos(X[:, 2]), 2 * X[:, 3] * one], 1)
    return torch.stack([first, second], 1)


def gradient(X):
    return autodiff_gradient(f, X)


def test_autodiff_equals_the_derivative():
    torch.testing.assert_close(gradient(X), exact(X), rtol=1e-12, atol=1e-12)


def test_agop_is_the_weighted_mean_of_outer_products():
    J = exact(X)
    expected = torch.einsum("n,nci,ncj->ij", w / w.sum(), J, J)
    torch.testing.assert_close(agop(gradient, X, weights=w), expected, rtol=1e-12, atol=1e-12)


def test_centred_agop_is_the_covariance():
    J = exact(X)
    J = J - torch.einsum("n,ncd->cd", w / w.sum(), J)
    expected = torch.einsum("n,nci,ncj->ij", w / w.sum(), J, J)
    result = agop(gradient, X, weights=w, centre=True)
    torch.testing.assert_close(result, expected, rtol=1e-12, atol=1e-12)


def test_tiny_blocks_equal_one_block_and_bound_the_rows():
    sizes = []

    def counting(X):
        sizes.append(len(X))
        return gradient(X)

    for centre in (False, True):
        whole = agop(gradient, X, weights=w, centre=centre)
        small = agop(counting, X, weights=w, centre=centre, bytes_per_row=1000, block_bytes=3000)
        torch.testing.assert_close(small, whole, rtol=1e-12, atol=1e-12)
    assert max(sizes) == 3
