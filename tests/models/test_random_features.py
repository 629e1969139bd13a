"""Random features: their Gram matrices against closed forms, and every option."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import HEAD, data
from gradfeat.maths.activations import Erf, ReLU
from gradfeat.models.random_features import RandomFeatures
from gradfeat.rows.rows import in_memory

BASE = RandomFeatures(24, head=HEAD)
N = 20_000


def arc_cosine(C, norms):
    """E relu(u) relu(v) for Gaussian (u, v) (Cho & Saul 2009, degree 1)."""
    t = (C / norms.outer(norms)).clamp(-1, 1).acos()
    return norms.outer(norms) / (2 * torch.pi) * (t.sin() + (torch.pi - t) * t.cos())


def arc_sine(C, norms):
    """E erf(u) erf(v) (Williams 1997)."""
    scale = (1 + 2 * norms.square()).sqrt()
    return 2 / torch.pi * (2 * C / scale.outer(scale)).asin()


@pytest.mark.parametrize(("activation", "closed"), [(ReLU(), arc_cosine), (Erf(), arc_sine)])
@pytest.mark.parametrize("biases", [True, False])
def test_gram_matrix_is_within_five_standard_errors_of_its_kernel(activation, closed, biases):
    X, y = data(8).X, data(8).y
    F = RandomFeatures(N, activation, biases=biases, head=HEAD).fit(in_memory(X, y)).features(X)
    C = X @ X.T / X.shape[1] + float(biases)
    products = F[:, None] * F
    z = (products.mean(2) - closed(C, C.diagonal().sqrt())) / (products.std(2) / N**0.5)
    assert float(z.abs().max()) < 5


def test_sphere_rows_are_unit_and_isotropic():
    W = RandomFeatures(N, rows="sphere", head=HEAD).fit(in_memory(data(8).X, data(8).y)).W
    torch.testing.assert_close(W.norm(dim=1), torch.ones(N).double())
    # Var(w_i w_j) <= 3 / (d (d + 2)) = 1/8 at d = 4.
    error = (W.T @ W / N - torch.eye(4) / 4).abs().max()
    assert float(error) < 5 * (1 / 8 / N) ** 0.5


@pytest.mark.parametrize(
    "option", [{"width": 25}, {"activation": Erf()}, {"rows": "sphere"}, {"biases": False}]
)
def test_every_option_changes_the_fit(option):
    one = data()
    changed = replace(BASE, **option).fit(in_memory(one.X, one.y))(one.X)
    assert float((changed - BASE.fit(in_memory(one.X, one.y))(one.X)).abs().max()) > 1e-4
