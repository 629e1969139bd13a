"""Network kernels: neural-tangents, reductions, quadrature, and hard inputs."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate

from contracts import ROTATION_INVARIANT, close, data
from gradfeat.maths.activations import CentredReLU, Erf, Polynomial, ReLU, Tanh, UserActivation
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.dot_product import DotProduct, polynomial
from gradfeat.models.kernels.network import NetworkKernel
from gradfeat.rows.rows import in_memory

from . import neural_tangents_values as frozen

RELU = NetworkKernel(bias=0.5)


@pytest.mark.parametrize("cell", frozen.VALUES, ids=lambda cell: "-".join(map(str, cell[:5])))
def test_agrees_with_neural_tangents(cell):
    name, depth, weight, bias, trained, expected = cell
    sigma = {"relu": ReLU(), "erf": Erf()}[name]
    k = NetworkKernel(sigma, depth, weight, bias, trained)
    X, Z = torch.tensor(frozen.X).double(), torch.tensor(frozen.Z).double()
    # Their arc cosine loses half the digits of parallel pairs.
    close(k(X, Z), torch.tensor(expected).double(), 1e-7)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("trained", ["all", "head", "hidden"])
def test_series_equals_the_closed_form_of_erf(trained, depth):
    X, Z, c = data().X, data(9).X + 0.1, data(9).y
    closed = NetworkKernel(Erf(), depth, 1.2, 0.4, trained)
    series = replace(closed, activation=UserActivation(torch.erf))
    # Norms up to 3: coefficients of erf(3 z) beyond degree 300 are below rounding.
    close(series(X, Z), closed(X, Z), 1e-10)
    close(series.gradient(X, Z, c), closed.gradient(X, Z, c), 1e-8)


def test_series_of_a_kinked_activation_is_as_accurate_as_it_says():
    X, Z = data().X, data(9).X + 0.1
    for trained, at_one, apart in (("head", 1e-4, 1e-8), ("hidden", 3e-2, 1e-6)):
        closed = NetworkKernel(bias=0.5, trained=trained)
        series = replace(closed, activation=UserActivation(torch.relu, (0.0,)))
        ones = [closed.diagonal(X).sqrt()[:, None] * closed.diagonal(Y).sqrt() for Y in (X, Z)]
        assert float(((series(X, X) - closed(X, X)).abs() / ones[0]).max()) < at_one
        rows = [torch.cat([Y / 2, torch.full_like(Y[:, :1], 0.5)], 1) for Y in (X, Z)]
        r = torch.nn.functional.cosine_similarity(rows[0][:, None], rows[1][None], dim=2)
        error = (series(X, Z) - closed(X, Z)).abs() / ones[1]
        assert float(error[r.abs() < 0.95].max()) < apart


def test_tanh_equals_a_double_integral():
    X = torch.tensor([[0.7, -0.4], [1.0, 1.5]]).double()
    K = NetworkKernel(Tanh(), trained="head")(X, X)
    S = (X @ X.T / 2).numpy()
    A = np.linalg.cholesky(S)

    def value(v: float, u: float) -> float:
        one, two = A[0, 0] * u, A[1, 0] * u + A[1, 1] * v
        return math.tanh(one) * math.tanh(two) * math.exp(-(u * u + v * v) / 2) / (2 * math.pi)

    expected, _ = integrate.dblquad(value, -9, 9, -9, 9, epsabs=1e-10, epsrel=1e-10)
    assert float(K[0, 1]) == pytest.approx(expected, abs=1e-9)


def test_a_polynomial_activation_is_a_power_series():
    """sigma = z^2: E U^2 V^2 = pq + 2 u^2."""
    X, Z = data().X, data(9).X
    K = NetworkKernel(Polynomial((0.0, 0.0, 1.0)), trained="head")(X, Z)
    p, q = X.square().sum(1, keepdim=True) / 4, Z.square().sum(1) / 4
    close(K, p * q + 2 * (X @ Z.T / 4).square(), 1e-12)


def test_centring_removes_the_rank_one_part():
    X, Z = data().X, data(9).X
    head = NetworkKernel(trained="head")
    m = (1 / math.sqrt(2 * math.pi)) * torch.ones(1).double()
    a, b = X.norm(dim=1, keepdim=True) / 2, Z.norm(dim=1) / 2
    close(replace(head, activation=CentredReLU())(X, Z), head(X, Z) - m**2 * (a + b - 1), 1e-12)


def test_layers_add_up_and_depth_recurses():
    X, Z = data().X, data(9).X
    parts = [replace(RELU, trained=t, depth=3)(X, Z) for t in ("all", "head", "hidden")]
    close(parts[1] + parts[2], parts[0], 1e-13)
    # The NNGP of two hidden layers is that of one, of inputs whose products are its first NNGP.
    rows = torch.cat([X, Z + 0.1])
    root = torch.linalg.cholesky(replace(RELU, trained="head")(rows, rows))
    one_more = NetworkKernel(weight=1.0, bias=0.0, trained="head", bandwidth=1.0)(root, root) + 0.25
    close(replace(RELU, trained="head", depth=2)(rows, rows), one_more, 1e-12)


def test_a_vanishing_bias_is_none_and_bandwidth_sqrt_d_is_the_default():
    X, Z = data().X, data(9).X
    for depth in (1, 3):
        none = replace(RELU, bias=0.0, depth=depth)(X, Z)
        # The head's bias alone adds 1e-12; its effect on angles is of the order of the bias.
        close(replace(RELU, bias=1e-6, depth=depth)(X, Z), none, 1e-5)
    assert torch.equal(replace(RELU, bandwidth=2.0)(X, Z), RELU(X, Z))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", ROTATION_INVARIANT, ids=repr)
def test_large_zero_and_repeated_inputs(k, dtype):
    X = data(60).X.to(dtype)
    X = torch.cat([1e4 * X, X, X[:5], 0 * X[:2], X[:5] * (1 + 1e-5), -X[:5]])
    for rows in (X, X[:, :1].contiguous()):
        K = k(rows, rows)
        assert bool(torch.isfinite(K).all())
        assert torch.equal(K, K.T)
        values = torch.linalg.eigvalsh(K.double())
        assert float(values[0]) >= -1e-6 * float(values[-1])
        J = k.gradient(rows, rows, torch.ones(len(rows), 1, dtype=dtype))
        assert bool(torch.isfinite(J).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_one_dimensional_inputs(n, dtype, bias):
    X = torch.linspace(-1, 1, n).to(dtype)[:, None]
    k = NetworkKernel(bias=bias)
    K = k(X, X).double()
    values = torch.linalg.eigvalsh(K)
    assert float(values[0]) >= -1e-6 * float(values[-1])
    f = KernelRidge(k, 1e-4).fit(in_memory(X, torch.sin(3 * X)))
    error = float((f(X) - torch.sin(3 * X)).square().mean().sqrt())
    # Without a bias the kernel spans |x| and x alone: the best line has a residual of .36.
    assert math.isfinite(error)
    assert error < (0.02 if bias else 0.5)


def test_close_rows_keep_their_angles_in_float32():
    """Rows 1e-3 apart, far from the origin by the bias: angles from differences, not products."""
    X = torch.linspace(0, 1e-2, 11).double()[:, None]
    k = NetworkKernel(bias=1.0, trained="hidden")
    lost = k.diagonal(X)[:, None] - k(X, X)
    single = k.diagonal(X.float())[:, None].double() - k(X.float(), X.float()).double()
    # Rounding of the values, 1.2e-7, against losses of 1e-4 and more.
    assert float((single - lost).abs().max()) < 5e-7


@pytest.mark.parametrize(
    "option",
    [{"activation": Erf()}, {"depth": 2}, {"weight": 1.1}, {"bias": 0.6}, {"trained": "head"},
     {"trained": "hidden"}, {"bandwidth": 3.0}],
)  # fmt: skip
def test_every_option_changes_the_kernel(option):
    X = data().X
    assert float((replace(RELU, **option)(X, X) - RELU(X, X)).abs().max()) > 1e-2


def test_power_series():
    X, Z = data().X, data(9).X
    close(polynomial(3, 0.5, 2.0)(X, Z), (X @ Z.T / 4 + 0.5) ** 3, 1e-13)
    close(DotProduct((1.0,))(X, Z), torch.ones(40, 9).double())
    series = [DotProduct(a)(X, Z) for a in ((1.0, 2.0), (1.0, 3.0), (1.0, 2.0, 1.0))]
    assert all(not torch.allclose(a, b) for a, b in pairwise(series))


def test_refusals():
    for wrong, sentence in (
        ({"depth": 0}, "depth is 0"), ({"weight": 0.0}, "weight is 0.0"),
        ({"bias": -1.0}, "bias -1.0"),
        ({"bandwidth": 0.0}, "bandwidth is 0.0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            NetworkKernel(**wrong)
    for coefficients in ((), (-1.0,), (math.nan,)):
        with pytest.raises(ValueError, match="coefficients are"):
            DotProduct(coefficients)
    with pytest.raises(ValueError, match="degree is -1"):
        polynomial(-1)
    with pytest.raises(ValueError, match="cannot be saved"):
        NetworkKernel(UserActivation(torch.sin)).spec()
