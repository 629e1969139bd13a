"""The linearised network: equal to the network at the start, to a product with the Jacobian."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor

from contracts import close
from gradfeat.maths.activations import Activation, Polynomial, ReLU, Tanh, TruncatedReLU
from gradfeat.maths.gradients import autodiff_gradient
from gradfeat.maths.streams import stream
from gradfeat.models.predictors import Linearised, TwoLayer
from gradfeat.models.restore import predictor_from

from .descent_cells import networks, rows, theta, written_out

SIGMAS = [Tanh(), ReLU(), TruncatedReLU(), Polynomial((0.1, 1.0, 0.5))]
sigmas = pytest.mark.parametrize("sigma", SIGMAS, ids=repr)
X = rows().X[0]


def network(sigma: Activation, c: int = 2) -> TwoLayer:
    """A network with an affine part."""
    g = stream(0, "affine")
    beta, offset = torch.randn(4, c, generator=g).double(), torch.randn(c, generator=g).double()
    return replace(networks(1, c=c).network(0, sigma), beta=beta, offset=offset)


def moved(net: TwoLayer) -> Linearised:
    """Parameters well away from the start."""
    W, b, a = theta(networks(2, c=net.a.shape[1]), 1)
    return Linearised(net, W, b, a)


@sigmas
def test_equals_the_network_at_its_start(sigma):
    net = network(sigma)
    close(Linearised(net, net.W, net.b, net.a)(X), net(X), 1e-15)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@sigmas
def test_equals_the_jacobian_vector_product(sigma):
    net = network(sigma)
    line = moved(net)

    def f(W: Tensor, b: Tensor, a: Tensor) -> Tensor:
        return written_out((W, b, a), X, sigma)

    away = (line.W - net.W, line.b - net.b, line.a - net.a)
    value, tangent = torch.func.jvp(f, (net.W, net.b, net.a), away)
    close(line(X), value + tangent + X @ net.beta + net.offset, 1e-14)


@sigmas
def test_gradient_is_that_of_the_sum_of_its_parts(sigma):
    """Away from corners sigma'' is zero for ramps: only the products with W and W - W0 remain."""
    line = moved(network(sigma))
    small = 1e-6 * torch.eye(4).double()
    steps = torch.stack([(line(X + e) - line(X - e)) / 2e-6 for e in small], 2)
    found = line.gradient(X)
    assert found.shape == (24, 2, 4)
    close(found, autodiff_gradient(line, X), 1e-14)
    # Central differences: rounding 1e-16 over 1e-6, curvature times 1e-12.
    close(found, steps, 1e-8)


@sigmas
def test_saved_description_restores(sigma):
    line = moved(network(sigma))
    again = predictor_from(line.spec(), line.tensors())
    assert torch.equal(again(X), line(X))
    assert again.spec() == line.spec()
    assert again.tensors().keys() == line.tensors().keys()


def test_missing_tensors_and_unknown_types_are_refused():
    line = moved(network(Tanh()))
    left = {name: t for name, t in line.tensors().items() if name != "W"}
    with pytest.raises(KeyError, match="W"):
        predictor_from(line.spec(), left)
    with pytest.raises(ValueError, match="is not known to this version"):
        predictor_from(line.spec() | {"type": "Quadratic"}, line.tensors())


@pytest.mark.parametrize("size", [1, 7])
def test_batches(size):
    line = moved(network(Tanh()))
    close(torch.cat([line(part) for part in X.split(size)]), line(X), 1e-14)
    assert line(X[:0]).shape == (0, 2)


def test_blocks_of_rows_change_nothing(monkeypatch):
    line = moved(network(Tanh()))
    whole = line(X)
    tiny = partial(_blocks, line.scratch_per_row())
    monkeypatch.setattr("gradfeat.models.predictors.row_blocks", tiny)
    close(line(X), whole, 1e-14)


def _blocks(expected: int, n: int, bytes_per_row: int) -> list[slice]:
    assert bytes_per_row == expected
    return [slice(i, min(i + 5, n)) for i in range(0, n, 5)]


def test_is_linear_in_its_parameters():
    net = network(Tanh())
    line, half = moved(net), 0.5
    middle = Linearised(net, *(half * (p + q) for p, q in (
        (net.W, line.W), (net.b, line.b), (net.a, line.a))))  # fmt: skip
    close(middle(X), half * (net(X) + line(X)), 1e-14)
