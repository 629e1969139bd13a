"""The generalised Laplace kernel against closed forms and other libraries."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn.metrics.pairwise import laplacian_kernel

from contracts import data
from gradfeat.models.kernels import generalised_laplace as minkowski
from gradfeat.models.kernels.generalised_laplace import GeneralisedLaplace, power_distances
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.restore import kernel_from_spec
from gradfeat.models.rfm import RFM
from gradfeat.models.search.kernel_space import kernel
from gradfeat.rows.rows import in_memory

X = data().X
Z = data(9).X + 0.1
C = torch.randn(len(X), 2, generator=torch.Generator().manual_seed(1)).double()
FAMILY = [
    GeneralisedLaplace(2.0, p, q)
    for p, q in [(2, 1), (2, 0.7), (2, 2), (1, 1), (1, 0.7), (1.5, 1), (1.3, 1.3), (0.7, 0.7)]
]


class Tiles:
    """k(X, X) in tiles of seven rows, the last one shorter."""

    def __init__(self, k):
        self.rows = [slice(i, min(i + 7, len(X))) for i in range(0, len(X), 7)]
        self.K = k(X, X)

    def __call__(self, i, j):
        return self.K[self.rows[i], self.rows[j]].clone()


def plain(k, X, Z):
    """exp(-(|x - z|_p / L)^q) from torch's norm of the differences."""
    return (-(((X[:, None] - Z).norm(p=k.p, dim=2) / k.bandwidth) ** k.q)).exp()


@pytest.mark.parametrize(("q", "same"), [(1.0, Laplace(1.5)), (2.0, Gaussian(1.5 / math.sqrt(2)))])
def test_euclidean_members_are_laplace_and_gaussian(q, same):
    k = GeneralisedLaplace(1.5, q=q)
    # The same operations, but for 1/L^2 of the Gaussian, which is rounded twice.
    torch.testing.assert_close(k(X, Z), same(X, Z), rtol=1e-14, atol=0)
    torch.testing.assert_close(k.gradient(X, X, C), same.gradient(X, X, C), rtol=1e-9, atol=1e-12)


def test_city_block_is_that_of_scikit_learn_and_a_product_over_columns():
    k = GeneralisedLaplace(1.5, p=1.0)
    theirs = laplacian_kernel(X.numpy(), Z.numpy(), gamma=1 / 1.5)
    torch.testing.assert_close(k(X, Z), torch.from_numpy(theirs), rtol=1e-13, atol=0)
    columns = torch.stack([k(X[:, [j]], Z[:, [j]]) for j in range(X.shape[1])])
    torch.testing.assert_close(k(X, Z), columns.prod(0), rtol=1e-13, atol=0)


@pytest.mark.parametrize("k", FAMILY, ids=repr)
def test_is_its_formula(k):
    # Squared distances by a matrix product are exact to a few roundings of |x|^2 (about 10).
    torch.testing.assert_close(k(X, Z), plain(k, X, Z), rtol=1e-12, atol=1e-13)
    assert torch.equal(k(X, X).diagonal(), torch.ones(len(X)).double())


@pytest.mark.parametrize("k", FAMILY, ids=repr)
def test_is_symmetric_and_positive_definite(k):
    K = k(X, X)
    assert torch.equal(K, K.T)
    assert float(torch.linalg.eigvalsh(K)[0]) > 0


