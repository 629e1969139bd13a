"""Algorithm 1: the printed step, reductions, the science, and every option."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import BARE, HEAD, close, data
from gradfeat.maths.activations import Erf, Polynomial
from gradfeat.maths.blocks import Block
from gradfeat.maths.gradients import autodiff_gradient
from gradfeat.maths.ridge import ridge_path
from gradfeat.models.gradient_step import GradientStep
from gradfeat.models.head import RidgeHead
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian
from gradfeat.models.random_features import RandomFeatures
from gradfeat.models.rfm import RFM
from gradfeat.rows.rows import in_memory, of_block

BASE = GradientStep(width=24, n_steps=2, head=BARE)


def test_first_step_is_minus_eta_times_the_autograd_gradient():
    one = data()
    learner = replace(BASE, n_steps=1, step_size=0.7)
    net = learner.fit(in_memory(one.X, one.y), seed=5)
    W0 = learner.start(of_block(one_block()), seed=5).W.clone().requires_grad_(True)
    a = learner.start(of_block(one_block()), seed=5).a
    assert bool((a[:12] == -a[12:]).all())
    assert bool((a.abs() == 1).all())
    residual = one.y - one.y.mean(0) - one.X @ (one.X.T @ one.y / len(one.X))
    (torch.relu(one.X @ W0.T) @ a - residual).square().sum(1).mean().backward()
    assert W0.grad is not None
    close(net.W, -0.7 * W0.grad)
    close(net.beta, one.X.T @ one.y / len(one.X))


def one_block():
    one = data()
    return Block(one.X, one.y, torch.ones(len(one.X)).double())


def test_a_second_gradient_step_is_the_autograd_gradient_of_the_fitted_net():
    one = data()
    rows = in_memory(one.X, one.y, one.w)
    first, second = replace(BASE, step_size=0.7, update="gradient").fit_path(rows, seed=5)
    W = first.W.clone().requires_grad_(True)
    error = one.y - replace(first, W=W)(one.X)
    (one.w @ error.square().sum(1) / one.w.sum()).backward()
    assert W.grad is not None
    close(second.W, first.W - 0.7 * W.grad)


def test_an_agop_step_draws_rows_with_the_covariance_of_the_fitted_net_s_gradients():
    """M/tr M of 6,000 rows of W: within 5 standard errors in each of 10 entries, p = 6e-6."""
    one = data()
    rows = in_memory(one.X, one.y, one.w)
    first, second = replace(BASE, width=6_000).fit_path(rows, seed=5)
    J = autodiff_gradient(first, one.X)
    M = torch.einsum("n,nci,ncj->ij", one.w, J, J)
    M, found = M / M.trace(), second.W.T @ second.W / 6_000
    error = ((M.diagonal()[:, None] * M.diagonal() + M.square()) / 6_000).sqrt()
    assert bool(((found - M).abs() < 5 * error).all())


def test_head_is_stationary():
    one = data()
    net = BASE.fit(in_memory(one.X, one.y, one.w))
    error = one.w[:, None] * (one.y - net(one.X))
    # Rounding times cond(F), which the spectrum's cut at n eps bounds by 1 / sqrt(40 eps) = 1e7.
    close(net.features(one.X).T @ error, 0.5 * net.a, 1e-8)


def test_no_step_is_random_features():
    one = data()
    net = replace(BASE, n_steps=0, linear="none", head=HEAD).fit(in_memory(one.X, one.y), seed=2)
    close(net(one.X), RandomFeatures(24, head=HEAD).fit(in_memory(one.X, one.y), seed=2)(one.X))


def test_linear_activation_is_linear_ridge_on_the_first_layer():
    one = data()
    learner = replace(BASE, activation=Polynomial((0.0, 1.0)), linear="none", head=HEAD)
    net = learner.fit(in_memory(one.X, one.y))
    path, means = ridge_path(one.X @ net.W.T, one.y)
    close(net(one.X), path.offset + (one.X @ net.W.T - means) @ path.coefficients(0.5), 1e-8)


@pytest.mark.parametrize(
    "option",
    [
        {"width": 26},
        {"activation": Erf()},
        {"n_steps": 1},
        {"n_steps": 0},
        {"step_size": 0.3},
        {"update": "gradient"},
        {"redraw_biases": False},
        {"linear": "ridge"},
        {"linear": "none"},
        {"head": HEAD},
    ],
)
def test_every_option_changes_the_fit(option):
    one = data()
    changed = replace(BASE, **option).fit(in_memory(one.X, one.y))(one.X)
    assert float((changed - BASE.fit(in_memory(one.X, one.y))(one.X)).abs().max()) > 1e-4


def test_odd_width_is_refused():
    with pytest.raises(ValueError, match="even"):
        GradientStep(width=5)


def single_index(n, d=20):
    """He_2/2 + He_4/sqrt(48) of x_1: unit variance, information exponent 2."""
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(n)).double()
    z = X[:, :1]
    return X, (z**2 - 1) / 2 + (z**4 - 6 * z**2 + 3) / 48**0.5


def test_only_learners_of_features_recover_the_direction():
    (X, y), (X_new, y_new) = single_index(3000), single_index(1000)
    learned = [
        GradientStep(512).fit(in_memory(X, y)),
        RFM(Gaussian(4.0), 1e-2, n_iter=3).fit(in_memory(X, y)),
    ]
    for f in learned:
        u = torch.linalg.eigh(f.agop(X_new)).eigenvectors[:, -1]
        assert float(u[0].abs()) > 0.99
    fixed = [
        KernelRidge(Gaussian(4.0), 1e-2).fit(in_memory(X, y)),
        RandomFeatures(512, head=RidgeHead(select="gcv")).fit(in_memory(X, y)),
    ]
    for f in fixed:
        assert float((f(X_new) - y_new).square().mean()) > 0.4
