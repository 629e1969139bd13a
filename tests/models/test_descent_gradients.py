"""Closed-form gradients of descent against automatic differentiation of the written-out loss."""

from __future__ import annotations

from typing import cast

import pytest
import torch
from torch import Tensor

from contracts import close
from gradfeat.maths.activations import CentredReLU, Polynomial, ReLU, Tanh, TruncatedReLU
from gradfeat.maths.smoothing import SmoothedTruncatedReLU
from gradfeat.models.descent import trained as module
from gradfeat.models.descent.layers import Layers
from gradfeat.models.descent.trained import AllLayers, Batch, HeadOnly, Linearisation
from gradfeat.models.losses import Hinge, Logistic, Squared

from .descent_cells import Theta, networks, rows, theta, written_out

LOSSES = [Hinge(), Squared(), Logistic()]
SIGMAS = [
    TruncatedReLU(),
    Tanh(),
    ReLU(),
    SmoothedTruncatedReLU(0.3),
    Polynomial((0.0, 1.0)),
    Polynomial((0.5,)),
]
losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda o: type(o).__name__)
sigmas = pytest.mark.parametrize("sigma", SIGMAS, ids=repr)
outputs = pytest.mark.parametrize("c", [1, 2])


def away(at: Layers) -> Layers:
    """Parameters away from `at`."""
    return Layers(at.W + 0.1 * at.W.sin(), at.b + 0.2, at.a - 0.3 * at.a.cos())


def autograd(f, at: Layers, given: Batch, loss, i: int) -> tuple[Theta, Tensor]:
    """Gradient in W, b, a, and the loss, of network `i`."""
    variables = cast(Theta, tuple(t.clone().requires_grad_() for t in theta(at, i)))
    value = (given.w[i] * loss(f(variables, given.X[i]), given.y[i])).sum()
    found = torch.autograd.grad(value, variables, allow_unused=True)
    filled = [
        torch.zeros_like(t) if g is None else g for t, g in zip(variables, found, strict=True)
    ]
    return cast(Theta, tuple(filled)), value.detach()


def check(found: tuple[Layers, Tensor], i: int, expected: tuple[Theta, Tensor]) -> None:
    """Sums of 24 terms of order one in another order: some hundred units of rounding."""
    for one, other in zip(theta(found[0], i), expected[0], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found[1][i], expected[1], rtol=1e-13, atol=1e-15)


@losses
@sigmas
@outputs
def test_all_layers(loss, sigma, c):
    at, given = networks(c=c), rows(c=c)
    found = AllLayers().gradients(at, given, loss, sigma)
    for i in range(3):
        check(found, i, autograd(lambda t, X: written_out(t, X, sigma), at, given, loss, i))


@losses
@sigmas
@outputs
def test_head_only_is_the_head_of_all_layers(loss, sigma, c):
    at, given = networks(c=c), rows(c=c)
    found, value = HeadOnly().gradients(at, given, loss, sigma)
    whole, same = AllLayers().gradients(at, given, loss, sigma)
    assert torch.equal(found.a, whole.a)
    assert torch.equal(value, same)
    assert not found.W.any()
    assert not found.b.any()


@losses
@sigmas
@outputs
def test_linearisation(loss, sigma, c):
    start, given = networks(c=c), rows(c=c)
    at = away(start)
    found = Linearisation(start).gradients(at, given, loss, sigma)
    for i in range(3):
        W0, b0, a0 = theta(start, i)

        def f(t: Theta, X: Tensor, W0=W0, b0=b0, a0=a0) -> Tensor:
            z = X @ W0.T + b0
            moved = X @ (t[0] - W0).T + t[1] - b0
            return sigma(z) @ t[2] + (sigma.derivative(z) * moved) @ a0

        check(found, i, autograd(f, at, given, loss, i))


@pytest.mark.parametrize("trains", [AllLayers(), HeadOnly(), Linearisation(networks(c=1))])
def test_groups_of_networks_and_rows_left_out_change_nothing(trains, monkeypatch):
    """Hinge with outputs on both sides of the margin, so that some rows have no slope."""
    at, given = away(networks()), rows()
    at = Layers(at.W, at.b, 3 * at.a)
    live = given.y * _outputs(at, given) < 1
    assert bool(live.any(1).all() and (~live).any(1).all())
    whole, value = trains.gradients(at, given, Hinge(), Tanh())
    for bytes_together in (1, 2 * 24 * 8 * 8):
        monkeypatch.setattr(module, "GROUP_BYTES", bytes_together)
        parts, same = trains.gradients(at, given, Hinge(), Tanh())
        close(same, value, 1e-14)
        # Zeros left out of sums of 24 terms: rounding.
        close(parts.a, whole.a, 1e-14)
        if whole.W.any():
            close(parts.W, whole.W, 1e-14)
            close(parts.b, whole.b, 1e-14)


def test_rows_without_slope_are_left_out_of_large_networks(monkeypatch):
    Z, slope, X = torch.ones(1, 6, 2), torch.ones(1, 6, 2), torch.ones(1, 6, 3)
    slope[0, :2] = 0
    slope[0, 2, 0] = 0
    assert module._live(Z, slope, X)[2].shape == (1, 6, 3)
    monkeypatch.setattr(module, "GROUP_BYTES", 1)
    assert [t.shape[1] for t in module._live(Z, slope, X)] == [4, 4, 4]


def test_no_row_with_a_slope_is_a_zero_gradient(monkeypatch):
    monkeypatch.setattr(module, "GROUP_BYTES", 1)
    at, given = networks(), rows()
    sure = Batch(given.X, torch.sign(_outputs(at, given)), given.w)
    at = Layers(at.W, at.b, 1e6 * at.a)
    found, value = AllLayers().gradients(at, sure, Hinge(), Tanh())
    assert not value.any()
    assert not any(bool(t.any()) for t in (found.W, found.b, found.a))


def _outputs(at: Layers, given: Batch) -> Tensor:
    return torch.stack([written_out(theta(at, i), given.X[i], Tanh()) for i in range(3)])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_slopes_of_ramps_are_exact_beside_their_corners(dtype):
    zero, one = torch.tensor(0.0, dtype=dtype), torch.tensor(1.0, dtype=dtype)
    up, down = torch.tensor(torch.inf, dtype=dtype), torch.tensor(-torch.inf, dtype=dtype)
    tiny, last, above = zero.nextafter(up), one.nextafter(down), one.nextafter(up)
    large = torch.tensor(torch.finfo(dtype).max, dtype=dtype)
    z = torch.stack([down, -large, -tiny, zero, tiny, last, one, above, large, up])
    assert TruncatedReLU().derivative(z).tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    for ramp in (ReLU(), CentredReLU()):
        assert ramp.derivative(z).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
