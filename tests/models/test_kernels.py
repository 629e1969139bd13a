"""Kernels against scikit-learn, and their numerics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from contracts import KERNELS, RADIAL, data
from gradfeat.models.kernels import generalised_laplace as minkowski
from gradfeat.models.kernels.generalised_laplace import GeneralisedLaplace
from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern, decay, squared_distances
from gradfeat.models.restore import kernel_from_spec
from gradfeat.models.search.kernel_space import NAMES, kernel
from gradfeat.models.solvers.base import Meter
from gradfeat.models.solvers.tiles import Tiles

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


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_gram_matrix_is_symmetric_and_psd(k):
    K = k(X, X)
    assert torch.equal(K, K.T)
    assert torch.equal(K.diagonal(), k.diagonal(X))
    values = torch.linalg.eigvalsh(K)
    assert float(values[0]) > -1e-13 * float(values[-1])
    torch.testing.assert_close(k(X, X.clone()), K, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("room", [None, torch.zeros(2 * 5 * len(Z)).double()])
@pytest.mark.parametrize("k", [*KERNELS, GeneralisedLaplace(3.0, p=1.0).rounded(Z)[0]], ids=repr)
def test_some_rows_after_others_are_those_of_the_matrix(k, room, monkeypatch):
    monkeypatch.setattr(minkowski, "CPU_TILE", 2 * len(Z))
    values = k.between(X, Z)
    for rows in (slice(0, 5), slice(5, 8)):
        torch.testing.assert_close(values(rows, room), k(X, Z)[rows], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", RADIAL)
def test_radial_kernels_are_one_on_the_diagonal(k):
    assert torch.equal(k(X, X).diagonal(), torch.ones(len(X)).double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_decay_is_the_exponential_wherever_a_number_stands(dtype):
    t = torch.linspace(0, 20, 101, dtype=dtype)
    found = decay(t, 0.5)
    # Rounding of the exponent is relative to it.
    bound = 30 * torch.finfo(dtype).eps
    torch.testing.assert_close(found.double(), torch.exp(-t.double() / 2), rtol=bound, atol=0)
    assert torch.equal(decay(t[3:80], 0.5), found[3:80])
    assert decay(torch.tensor([0.0, torch.inf])).tolist() == [1, 0]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_gradient_is_the_derivative(k):
    c = torch.randn(len(Z), 2, generator=torch.Generator().manual_seed(1)).double()
    step, directions = 1e-5, torch.eye(4).double()
    ends = [k(X + step * e, Z) @ c - k(X - step * e, Z) @ c for e in directions]
    expected = torch.stack(ends, 2) / (2 * step)
    # Central differences: h^2 of third derivatives (below 10^3 here) and rounding 1e-15 / h.
    torch.testing.assert_close(k.gradient(X, Z, c), expected, rtol=1e-6, atol=2e-7)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_gradients_from_tiles_are_those_of_the_expansion(k, monkeypatch):
    monkeypatch.setattr("gradfeat.models.solvers.tiles.CPU_SIDE", {torch.float64: 3})
    c = torch.randn(len(X), 2, generator=torch.Generator().manual_seed(1)).double()
    tiles = Tiles(k, X, X, Meter(len(X)), 0)
    expected = k.gradient(X, X, c)
    # The kinks at coinciding points are left out; what is near them cancels to about 1e-8.
    torch.testing.assert_close(k.own_gradient(X, c, tiles), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("k", RADIAL)
def test_slope_from_the_kernel_equals_slope(k):
    s = squared_distances(X, X, unit=k.bandwidth)
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
    with pytest.raises(ValueError, match=r"allowed are.*'ntk'.*and 'polynomial3'"):
        kernel("cubic", 1.0)
    assert len({kernel(name, 2.0) for name in NAMES}) == len(NAMES)
    two = [kernel(name, 2) for name in NAMES]
    for same in (2.0, np.float32(2), torch.tensor(2.0)):
        assert [kernel(name, same) for name in NAMES] == two
    with pytest.raises(ValueError, match=r"0\.5, 1\.5 and 2\.5"):
        Matern(1.0, 3.5)
