"""Tangent kernel ridge: the kernel by autograd, optimality, weights, choice of the penalty."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sklearn.kernel_ridge
import torch
from torch import Tensor

from contracts import close, data
from gradfeat.maths.activations import ReLU, Tanh, TruncatedReLU
from gradfeat.maths.smoothing import SmoothedTruncatedReLU
from gradfeat.models.descent.layers import Start
from gradfeat.models.predictors import TwoLayer
from gradfeat.models.tangent_ridge import SHARES, TangentRidge, tangent_kernel
from gradfeat.rows.rows import in_memory

from .descent_cells import networks, written_out

BASE = TangentRidge(12, Tanh(), Start(std_b=0.5), penalty=0.3)
SIGMAS = [Tanh(), ReLU(), TruncatedReLU(), SmoothedTruncatedReLU(0.2)]


def y(n: int = 40) -> Tensor:
    """One output."""
    return data(n).y[:, :1]


def jacobian(net: TwoLayer, X: Tensor) -> Tensor:
    """Of the outputs in all parameters, a row an input."""

    def f(W: Tensor, b: Tensor, a: Tensor) -> Tensor:
        return written_out((W, b, a), X, net.activation)[:, 0]

    parts = torch.autograd.functional.jacobian(f, (net.W, net.b, net.a))
    return torch.cat([part.flatten(1) for part in parts], 1)


@pytest.mark.parametrize("sigma", SIGMAS, ids=repr)
def test_kernel_is_the_product_of_jacobians(sigma):
    net = networks(1).network(0, sigma)
    X, Z = data().X, data(9).X + 0.1
    close(tangent_kernel(net, X, Z), jacobian(net, X) @ jacobian(net, Z).T, 1e-14)
    K = tangent_kernel(net, X, X)
    close(K, K.T, 1e-15)
    # Positive semi-definite to rounding of n numbers of the largest eigenvalue's size.
    eigenvalues = torch.linalg.eigvalsh(K)
    assert float(eigenvalues[0]) > -1e-13 * float(eigenvalues[-1])


@pytest.mark.parametrize("weighted", [False, True])
def test_parameters_are_stationary(weighted):
    one = data()
    w = one.w if weighted else torch.ones_like(one.w)
    f: Any = BASE.fit(in_memory(one.X, y(), one.w if weighted else None))
    theta = [p.clone().requires_grad_() for p in (f.W, f.b, f.a)]
    start = (f.start.W, f.start.b, f.start.a)
    g = replace(f, W=theta[0], b=theta[1], a=theta[2])
    loss = (w * (g(one.X) - y()).square()[:, 0]).sum()
    penalty = sum((p - p0).square().sum() for p, p0 in zip(theta, start, strict=True))
    gradients = torch.autograd.grad(loss + 0.3 * penalty, theta)
    # A Cholesky solve with condition number below 1e4.
    size = float(torch.autograd.grad(0.3 * _norm(theta, start), theta)[0].abs().max())
    assert max(float(g.abs().max()) for g in gradients) < 1e-10 * size


def _norm(theta, start) -> Tensor:
    return sum((p - p0).square().sum() for p, p0 in zip(theta, start, strict=True))


def test_agrees_with_scikit_learn():
    one = data()
    X, Z = one.X, data(9).X + 0.1
    f: Any = replace(BASE, start=Start(std_b=0.5, antisymmetric=False)).fit(
        in_memory(X, y(), one.w)
    )
    other = sklearn.kernel_ridge.KernelRidge(alpha=0.3, kernel="precomputed")
    K = tangent_kernel(f.start, X, X).numpy()
    other.fit(K, (y() - f.start(X)).numpy(), sample_weight=one.w.numpy())
    expected = f.start(Z).numpy() + other.predict(tangent_kernel(f.start, Z, X).numpy())
    close(f(Z), torch.from_numpy(np.asarray(expected)), 1e-10)


def test_weights_are_repeated_rows_and_zeros_are_dropped():
    one = data()
    times = one.w.long()
    weighted = BASE.fit(in_memory(one.X, y(), one.w))
    repeated = BASE.fit(
        in_memory(one.X.repeat_interleave(times, 0), y().repeat_interleave(times, 0))
    )
    close(weighted(one.X), repeated(one.X), 1e-9)
    w = one.w.clone()
    w[::3] = 0
    kept = w > 0
    some, fewer = (
        BASE.fit(in_memory(one.X, y(), w)),
        BASE.fit(in_memory(one.X[kept], y()[kept], w[kept])),
    )
    assert torch.equal(some(one.X), fewer(one.X))


def test_a_small_penalty_interpolates_and_a_large_one_stays_at_the_start():
    one = data()
    wide = replace(BASE, width=200)
    # Residuals are penalty (K + penalty)^{-1} y, with eigenvalues of K above 1e-2.
    close(replace(wide, penalty=1e-8).fit(in_memory(one.X, y()))(one.X), y(), 1e-5)
    assert float(replace(wide, penalty=1e8).fit(in_memory(one.X, y()))(one.X).abs().max()) < 1e-3


def test_penalty_is_chosen_among_the_shares_and_matters():
    one = data()
    free: Any = replace(BASE, penalty=None).fit(in_memory(one.X, y()))
    fits = [replace(BASE, penalty=share).fit(in_memory(one.X, y()))(one.X) for share in SHARES]
    assert all(float((a - b).abs().max()) > 1e-3 for a, b in pairwise(fits))
    noise = torch.randn(40, 1, generator=torch.Generator().manual_seed(0)).double()
    strict: Any = replace(BASE, penalty=None).fit(in_memory(one.X, noise))
    # Pure noise asks for more penalty than a quadratic target: it is fitted less closely.
    left = [float((f(one.X) - t).square().mean() / t.square().mean())
            for f, t in ((free, y()), (strict, noise))]  # fmt: skip
    assert left[0] < 0.5 < left[1]


def test_signs_and_their_multiples_are_both_learned():
    """+-1 targets are judged by their sign, the same times 2 by squared error."""
    one = data(200)
    labels = torch.sign(y(200) - 1)
    learner = replace(BASE, penalty=None)
    signs, doubled = (
        learner.fit(in_memory(one.X, t * labels), seed=3)(one.X) / t for t in (1.0, 2.0)
    )
    assert float((signs.sign() == labels).double().mean()) > 0.75
    assert float((doubled.sign() == labels).double().mean()) > 0.75


@pytest.mark.parametrize(
    "option", [{"width": 14}, {"activation": ReLU()}, {"start": Start(std_b=0.6)}, {"penalty": 0.4}]
)
def test_every_option_changes_the_fit(option):
    one = data()
    changed = replace(BASE, **option).fit(in_memory(one.X, y()))(one.X)
    assert float((changed - BASE.fit(in_memory(one.X, y()))(one.X)).abs().max()) > 1e-4


def test_float32_follows_the_data():
    one = data()
    f: Any = BASE.fit(in_memory(one.X.float(), y().float()))
    assert {t.dtype for t in f.tensors().values()} == {torch.float32}
    # Rounding 6e-8 times a condition number of about 1e3.
    close(f(one.X.float()).double(), BASE.fit(in_memory(one.X, y()))(one.X), 1e-4)


def test_refusals():
    one = data()
    with pytest.raises(ValueError, match="y has 2 columns: the tangent kernel is for one output"):
        BASE.fit(in_memory(one.X, one.y))
    many = torch.zeros(1, 1).double().expand(10_000_000, 1)
    with pytest.raises(MemoryError, match="the tangent kernel of 10,000,000 rows"):
        BASE.fit(in_memory(many, many))


def test_global_generator_is_left_alone():
    state, one = torch.get_rng_state(), data()
    replace(BASE, penalty=None).fit(in_memory(one.X, y()))
    assert torch.equal(state, torch.get_rng_state())
