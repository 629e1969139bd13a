"""Low-rank expansions after one step: claims that can fail, norms by a plain decomposition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue.moniri24_expansion import EXPERIMENT, model_of, theory, trial
from gradfeat.catalogue.shared.step_spectra import step_size
from gradfeat.lab import judge
from gradfeat.maths.streams import stream
from gradfeat.models.step_sizes import first_step
from gradfeat.rows.rows import in_memory
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.targets import he1_he2


def made_up() -> pd.DataFrame:
    rows = []
    for point in EXPERIMENT.points("quick", 3):
        n, little = float(point.cell["n"]), 1 + 1e-4 * point.seed
        rows.append(
            {**point.cell, "seed": point.seed, "gradient_rest": little * n**-0.45,
             "gradient_rows": little, "rest_kappa": little * n**-0.1,
             "constant_2": little * n**0.1, "constant_left": -0.2 * little}
        )  # fmt: skip
    return pd.DataFrame(rows)


def outcomes(table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(EXPERIMENT, table)]


def test_claims_hold_of_the_orders_and_each_fails_of_another():
    right = made_up()
    assert outcomes(right) == ["holds"] * 5
    grown = right["n"].astype(float)
    for place, changed in enumerate(
        (
            {"gradient_rest": right["gradient_rest"] * grown**0.4},
            {"gradient_rows": right["gradient_rows"] * grown**-0.4},
            {"rest_kappa": right["rest_kappa"] * grown**0.3},
            {"constant_2": right["constant_2"] * grown**-0.2},
            {"constant_left": right["constant_left"] + 1.2},
        )
    ):
        assert outcomes(right.assign(**changed))[place] == "fails"


def test_norms_are_those_of_the_matrices():
    n, seed = 120, 2
    found, model = trial(n, seed=seed), model_of(n, "sine", 0.5, 2 / 3)
    task = MultiIndex(model.d, he1_he2(), 0.0, seed=seed)
    train = task.sample(n, stream(seed, "train"))
    X = task.sample(n, stream(seed, "test")).X
    step = first_step(in_memory(train.X, train.y), width=model.N, activation=model.sigma, seed=seed)
    c = np.exp(-0.5) * np.array([0.0, 1.0, 0.5])
    shared = c[1] * step.a @ step.beta.mT
    norm = torch.linalg.matrix_norm
    gap = float(norm(step.G - shared, 2) / norm(shared, 2))
    assert found["gradient_rest"] == pytest.approx(gap, rel=1e-8)
    eta, u = step_size(n, 0.3), X @ step.beta
    F = model.sigma(X @ (step.W0 + eta * step.G).mT) - model.sigma(X @ step.W0.mT)
    F = F - c[1] ** 2 * eta * u @ step.a.mT - c[1] ** 2 * c[2] * eta**2 * u**2 @ step.a.mT**2
    assert found["rest_2"] == pytest.approx(float(norm(F, 2)) / n**0.5, rel=1e-6)


def test_the_printed_constant_is_kappa_times_the_square():
    # own = kappa c_1^2 |beta|^2, |a^{o2}|^2 = 3/N, kappa = .859 of the sine.
    said = theory(1000, "sine", 0.3, 0.5, 2 / 3)
    c1, kappa, squared = np.exp(-0.5), said["gradient_rows"] ** 2, 2.0
    expected = c1 / 2 * 1000**0.6 * kappa * c1**2 * squared * (3 / 750) ** 0.5
    assert kappa == pytest.approx(0.859, abs=1e-3)
    assert said["constant_2"] == pytest.approx(expected, rel=1e-6)
