"""The spectrum after one step: claims that fail on the reverse, numbers by other means."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue import moniri24_spectrum
from gradfeat.catalogue.shared.step_spectra import (
    MARGIN,
    StepModel,
    measured,
    predicted,
)
from gradfeat.drawing.panels import save_figure
from gradfeat.lab import judge, run
from gradfeat.lab.loading import experiment
from gradfeat.maths.activations import NAMES, UserActivation, activation
from gradfeat.maths.streams import stream
from gradfeat.models.step_sizes import first_step
from gradfeat.rows.rows import in_memory
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.targets import he1_he2

NAME = "moniri24-spectrum"
TINY = {"n": 200, "d": 40, "N": 20}


@pytest.fixture(scope="module")
def right() -> pd.DataFrame:
    """The quick grid with what theory says, and a little that differs by seed."""
    found = experiment(NAME)
    points = found.points("quick", 3)
    cells = pd.DataFrame([{**point.cell, "seed": point.seed} for point in points])
    theory = found.theory_table([point.cell for point in points])
    assert theory is not None
    metrics = theory.drop(columns=list(found.factors))
    counts = [name for name in metrics if "separated" in name]
    jitter = 1e-5 * (cells["seed"] - 1.0)
    varied = metrics.drop(columns=counts).mul(1 + jitter, axis=0)
    errors = pd.DataFrame(
        dict.fromkeys(("first_error", "second_error", "first_layer_error"), jitter)
    )
    return pd.concat([cells, metrics[counts], varied, errors], axis=1)


def outcome(claim: int, table: pd.DataFrame) -> str:
    return experiment(NAME).claims[claim].check(table).outcome


def test_claims_hold_where_theory_is_right(right):
    assert [verdict.outcome for _, verdict in judge(experiment(NAME), right)] == ["holds"] * 11


@pytest.mark.parametrize(
    ("claim", "metric", "value"),
    [
        (0, "separated", 1.0),
        (0, "start_separated", 1.0),
        (1, "separated", 0.0),
        (1, "separated", 2.0),
        (2, "separated", 1.0),
        (2, "separated", 3.0),
        (3, "separated", 2.0),
        (4, "separated", 1.0),
        (4, "overlap_cubic", 0.1),
        (5, "separated", 2.0),
        (6, "start_bulk", 0.97),
        (7, "first_error", 0.1),
        (7, "second_error", -0.1),
        (8, "overlap_line", 0.5),
        (8, "overlap_parabola", 0.9),
        (8, "overlap_constant", 0.0),
        (9, "alignment", 0.707),  # of the residual y: not that of the true gradient
        (9, "norm", 2.0),
        (10, "first_layer_separated", 0.0),
        (10, "first_layer_separated", 1.0),
        (10, "first_layer_error", 0.1),
    ],
)
def test_a_claim_fails_on_another_number(right, claim, metric, value):
    spread = 0.0 if "separated" in metric else 1e-6
    assert outcome(claim, right.assign(**{metric: value + spread * right["seed"]})) == "fails"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            {"activation": "relu"},
            "activation is 'relu': give one of 'sine', 'centred_relu', 'tanh', 'odd_sine'",
        ),
        ({"residual": "f0"}, "residual is 'f0': give one of"),
        ({"n": 1}, "n is 1: give 2 or more"),
        ({"d": 0}, "d is 0: give 2 or more"),
        ({"N": 10**9}, "N is 1,000,000,000: give"),
        ({"alpha": [0.2, 0.7]}, "alpha is 0.7: give 0.5 or less"),
        ({"alpha": [math.nan]}, "alpha is nan"),
    ],
)
def test_a_setting_that_cannot_be_fails_by_its_name(cell, words):
    settings: dict[str, Any] = {"alpha": [0.2], **TINY, **cell}
    with pytest.raises(ValueError, match=re.escape(words)):
        moniri24_spectrum.batch(**settings, seeds=[0])


@pytest.mark.parametrize("name", ["sine", "centred_relu"])
def test_values_and_overlaps_are_those_of_a_plain_decomposition(name):
    """F and W by their definition, all of their singular vectors: equal to rounding."""
    n, d, N, alpha, seed = 400, 80, 40, 0.32, 3
    model = StepModel(name, n, d, N, "y - f0")
    (found,) = measured(model, [alpha], seed, "cpu")
    task = MultiIndex(d, he1_he2(), 0.0, seed=seed)
    rows, X = task.sample(n, stream(seed, "train")), task.sample(n, stream(seed, "test")).X
    step = first_step(
        in_memory(rows.X, rows.y), width=N, activation=model.sigma, residual="y - f0", seed=seed
    )
    W = step.W0 + n**alpha * step.G
    spectrum = model.spectrum(n**alpha)
    U, s, _ = torch.linalg.svd(model.sigma(X @ W.T) / n**0.5, full_matrices=False)
    values = s.numpy() / spectrum.edge
    assert found["first"] == pytest.approx(values[0], rel=1e-9)
    assert found["second"] == pytest.approx(values[1], rel=1e-9)
    assert found["separated"] == np.sum(values > 1 + MARGIN)
    assert found["first_error"] == pytest.approx(
        values[0] * spectrum.edge / spectrum.outliers[0] - 1, abs=1e-9
    )
    u = X @ step.beta[:, 0] / step.beta.norm()
    line = (U[:, 0] @ u) ** 2 / (u @ u)
    assert found["overlap_line"] == pytest.approx(float(line), rel=1e-8)
    if spectrum.separated(MARGIN) > 1:
        he2 = u**2 - 1
        parabola = (U[:, 1] @ he2) ** 2 / (he2 @ he2)
        assert found["overlap_parabola"] == pytest.approx(float(parabola), rel=1e-7)
        assert found["overlap_constant"] == pytest.approx(float(U[:, 1].sum() ** 2 / n), rel=1e-7)
    largest = float(torch.linalg.matrix_norm(W, 2)) / (1 + math.sqrt(N / d))
    assert found["first_layer"] == pytest.approx(largest, rel=1e-9)
    cosine = float((step.beta[:, 0] @ task.directions[:, 0]).abs() / step.beta.norm())
    assert found["alignment"] == pytest.approx(cosine, rel=1e-12)


def test_step_sizes_together_have_the_numbers_of_single_ones():
    alphas = [-0.1, 0.3]
    both = moniri24_spectrum.batch(alphas, "sine", 200, 40, 20, seeds=[1])[0]
    for alpha, found in zip(alphas, both, strict=True):
        alone = moniri24_spectrum.batch([alpha], "sine", 200, 40, 20, seeds=[1])[0][0]
        assert alone == pytest.approx(found, nan_ok=True, rel=1e-12)
    assert both[0]["first"] != both[1]["first"]


def test_a_vanishing_step_leaves_the_features_of_the_start():
    found = measured(StepModel("tanh", 200, 40, 20, "y"), [-20.0], 2, "cpu")[0]
    assert found["first"] == pytest.approx(found["start_bulk"], rel=1e-12)
    assert math.isnan(found["overlap_line"])


def test_arrays_of_seed_0_are_the_vectors_with_their_signs():
    found, other = (
        measured(StepModel("centred_relu", 400, 40, 40, "y"), [0.33], seed, "cpu")[0]
        for seed in (0, 1)
    )
    assert "vectors" not in other
    u, vectors = np.asarray(found["projection"]), np.asarray(found["vectors"])
    assert vectors.shape == (2, 400)
    np.testing.assert_allclose(vectors @ vectors.T / 400, np.eye(2), atol=1e-9)
    assert vectors[0] @ u > 0
    assert vectors[1] @ (u**2 - 1) > 0


def test_the_sine_has_its_coefficients_and_its_slope():
    sigma, z = activation("sine"), torch.linspace(-4, 4, 41, dtype=torch.float64)
    c = [0.0, *(math.exp(-0.5) / k for k in (1, 2))]
    np.testing.assert_allclose(sigma.hermite_coefficients(2), c, atol=1e-12)
    h = 1e-5  # the error of a central difference is h^2/6 here, 2e-11
    slope = (sigma(z + h) - sigma(z - h)) / (2 * h)
    torch.testing.assert_close(sigma.derivative(z), slope, atol=1e-9, rtol=0)


@pytest.mark.parametrize("sigma", [*map(activation, NAMES)], ids=lambda one: one.name)
def test_moments_that_need_no_torch_are_those_of_its_values(sigma):
    plain = UserActivation(sigma, sigma.breakpoints, sigma.derivative)
    for k_max in (0, 7):
        known, found = (one.hermite_coefficients(k_max) for one in (sigma, plain))
        np.testing.assert_allclose(known, found, atol=1e-12)
    assert sigma.second_moment() == pytest.approx(plain.second_moment(), abs=1e-12)
    slopes = sigma.derivative_second_moment(), plain.derivative_second_moment()
    assert slopes[0] == pytest.approx(slopes[1], abs=1e-12)
    z = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(sigma.values(z), plain.values(z), atol=1e-15)
    slopes_at = sigma.derivative_values(z), plain.derivative_values(z)
    np.testing.assert_allclose(*slopes_at, atol=1e-15)


@pytest.mark.parametrize("residual", ["y", "y - f0"])
def test_measured_networks_meet_their_theory(residual):
    """16 seeds at n = 400: means within 4 standard errors and 2 % for what is of order 1/N."""
    model, alpha = StepModel("centred_relu", 400, 200, 100, residual), 0.25
    found = pd.DataFrame([measured(model, [alpha], seed, "cpu")[0] for seed in range(1, 17)])
    theory = predicted(model, 400**alpha)
    assert theory["separated"] == 1
    for metric in ("first", "start_bulk", "alignment", "norm", "first_layer"):
        values = found[metric].to_numpy(float)
        allowed = 4 * values.std(ddof=1) / math.sqrt(16) + 0.02 * theory[metric]
        assert abs(values.mean() - theory[metric]) < allowed, metric


@pytest.mark.parametrize(
    ("settings", "seeds"),
    [
        ({"alpha": [0.25, 0.3], "activation": ["tanh"]}, [0]),  # an exponent of no regime
        ({"alpha": [0.2], "activation": ["sine"]}, [3, 4]),  # no seed that has arrays
        ({"alpha": [-0.1], "activation": ["sine"]}, [0]),  # nothing beyond the bulk
        ({"alpha": [0.3], "activation": ["centred_relu"], "N": 2, "d": 2, "n": 2}, [0]),
    ],
)
def test_the_figure_leaves_out_what_is_not_there(settings, seeds, tmp_path):
    found = experiment(NAME)
    table = run(found, seeds=seeds, arrays=True, **{**TINY, **settings})
    assert not table.attrs["failures"]
    cells = [point.cell for point in found.points("quick", seeds, {**TINY, **settings})]
    assert found.figure is not None
    figure = found.figure(table, found.theory_table(cells))
    assert all(ax.get_title(loc="left") for ax in figure.axes)
    save_figure(figure, tmp_path / "figure.png")
