"""Empirical tangent kernels: brute-force Jacobians, tiles, gradients, infinite width."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from contracts import close, data
from gradfeat.maths.activations import ReLU, Tanh, TruncatedReLU
from gradfeat.models.kernels.network import ModuleTangent, NetworkKernel, TwoLayerTangent
from gradfeat.models.predictors import KernelMachine, TwoLayer
from gradfeat.models.rfm import RFM
from gradfeat.models.tangent_ridge import tangent_kernel
from gradfeat.rows.rows import in_memory

from .descent_cells import networks

X, Z, C = data(12).X, data(7).X + 0.1, data(7).y
NET = networks(1).network(0, Tanh())


def module(net: TwoLayer, middle: nn.Module) -> nn.Module:
    """The same network in torch."""
    first, last = nn.Linear(4, len(net.b)).double(), nn.Linear(len(net.b), 1, bias=False).double()
    with torch.no_grad():
        for own, given in ((first.weight, net.W), (first.bias, net.b), (last.weight, net.a.T)):
            own.copy_(given)
    return nn.Sequential(first, middle, last)


def deep(outputs: int) -> nn.Module:
    """A module of three layers."""
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.Softplus(),
                        nn.Linear(5, outputs)).double()  # fmt: skip
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g).double())
    return net


def jacobian(net: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    """(n, outputs, parameters), one backward pass an entry."""
    theta = list(net.parameters())
    out = net(rows)
    entries = [
        torch.cat([g.flatten() for g in torch.autograd.grad(v, theta, retain_graph=True)])
        for v in out.flatten()
    ]
    return torch.stack(entries).view(*out.shape, -1)


@pytest.mark.parametrize("outputs", [1, 3])
def test_module_equals_brute_force_in_any_tiles(outputs):
    net = deep(outputs)
    few, others = X[:5], Z[:4]
    expected = torch.einsum("iop,jop->ij", jacobian(net, few), jacobian(net, others))
    for block_bytes in (1, 1_000, 2**28):
        k = ModuleTangent(net, block_bytes)
        close(k(few, others), expected, 1e-13)
        own = k(few, few)
        assert torch.equal(own, own.T)
        close(k.diagonal(few), own.diagonal(), 1e-13)


@pytest.mark.parametrize(("sigma", "middle"), [(Tanh(), nn.Tanh()), (ReLU(), nn.ReLU())])
def test_module_equals_two_layer(sigma, middle):
    net = networks(1).network(0, sigma)
    one, other = TwoLayerTangent(net), ModuleTangent(module(net, middle))
    close(one(X, Z), other(X, Z), 1e-13)
    close(one(X, Z), tangent_kernel(net, X, Z), 1e-14)
    close(TwoLayerTangent(net, 1)(X, Z), one(X, Z), 1e-14)
    close(one.diagonal(X), other.diagonal(X), 1e-13)
    close(one.gradient(X, Z, C), other.gradient(X, Z, C), 1e-12)
    close(TwoLayerTangent(net, 1).gradient(X, Z, C), one.gradient(X, Z, C), 1e-13)


@pytest.mark.parametrize(
    "k", [ModuleTangent(deep(3)), TwoLayerTangent(NET),
          TwoLayerTangent(networks(1).network(0, TruncatedReLU()))],
)  # fmt: skip
def test_gradient_is_the_derivative_and_rfm_follows_it(k):
    step = 1e-6
    ends = [k(X + step * e, Z) @ C - k(X - step * e, Z) @ C for e in torch.eye(4).double()]
    # Central differences: step^2 and rounding 1e-15 / step, of values up to 10^3.
    close(k.gradient(X, Z, C), torch.stack(ends, 2) / (2 * step), 1e-7)
    values = torch.linalg.eigvalsh(k(X, X))
    assert float(values[0]) > -1e-13 * float(values[-1])
    first, second = RFM(k, 0.1, n_iter=1).fit_path(in_memory(X, data(12).y))
    G = first.agop(X)
    close(second.M, 4 * G / G.trace(), 1e-8)
    machine = KernelMachine(k, Z, C, C[0], torch.ones(4).double())
    close(machine.agop(X, block_bytes=3 * machine.scratch_per_row()), machine.agop(X), 1e-11)


def test_wide_networks_tend_to_the_closed_form():
    """W ~ N(0, I/d), b ~ N(0, 1), a ~ N(0, 1/m): weight and bias 1, without the head's bias.

    The parameters of the first layer are W itself, not sqrt(d) W: its share of x.z is d times
    that of the kernel's network.
    """
    m, g = 20_000, torch.Generator().manual_seed(5)
    W = torch.randn(m, 4, generator=g).double() / 2
    b, a = torch.randn(m, generator=g).double(), torch.randn(m, 1, generator=g).double()
    pre = X @ W.T + b
    on = (pre > 0).double()
    inner = X @ X.T
    head = pre.relu()[:, None] * pre.relu()
    terms = head + a[:, 0].square() * on[:, None] * on * (1 + inner)[:, :, None]
    net = TwoLayer(W, b, a / math.sqrt(m), a[0] * 0, W.new_zeros(4, 1), ReLU())
    scaled = TwoLayerTangent(net)(X, X) + (1 / m - 1) * head.sum(2)
    close(scaled, terms.mean(2), 1e-10)
    nngp = NetworkKernel(bias=1.0, trained="head")(X, X) - 1
    hidden = NetworkKernel(bias=1.0, trained="hidden")(X, X)
    expected = nngp + hidden * (1 + inner) / (1 + inner / 4)
    z = (scaled - expected) / (terms.std(2) / math.sqrt(m))
    # 78 different entries: five standard errors have a chance of 5e-5.
    assert float(z.abs().max()) < 5


def test_refusals():
    with pytest.raises(ValueError, match="3 outputs"):
        TwoLayerTangent(networks(1, c=3).network(0, Tanh()))
    with pytest.raises(ValueError, match="no parameter"):
        ModuleTangent(nn.Tanh())
    for k in (TwoLayerTangent(NET), ModuleTangent(deep(1))):
        with pytest.raises(ValueError, match="cannot be saved"):
            k.spec()
