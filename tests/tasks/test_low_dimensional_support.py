"""Low-dimensional support: rank, manifold, ambient noise, exact coordinates, refusals."""

from __future__ import annotations

import math

import pytest
import torch
from contracts_of_tasks import WAVE, Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.low_dimensional_support import LowDimensionalSupport
from gradfeat.tasks.targets import he2_hep

N = 100_000


def task(**changes):
    return LowDimensionalSupport(**{"d": 10, "r": 2, "g": WAVE, "seed": 1} | changes)


def rows(n=400, **changes):
    return task(**changes).sample(n, stream(0, "x")).X


def test_rank_tells_the_support():
    for changes, rank in (({}, 2), ({"curvature": 1.0}, 10), ({"ambient": 0.1}, 10)):
        assert torch.linalg.matrix_rank(rows(**changes)) == rank, changes


def test_rows_without_ambient_noise_lie_on_the_manifold():
    """x is the point of the support with its own coordinates."""
    for curvature in (0.0, 1.5):
        one = task(curvature=curvature)
        X = rows(curvature=curvature)
        # Sums of ten products.
        torch.testing.assert_close(one.manifold(X @ one.directions), X, rtol=0, atol=1e-13)


def test_manifold_is_smooth_and_curved():
    """Second differences along a line are of order h^2, and zero only on the subspace."""
    steps = torch.linspace(0, 1, 3, dtype=torch.float64)[:, None] * torch.ones(1, 2).double()

    def bend(curvature, h):
        x = task(curvature=curvature).manifold(h * steps)
        return float((x[0] - 2 * x[1] + x[2]).norm())

    assert bend(0.0, 0.1) < 1e-14
    # A twice differentiable curve: the ratio is 4 but for a term of order h.
    assert bend(1.0, 2e-3) / bend(1.0, 1e-3) == pytest.approx(4, rel=0.02)
    assert bend(2.0, 0.1) == pytest.approx(2 * bend(1.0, 0.1), rel=1e-10)


def test_coordinates_are_standard_normal_whatever_is_added():
    for changes in ({}, {"curvature": 2.0, "ambient": 1.0}):
        z = rows(N, **changes) @ task().directions
        assert errors(z) < Z
        assert errors((z[:, :, None] * z[:, None, :]).flatten(1), torch.eye(2).flatten()) < Z


def test_curvature_one_doubles_the_size_on_average():
    """E|curved part|^2 = r over the draw of h: many supports, a few rows of each."""

    def square(curvature, seed):
        return rows(20, curvature=curvature, seed=seed).square().sum(1).mean()

    added = [square(1.0, seed) - square(0.0, seed) for seed in range(150)]
    assert errors(torch.stack(added)[:, None], 2.0) < Z


def test_ambient_noise_of_size_one_on_a_subspace_is_the_whole_space():
    X = rows(N, ambient=1.0)
    assert errors((X[:, :, None] * X[:, None, :]).flatten(1), torch.eye(10).flatten()) < Z


def test_ambient_noise_is_at_right_angles_and_of_its_size():
    U = task().directions
    difference = rows(N, curvature=1.0, ambient=0.3) - rows(N, curvature=1.0)
    assert float((difference @ U).abs().max()) < 1e-14
    assert errors(difference.square().sum(1, keepdim=True), 0.09 * 8) < Z


def test_the_target_is_exact_under_curvature_and_ambient_noise():
    plain, bent = task(), task(curvature=1.0, ambient=0.5)
    X, X_bent = (t.sample(200, stream(0, "x")).X for t in (plain, bent))
    # The same coordinates to rounding; the slope of the wave is below 3.
    torch.testing.assert_close(plain.target(X), bent.target(X_bent), rtol=0, atol=1e-13)


def test_a_link_serves_as_the_function():
    one = LowDimensionalSupport(6, 2, he2_hep(4, 2))
    f = one.target(one.sample(N, stream(0, "f")).X)
    assert errors(f.square(), 1.0) < Z


def test_frames_are_nested():
    assert torch.equal(task(r=3).directions[:, :2], task().directions)


def test_label_noise():
    quiet, loud = (task(noise=s).sample(N, stream(0, "t")) for s in (0.0, 0.5))
    assert torch.equal(quiet.X, loud.X)
    assert errors((loud.y - quiet.y).square(), 0.25) < Z


@pytest.mark.parametrize(
    "change",
    [{"d": 11}, {"r": 3}, {"curvature": 1.0}, {"ambient": 0.1}, {"noise": 0.1}, {"seed": 2}],
    ids=str,
)
def test_each_option_changes_the_sample(change):
    a, b = (t.sample(20, stream(0, "train")) for t in (task(), task(**change)))
    assert not (torch.equal(a.X, b.X) and torch.equal(a.y, b.y))


def test_the_function_changes_the_targets():
    one = task(g=he2_hep(3, 2)).sample(20, stream(0, "train")).y
    assert not torch.equal(one, task().sample(20, stream(0, "train")).y)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"d": 0}, "d is 0"),
        ({"r": 11}, "r is 11: give 1 to d = 10"),
        ({"r": 0}, "r is 0: give 1 to d = 10"),
        ({"curvature": -1.0}, "curvature is -1.0: give a finite number of 0 or more"),
        ({"ambient": math.nan}, "ambient is nan: give a finite"),
        ({"noise": -0.1}, "noise is -0.1"),
    ],
)
def test_refuses(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        task(**change)
