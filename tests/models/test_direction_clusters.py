"""Directions up to sign: planted ones found once, ghosts and spreads not."""

from __future__ import annotations

import math

import pytest
import torch

from gradfeat.models.gradient_features.cones import direction_clusters


def around(D, each, noise, g):
    """`each` unit vectors about every column of D, half of them turned over."""
    U = D.T.repeat_interleave(each, 0) + noise * torch.randn(each * D.shape[1], len(D), generator=g)
    turned = torch.randint(0, 2, (len(U), 1), generator=g) * 2 - 1
    return torch.nn.functional.normalize(U * turned, dim=1).double()


def plane(*degrees, d=2):
    angles = torch.tensor(degrees).double().deg2rad()
    return torch.cat([angles.cos()[None], angles.sin()[None], torch.zeros(d - 2, len(angles))])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("d", [3, 50])
def test_planted_directions_are_found_to_the_noise_of_their_members(d):
    g = generator()
    truth = torch.linalg.qr(torch.randn(d, 3, generator=g))[0]
    # Members at cosine about 1/sqrt(1 + .1) = .95 to their direction, and .91 to each other.
    U = around(truth, 200, (0.1 / d) ** 0.5, g)
    D = direction_clusters(U, 0.1, 100)
    assert D.shape == (3, d)
    best = (D @ truth.double()).abs().max(0).values
    # A mean of 200 members: sine about sqrt(.1/200) = .022, cosine .9997; .999 is twice that sine.
    assert (best > 0.999).all()


def test_members_wider_apart_than_a_cone_are_still_one_direction():
    # In d = 50 members at cosine .93 to their direction are at .86 to each other: outside a cone.
    g = generator()
    truth = torch.eye(50)[:, :1]
    U = around(truth, 300, (0.15 / 50) ** 0.5, g)
    assert (U[1:] @ U[0]).abs().median() < 0.9
    D = direction_clusters(U, 0.1, 200)
    assert D.shape == (1, 50)
    assert D[0, 0].abs() > 0.99


def test_two_directions_inside_one_cone_are_one():
    U = around(plane(0, 15, d=5), 200, 0.02, generator())
    assert direction_clusters(U, 0.1, 50).shape == (1, 5)


def test_two_tight_directions_whose_cones_overlap_stay_two():
    # Cones of 26 degrees about directions 40 degrees apart.
    truth = plane(0, 40, d=5)
    D = direction_clusters(around(truth, 200, 0.02, generator()), 0.1, 50)
    assert len(D) == 2
    assert ((D @ truth).abs().max(0).values > 0.999).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_rim_of_a_wide_cluster_is_no_direction_of_its_own(seed):
    # In the plane, angles N(0, 20 degrees): a tenth lies beyond the cone on either side.
    degrees = (20 * torch.randn(2000, generator=generator(seed))).tolist()
    U = plane(*degrees).T
    assert ((U[:, 0] < 0.9) & (U[:, 1] > 0)).sum() > 120
    D = direction_clusters(U, 0.1, 100)
    assert len(D) == 1
    # The mean of 1,600 angles within 26 degrees has a standard error of .33 degrees; the cone moves
    # along with it, which multiplies it by 1/(1 - .55) = 2.2. Four of these: 3 degrees.
    assert D[0, 0].abs() > math.cos(math.radians(3))


def test_no_clusters_no_directions():
    U = torch.nn.functional.normalize(torch.randn(1000, 20, generator=generator()), dim=1)
    assert len(direction_clusters(U.double(), 0.1, 10)) == 0


def test_a_drift_thinner_than_asked_for_is_not_reported():
    # Evenly over 90 degrees: a cone of 2 x 26 degrees holds 57 %; of narrow cones of 2 x 8, 18 %.
    U = plane(*torch.linspace(0, 90, 1000).tolist(), d=3).T
    assert len(direction_clusters(U, 0.01, 200)) == 0
    assert len(direction_clusters(U, 0.01, 150)) > 0


def test_order_is_by_strength_and_rotation_and_signs_do_not_matter():
    g = generator()
    U = torch.cat(
        [around(torch.eye(4)[:, :1], 50, 0.1, g), around(torch.eye(4)[:, 2:3], 90, 0.1, g)]
    )
    D = direction_clusters(U, 0.1, 30)
    assert D.abs().argmax(1).tolist() == [2, 0]
    Q = torch.linalg.qr(torch.randn(4, 4, generator=g).double())[0]
    turned = direction_clusters(-U @ Q, 0.1, 30)
    # Rounding of products of unit vectors over some rounds.
    torch.testing.assert_close(
        (turned @ Q.T * D).sum(1).abs(), torch.ones(2).double(), atol=1e-10, rtol=0
    )


def test_nothing_and_repeated_vectors():
    assert direction_clusters(torch.zeros(0, 3).double(), 0.1, 1).shape == (0, 3)
    same = torch.eye(3)[:1].expand(10, 3)
    assert direction_clusters(same, 0.1, 10).tolist() == [[1.0, 0.0, 0.0]]
