"""Single-index task: moments, truth, reproducibility, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gradfeat.maths.streams import stream
from gradfeat.tasks.single_index import SingleIndex, he2_he4

#: A correct test statistic exceeds this many standard errors once in 15,000 seeds.
Z = 4.0


def distance_in_errors(values: torch.Tensor, mean: float) -> float:
    """|average - mean| in standard errors of the average."""
    return float((values.mean() - mean).abs() / (values.std() / math.sqrt(values.numel())))


def test_target_has_mean_zero_and_variance_one():
    task = SingleIndex(5, he2_he4())
    f = task.target(task.sample(200_000, stream(0, "moments")).X)
    assert distance_in_errors(f, 0.0) < Z
    assert distance_in_errors(f.square(), 1.0) < Z


def test_noise_has_the_standard_deviation_asked_for():
    task = SingleIndex(5, he2_he4(), noise=0.5)
    sample = task.sample(50_000, stream(0, "noise"))
    residual = sample.y - task.target(sample.X)
    assert distance_in_errors(residual, 0.0) < Z
    assert distance_in_errors(residual.square(), 0.25) < Z


def test_inputs_are_standard_normal():
    X = SingleIndex(4, he2_he4()).sample(50_000, stream(0, "inputs")).X
    for i in range(4):
        for j in range(i + 1):
            assert distance_in_errors(X[:, i] * X[:, j], float(i == j)) < Z


def test_direction_is_a_unit_column():
    U = SingleIndex(30, he2_he4(), seed=3).directions
    # A normalised sum of 30 squares: rounding only.
    torch.testing.assert_close(U.T @ U, torch.ones(1, 1).double(), rtol=0, atol=1e-14)


def test_only_the_direction_moves_the_target():
    task = SingleIndex(6, he2_he4())
    X, u = task.sample(50, stream(0, "x")).X, task.directions
    beside = torch.randn(50, 6, generator=stream(0, "beside")).double()
    beside -= (beside @ u) @ u.T
    # u.x is kept to rounding; |g'| stays below 100 for |z| < 5.
    torch.testing.assert_close(task.target(X + beside), task.target(X), rtol=0, atol=1e-11)
    assert (task.target(X + u.T) - task.target(X)).abs().min() > 1e-6


def test_target_is_the_series_at_the_projection():
    task = SingleIndex(3, np.sin, seed=1)
    X = task.sample(7, stream(0, "x")).X
    assert torch.equal(task.target(X)[:, 0], (X @ task.directions)[:, 0].sin())


def test_same_seeds_same_numbers():
    one, other = (SingleIndex(8, he2_he4(), 0.1, seed=5) for _ in range(2))
    a, b = (task.sample(20, stream(2, "train")) for task in (one, other))
    assert one == other
    assert torch.equal(a.X, b.X)
    assert torch.equal(a.y, b.y)
    assert torch.equal(one.directions, other.directions)


def test_each_option_changes_the_sample():
    def y(**changes):
        settings = {"d": 8, "series": he2_he4(), "noise": 0.1, "seed": 0} | changes
        return SingleIndex(**settings).sample(20, stream(0, "train")).y

    for changes in ({"noise": 0.2}, {"seed": 1}, {"series": np.tanh}, {"d": 9}):
        assert not torch.equal(y(), y(**changes)), changes


def test_noise_leaves_inputs_alone():
    quiet, loud = (SingleIndex(4, np.tanh, noise).sample(9, stream(0, "t")) for noise in (0.0, 1.0))
    assert torch.equal(quiet.X, loud.X)


def test_target_keeps_the_dtype_of_its_input():
    task = SingleIndex(4, he2_he4())
    assert task.target(torch.ones(2, 4, dtype=torch.float32)).dtype == torch.float32


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"d": 0}, "d is 0: give 1 or more"),
        ({"noise": -1.0}, "noise is -1.0: give"),
        ({"noise": math.inf}, "noise is inf: give"),
    ],
)
def test_refuses(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        SingleIndex(**{"d": 2, "series": np.tanh} | settings)


def test_refuses_an_empty_sample():
    with pytest.raises(ValueError, match="a sample of 0 rows"):
        SingleIndex(2, np.tanh).sample(0, stream(0, "t"))
