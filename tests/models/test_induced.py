"""Induced networks: their grid, their head under bounds, their gain over random features."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

import contracts
from contracts import HEAD, LEARNER_CHECKS, PREDICTOR_CHECKS, close, data
from gradfeat.models.head import RidgeHead
from gradfeat.models.induced.network import InducedNetwork, SignedDirections, grid_neurons
from gradfeat.models.losses import Hinge, Logistic, Squared
from gradfeat.models.random_features import RandomFeatures
from gradfeat.rows.rows import in_memory

GIVEN = SignedDirections(torch.eye(4).double()[:, :2], torch.tensor([1, -1]))
RIDGE = InducedNetwork(directions=GIVEN, biases=6, head=HEAD)
BOUNDED = InducedNetwork(directions=GIVEN, biases=6, B_a1=0.5, B_a2=1.0, tolerance=1e-9)


def mixture(n, generator, d=30, spread=0.35):
    """Four clusters at +-e_1 and +-e_2, labels +1 on the first pair and -1 on the second."""
    at = torch.randint(4, (n,), generator=generator)
    centres = torch.cat([torch.eye(d)[:2], -torch.eye(d)[:2]]).double()
    X = centres[at] + spread * torch.randn(n, d, generator=generator).double()
    return X, torch.where(at % 2 == 0, 1.0, -1.0).double()[:, None]


@pytest.mark.parametrize("check", [*PREDICTOR_CHECKS, *LEARNER_CHECKS])
def test_contract_of_the_ridge_head(check):
    one = data()
    check(RIDGE if check in LEARNER_CHECKS else RIDGE.fit(in_memory(one.X, one.y, one.w)))


def test_predictions_scale_with_targets():
    contracts.check_predictions_scale_with_targets(RIDGE)


def test_grid_has_the_sign_asked_for_and_lies_among_the_rows():
    X, w = data(200).X, torch.ones(200).double()
    for limit in (math.inf, 0.8):
        W, b = grid_neurons(GIVEN, X, biases=7, B_b=limit)
        assert len(b) == 4 * 7
        assert bool((b[:14] >= 0).all())
        assert bool((b[14:] <= 0).all())
        assert float(b.abs().max()) <= limit
        z = X @ W.T
        # Every neuron fires on some row.
        assert bool((torch.relu(z - b).amax(0) > 0).all())
        # Every kink beside the one at 0 is at a row.
        assert float((z - b).abs().amin(0)[b != 0].max()) == 0.0
    W, b = grid_neurons(GIVEN, X, biases=7, weights=w)
    # The last neuron of sign -1 and w = D is linear on all rows.
    assert float((X @ W[20] - b[20]).min()) >= 0


def test_rows_without_weight_do_not_move_the_grid():
    X, w = data(200).X, torch.ones(200).double()
    w[100:] = 0
    some, few = (grid_neurons(GIVEN, x, biases=7, weights=v) for x, v in ((X, w), (X[:100], None)))
    assert torch.equal(some[1], few[1])


def test_bounded_head_stays_inside_its_bounds_and_each_output_is_its_own():
    one = data()
    f = BOUNDED.fit(in_memory(one.X, one.y, one.w))
    assert float(f.a.abs().max()) <= 0.5
    assert float(f.a.norm(dim=0).max()) <= 1 + 1e-12
    alone = BOUNDED.fit(in_memory(one.X, one.y[:, 1:], one.w))
    torch.testing.assert_close(f(one.X)[:, 1:], alone(one.X), rtol=0, atol=1e-12)


def test_wide_bounds_tend_to_the_unpenalised_head():
    one = data(120)
    few = replace(RIDGE, biases=2, head=RidgeHead(1e-12))
    wide = replace(BOUNDED, biases=2, B_a1=math.inf, B_a2=1e4)
    losses = [(g.fit(in_memory(one.X, one.y))(one.X) - one.y).square().mean(0) for g in (few, wide)]
    torch.testing.assert_close(*losses, rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    "change",
    [
        {"biases": 3},
        {"B_b": 0.5},
        {"B_a1": 0.1},
        {"B_a2": 0.3},
        {"linear": "moment"},
        {"head": RidgeHead(intercept=False)},
        {"directions": SignedDirections(GIVEN.D, torch.tensor([1, 1]))},
        {"tolerance": 0.1},
    ],
    ids=str,
)
def test_every_option_changes_the_fit(change):
    one = data()
    base, other = (
        g.fit(in_memory(one.X, one.y))(one.X) for g in (BOUNDED, replace(BOUNDED, **change))
    )
    assert float((base - other).abs().max()) > 1e-6


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
def test_found_features_beat_random_features_on_a_mixture(loss):
    g = torch.Generator().manual_seed(0)
    X, y = mixture(1500, g)
    X_new, y_new = mixture(2000, g)
    B_a2 = math.inf if loss == Squared() else 20.0
    learner = InducedNetwork(loss, biases=8, neurons=1000, B_a2=B_a2)
    f = learner.fit(in_memory(X, y))
    U = torch.eye(30).double()[:, :2]
    # Every neuron is close to one of the planted directions.
    assert float((f.W @ U).abs().amax(1).min()) > 0.95
    random = RandomFeatures(width=len(f.b)).fit(in_memory(X, y))
    errors = [float((net(X_new).sign() != y_new).double().mean()) for net in (f, random)]
    # Standard error of the difference is at most (1/2000)^{1/2} = 0.022: five of them.
    assert errors[0] < errors[1] - 5 * 0.022
    assert errors[0] < 0.1


def test_float32_rows_give_a_float32_network_near_that_of_float64():
    one = data()
    wide, narrow = (
        BOUNDED.fit(in_memory(one.X.to(t), one.y.to(t))) for t in (torch.float64, torch.float32)
    )
    assert {x.dtype for x in narrow.tensors().values()} == {torch.float32}
    # Features are rounded to 1e-7, and the kinks of the grid with them.
    torch.testing.assert_close(narrow(one.X.float()).double(), wide(one.X), rtol=0, atol=1e-4)


def test_without_structure_the_network_is_the_mean():
    g = torch.Generator().manual_seed(3)
    X = torch.randn(800, 10, generator=g).double()
    y = torch.randn(800, 1, generator=g).double() + 5
    f = InducedNetwork(neurons=600).fit(in_memory(X, y))
    assert len(f.b) == 0
    close(f(X), y.mean().expand(800, 1))
    assert f.gradient(X).shape == (800, 1, 10)
    assert not f.gradient(X).any()


def test_search_options_reach_the_search():
    X, y = mixture(1500, torch.Generator().manual_seed(0))
    base = InducedNetwork(neurons=1000)
    assert base.found(in_memory(X, y)).D.shape[1] > 0
    for change in ({"p": 0.9}, {"least_norm": (9.0, 9.0)}):
        assert replace(base, **change).found(in_memory(X, y)).D.shape[1] == 0
    moved = [{"neurons": 600}, {"width": 0.05}, {"bias_scale": 1.0}]
    for other in (replace(base, **change) for change in moved):
        D, E = base.found(in_memory(X, y)).D, other.found(in_memory(X, y)).D
        assert D.shape != E.shape or not torch.equal(D, E)


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(ValueError, match="give a finite bound and linear='none'"):
        InducedNetwork(Hinge())
    with pytest.raises(ValueError, match="give a finite bound and linear='none'"):
        InducedNetwork(Logistic(), B_a1=1.0, linear="moment")
    with pytest.raises(ValueError, match="columns of length 1"):
        SignedDirections(2 * torch.eye(2), torch.tensor([1, 1]))
    with pytest.raises(ValueError, match=r"give \(d, q\) and \(q,\)"):
        SignedDirections(torch.eye(2), torch.tensor([1]))
    with pytest.raises(ValueError, match="give 2 or more"):
        grid_neurons(GIVEN, data().X, biases=1)
