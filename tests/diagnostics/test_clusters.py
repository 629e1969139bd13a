"""Concentration on a line: planted clusters, isotropic null, invariances, scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.decomposition import TruncatedSVD

from gradfeat.diagnostics.clusters import (
    antipodal_concentration,
    isotropic_concentration,
    two_groups,
)

G = torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(0)


def planted(m: int, d: int, spread: float, share: float = 0.5) -> torch.Tensor:
    """Rows around +u (a share of them) and -u with isotropic spread, of random lengths."""
    u = torch.zeros(d).double()
    u[0] = 1
    signs = torch.where(torch.arange(m) < share * m, 1.0, -1.0)[:, None]
    noise = spread / d**0.5 * torch.randn(m, d, generator=G).double()
    return (signs * u + noise) * torch.rand(m, 1, generator=G).double()


def test_concentration_is_the_leading_singular_value_of_scikit_learn():
    W = torch.randn(40, 12, generator=G).double()
    U = torch.nn.functional.normalize(W).numpy()
    svd = TruncatedSVD(1, algorithm="arpack", random_state=0).fit(U)
    expected = svd.singular_values_[0] ** 2 / 40
    assert antipodal_concentration(W) == pytest.approx(expected, rel=1e-10)  # arpack's tolerance


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_rotation_order_sign_and_length_of_neurons_change_nothing(shape):
    W = torch.randn(*shape, generator=G).double()
    R = torch.linalg.qr(torch.randn(shape[1], shape[1], generator=G).double())[0]
    factor = torch.randn(shape[0], 1, generator=G).double()
    order = torch.randperm(shape[0], generator=G)
    moved = (factor * W @ R)[order]
    # rounding of an eigenvalue below 1
    assert antipodal_concentration(moved) == pytest.approx(antipodal_concentration(W), abs=1e-13)
    same_signs = two_groups((factor.abs() * W @ R)[order])
    groups = two_groups(W)
    assert sorted(same_signs.resultants) == pytest.approx(sorted(groups.resultants), abs=1e-12)
    assert abs(float((same_signs.sides * groups.sides[order]).sum())) == shape[0]


@pytest.mark.parametrize(("m", "d"), [(300, 100), (200, 500), (2000, 20)])
def test_isotropic_neurons_have_the_concentration_of_the_null(m, d):
    values = [antipodal_concentration(torch.randn(m, d, generator=G)) for _ in range(5)]
    # the largest eigenvalue strays from the edge by a few min(m, d)^{-2/3} of it (Tracy-Widom)
    assert np.mean(values) == pytest.approx(
        isotropic_concentration(m, d), rel=1.5 * min(m, d) ** (-2 / 3)
    )


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
def test_planted_clusters_have_the_mean_squared_cosine_and_the_right_sides(share):
    spread = 0.3
    groups = two_groups(planted(2000, 50, spread, share))
    # E cos^2 = 1/(1 + spread^2) up to O(1/d)
    assert groups.concentration == pytest.approx(1 / (1 + spread**2), abs=3 / 50 * spread**2)
    counts = sorted([int((groups.sides == side).sum()) for side in (1, -1)])
    assert counts == [round(2000 * (1 - share)), round(2000 * share)]
    found = [r for r in groups.resultants if not math.isnan(r)]
    # E cos is the root of E cos^2 to the same order
    assert found == pytest.approx([(1 + spread**2) ** -0.5] * len(found), abs=0.01)
    assert len(found) == (1 if share == 1 else 2)


def test_measures_grow_as_clusters_tighten_and_two_clusters_separate():
    groups = [two_groups(planted(200, 20, spread)) for spread in (8.0, 2.0, 0.5, 0.05)]
    for values in (
        [g.concentration for g in groups],
        [g.silhouette for g in groups],
        [min(g.resultants) for g in groups],
    ):
        assert (np.diff(values) > 0).all()
    assert groups[-1].silhouette > 0.9
    assert groups[0].concentration < 2 * groups[0].null
    # one cluster is a line too, but its halves do not separate
    assert two_groups(planted(200, 20, 0.05, share=1.0)).silhouette < 0.3


def test_zero_neurons_and_equal_neurons():
    W = torch.cat([torch.ones(5, 3), torch.zeros(2, 3)])
    groups = two_groups(W)
    assert groups.concentration == pytest.approx(1, abs=1e-12)
    assert groups.sides.abs().tolist() == [1] * 5 + [0] * 2
    assert math.isnan(groups.silhouette)
    assert [r for r in groups.resultants if not math.isnan(r)] == pytest.approx([1])


def test_two_exactly_opposite_directions_are_perfectly_separated():
    W = torch.tensor([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [-3.0, -6.0]])
    groups = two_groups(W)
    assert groups.resultants == pytest.approx((1, 1))
    assert groups.silhouette == pytest.approx(1)


@pytest.mark.parametrize("W", [torch.zeros(3, 2), torch.ones(0, 2), torch.full((2, 2), torch.nan)])
def test_bad_input_is_named(W):
    with pytest.raises(ValueError, match=r"zero or there are none|not finite"):
        antipodal_concentration(W)
