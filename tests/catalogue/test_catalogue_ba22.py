"""Step sizes of Ba22: claims that can fail, figures, numbers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue import ba22_step_size as ba22
from gradfeat.drawing.panels import save_figure
from gradfeat.lab import run
from gradfeat.lab.loading import experiment
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.tasks.single_index import SingleIndex

NAME = "ba22-step-size"
CELL = {"method": "large step", "activation": "centred_relu", "p": 2, "d": 10, "n_test": 200}
KEYS = (
    *("method", "activation", "p", "d"),
    *("rows_per_input", "neurons_per_input", "step_scale", "noise"),
)


def made_up(seeds: int = 4) -> pd.DataFrame:
    """The quick grid with theory as its result, a little different by seed."""
    rows = []
    for point in experiment(NAME).points("quick", seeds):
        said = ba22.theory(*(point.cell[key] for key in KEYS))
        little = 1e-4 * (point.seed - (seeds - 1) / 2)
        small, large = 1.5 / point.cell["d"], 0.5
        said = {**said, "nonlinear_share": large if point.cell["method"] == "large step" else small}
        rows.append(
            {**point.cell, "seed": point.seed} | {name: v + little for name, v in said.items()}
        )
    return pd.DataFrame(rows)


def outcomes(table: pd.DataFrame, *which: int) -> list[str]:
    claims = experiment(NAME).claims
    return [claims[i].check(table).outcome for i in which or range(len(claims))]


def moved(table: pd.DataFrame, method: str, error: float) -> pd.DataFrame:
    """The table with the errors of a method at a level, the same little by seed."""
    own = table["method"] == method
    level = error + 1e-4 * table["seed"]
    bound = table["test_error"] - table["excess"]
    return table.assign(
        test_error=table["test_error"].where(~own, level),
        excess=table["excess"].where(~own, level - bound),
    )


def test_claims_hold_of_theory_and_each_fails_on_its_reverse():
    right = made_up()
    assert outcomes(right) == ["holds"] * 6
    assert outcomes(moved(right, "small step", 0.95), 0, 1) == ["fails"] * 2
    assert outcomes(moved(right, "large step", 0.97), 2, 3) == ["fails"] * 2
    assert outcomes(moved(right, "large step", 1.3), 2, 3, 4) == ["fails"] * 3
    far = right["method"].isin(["linear", "random features"]) & (right["d"] == 200)
    off = right.assign(test_error=right["test_error"] * (1 + 0.08 * far))
    assert outcomes(off, 5) == ["fails"]


def test_claims_on_the_nonlinear_part_fail_where_the_small_step_has_it_or_the_large_one_has_not():
    right = made_up()
    share, small = right["nonlinear_share"], right["method"] == "small step"
    for wrong in (share + 0.06, share * 0 + 1e-5 * right["d"]):  # more of it; more with d
        assert outcomes(right.assign(nonlinear_share=wrong.where(small, share)), 0) == ["fails"]
    assert outcomes(right.assign(nonlinear_share=share / 5), 2) == ["fails"]


def test_the_nonlinear_share_is_that_of_he_p_in_the_fit():
    """Ridge on the inputs has none of it; after a large step the errors say how much there is.

    With f = linear part + share h + rest, E(y - f)^2 is at least (1 - share)^2 E h^2.
    """
    assert abs(ba22.trial(**{**CELL, "method": "linear", "d": 40}, seed=0)["nonlinear_share"]) < 0.1
    large = ba22.trial(**{**CELL, "d": 40, "n_test": 4_000}, seed=0)
    assert large["nonlinear_share"] > 0.3
    assert large["test_error"] > (1 - large["nonlinear_share"]) ** 2


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("method", "step", "method is 'step': give one of 'linear'"),
        ("activation", "relu", "activation is 'relu': give one of 'centred_relu'"),
        ("p", 1, "p is 1: give 2 or more."),
        ("p", 41, "p is 41: give 20 or less."),
        ("d", 0, "d is 0: give 1 or more."),
        ("noise", -1.0, "noise is -1.0: give 0 or more."),
        ("step_scale", -1.0, "step_scale is -1.0: give 0 or more."),
        ("rows_per_input", 0.1, "rows_per_input d is 1: give 4 or more."),
        ("neurons_per_input", 0.0, "neurons_per_input d is 0: give 1 or more."),
        ("rows_per_input", float("nan"), "rows_per_input is nan"),
    ],
)
def test_a_setting_that_cannot_be_fails_by_its_name(setting, value, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        ba22.trial(**{**CELL, setting: value}, seed=0)


def test_methods_and_settings_change_the_error_and_excess_is_over_the_bound():
    one = ba22.trial(**CELL, seed=0)
    assert one["excess"] == pytest.approx(one["test_error"] - 1.0, abs=1e-12)
    assert one["penalty"] in ba22.PENALTIES
    for setting, value in {
        "method": "small step", "activation": "tanh", "p": 3, "d": 12, "n_test": 100,
        "rows_per_input": 20.0, "neurons_per_input": 3.0, "step_scale": 2.0, "noise": 0.5,
    }.items():  # fmt: skip
        assert ba22.trial(**{**CELL, setting: value}, seed=0)["test_error"] != one["test_error"]


def test_a_step_of_size_nought_is_random_features():
    still = ba22.trial(**{**CELL, "step_scale": 0.0}, seed=0)
    assert still == ba22.trial(**{**CELL, "method": "random features"}, seed=0)


def test_stratified_rows_have_one_value_in_each_cell_and_gaussian_inputs_across():
    """Across b the 20,000 x 4 numbers have variance 1 within 5 standard errors sqrt(2/80,000)."""
    task = SingleIndex(5, HermiteSeries(ba22.coefficients(2)), seed=3)
    rows = ba22._stratified(task, 20_000, "test", 0)
    along = rows.X @ task.directions
    cells = torch.special.ndtr(along[:, 0]) * len(along)
    np.testing.assert_array_equal(cells.floor().sort().values, np.arange(len(along)))
    across = rows.X - along @ task.directions.mT
    assert abs(float(across.square().sum()) / (4 * len(along)) - 1) < 5 * (2 / 80_000) ** 0.5
    # The cells leave (E y^2)/n of the variance of a mean square at most; 1e-2 is far above it.
    assert float(rows.y.square().mean()) == pytest.approx(2.0, abs=1e-2)


def test_theory_of_ridge_on_the_inputs_is_least_squares_at_a_small_penalty(monkeypatch):
    """Noise 1 + 1 of n = 16 d rows costs (1 + 1) d/(n - d): the ridgeless limit."""
    monkeypatch.setattr(ba22, "PENALTIES", (1e-7,))
    found = ba22.theory.__wrapped__("linear", "erf", 2, 50, 16.0, 4.0, 1.0, 1.0)
    assert found["excess"] == pytest.approx(2 / 15, rel=1e-4)


def test_a_part_of_the_grid_is_drawn_with_and_without_theory(tmp_path):
    found = experiment(NAME)
    methods = ["random features", "large step"]
    cell = {"activation": ["tanh", "erf"], "p": 3, "d": [8, 12], "n_test": 100}
    table = run(found, seeds=2, method=methods, **cell)
    cells = found.cells("quick", {"method": methods, **cell})
    assert found.figure is not None
    for theory in (None, found.theory_table(cells)):
        figure = found.figure(table, theory)
        assert len(figure.axes) == 2
        labels = [str(line.get_label()) for line in figure.axes[0].lines]
        assert any("theory" in label for label in labels) == (theory is not None)
    save_figure(figure, tmp_path / "figure.png")
