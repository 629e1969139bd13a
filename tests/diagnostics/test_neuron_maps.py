"""The neuron map: optimality, known layouts, common orientation, determinism, odd inputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.manifold import MDS

from gradfeat.diagnostics.neuron_map import dissimilarities, neuron_maps, scaled

G = torch.Generator().manual_seed(0)
U = torch.zeros(20, 1).double()
U[0] = 1
NONE = torch.zeros(20, 0).double()


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(0)


def clusters(m: int, spread: float) -> torch.Tensor:
    """The first half of the rows around +u, the second around -u."""
    signs = torch.where(torch.arange(m) < m // 2, 1.0, -1.0)[:, None].double()
    return signs * U.T + spread / 20**0.5 * torch.randn(m, 20, generator=G).double()


def isotropic(m: int) -> torch.Tensor:
    return torch.randn(m, 20, generator=G).double()


def test_layout_is_as_good_as_that_of_scikit_learns_estimator():
    D = dissimilarities(isotropic(60))
    mds = MDS(metric="precomputed", n_init=1, init="classical_mds", normalized_stress=True)
    theirs = mds.fit(D)
    layout, stress = scaled(D)
    # both stop when an iteration gains less than 1e-6
    assert stress == pytest.approx(theirs.stress_, rel=1e-4)
    distances = cdist(layout, layout)
    assert stress == pytest.approx(np.sqrt(((distances - D) ** 2).sum() / (distances**2).sum()))


def test_layout_is_stationary():
    D = dissimilarities(isotropic(40))
    layout, stress = scaled(D)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = layout + 0.05 * rng.standard_normal(layout.shape)
        distances = cdist(moved, moved)
        assert ((distances - D) ** 2).sum() > ((cdist(layout, layout) - D) ** 2).sum()
    assert 0.1 < stress < 0.6


def test_two_clusters_lie_at_their_stars_two_apart_and_plus_is_on_the_right():
    (map,) = neuron_maps([clusters(80, 0.05)], U)
    plus, minus = map.stars
    assert plus[1] == pytest.approx(minus[1], abs=1e-12)
    assert plus[0] - minus[0] == pytest.approx(2, abs=0.01)  # 1 - cos of opposite directions
    # 1 - cos is about spread^2 within a cluster
    assert np.linalg.norm(map.points[:40] - plus, axis=1).max() < 0.05
    assert np.linalg.norm(map.points[40:] - minus, axis=1).max() < 0.05
    assert map.stress < 0.01


def test_signs_and_lengths_of_the_stars_and_neurons():
    W = clusters(30, 0.3)
    lengths = torch.rand(30, 1, generator=G).double() + 0.1
    (map,), (same,) = neuron_maps([W], U), neuron_maps([lengths * W], 7 * U)
    np.testing.assert_allclose(map.points, same.points, atol=1e-9)  # rounding over 300 iterations
    (turned,) = neuron_maps([W], -U)
    assert turned.stars[0, 0] > turned.stars[1, 0]
    assert turned.points[:15, 0].mean() < 0 < map.points[:15, 0].mean()


def test_stages_show_the_same_neurons_in_a_common_orientation():
    end = clusters(200, 0.1)
    start = isotropic(200)
    stages = [start, 0.7 * start + 0.3 * end, 0.68 * start + 0.32 * end]
    for directions in (U, NONE):
        first, second, third = neuron_maps(stages, directions, size=50)
        assert first.indices.tolist() == second.indices.tolist() == third.indices.tolist()
        assert len(set(first.indices.tolist())) == 50
        assert float((second.points * third.points).sum()) > 0
        near = np.linalg.norm(second.points - third.points)
        for turn in (np.diag([1, -1]), np.diag([-1, 1]), -np.eye(2)):
            assert near < np.linalg.norm(second.points - third.points @ turn)


def test_rotation_of_the_inputs_changes_nothing():
    W, R = clusters(40, 0.5), torch.linalg.qr(isotropic(20))[0]
    (map,), (rotated,) = neuron_maps([W], U), neuron_maps([W @ R], R.T @ U)
    np.testing.assert_allclose(map.stars, rotated.stars, atol=1e-8)  # rounding over iterations
    np.testing.assert_allclose(map.points, rotated.points, atol=1e-8)


def test_equal_seeds_give_equal_maps_and_other_seeds_other_neurons():
    W = isotropic(100)
    (one,), (two,), (other,) = (neuron_maps([W], U, size=30, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.points, two.points)
    assert one.indices.tolist() != other.indices.tolist()
    state = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    neuron_maps([W], U)
    assert torch.equal(state[0], torch.random.get_rng_state())
    assert np.array_equal(state[1], np.random.get_state()[1])


@pytest.mark.parametrize("directions", [U, NONE])
@pytest.mark.parametrize(
    "W",
    [
        torch.zeros(4, 20).double(),
        torch.ones(4, 20).double(),
        torch.cat([torch.zeros(1, 20).double(), U.T, U.T, -U.T]),
        torch.cat([U.T, -U.T]),
    ],
    ids=["zero", "equal", "zero and opposite", "two"],
)
def test_degenerate_neurons_have_finite_maps(W, directions):
    first, second = neuron_maps([W, W], directions)
    assert np.isfinite(first.points).all()
    assert np.isfinite(first.stress)
    np.testing.assert_allclose(first.points, second.points, atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: neuron_maps([], U), r"shapes \[\]"),
        (lambda: neuron_maps([isotropic(3), isotropic(4)], U), r"\(3, 20\), \(4, 20\)"),
        (lambda: neuron_maps([isotropic(3)], U[:5]), r"shape \(5, 1\)"),
        (lambda: neuron_maps([isotropic(3) * torch.nan], U), "not finite"),
        (lambda: neuron_maps([isotropic(3)], U, size=1), "size is 1"),
    ],
)
def test_bad_input_is_named(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()
