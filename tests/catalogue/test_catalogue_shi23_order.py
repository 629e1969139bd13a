"""Simplicity and shift: claims on made-up tables, settings that cannot be, parts of the trials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue.shi23_shift import distribution
from gradfeat.catalogue.shi23_simplicity import following
from gradfeat.lab import judge, run
from gradfeat.lab.loading import experiment
from gradfeat.tasks.simple_and_complex import SimpleAndComplex

SEEDS = 6
SMALL = {
    "shi23-simplicity": {
        "slabs": 3, "predictive": 0.9, "d": 4, "m": 8, "steps": 4, "n_batch": 20, "n_mass": 60,
        "neurons": 200, "n_test": 50,
    },
    "shi23-shift": {
        "inputs": "patterns", "p_uniform": 0.5, "d": 8, "D": 6, "k": 3, "m": 8, "steps": 4,
        "n_first": 60, "n_batch": 20, "neurons": 200, "n_test": 50,
    },
}  # fmt: skip
Metrics = Callable[[dict[str, Any]], dict[str, float]]


def made_up(name: str, metrics: Metrics) -> pd.DataFrame:
    """The quick grid with ``metrics(cell)`` in it, a thousandth apart from seed to seed."""
    cells = experiment(name).cells("quick")
    rows = [
        {**cell, "seed": seed, **{k: v * (1 + 1e-3 * seed) for k, v in metrics(cell).items()}}
        for cell, seed in itertools.product(cells, range(SEEDS))
    ]
    return pd.DataFrame(rows)


def outcomes(name: str, metrics: Metrics) -> list[str]:
    return [v.outcome for _, v in judge(experiment(name), made_up(name, metrics))]


def simple_first(cell) -> dict[str, float]:
    useful = cell["predictive"] > 0.5
    beside = cell["slabs"] == 2
    learnt = cell["predictive"] < 1
    return {
        "mass_simple": 0.9 * useful,
        "mass_complex": 0.1,
        "step_aligned_simple": 3.0,
        "step_aligned_complex": 30.0 * cell["slabs"],
        "step_follows_simple": 1.0,
        "step_follows_complex": 40.0 * cell["slabs"],
        "last_follows_simple": 0.75 if beside else 0.5 if learnt else 1.0,
        "last_follows_complex": 0.75 if beside else 0.99 if learnt else 0.5,
    }


def complex_first(cell) -> dict[str, float]:
    given = simple_first(cell)
    swapped = {
        name.replace("simple", "?").replace("complex", "simple").replace("?", "complex"): value
        for name, value in given.items()
    }
    follows = 1.0 if cell["predictive"] == 1 else 0.7
    last = {"last_follows_complex": follows, "last_follows_simple": 0.9}
    return swapped | last | {"step_follows_complex": 100.0 - 10 * cell["slabs"]} | {
        "step_follows_simple": 500.0
    }  # fmt: skip


def structure_first(cell) -> dict[str, float]:
    gaussian = cell["inputs"] == "gaussian"
    return {
        "step_learnt": 2000.0 if gaussian else 1 + 1000 * cell["p_uniform"],
        "mass": 0.0 if gaussian else 1 - cell["p_uniform"] + 1e-3,
        "accuracy": 0.5 if cell["p_uniform"] == 1 else 1.0,
    }


def structure_last(cell) -> dict[str, float]:
    given = structure_first(cell)
    return {"step_learnt": 1 / given["step_learnt"], "mass": given["mass"], "accuracy": 0.8}


@pytest.mark.parametrize(
    ("name", "hoped", "reverse"),
    [
        ("shi23-simplicity", simple_first, complex_first),
        ("shi23-shift", structure_first, structure_last),
    ],
)
def test_claims_hold_as_hoped_and_all_fail_on_the_reverse(name, hoped, reverse):
    assert set(outcomes(name, hoped)) == {"holds"}
    assert set(outcomes(name, reverse)) == {"fails"}


def changed(hoped: Metrics, where: Callable[[dict[str, Any]], bool], **values: float) -> Metrics:
    return lambda cell: hoped(cell) | (values if where(cell) else {})


@pytest.mark.parametrize(
    ("name", "metrics", "number"),
    [
        (
            "shi23-simplicity",
            changed(simple_first, lambda c: c["slabs"] == 5, step_aligned_complex=1.0),
            0,
        ),
        (
            "shi23-simplicity",
            changed(
                simple_first,
                lambda c: c["slabs"] == 5 and c["predictive"] == 0.9,
                mass_complex=0.5,
            ),
            2,
        ),
        (
            "shi23-shift",
            changed(structure_first, lambda c: c["p_uniform"] == 0.25, step_learnt=1.0),
            1,
        ),
        (
            "shi23-shift",
            changed(structure_first, lambda c: c["inputs"] == "gaussian", accuracy=0.7),
            3,
        ),
    ],
)
def test_one_cell_that_is_wrong_lets_its_claim_alone_fail(name, metrics, number):
    found = outcomes(name, metrics)
    assert found[number] == "fails"
    assert "fails" not in found[:number] + found[number + 1 :]


@pytest.mark.parametrize(
    ("name", "setting", "value", "said"),
    [
        ("shi23-simplicity", "slabs", 1, "slabs is 1: give 2 or more."),
        ("shi23-simplicity", "predictive", 0.2, "predictive is 0.2: give a number from 0.5 to 1"),
        ("shi23-simplicity", "m", 7, "m is 7: neurons start in pairs"),
        ("shi23-simplicity", "steps", 0, "steps is 0: give 1 or more."),
        ("shi23-simplicity", "n_test", 0, "n_test is 0: give 1 or more."),
        ("shi23-simplicity", "neurons", 100, "neurons is 100: give 200 or more."),
        ("shi23-simplicity", "dtype", "half", "dtype is 'half'"),
        ("shi23-shift", "inputs", "images", "inputs is 'images': give one of 'patterns',"),
        ("shi23-shift", "p_uniform", 2, "give a number from 0 to 1"),
        ("shi23-shift", "inputs", "gaussian", "p_uniform is 0.5: Gaussian inputs have no planted"),
        ("shi23-shift", "k", 4, "k, r are 4, 1: give odd numbers"),
        ("shi23-shift", "steps", 1, "steps is 1: give 2 or more."),
        ("shi23-shift", "n_first", 0, "n_first is 0: give 1 or more."),
    ],
)
def test_a_setting_that_cannot_be_fails_with_its_name(name, setting, value, said):
    table = run(experiment(name), seeds=1, **{**SMALL[name], setting: value})
    assert table.empty
    (failure,) = table.attrs["failures"]
    assert said in failure["error"].splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "setting", "values", "metric"),
    [
        ("shi23-simplicity", "slabs", [2, 3], "follows_complex"),
        ("shi23-simplicity", "predictive", [0.5, 1.0], "follows_simple"),
        ("shi23-simplicity", "d", [4, 5], "follows_simple"),
        ("shi23-simplicity", "m", [8, 10], "follows_simple"),
        ("shi23-simplicity", "step_size", [0.1, 2.0], "follows_simple"),
        ("shi23-simplicity", "n_batch", [10, 40], "follows_simple"),
        ("shi23-simplicity", "jitter", [0.0, 0.9], "follows_complex"),
        ("shi23-simplicity", "noise", [0.1, 3.0], "follows_simple"),
        ("shi23-simplicity", "n_mass", [60, 400], "mass_simple"),
        ("shi23-simplicity", "neurons", [200, 400], "mass_simple"),
        ("shi23-shift", "inputs", ["patterns", "gaussian"], "path"),
        ("shi23-shift", "p_uniform", [0.0, 1.0], "path"),
        ("shi23-shift", "d", [8, 9], "path"),
        ("shi23-shift", "D", [6, 7], "path"),
        ("shi23-shift", "k", [3, 5], "path"),
        ("shi23-shift", "m", [8, 10], "path"),
        ("shi23-shift", "n_batch", [2, 20], "path"),
        ("shi23-shift", "p_o", [0.1, 0.5], "path"),
        ("shi23-shift", "step_size", [0.01, 1.0], "path"),
        ("shi23-shift", "n_first", [60, 90], "mass"),
        ("shi23-shift", "bias", [0.1, 3.0], "mass"),
        ("shi23-shift", "neurons", [200, 400], "mass"),
    ],
)
def test_every_setting_changes_something(name, setting, values, metric):
    # Half of the inputs uniform, nothing is learned in so few steps: one accuracy whatever is set.
    shares = {"path": 1.0 if setting == "inputs" else 0.0, "mass": 0.2}
    share = {"p_uniform": shares[metric]} if metric in shares else {}
    base = {**SMALL[name], **share}
    table = run(experiment(name), seeds=1, arrays=True, **{**base, setting: values})
    assert not table.attrs["failures"]
    one, two = (np.atleast_1d(value) for value in table[metric])
    assert not np.array_equal(one, two)


def test_following_is_measured_where_the_features_are_independent():
    """Outputs that are one of the features: all rows of that one, about half of the other."""
    task, like = SimpleAndComplex(5, 3, 1.0), torch.zeros(1).double()
    measured = following(task, 4_000, 0, like)

    def linear(X: torch.Tensor) -> torch.Tensor:
        return X @ task.directions[:, :1]

    four = 4 * math.sqrt(0.25 / 4_000)  # standard errors of a share of one half
    for f, own, other in (
        (linear, "simple", "complex"),
        (task.target, "complex", "simple"),
    ):
        shares = measured(f)
        assert shares[f"follows_{own}"] == 1
        assert abs(shares[f"follows_{other}"] - 0.5) < four


def test_all_distributions_share_rule_and_planted_direction():
    blocks, planted = distribution("patterns", 0.3, 9, 7, 3, 0.5, 2)
    gaussian, same = distribution("gaussian", 1.0, 9, 7, 3, 0.5, 2)
    assert torch.equal(planted, same)
    X = blocks.sample(500, torch.Generator().manual_seed(0)).X
    assert torch.equal(blocks.target(X), gaussian.target(X))


@pytest.mark.parametrize("p_uniform", [0.0, 1.0])
def test_a_planted_block_is_learnt_in_a_few_steps_and_a_uniform_one_is_not(p_uniform):
    settings = {
        **SMALL["shi23-shift"], "d": 16, "D": 16, "k": 5, "m": 40, "steps": 10, "n_first": 1_000,
        "n_batch": 100, "n_test": 400, "p_uniform": p_uniform,
    }  # fmt: skip
    (row,) = run(experiment("shi23-shift"), seeds=1, **settings).to_dict("records")
    planted = p_uniform == 0
    assert (row["step_learnt"] <= 5) == planted
    assert (row["aligned"] > 0.9) == planted
    assert (row["mass"] > 0.3) == planted


def test_small_runs_learn_the_simple_feature_first():
    settings = {**SMALL["shi23-simplicity"], "d": 20, "m": 40, "steps": 60, "n_batch": 200}
    (row,) = run(experiment("shi23-simplicity"), seeds=1, **settings).to_dict("records")
    assert row["step_aligned_simple"] < row["step_aligned_complex"] <= 61
    assert row["step_follows_simple"] < row["step_follows_complex"]
