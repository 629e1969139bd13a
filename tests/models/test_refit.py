"""A new head on kept features: stationarity, reductions, weights, and what transfer needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import BARE, HEAD, close, data
from gradfeat.models.gradient_step import GradientStep
from gradfeat.models.head import Linear, RidgeHead, refit_head, transfer
from gradfeat.models.random_features import RandomFeatures
from gradfeat.rows.rows import in_memory

LEARNER = GradientStep(width=24, head=BARE)
#: Rounding times cond(F), which the spectrum's cut at n eps bounds by 1 / sqrt(40 eps) = 1e7.
STATIONARY = 1e-8


def source():
    one = data()
    return LEARNER.fit(in_memory(one.X, one.y[:, :1], one.w), seed=3)


@pytest.mark.parametrize("linear", ["moment", "ridge", "none"])
def test_the_same_rows_and_target_give_back_the_net(linear: Linear):
    one, learner = data(), replace(LEARNER, linear=linear)
    net = learner.fit(in_memory(one.X, one.y, one.w), seed=3)
    again = refit_head(net, in_memory(one.X, one.y, one.w), learner.head, linear=linear, seed=3)
    assert all(torch.equal(t, again.tensors()[name]) for name, t in net.tensors().items())


def test_transfer_without_linear_part_gives_back_random_features():
    one = data()
    net = RandomFeatures(24, head=HEAD).fit(in_memory(one.X, one.y, one.w))
    found = transfer(net, one.X, one.y, HEAD, linear=False, weights=one.w)
    close(found.net(one.X), net(one.X))
    assert (found.penalty, found.linear) == (0.5, 0.0)


@pytest.mark.parametrize("n", [10, 40])
def test_heads_are_stationary_with_fewer_or_more_rows_than_neurons(n: int):
    one, net = data(n), source()
    for new in (
        refit_head(net, in_memory(one.X, one.y, one.w), HEAD),
        transfer(net, one.X, one.y, HEAD, linear=False, weights=one.w).net,
    ):
        error = one.w[:, None] * (one.y - new(one.X))
        close(new.features(one.X).T @ error, 0.5 * new.a, STATIONARY)
        assert float(error.sum(0).abs().max()) < STATIONARY * float(one.y.abs().sum())
        assert new.W is net.W
        assert new.b is net.b


def test_linear_part_is_stationary_at_its_scale():
    one, net = data(), source()
    found = transfer(net, one.X, one.X @ one.X[:4], HEAD, weights=one.w)
    assert found.linear > 0
    error = one.w[:, None] * (one.X @ one.X[:4] - found.net(one.X))
    close(one.X.T @ error, 0.5 * found.net.beta / found.linear**2, STATIONARY)
    close(net.features(one.X).T @ error, 0.5 * found.net.a, STATIONARY)


def test_left_out_predictions_are_those_of_fits_without_the_row():
    one, net = data(12), source()
    found = transfer(net, one.X, one.y, HEAD, linear=False, weights=one.w)
    for i in range(3):
        rest = torch.arange(12) != i
        one_less = transfer(net, one.X[rest], one.y[rest], HEAD, linear=False, weights=one.w[rest])
        # Exact but for rounding: the intercept is refitted, lambda is given.
        close(found.left_out[i : i + 1], one_less.net(one.X[i : i + 1]), 1e-9)
    loss = one.w @ (found.left_out - one.y).square().sum(1) / one.w.sum()
    assert found.loss == pytest.approx(float(loss), rel=1e-9)


def test_integer_weights_are_repeated_rows():
    one, net = data(), source()
    X, y = (a.repeat_interleave(one.w.long(), dim=0) for a in (one.X, one.y))
    for linear in (False, True):
        weighted = transfer(net, one.X, one.y, HEAD, linear=linear, weights=one.w)
        close(weighted.net(one.X), refit_repeated(net, X, y, weighted.linear)(one.X), 1e-9)


def refit_repeated(net, X, y, s):
    """Ridge on the stacked features, written out: (Phi' Phi + lambda) c = Phi' y, centred."""
    Phi = torch.cat([net.features(X), s * X], 1) if s else net.features(X)
    means, mean = Phi.mean(0), y.mean(0)
    G = (Phi - means).T @ (Phi - means) + 0.5 * torch.eye(Phi.shape[1]).double()
    c = torch.linalg.solve(G, (Phi - means).T @ (y - mean))
    a, beta = c[:24], s * c[24:] if s else 0 * y.new_zeros(X.shape[1], y.shape[1])
    return replace(net, a=a, beta=beta, offset=mean - means @ c)


def test_every_option_changes_the_head():
    one, net = data(), source()
    base = refit_head(net, in_memory(one.X, one.y), HEAD)(one.X)
    for other in (
        refit_head(net, in_memory(one.X, one.y), RidgeHead(penalty=5.0)),
        refit_head(net, in_memory(one.X, one.y), HEAD, linear="moment"),
        refit_head(net, in_memory(one.X, one.y), HEAD, linear="ridge"),
        refit_head(net, in_memory(one.X, one.y, one.w), HEAD),
        transfer(net, one.X, one.X[:, :1], HEAD).net,
    ):
        assert float((other(one.X) - base).abs().max()) > 1e-3
    held = RidgeHead(select="validation")
    penalties = {transfer(net, one.X, one.y, held, linear=False, seed=s).penalty for s in range(8)}
    assert len(penalties) > 1


def test_fewer_rows_than_neurons_and_no_spread_stay_finite():
    one, net = data(2), source()
    assert bool(transfer(net, one.X, one.y, RidgeHead()).net(one.X).isfinite().all())
    still = torch.ones(5, 4).double()
    constant = transfer(net, still, torch.arange(5.0).double()[:, None], RidgeHead())
    close(constant.net(still), torch.full((5, 1), 2.0).double())


def test_a_few_rows_suffice_once_the_direction_is_known():
    """N = 30 rows in d = 50: pretrained features against a fresh fit and a plain linear part."""
    errors = torch.tensor([_errors(seed) for seed in range(8)])
    kept, moment, fresh = errors.T
    for worse in (moment, fresh):
        gain = worse - kept
        # One-sided, z = 4 standard errors of the mean over seeds.
        assert float(gain.mean() - 4 * gain.std() / len(gain) ** 0.5) > 0.3
    assert float(kept.mean() + 4 * kept.std() / len(kept) ** 0.5) < 0.7


def _errors(seed: int) -> list[float]:
    """Test error over target variance, for |x_1| after learning He_2(x_1)."""
    g = torch.Generator().manual_seed(seed)
    X, Z = (torch.randn(n, 50, generator=g).double() for n in (2500, 1030))
    learner = GradientStep(width=128, linear="ridge", head=RidgeHead())
    net = learner.fit(in_memory(X, X[:, :1] ** 2), seed=seed)
    train, y, test, t = Z[:30], Z[:30, :1].abs(), Z[30:], Z[30:, :1].abs()
    nets = (
        transfer(net, train, y, RidgeHead()).net,
        refit_head(net, in_memory(train, y), RidgeHead(), linear="moment"),
        learner.fit(in_memory(train, y), seed=seed),
    )
    return [float((f(test) - t).square().mean() / t.var()) for f in nets]
