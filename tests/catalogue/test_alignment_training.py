"""Alignment along training: shares, steps, masses against their definitions and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gradfeat.catalogue.shared.descent_training import (
    Watched,
    aligned_shares,
    first_step,
    followed,
    fresh_rows,
    settled_step,
    spaced_steps,
    start_masses,
)
from gradfeat.maths.streams import stream
from gradfeat.models.descent.layers import Layers, Start, stack
from gradfeat.models.descent.phases import Phase
from gradfeat.tasks.base import Sample
from gradfeat.tasks.linear_labels import LinearLabels


def test_shares_weigh_neurons_by_head_and_length_and_forget_signs():
    W = torch.tensor([[2.0, 0.0], [0.0, -1.0], [1.0, 1.0], [0.0, 0.0]])
    a = torch.tensor([[0.5], [-3.0], [math.sqrt(2)], [100.0]])
    net = Layers(W[None], torch.zeros(1, 4), a[None])
    shares = aligned_shares(net, 0, torch.eye(2))
    assert shares.tolist() == pytest.approx([1 / 6, 3 / 6], rel=1e-6)
    wide = aligned_shares(net, 0, torch.eye(2), cosine=0.7)
    assert wide.tolist() == pytest.approx([3 / 6, 5 / 6], rel=1e-6)


def test_steps_at_which_a_level_is_reached_kept_or_never_reached():
    step, path = np.array([0.0, 1.0, 4.0, 9.0]), np.array([0.2, 0.9, 0.5, 0.9])
    assert first_step(step, path, 0.9) == 1
    assert settled_step(step, path, 0.9) == 9
    assert first_step(step, path, 0.95) == settled_step(step, path, 0.95) == 10
    assert settled_step(step, path, 0.1) == 0
    assert settled_step(step, np.array([1.0, 1.0, 1.0, math.nan]), 0.1) == 10


def test_steps_are_spaced_with_both_ends():
    assert spaced_steps(1) == [1]
    found = spaced_steps(500, 20)
    assert (found[0], found[-1]) == (1, 500)
    assert len(found) <= 20


def test_each_network_is_followed_with_its_own_directions():
    tasks = [LinearLabels(8, seed=seed) for seed in (0, 1)]
    start = stack([Start(0.02, 0.0, 0.1).draw(16, 8, 1, seed) for seed in (0, 1)])
    rows = fresh_rows(tasks, [0, 1], torch.float64, "cpu")

    def size(f):
        return {"size": float(f(torch.ones(1, 8).double()).abs())}

    def run(directions):
        watched = [Watched(D, ("u",), size) for D in directions]
        return followed(start, rows, [Phase(40, 1.0, batch=200)], watched, [2, 40])

    own = run([task.directions for task in tasks])
    swapped = run([task.directions for task in tasks[::-1]])
    for path in own:
        assert path["step"].tolist() == [0, 2, 40]
        assert path["aligned_u"][0] < 0.3
        assert path["aligned_u"][-1] > 0.8
        assert path["size"][0] < 1e-15  # antisymmetric: pairs cancel to rounding
        assert path["size"][-1] > 0.01
    assert all(path["aligned_u"][-1] == 0 for path in swapped)


def test_masses_are_half_of_each_sign_and_none_without_structure():
    """A linear rule: from b = 0 on, all G lie along u; with random labels none is long."""
    task = LinearLabels(8)
    sample = task.sample(2_000, stream(0, "x"))
    D = torch.cat(
        [task.directions, torch.linalg.qr(task.directions, mode="complete")[0][:, 1:2]], 1
    )
    law = {"neurons": 400, "weight_scale": 1.0, "bias_scale": 0.01, "seed": 0}
    assert start_masses(sample, D, **law)[0] > 0.9
    assert start_masses(sample, D, **law)[1] == 0
    few = {**law, "bias_scale": 2.0 * math.sqrt(8)}
    assert 0.45 < start_masses(sample, D, **few)[0] < 0.9  # b < 0 alone sees all rows
    random = Sample(sample.X, sample.y[torch.randperm(2_000, generator=stream(0, "null"))])
    # B_G leaves at most p = 0.02 above it in 95 % of null samples, and cones less.
    assert start_masses(random, D, **law)[0] <= 0.02
