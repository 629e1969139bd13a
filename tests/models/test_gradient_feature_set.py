"""Gradient feature sets of samples: planted directions are found, at the sizes stated."""

from __future__ import annotations

import math

import pytest
import torch

from gradfeat.models.gradient_features.feature_set import (
    first_neurons,
    gradient_feature_set,
    standardised,
)


def gaussian_mixture(n, d, separation, g):
    """Four components at orthogonal means of this length, labels + - + -."""
    j = torch.randint(4, (n,), generator=g)
    X = torch.randn(n, d, generator=g).double() + separation * torch.eye(d).double()[j]
    return X, 1.0 - 2 * (j % 2)[:, None].double(), torch.eye(d)[:, :4].double()


def parity_blocks(n, d, g, r=3, k=5):
    """A fifth uniform on +-1 with parity labels; else one block all plus (1) or all minus (-1)."""
    phi = torch.randint(0, 2, (n, r, k), generator=g).double() * 2 - 1
    part, side = (
        torch.randint(r, (n,), generator=g),
        torch.randint(0, 2, (n,), generator=g) * 2.0 - 1,
    )
    alone = torch.nn.functional.one_hot(part, r)[:, :, None] * side[:, None, None].double()
    mixed = torch.rand(n, 1, 1, generator=g) < 0.2
    phi = torch.where(mixed, phi, alone.expand(n, r, k))
    u = torch.rand(n, d - r * k, generator=g)
    background = (u < 0.1).double() - (u > 0.9).double()
    y = phi.prod(2).sum(1, keepdim=True).sign()
    truth = torch.eye(d)[:, : r * k].unflatten(1, (r, k)).sum(2) / k**0.5
    return torch.cat([phi.flatten(1), background], 1), y, truth.double()


def linear(n, d, g):
    X = torch.randn(n, d, generator=g).double()
    return X, X[:, :1].sign(), torch.eye(d)[:, :1].double()


def of_sign(found, sign):
    features = [f.direction for f in found.features if f.sign == sign]
    return torch.stack(features, 1) if features else found.directions[:, :0]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "draw",
    [
        lambda g: gaussian_mixture(5000, 20, 4.0, g),
        lambda g: gaussian_mixture(2000, 20, 5.0, g),
        lambda g: parity_blocks(10000, 30, g),
    ],
)
def test_planted_directions_and_nothing_else_at_positive_bias(draw, seed):
    X, y, truth = draw(torch.Generator().manual_seed(seed))
    found = gradient_feature_set(X, y, seed=seed)
    cosines = (of_sign(found, 1).T @ truth).abs()
    assert cosines.shape == (truth.shape[1],) * 2
    assert (cosines.max(0).values > 0.95).all()


@pytest.mark.parametrize("seed", range(2))
def test_at_negative_bias_the_linear_direction_is_found(seed):
    X, y, _ = gaussian_mixture(5000, 20, 4.0, torch.Generator().manual_seed(seed))
    D = of_sign(gradient_feature_set(X, y, seed=seed), -1)
    mean = ((y - y.mean()).T @ X)[0]
    assert D.shape == (20, 1)
    assert (mean @ D[:, 0]).abs() / mean.norm() > 0.99


@pytest.mark.parametrize(("n", "d"), [(500, 5), (2000, 30)])
def test_linear_labels_have_one_direction(n, d):
    X, y, truth = linear(n, d, torch.Generator().manual_seed(0))
    found = gradient_feature_set(X, y)
    assert found.directions.shape == (d, 1)
    assert (found.directions.T @ truth).abs() > 0.95


def test_nothing_is_left_once_the_labels_are_shuffled():
    hits = 0
    for seed in range(10):
        g = torch.Generator().manual_seed(seed)
        X, y, _ = gaussian_mixture(1000, 20, 4.0, g)
        y = y[torch.randperm(len(y), generator=g)]
        hits += bool(gradient_feature_set(X, y, neurons=400, seed=seed).features)
    # 5 % of 10 is .5; three or more have probability .012.
    assert hits <= 2


SMALL = {"neurons": 600, "p": 0.05}


def small():
    return linear(600, 8, torch.Generator().manual_seed(0))[:2]


def figures(found):
    features = [(f.sign, f.mass, f.norm) for f in found.features]
    return features, found.least_norm, found.short, found.unexplained


def test_shift_and_scale_of_y_and_scale_of_x_do_not_matter():
    X, y = small()
    one, other = (gradient_feature_set(*data, **SMALL) for data in ((X, y), (X, 1e6 + 1e-3 * y)))
    assert [f.mass for f in one.features] == [f.mass for f in other.features]
    wider = gradient_feature_set(1000 * X, y, **SMALL)
    assert [f.mass for f in one.features] == [f.mass for f in wider.features]
    assert wider.least_norm == pytest.approx(tuple(1000 * t for t in one.least_norm))


