"""Gaussian mixtures: moments of each component, posterior, options, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from contracts_of_tasks import Z, errors
from scipy.stats import multivariate_normal

from gradfeat.maths.streams import stream
from gradfeat.tasks.gaussian_mixture import GaussianMixture

N = 50_000


def task(**changes):
    """Labels name the components, so that rows can be told apart."""
    given = {"d": 5, "r": 3, "separation": 2.0, "scale": 0.7, "along": 1.5, "seed": 1}
    return GaussianMixture(
        **given | {"labels": (1.0, 2.0, 3.0), "weights": (0.2, 0.3, 0.5)} | changes
    )


def covariance(one, j):
    u = one.directions[:, j]
    return one.scale**2 * (torch.eye(one.d).double() + (one.along**2 - 1) * torch.outer(u, u))


def test_each_component_has_its_share_mean_and_covariance():
    one = task()
    sample = one.sample(N, stream(0, "x"))
    for j, p in enumerate(one.component_weights):
        chosen = sample.y[:, 0] == j + 1
        rows = sample.X[chosen] - one.separation * one.directions[:, j]
        assert errors(chosen.double()[:, None], p) < Z
        assert errors(rows) < Z
        squares = (rows[:, :, None] * rows[:, None, :]).flatten(1)
        assert errors(squares, covariance(one, j).flatten()) < Z


def test_the_posterior_is_bayes_rule_with_densities_of_scipy():
    one = task()
    X = one.sample(200, stream(0, "x")).X
    means = one.separation * one.directions.T.numpy()
    laws = [multivariate_normal(mean, covariance(one, j).numpy()) for j, mean in enumerate(means)]
    joint = np.stack([p * law.pdf(X) for p, law in zip(one.component_weights, laws, strict=True)])
    expected = torch.from_numpy((joint / joint.sum(0)).T)
    # Exponents up to some tens: rounding of 1e-15 each.
    torch.testing.assert_close(one.posterior(X), expected, rtol=0, atol=1e-12)


def test_twins_share_a_component_and_its_posterior():
    """The average of two mixtures, at mu_j and at -mu_j, that know nothing of each other."""
    one, plain = task(mirrored=True), task()
    X = one.sample(200, stream(0, "x")).X
    a = X @ one.directions

    def density(a):
        # p_j N(x; mu_j, Sigma_j) up to what all components share.
        inside = a.square() - ((a - 2.0) / 1.5).square()
        return torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64) * torch.exp(inside / (2 * 0.49))

    both = density(a) + density(-a)
    expected = both / both.sum(1, keepdim=True)
    torch.testing.assert_close(one.posterior(X), expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(one.posterior(-X), expected, rtol=0, atol=1e-12)
    assert not torch.allclose(plain.posterior(X), expected)


def test_twins_are_fair_and_around_both_means():
    one = task(mirrored=True, scale=0.1)
    sample = one.sample(N, stream(0, "x"))
    for j, p in enumerate(one.component_weights):
        chosen = sample.y[:, 0] == j + 1
        along = sample.X[chosen] @ one.directions[:, j : j + 1]
        assert errors(chosen.double()[:, None], p) < Z
        assert errors(along.sign()) < Z
        assert errors(along.abs(), 2.0) < Z  # 20 standard deviations from 0
    assert errors(sample.y * sample.X) < Z


def test_the_posterior_stays_finite_far_away():
    one = task(scale=1e-3)
    X = 100 * one.sample(50, stream(0, "x")).X
    assert bool(torch.isfinite(one.target(X)).all())


def test_a_row_is_the_label_where_components_are_far_apart():
    one = task(separation=30.0)
    sample = one.sample(500, stream(0, "x"))
    torch.testing.assert_close(one.target(sample.X), sample.y, rtol=0, atol=1e-9)


def test_without_separation_the_target_is_the_mean_label():
    one = task(separation=0.0, along=1.0)
    X = one.sample(50, stream(0, "x")).X
    torch.testing.assert_close(one.target(X), torch.full((50, 1), 2.3).double())


def test_the_length_of_x_is_as_stated():
    one = task()
    square = one.sample(N, stream(0, "x")).X.square().sum(1, keepdim=True)
    assert errors(square, 4.0 + 0.49 * (5 - 1 + 2.25)) < Z


def test_defaults_are_alternating_labels_and_equal_weights():
    one = GaussianMixture(6, 4, 1.0)
    assert one.component_labels == (1.0, -1.0, 1.0, -1.0)
    assert one.component_weights == (0.25,) * 4


@pytest.mark.parametrize(
    "change",
    [
        {"d": 6},
        {"separation": 1.0},
        {"scale": 0.5},
        {"along": 1.0},
        {"labels": (1.0, 2.0, 2.5)},
        {"weights": None},
        {"mirrored": True},
        {"seed": 2},
        {"r": 2, "labels": (1.0, 2.0), "weights": (0.2, 0.8)},
    ],
    ids=str,
)
def test_each_option_changes_the_sample(change):
    a, b = (t.sample(20, stream(0, "train")) for t in (task(), task(**change)))
    assert not (torch.equal(a.X, b.X) and torch.equal(a.y, b.y))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"d": 0}, "d is 0"),
        ({"r": 6}, "r is 6: give 1 to d = 5"),
        ({"separation": -1.0}, "separation is -1.0: give a finite number"),
        ({"separation": math.inf}, "separation is inf"),
        ({"scale": 0.0}, "scale is 0.0: give a finite number above 0"),
        ({"along": math.nan}, "along is nan: give a finite"),
        ({"labels": (1.0, 2.0)}, "labels are .*: give 3 finite numbers"),
        ({"labels": (1.0, 2.0, math.nan)}, "labels are .*: give 3 finite numbers"),
        ({"weights": (0.5, 0.5)}, "weights are .*: give 3 probabilities"),
        ({"weights": (0.5, 0.5, 0.0)}, "weights are .*: give 3 probabilities above 0"),
        ({"weights": (0.5, 0.4, 0.3)}, "that add to 1"),
    ],
)
def test_refuses(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        task(**change)
