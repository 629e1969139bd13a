"""Random maps: their Gram matrices against their kernels."""

from __future__ import annotations

import pytest
import torch

from contracts import RADIAL, close, data
from gradfeat.maths.activations import CentredReLU, Erf, Tanh
from gradfeat.models.kernels.network import NetworkKernel
from gradfeat.models.kernels.random_maps import fourier_map, network_map

X, M = data(8).X, 20_000
NETWORKS = [
    NetworkKernel(),
    NetworkKernel(weight=1.3, bias=0.5, trained="head"),
    NetworkKernel(bias=0.5, trained="hidden", bandwidth=1.5),
    NetworkKernel(Erf(), bias=0.5),
    NetworkKernel(CentredReLU(), bias=0.5),
    NetworkKernel(Tanh(), bias=0.5),
]


def z_scores(terms, kernel):
    """Of the mean of independent terms (n, n, m) against the kernel."""
    return (terms.mean(2) - kernel) / (terms.std(2) / terms.shape[2] ** 0.5)


@pytest.mark.parametrize("k", RADIAL, ids=repr)
def test_fourier_features_are_within_five_standard_errors(k):
    F = fourier_map(k, M, 4, seed=3)(X) * M**0.5
    assert float(z_scores(F[:, None] * F, k(X, X)).abs().max()) < 5


@pytest.mark.parametrize("sketch", [False, True])
@pytest.mark.parametrize("k", NETWORKS, ids=repr)
def test_network_features_are_within_five_standard_errors(k, sketch):
    phi = network_map(k, M, 4, seed=3, sketch=sketch)
    F = phi(X) * M**0.5
    neurons = F.new_zeros(8, 8, M)
    if k.trained != "hidden":
        neurons += F[:, None, :M] * F[:, :M] + k.bias**2
        F = F[:, M + 1 :]
    if k.trained != "head":
        J = F.view(8, M, -1)
        neurons += torch.einsum("imp,jmp->ijm", J, J)
    assert float(z_scores(neurons, k(X, X)).abs().max()) < 5
    close(phi(X) @ phi(X).T, neurons.mean(2), 1e-12)


def test_seeds_and_dtypes():
    first, again, other = (network_map(NETWORKS[0], 20, 4, seed=s) for s in (1, 1, 2))
    assert torch.equal(first(X), again(X))
    assert not torch.allclose(first(X), other(X))
    assert first(X.float()).dtype == torch.float32
    assert fourier_map(RADIAL[0], 20, 4)(X.float()).dtype == torch.float32
    with pytest.raises(ValueError, match="depth 2"):
        network_map(NetworkKernel(depth=2), 20, 4)