def test_rows_of_weight_zero_are_as_rows_left_out():
    X, y = small()
    v = (torch.arange(len(X)) < 400).double()
    assert figures(gradient_feature_set(X, y, weights=v, **SMALL)) == figures(
        gradient_feature_set(X[:400], y[:400], **SMALL)
    )


def test_weights_choose_which_rows_speak():
    X, _ = small()
    y = torch.cat([X[:300, :1], X[300:, 1:2]]).sign()
    for first, axis in ((1.0, 0), (0.05, 1)):
        v = torch.cat([torch.full((300,), first), torch.full((300,), 1.05 - first)]).double()
        D = gradient_feature_set(X, y, weights=v, **SMALL).directions
        assert D[axis, 0].abs() > 0.9


def test_several_outputs_give_the_union():
    X, y = small()
    both = gradient_feature_set(X, torch.cat([1000 * y, X[:, 1:2]], 1), **SMALL)
    assert sorted(both.directions.abs().argmax(0).tolist()) == [0, 1]


def test_a_constant_output_has_no_features():
    X, y = small()
    found = gradient_feature_set(X, 0 * y + 1e6 / 3, **SMALL)
    assert found.features == ()
    assert found.short == 1.0


def test_every_option_changes_the_answer():
    X, y = small()
    base = SMALL | {"bias_scale": 1.0}  # a feature at either sign of b
    one = figures(gradient_feature_set(X, y, **base))
    for change in (
        {"p": 0.3}, {"width": 0.2}, {"least_norm": (0.3, 0.3)}, {"neurons": 700},
        {"weight_scale": 1.0}, {"bias_scale": 2.0}, {"seed": 1},
    ):  # fmt: skip
        assert figures(gradient_feature_set(X, y, **(base | change))) != one
    assert figures(gradient_feature_set(X, y, **base)) == one


def test_single_precision_finds_the_same():
    X, y = small()
    D = gradient_feature_set(X.float(), y.float(), **SMALL).directions
    one = gradient_feature_set(X, y, **SMALL).directions
    assert D.shape == one.shape
    # Single precision moves few neurons over the edge of a cone.
    assert (D * one).sum(0).abs().min() > 1 - 1e-4


def test_global_generators_are_left_alone():
    X, y = small()
    before = torch.random.get_rng_state()
    gradient_feature_set(X, y, **SMALL)
    assert torch.equal(before, torch.random.get_rng_state())


def test_first_neurons_have_the_law_they_say():
    W, b = first_neurons(
        4000, 5, torch.Generator().manual_seed(0), weight_scale=0.5, bias_scale=3.0
    )
    # Standard errors of a spread and of a mean over 20,000 numbers: .5 %, .0035; 4 of them.
    assert float(W.std()) == pytest.approx(0.5, rel=0.02)
    assert float(W.mean()) == pytest.approx(0.0, abs=0.015)
    assert b.abs().unique().tolist() == [3.0]
    assert float(b.sum()) == 0.0


def test_standardised_by_weights_has_mean_zero_and_unit_spread():
    g = torch.Generator().manual_seed(0)
    y, v = torch.rand(50, 2, generator=g).double(), torch.rand(50, generator=g).double()
    r = standardised(y, v)
    zero, one = torch.zeros(2).double(), torch.ones(2).double()
    torch.testing.assert_close(v @ r, zero, rtol=0, atol=1e-13)
    torch.testing.assert_close(v @ r.square() / v.sum(), one, rtol=1e-13, atol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 0.0}, "between 0 and 1"),
        ({"neurons": 10}, "at least 80"),
        ({"weights": -torch.ones(600)}, "not negative"),
        ({"least_norm": (0.0, 0.0)}, "above 0"),
    ],
)
def test_feature_set_refusals(change, message):
    X, y = small()
    with pytest.raises(ValueError, match=message):
        gradient_feature_set(X, y, **(SMALL | change))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"bias_scale": 0.0}, "bias_scale is 0"), ({"weight_scale": math.nan}, "weight_scale is nan")],
)
def test_a_scale_that_is_no_size_is_refused(options, words):
    X = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)).double()
    with pytest.raises(ValueError, match=words):
        gradient_feature_set(X, X[:, :1], neurons=400, **options)


@pytest.mark.parametrize("at", ["X", "y"])
def test_rows_that_are_not_finite_are_refused(at):
    rows = {"X": torch.ones(50, 3), "y": torch.ones(50, 1)}
    rows[at][0, 0] = math.inf
    with pytest.raises(ValueError, match="X or y has values that are not finite"):
        gradient_feature_set(rows["X"], rows["y"], neurons=400)
