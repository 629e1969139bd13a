"""Losses: slopes by two paths, convexity, values at chosen points, names."""

from __future__ import annotations

import math

import pytest
import torch

from gradfeat.models.losses import NAMED, Hinge, Logistic, Loss, Squared, loss

every = pytest.mark.parametrize("name", NAMED)
#: No product y f is 1, where the hinge bends.
F = torch.linspace(-3.05, 3.05, 62, dtype=torch.float64)


def labels(sign: float) -> torch.Tensor:
    return torch.full_like(F, sign)


@every
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_slope_equals_autograd_away_from_kinks(name, sign):
    f, y = F.clone().requires_grad_(), labels(sign)
    (expected,) = torch.autograd.grad(loss(name)(f, y).sum(), f)
    # Two orders of the same few operations on numbers of order one.
    torch.testing.assert_close(loss(name).slope(F, y), expected, rtol=1e-13, atol=1e-15)


@every
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_loss_is_convex_in_the_output(name, sign):
    slopes = loss(name).slope(F, labels(sign))
    assert bool((slopes.diff() >= 0).all())
    assert float(slopes.max() - slopes.min()) > 0.5


@every
def test_loss_lies_above_its_tangents(name):
    of, y = loss(name), labels(1.0)
    tangents = of(F, y)[:, None] + of.slope(F, y)[:, None] * (F - F[:, None])
    # Rounding of sums below 40.
    assert float((of(F, y) - tangents).min()) > -1e-13


def test_values_at_chosen_points():
    f, y = torch.tensor([0.5, -2.0]).double(), torch.tensor([1.0, 1.0]).double()
    assert Hinge()(f, y).tolist() == [0.5, 3.0]
    assert Squared()(f, y).tolist() == [0.25, 9.0]
    expected = [math.log1p(math.exp(-0.5)), math.log1p(math.exp(2.0))]
    assert Logistic()(f, y).tolist() == pytest.approx(expected, rel=1e-14)


def test_hinge_has_no_slope_at_its_kink():
    y = torch.tensor([1.0, -1.0])
    assert Hinge().slope(y, y).tolist() == [0.0, 0.0]


def test_logistic_stays_finite_far_out():
    f = torch.tensor([-1e4, 1e4])
    assert Logistic()(f, torch.ones(2)).tolist() == [1e4, 0.0]
    assert Logistic().slope(f, torch.ones(2)).tolist() == [-1.0, -0.0]


@every
def test_float32_and_shape_are_kept(name):
    f, y = torch.zeros(2, 3, 1), torch.ones(2, 3, 1)
    for out in (loss(name)(f, y), loss(name).slope(f, y)):
        assert (out.shape, out.dtype) == (f.shape, f.dtype)


def test_names_resolve_and_objects_stay():
    assert [loss(name) for name in NAMED] == [Hinge(), Squared(), Logistic()]
    one = Squared()
    assert loss(one) is one
    assert isinstance(one, Loss)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="loss was 'mse'; give one of hinge, squared, logistic"):
        loss("mse")
