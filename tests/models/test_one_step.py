"""One step and ridge: the matrix formula, the reduction to random features, every option."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import close, data
from gradfeat.maths.activations import Erf
from gradfeat.models.head import RidgeHead
from gradfeat.models.one_step import OneStep
from gradfeat.models.random_features import RandomFeatures
from gradfeat.rows.rows import in_memory

BASE = OneStep(24, 3.0, 0.1, activation=Erf())


@pytest.mark.parametrize("residual", ["y", "y - f0"])
def test_step_is_the_matrix_formula(residual):
    one = data()
    X, y = one.X, one.y[:, :1]
    net = replace(BASE, residual=residual).step(in_memory(X, y))
    W0, a = replace(BASE, eta=0.0).step(in_memory(X, y)).W, net.a
    Z = W0 @ X.T
    r = a @ y.T - (a @ a.T @ torch.erf(Z) if residual == "y - f0" else 0)
    G = (r * torch.exp(-Z.square()) * 2 / torch.pi**0.5) @ X / len(X)
    close(net.W, W0 + 3.0 * G)
    close(W0.norm(dim=1), torch.ones(24).double())


def test_zero_step_is_ridge_on_sphere_features():
    one = data()
    head = RidgeHead(penalty=0.1 * len(one.X), intercept=False)
    other = RandomFeatures(24, Erf(), rows="sphere", biases=False, head=head)
    net = replace(BASE, eta=0.0, sample="reused").fit(in_memory(one.X, one.y))
    close(net(one.X), other.fit(in_memory(one.X, one.y))(one.X))


@pytest.mark.parametrize(
    "option",
    [
        {"width": 25},
        {"eta": 6.0},
        {"lam": 0.2},
        {"activation": OneStep(2, 0.0, 0.0).activation},
        {"residual": "y - f0"},
        {"sample": "reused"},
        {"rows": "gaussian"},
        {"intercept": True},
    ],
)
def test_every_option_changes_the_fit(option):
    one = data()
    changed = replace(BASE, **option).fit(in_memory(one.X, one.y))(one.X)
    assert float((changed - BASE.fit(in_memory(one.X, one.y))(one.X)).abs().max()) > 1e-4


def test_rows_of_the_start_are_those_of_random_features():
    one = data()
    head = RidgeHead(penalty=0.1 * len(one.X))
    other = RandomFeatures(24, Erf(), rows="gaussian", biases=False, head=head)
    net = replace(BASE, eta=0.0, sample="reused", rows="gaussian", intercept=True)
    close(net.fit(in_memory(one.X, one.y))(one.X), other.fit(in_memory(one.X, one.y))(one.X))
