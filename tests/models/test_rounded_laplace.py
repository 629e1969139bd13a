"""The product kernel of rounded inputs: where it is the kernel, and which fits take it."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch import Tensor

from gradfeat.models.base import Kernel
from gradfeat.models.fewer_centres import CHANGE
from gradfeat.models.kernels import generalised_laplace
from gradfeat.models.kernels.generalised_laplace import GeneralisedLaplace, RoundedLaplace
from gradfeat.models.kernels.radial import Gaussian
from gradfeat.models.local_machines import LocalMachines, LocalRidge
from gradfeat.models.restore import kernel_from_spec
from gradfeat.models.solvers.base import Meter
from gradfeat.models.solvers.tiles import Tiles
from gradfeat.rows.rows import in_memory


def rounding(
    n: int, d: int, dtype: torch.dtype = torch.float64
) -> tuple[Kernel, RoundedLaplace, Tensor]:
    """exp(-|x - z|_1 / 3), its rounded form, and rows on the grid of that."""
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(d)).to(dtype)
    exact = GeneralisedLaplace(3.0, p=1.0)
    k, Z = exact.rounded(X)
    assert isinstance(k, RoundedLaplace)
    return exact, k, Z


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "d"), [(32, 1), (75, 3), (130, 12)])
def test_on_the_grid_nothing_is_rounded(n, d, dtype):
    exact, k, Z = rounding(n, d, dtype)
    bound = 30 * torch.finfo(dtype).eps
    torch.testing.assert_close(k(Z[:41], Z), exact(Z[:41], Z), rtol=bound, atol=bound)
    assert torch.equal(k(Z, Z), k(Z, Z).T)
    assert torch.equal(k(Z, Z).diagonal(), k.diagonal(Z))
    assert kernel_from_spec(json.loads(json.dumps(k.spec()))) == k


def test_sums_that_pass_16_bits_come_back():
    """Opposite corners of the box are nearly 2^16 steps apart; one column has all of the range."""
    ends = torch.tensor([[-1.0, 2.0, 7.0], [3.0, 2.0, 5.0]]).double()
    for corners in (ends, ends[:, :1], torch.tensor([[0.0, 0.0], [1e4, 1.0]]).double()):
        exact = GeneralisedLaplace(float((corners[0] - corners[1]).abs().sum()), p=1.0)
        k, Z = exact.rounded(corners)
        expected = torch.tensor([[1, math.exp(-1)], [math.exp(-1), 1]]).double()
        torch.testing.assert_close(k(Z, Z), expected, rtol=1e-4, atol=0)


def test_off_the_grid_inputs_are_rounded_by_half_a_step():
    exact, k, Z = rounding(200, 5)
    X = 0.97 * Z[:50]
    step = float((Z.amax(0) - Z.amin(0)).sum()) / 65_000
    error = (k(X, Z) - exact(X, Z)).abs()
    # Half a step a column, through a slope of 1 / bandwidth; two thirds of that somewhere.
    assert step / 3 < float(error.max()) < 5 * step / 2 / 3
    # The nearest point of the grid, of which exact(...) is the value.
    assert float((k(X, Z) - exact(k.on_grid(X), Z)).abs().max()) < 1e-12


def test_beyond_the_box_the_kernel_goes_on_falling():
    exact, k, Z = rounding(60, 3)
    X = torch.cat([10 * Z[:5], Z[:2]])
    torch.testing.assert_close(k(X, Z), exact(X, Z), rtol=1e-3, atol=0)
    torch.testing.assert_close(k(Z, X), k(X, Z).T, rtol=1e-12, atol=0)
    assert float(torch.linalg.eigvalsh(k(X, X))[0]) > -1e-12
    assert torch.equal(k(X, X).diagonal(), k.diagonal(X))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ((), ()),
        ((0.0, 1.0), (1.0,)),
        ((2.0,), (1.0,)),
        ((0.0,), (math.nan,)),
        ((0.0,), (math.inf,)),
    ],
)
def test_a_box_has_sides(low, high):
    with pytest.raises(ValueError, match="box"):
        RoundedLaplace(1.0, low, high)


def test_rows_that_do_not_vary_are_one_point():
    k, Z = GeneralisedLaplace(1.0, p=1.0).rounded(torch.ones(4, 2).double())
    assert torch.equal(k(Z, Z), torch.ones(4, 4).double())


def test_its_gradient_is_that_of_the_kernel_without_rounding():
    exact, k, Z = rounding(40, 3)
    c = torch.randn(40, 2, generator=torch.Generator().manual_seed(1)).double()
    assert torch.equal(k.gradient(Z[:7], Z, c), exact.gradient(Z[:7], Z, c))
    tiles = Tiles(k, Z, Z, Meter(40), 0)
    found = k.own_gradient(Z, c, tiles)
    torch.testing.assert_close(found, exact.gradient(Z, Z, c), rtol=1e-10, atol=1e-12)


def test_kernels_of_other_norms_round_nothing():
    X = torch.randn(5, 2).double()
    for k in (GeneralisedLaplace(1.0), GeneralisedLaplace(1.0, p=1.0, q=0.7), Gaussian(1.0)):
        assert k.rounded(X) == (k, X)


def additive(n: int, noise: float) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(0)
    X = torch.randn(n, 3, generator=g)
    return X, X.sin().sum(1, keepdim=True) + noise * torch.randn(n, 1, generator=g)


def test_a_fit_to_noise_rounds_its_inputs():
    X, y = additive(900, 0.3)
    exact = GeneralisedLaplace(6.0, p=1.0)
    f = LocalRidge(exact, 0.1).fit(in_memory(X[:600], y[:600]))
    plain = LocalRidge(GeneralisedLaplace(6.0, p=1.0, q=0.999999), 0.1).fit(
        in_memory(X[:600], y[:600])
    )
    assert (f.spec()["kernel"]["name"], plain.spec()["kernel"]["name"]) == (
        "RoundedLaplace",
        "GeneralisedLaplace",
    )
    residual = float((y[:600] - plain(X[:600])).square().mean().sqrt())
    change = float((f(X[600:]) - plain(X[600:])).square().mean().sqrt())
    assert 0 < change < CHANGE * residual


def test_a_fit_without_noise_rounds_nothing():
    """A change that is nothing beside noise is all the error there is without any."""
    X, y = additive(300, 0.0)
    f = LocalRidge(GeneralisedLaplace(6.0, p=1.0), 1e-7).fit(in_memory(X.double(), y.double()))
    assert f.spec()["kernel"]["name"] == "GeneralisedLaplace"


def test_leaves_are_on_the_grid_of_the_first_machine():
    X, y = additive(900, 0.3)
    learner = LocalRidge(
        GeneralisedLaplace(6.0, p=1.0), 0.1, one_machine=300, leaf_rows=300, penalties=(1.0,)
    )
    f = learner.fit(in_memory(X, y))
    assert isinstance(f, LocalMachines)
    assert isinstance(f.kernel, RoundedLaplace)
    assert f.kernel == f.base.kernel
    torch.testing.assert_close(f.kernel.on_grid(f.Z), f.Z, rtol=0, atol=0)


@pytest.mark.parametrize("n", [1, 3, 4])
def test_rows_in_parts_are_those_of_one_call(n, monkeypatch):
    """A matrix is filled by as many rows at a time as the cache holds, whatever memory is given."""
    _, k, Z = rounding(21, 4, torch.float32)
    X = 1.1 * Z
    whole = k(X, Z)
    monkeypatch.setattr(generalised_laplace, "IN_CACHE", n * len(Z) + 1)
    values, room = k.between(X, Z), torch.empty(2 * len(X) * len(Z))
    assert torch.equal(values(slice(5, 18), room), whole[5:18])
    assert torch.equal(values(slice(0, 21), None), whole)
