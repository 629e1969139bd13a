"""Gradient feature sets from given gradients: masses, intervals, signs, unions."""

from __future__ import annotations

import pytest
import torch

from gradfeat.models.gradient_features.cones import clustered, united

ASK = {"p": 0.1, "width": 0.1, "least_norm": (0.5, 0.5)}


def mixture(m, shares, seed=0, d=5, length=1.0):
    """G along axis k with probability shares[k], up to sign, else 0; b = +1, -1 at random."""
    g = torch.Generator().manual_seed(seed)
    at = torch.multinomial(torch.tensor([*shares, 1 - sum(shares)]), m, True, generator=g)
    G = length * torch.cat([torch.eye(d)[: len(shares)], torch.zeros(1, d)])[at]
    signs = torch.randint(0, 2, (2, m), generator=g) * 2.0 - 1
    return (G * signs[0, :, None]).double(), signs[1].double()


def test_masses_are_shares_of_all_neurons_by_sign_of_b():
    G, b = mixture(8000, [0.4, 0.3, 0.15])
    found = clustered(G, b, **ASK)
    got = [(int(f.direction.argmax()), f.sign) for f in found.features]
    # Half of each share at each sign: .2, .15; .075 < p is left out and unexplained.
    assert sorted(got) == [(0, -1), (0, 1), (1, -1), (1, 1)]
    # Standard errors of shares of 4,000: at most .008; 4 of them.
    for feature, (axis, _) in zip(found.features, got, strict=True):
        assert feature.mass == pytest.approx([0.2, 0.15][axis], abs=0.03)
        assert feature.norm == pytest.approx(1.0)
    assert found.unexplained == pytest.approx(0.15, abs=0.03)
    assert found.short == pytest.approx(0.15, abs=0.03)
    assert found.directions.shape == (5, 2)


def test_the_accounts_add_up_to_all_neurons_where_cones_are_apart():
    found = clustered(*mixture(1000, [0.4, 0.3, 0.15]), **ASK)
    total = sum(f.mass for f in found.features) + found.unexplained + found.short
    assert total == pytest.approx(1.0, abs=1e-12)


def test_intervals_hold_the_truth_in_at_least_their_share_of_draws():
    held = 0
    for seed in range(200):
        found = clustered(*mixture(400, [0.5], seed), **ASK)
        plus = next(f for f in found.features if f.sign == 1)
        held += plus.low <= 0.25 <= plus.high
    # 95 % of 200 is 190; 3 standard errors of sqrt(200 x .95 x .05) = 3.1 below is 181.
    assert held >= 181


def test_masses_are_not_raised_by_the_search():
    """Directions made of the first half say nothing of the second, here of unrelated ones."""
    first, second = mixture(500, [0.0, 0.9]), mixture(500, [0.0, 0.0, 0.9])
    G, b = (torch.cat(both) for both in zip(first, second, strict=True))
    assert clustered(G, b, **ASK).features == ()


def test_norms_below_the_bound_of_their_own_sign_are_short():
    G, b = mixture(2000, [1.0])
    found = clustered(G, b, **(ASK | {"least_norm": (2.0, 0.5)}))
    assert [f.sign for f in found.features] == [-1]
    assert found.short == pytest.approx(float((b[1000:] > 0).double().mean()), abs=1e-12)


def test_norms_and_least_norm_scale_together():
    G, b = mixture(1000, [0.6, 0.3])
    one = clustered(G, b, **ASK)
    other = clustered(1e6 * G, b, **(ASK | {"least_norm": (5e5, 5e5)}))
    assert [f.mass for f in one.features] == [f.mass for f in other.features]


def test_a_wider_cone_or_a_smaller_mass_finds_more():
    g = torch.Generator().manual_seed(0)
    G = torch.eye(5)[torch.randint(2, (2000,), generator=g)].double()
    G += 0.35 * torch.randn(2000, 5, generator=g).double()
    b = torch.ones(2000).double()
    narrow, wide = (
        sum(f.mass for f in clustered(G, b, **(ASK | {"width": w})).features) for w in (0.1, 0.2)
    )
    assert wide > narrow > 0
    assert not clustered(G, b, **(ASK | {"p": 0.6})).features


def test_the_union_keeps_each_direction_at_its_larger_mass():
    one, other = mixture(2000, [0.8]), mixture(2000, [0.4, 0.5])
    both = united([clustered(*one, **ASK), clustered(*other, **ASK)])
    assert sorted((int(f.direction.argmax()), f.sign) for f in both.features) == [
        (0, -1), (0, 1), (1, -1), (1, 1),
    ]  # fmt: skip
    largest = max(f.mass for f in clustered(*one, **ASK).features)
    assert both.features[0].mass == largest
    assert both.directions.shape == (5, 2)


def test_no_feature_has_no_directions():
    found = clustered(torch.zeros(100, 5).double(), torch.ones(100).double(), **ASK)
    assert found.directions.shape == (5, 0)
    assert (found.short, found.unexplained) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 1.0}, "between 0 and 1"),
        ({"width": 0.0}, "between 0 and 1"),
        ({"p": 0.001}, "at least 4000"),
        ({"least_norm": (0.0, 1.0)}, "above 0"),
        ({"G": torch.full((100, 5), torch.nan)}, "finite"),
    ],
)
def test_refusals(change, message):
    G, b = mixture(100, [0.5])
    with pytest.raises(ValueError, match=message):
        clustered(**({"G": G, "b": b} | ASK | change))
    with pytest.raises(ValueError, match="at least one"):
        united([])


def test_norms_are_compared_in_double_precision():
    G, b = mixture(200, [1.0])
    assert clustered(G, b, **(ASK | {"least_norm": (1.0, 1.0 + 1e-12)})).short > 0.3
    zero = clustered(0 * G, b, **(ASK | {"least_norm": (1e-308, 1e-308)}))
    assert zero.short == 1.0


@pytest.mark.parametrize(("d", "features"), [(3, True), (12, False)])
def test_directions_without_clusters_are_features_only_where_a_cone_holds_the_mass(d, features):
    # Evenly spread, the cone of g = .1 has mass .1 for d = 3 and 3e-5 for d = 12.
    G = torch.randn(2000, d, generator=torch.Generator().manual_seed(0)).double()
    found = clustered(G, torch.ones(2000).double(), p=0.05, width=0.1, least_norm=(1e-9, 1e-9))
    assert bool(found.features) == features
    # Standard error of a share of 1,000: .0095; directions follow chance in the other half only.
    assert all(f.mass == pytest.approx(0.1, abs=0.04) for f in found.features)
