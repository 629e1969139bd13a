"""Kernels against scikit-learn, and their numerics."""

from __future__ import annotations

import pytest
import torch
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from contracts import KERNELS, data
from gradfeat.models.kernels.distances import squared_distances
from gradfeat.models.kernels.named import kernel, kernel_from_spec
from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern

X = data().X
Z = data(9).X + 0.1
PAIRS = [
    (Gaussian(1.5), gp.RBF(1.5)),
    (Laplace(1.5), gp.Matern(1.5, nu=0.5)),
    *((Matern(1.5, nu), gp.Matern(1.5, nu=nu)) for nu in (0.5, 1.5, 2.5)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_agrees_with_scikit_learn(ours, theirs):
    expected = torch.from_numpy(theirs(X.numpy(), Z.numpy()))
    torch.testing.assert_close(ours(X, Z), expected, rtol=1e-12, atol=1e-14)


def test_agrees_with_pairwise():
    rbf = torch.from_numpy(rbf_kernel(X.numpy(), Z.numpy(), gamma=1 / (2 * 1.5**2)))
    torch.testing.assert_close(Gaussian(1.5)(X, Z), rbf, rtol=1e-12, atol=1e-14)
    # In one dimension the L1 distance of scikit-learn's Laplacian is the Euclidean one.
    one = torch.from_numpy(laplacian_kernel(X[:, :1].numpy(), Z[:, :1].numpy(), gamma=1 / 1.5))
    torch.testing.assert_close(Laplace(1.5)(X[:, :1], Z[:, :1]), one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", KERNELS)
def test_gram_matrix_is_symmetric_psd_with_unit_diagonal(k):
    K = k(X, X)
    assert torch.equal(K, K.T)
    assert torch.equal(K.diagonal(), torch.ones(len(X)).double())
    assert float(torch.linalg.eigvalsh(K)[0]) > -1e-13 * len(X)


@pytest.mark.parametrize("k", KERNELS)
def test_slope_from_the_kernel_equals_slope(k):
    s = k.scaled_distances(X, X)
    K = k.profile_(s.clone())
    torch.testing.assert_close(k.slope_from(s.clone(), K), k.slope_(s), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_float32_distances_keep_their_digits_far_from_zero(offset):
    near = (X + offset).float()
    exact = torch.cdist(near.double(), near.double()).square()
    D = squared_distances(near, near)
    assert bool((D >= 0).all())
    assert bool((D.diagonal() == 0).all())
    # Rounding of squared norms (up to 20) in float32, a few terms.
    torch.testing.assert_close(D.double(), exact, rtol=1e-5, atol=2e-5)


def test_names_specs_and_refusals():
    assert [kernel_from_spec(k.spec()) for k in KERNELS] == KERNELS
    assert kernel("matern52", 2) == Matern(2.0, 2.5)
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="positive"):
            kernel("laplace", bad)
    with pytest.raises(ValueError, match="allowed are"):
        kernel("cubic", 1.0)
    with pytest.raises(ValueError, match=r"0\.5, 1\.5 and 2\.5"):
        Matern(1.0, 3.5)