@pytest.mark.parametrize("k", FAMILY, ids=repr)
def test_gradient_is_that_of_autodiff(k):
    c = C[: len(Z)]
    moving = X.clone().requires_grad_()
    outputs = (plain(k, moving, Z) @ c).sum(0)
    expected = [torch.autograd.grad(out, moving, retain_graph=True)[0] for out in outputs]
    # Slopes of the Euclidean members come from distances with errors of 1e-15 / s, s > 1e-3.
    found = k.gradient(X, Z, c)
    torch.testing.assert_close(found, torch.stack(expected, 1), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("k", FAMILY, ids=repr)
def test_gradient_at_its_own_points_by_tiles(k):
    expected = k.gradient(X, X, C)
    assert bool(expected.isfinite().all())
    # Distances within a tile are centred differently: the difference is rounding over s.
    torch.testing.assert_close(k.own_gradient(X, C, Tiles(k)), expected, rtol=1e-7, atol=1e-9)


def test_tiles_of_distances_are_those_of_one_block(monkeypatch):
    whole = [power_distances(X, Z, 1.3), power_distances(X, X, 1.3)]
    k = GeneralisedLaplace(2.0, 1.3)
    slopes = k.gradient(X, Z, C[: len(Z)])
    monkeypatch.setattr(minkowski, "CPU_TILE", 25)
    assert torch.equal(power_distances(X, Z, 1.3), whole[0])
    # Halves of the matrix are evaluated in the other order, which symmetry hides exactly.
    assert torch.equal(power_distances(X, X, 1.3), whole[1])
    torch.testing.assert_close(k.gradient(X, Z, C[: len(Z)]), slopes, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", FAMILY, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_coinciding_coordinates_pull_nothing(k, dtype):
    rows = torch.tensor([[1e6, 2.0], [1e6, 2.0], [1e6, 5.0]], dtype=dtype)
    assert torch.equal(k(rows, rows)[0, :2], torch.ones(2, dtype=dtype))
    J = k.gradient(rows, rows, torch.ones(3, 1, dtype=dtype))
    assert bool(J.isfinite().all())
    assert bool((J[:, 0, 0] == 0).all())
    assert float(J[0, 0, 1]) > 0 > float(J[2, 0, 1])


def test_gradient_of_one_coordinate_by_hand():
    one = torch.ones(1, 1).double()
    slope = GeneralisedLaplace(2.0, 1.0, 0.5).gradient(3 * one, one, one)
    # d/du exp(-(u/2)^{1/2}) at u = 2.
    assert float(slope) == pytest.approx(-math.exp(-1) / 4, rel=1e-14)


def test_scales_with_its_bandwidth():
    for k in FAMILY:
        wide = GeneralisedLaplace(8 * k.bandwidth, k.p, k.q)
        torch.testing.assert_close(wide(8 * X, 8 * Z), k(X, Z), rtol=1e-13, atol=0)


@pytest.mark.parametrize("k", FAMILY, ids=repr)
def test_description_restores_it(k):
    assert kernel_from_spec(k.spec()) == k


def test_names_differ_and_wrong_values_are_refused():
    assert kernel("laplace-l1", 2) == GeneralisedLaplace(2.0, 1.0, 1.0)
    assert kernel("laplace-1.4", 2) == GeneralisedLaplace(2.0, 2.0, 1.4)
    for p, q in [(1.0, 1.1), (2.1, 1.0), (2.0, 0.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.nan)]:
        with pytest.raises(ValueError, match=r"give 0 < q <= p <= 2"):
            GeneralisedLaplace(1.0, p, q)
    with pytest.raises(ValueError, match="positive number"):
        GeneralisedLaplace(0.0)


def test_is_not_positive_definite_beyond_what_is_allowed():
    # exp(-|x - z|_1^2) on the corners of a cube in 4 dimensions, closely spaced: why q <= p.
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 0.2]).double()] * 4)
    K = (-power_distances(corners, corners, 1.0).square()).exp()
    assert float(torch.linalg.eigvalsh(K)[0]) < -1e-3


def test_rfm_finds_the_columns_that_matter():
    g = torch.Generator().manual_seed(0)
    rows = torch.randn(200, 5, generator=g).double()
    f = RFM(GeneralisedLaplace(8.0, 1.0), 1e-3, n_iter=3).fit(
        in_memory(rows, rows[:, :1] * rows[:, 1:2])
    )
    assert float(f.M.diagonal()[:2].sum()) > 0.9 * float(f.M.trace())
