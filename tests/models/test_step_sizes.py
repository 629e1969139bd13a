"""One gradient for many step sizes, whatever the residual."""

from __future__ import annotations

import pytest
import torch

from contracts import close, data
from gradfeat.maths.activations import Erf
from gradfeat.maths.step_names import Residual
from gradfeat.models.head import RidgeHead, with_head
from gradfeat.models.random_features import RandomFeatures
from gradfeat.models.step_sizes import first_step
from gradfeat.rows.rows import in_memory

RESIDUALS: list[Residual] = ["y", "y - f0", "ba22"]


def gaussian(n, d, name):
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(name), dtype=torch.float64)
    return X, X[:, :1] + X[:, 1:2] ** 2 - 1


@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize("columns", [1, 2])
def test_features_at_every_step_size_are_those_of_its_network(residual, columns):
    one = data()
    y = torch.cat([one.y[:, :1], one.X[:, :1]], 1)[:, :columns]
    step = first_step(in_memory(one.X, y), width=24, activation=Erf(), residual=residual, seed=3)
    for eta in (0.0, 0.7, 30.0):
        net = step.network(eta)
        # The same sums in another order, up to rounding of entries near 10.
        assert float((step.rows(one.X).features(eta) - net.features(one.X)).abs().max()) < 1e-12


@pytest.mark.parametrize(("residual", "scale"), [("y", 0.0), ("y - f0", 1.0), ("ba22", 24**-0.5)])
def test_the_gradient_and_beta_are_their_formulas(residual, scale):
    one = data()
    X, y = one.X, one.y[:, :1]
    step = first_step(in_memory(X, y), width=24, activation=Erf(), residual=residual)
    Z = X @ step.W0.T
    r = y - scale * torch.erf(Z) @ step.a
    close(step.beta, X.T @ r / len(X))
    close(step.G, ((r @ step.a.T) * torch.exp(-Z.square()) * 2 / torch.pi**0.5).T @ X / len(X))


def test_features_by_blocks_of_rows_are_those_at_once(monkeypatch):
    one = data()
    step = first_step(in_memory(one.X, one.y), width=24, activation=Erf())
    rows = step.rows(one.X)
    whole = rows.features(2.0)
    monkeypatch.setattr("gradfeat.models.step_sizes.BLOCK_BYTES", 3 * 24 * 8 * 7)
    assert torch.equal(rows.features(2.0), whole)


def test_powers_are_those_of_x_beta():
    one = data()
    step = first_step(in_memory(one.X, one.y[:, :1]), width=24, activation=Erf())
    z = (one.X @ step.beta)[:, 0]
    close(step.powers(one.X, 3), torch.stack([z, z**2, z**3], 1))
    several = first_step(in_memory(one.X, torch.cat([one.y, one.y], 1)), width=24, activation=Erf())
    with pytest.raises(ValueError, match="give first_step one target"):
        several.powers(one.X, 2)


def test_single_precision_stays_single():
    X, y = (part.float() for part in gaussian(60, 8, 0))
    step = first_step(in_memory(X, y), width=30, activation=Erf())
    assert step.rows(X).features(2.0).dtype == torch.float32


def test_the_residuals_differ():
    one = data()
    steps = [
        first_step(in_memory(one.X, one.y), width=24, activation=Erf(), residual=r)
        for r in RESIDUALS
    ]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert float((steps[i].G - steps[j].G).abs().max()) > 1e-4


@pytest.mark.parametrize("law", ["sphere", "gaussian"])
def test_no_step_and_a_head_are_random_features(law):
    one = data()
    rows, head = in_memory(one.X, one.y), RidgeHead(penalty=0.1)
    step = first_step(rows, width=24, activation=Erf(), law=law)
    other = RandomFeatures(24, Erf(), rows=law, biases=False, head=head).fit(rows)
    close(with_head(step.network(0.0), rows, head)(one.X), other(one.X))
