"""Simplified gradients of Gaussian mixtures: Monte Carlo, reductions, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from gradfeat.maths.simplified_gradients import simplified_gradients
from gradfeat.maths.streams import stream
from gradfeat.tasks.gaussian_mixture import GaussianMixture
from gradfeat.theory.label_gradients import mixture_gradient


def closed(task: GaussianMixture, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    return mixture_gradient(
        task.directions.numpy(),
        W,
        b,
        separation=task.separation,
        labels=task.component_labels,
        weights=task.component_weights,
        scale=task.scale,
        along=task.along,
        mirrored=task.mirrored,
    )


def neurons(m: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, d)), rng.standard_normal(m)


TASKS = [
    GaussianMixture(5, 3, 2.0, 0.7),
    GaussianMixture(4, 2, 1.0, 1.0, 2.0, (1.5, -0.5), (0.3, 0.7)),
    GaussianMixture(4, 4, 1.5, 0.5, 0.3, seed=1),
    GaussianMixture(3, 1, 1.0, 0.8, 1.3),
    GaussianMixture(5, 3, 1.5, 0.6, 1.4, weights=(0.2, 0.3, 0.5), mirrored=True),
]


@pytest.mark.parametrize("task", TASKS, ids=repr)
def test_the_closed_form_is_the_monte_carlo_mean(task):
    N = 200_000
    W, b = neurons(6, task.d)
    sample = task.sample(N, stream(0, "x"))
    X, y = sample.X.numpy(), sample.y.numpy()
    fires = (b < X @ W.T).astype(float)
    mean, square = fires.T @ (y * X) / N, fires.T @ (y * X) ** 2 / N
    z = (mean - closed(task, W, b)) / np.sqrt((square - mean**2) / N)
    assert np.abs(z).max() < 4.5  # some 100 entries over the tasks


def test_it_is_what_the_sums_over_samples_converge_to():
    task = TASKS[0]
    W, b = neurons(6, task.d, 1)
    sample = task.sample(100_000, stream(0, "x"))
    rows = (sample.X, sample.y, torch.from_numpy(W), torch.from_numpy(b))
    found = simplified_gradients(*rows)[0].numpy()
    # E[(y x_i)^2] <= 4/3 + 0.49, so standard errors are below 0.0043; 30 entries.
    assert np.abs(found - closed(task, W, b)).max() < 4 * 0.0043


def test_one_standard_normal_component_is_the_mean_of_the_neuron():
    W, b = neurons(5, 3)
    U = np.eye(3)[:, :1]
    found = mixture_gradient(U, W, b, separation=0.0, labels=(2.0,), weights=(1.0,))
    length = np.linalg.norm(W, axis=1)
    expected = 2 * (stats.norm.pdf(b / length) / length)[:, None] * W
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_narrow_components_leave_the_means_beyond_the_threshold():
    task = GaussianMixture(6, 3, 2.0, 1e-8, weights=(0.2, 0.3, 0.5))
    W, b = neurons(40, 6)
    U = task.directions.numpy()
    beyond = b[:, None] < 2 * W @ U
    expected = beyond * np.array([0.2, -0.3, 0.5]) @ (2 * U.T)
    # The part along w is below scale |w| phi(0).
    np.testing.assert_allclose(closed(task, W, b), expected, rtol=0, atol=1e-7)
    assert len(np.unique(beyond, axis=0)) > 4


def test_without_separation_there_is_nothing_where_labels_balance():
    W, b = neurons(5, 4)
    for labels, weights in (((1, -1), (0.5, 0.5)), ((3.0, -1.0), (0.25, 0.75))):
        found = mixture_gradient(
            np.eye(4)[:, :2], W, b, separation=0.0, labels=labels, weights=weights, scale=0.7
        )
        assert np.abs(found).max() < 1e-16


def test_a_low_threshold_leaves_the_mean_of_y_x():
    task = TASKS[1]
    W, b = neurons(4, 4)
    found = closed(task, W, b - 1e3)
    expected = task.directions.numpy() @ np.array([0.3 * 1.5, -0.7 * 0.5])
    np.testing.assert_allclose(found, np.tile(expected, (4, 1)), atol=1e-14)


def test_twins_leave_nothing_linear_and_both_signs_of_the_threshold_alike():
    """y is even in x: G(w, -b) = G(w, b), and G(w, b) -> E[y x] = 0 at low b."""
    task = TASKS[4]
    W, b = neurons(6, 5)
    np.testing.assert_allclose(closed(task, W, -b), closed(task, W, b), rtol=0, atol=1e-14)
    assert np.abs(closed(task, W, b - 1e3)).max() < 1e-14


def test_the_length_of_w_and_b_does_not_matter():
    W, b = neurons(5, 5)
    np.testing.assert_allclose(
        closed(TASKS[0], 7 * W, 7 * b), closed(TASKS[0], W, b), rtol=0, atol=1e-14
    )


def test_each_option_counts():
    W, b = neurons(3, 4)
    given = {"separation": 1.0, "labels": (1, -1), "weights": (0.5, 0.5), "scale": 0.5}
    U = np.eye(4)[:, :2]
    plain = mixture_gradient(U, W, b, **given)
    changes = [
        {"separation": 1.5},
        {"labels": (1, 1)},
        {"weights": (0.4, 0.6)},
        {"scale": 1.0},
        {"along": math.sqrt(2)},
        {"mirrored": True},
    ]
    for change in changes:
        other = mixture_gradient(U, W, b, **(given | change))
        assert np.abs(other - plain).max() > 1e-3, change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"U": np.ones((3, 2))}, "not orthonormal"),
        ({"W": np.eye(4)}, r"W \(4, 4\): give"),
        ({"W": np.diag([1.0, 1.0, 0.0])}, "Row 2 of W is zero"),
        ({"labels": (1.0,)}, r"labels have shape \(1,\)"),
        ({"weights": (0.5, 0.25, 0.25)}, r"weights \(3,\): give one of each"),
    ],
)
def test_bad_input_is_named(change, words):
    right = {"U": np.eye(3)[:, :2], "W": np.eye(3), "b": 0.0, "separation": 1.0}
    right |= {"labels": (1.0, -1.0), "weights": (0.5, 0.5)}
    with pytest.raises(ValueError, match=words):
        mixture_gradient(**(right | change))
