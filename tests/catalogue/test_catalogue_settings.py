"""Settings that nobody should give, or that leave much of a grid out: reasons and figures."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradfeat.catalogue import shi22_teacher_mix
from gradfeat.drawing.panels import save_figure
from gradfeat.lab import run
from gradfeat.lab.loading import experiment
from gradfeat.maths.streams import stream

SPARSE = {"d": 24, "D": 16, "k": 3, "m": 8}
ACCURACY = {
    **SPARSE, "p_o": 0.5, "method": "network", "structure": "yes", "steps": 3, "n_first": 20,
    "n_batch": 20, "n_test": 20,
}  # fmt: skip
EMERGENCE = {**SPARSE, "n": 60, "structure": "yes", "map_neurons": 4}
BOUNDS = {"method": "linear", "k": 5, "C": 0.01, "m": 6, "n": 60, "n_test": 60}
REAL = {"pair": "0/1", "training": "schedule", "m": 10, "steps": 3, "n": 100}
MIX = {"pair": "0/1", "gaussian": "isotropic", "m": 6, "steps": 2, "n_test": 20}
NAMES = {
    "shi22-accuracy": ACCURACY,
    "shi22-emergence": EMERGENCE,
    "shi22-bounds": BOUNDS,
    "shi22-real": REAL,
    "shi22-teacher-mix": MIX,
}


def table_of(name: str, seeds: int | list[int] = 1, **settings):
    return run(experiment(name), seeds=seeds, arrays=True, **{**NAMES[name], **settings})


def drawn(name, table, tmp_path):
    found = experiment(name)
    assert found.figure is not None
    cells = table[list(found.factors)].drop_duplicates().to_dict("records")
    figure = found.figure(table, found.theory_table(cells))
    save_figure(figure, tmp_path / "figure.png")  # some faults show only now
    return figure


@pytest.mark.parametrize(
    ("name", "setting", "value", "said"),
    [
        ("shi22-accuracy", "steps", -1, "steps is -1: give 2 or more."),
        ("shi22-accuracy", "n_batch", 0, "n_batch is 0: give 1 or more."),
        ("shi22-accuracy", "m", 7, "m is 7: neurons start in pairs, give an even number"),
        ("shi22-accuracy", "p_o", 2, "p_o is 2.0: give a number from 0 to 1"),
        ("shi22-accuracy", "method", "nope", "method is 'nope'"),
        ("shi22-emergence", "n", -5, "n is -5: give 1 or more."),
        ("shi22-emergence", "k", 4, "k is 4: the hard instance needs an odd number"),
        ("shi22-emergence", "D", 40, "1 <= k <= D <= d is needed"),
        ("shi22-emergence", "p_o", 1, "p_o is 1.0: "),
        ("shi22-emergence", "structure", "maybe", "structure is 'maybe'"),
        ("shi22-emergence", "map_neurons", -3, "map_neurons is -3: give 0 or more."),
        ("shi22-bounds", "C", 0, "C is 0.0: give a finite number above 0."),
        ("shi22-bounds", "k", 3, "k is 3: the bound is proved for odd k of 5 or more"),
        ("shi22-bounds", "m", 7, "m is 7: "),
        ("shi22-bounds", "p_o", 0, "p_o is 0.0"),
        ("shi22-bounds", "n", -1, "n is -1: give 1 or more."),
        ("shi22-bounds", "n", 1, "n is 1 with one label"),
        ("shi22-bounds", "method", "kitchen", "method is 'kitchen'"),
        ("shi22-real", "steps", 1, "steps is 1: give 2 or more."),
        ("shi22-real", "pair", "7/7", "choose two that differ"),
        ("shi22-real", "source", "missing.npz", "There is no 'missing.npz'"),
        ("shi22-teacher-mix", "n_test", 0, "n_test is 0: give 1 or more."),
        ("shi22-teacher-mix", "gaussian", "odd", "gaussian is 'odd'"),
    ],
)
def test_a_setting_that_cannot_be_fails_with_its_name_in_the_last_line(name, setting, value, said):
    table = table_of(name, **{setting: value})
    assert table.empty
    (failure,) = table.attrs["failures"]
    assert said in failure["error"].splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("shi22-accuracy", {}),
        ("shi22-accuracy", {"structure": "no", "method": "ntk", "n_fixed": 30}),
        ("shi22-emergence", {}),
        ("shi22-emergence", {"structure": "no"}),
        ("shi22-emergence", {"map_neurons": 0}),
        ("shi22-bounds", {"method": "explicit"}),
        ("shi22-bounds", {"method": "ntk"}),
        ("shi22-real", {"map_neurons": 0}),
        ("shi22-real", {"steps": 2}),
        ("shi22-teacher-mix", {}),
    ],
)
def test_a_figure_of_one_seed_and_a_part_of_the_grid_is_drawn(name, settings, tmp_path):
    table = table_of(name, **settings)
    assert not table.attrs["failures"]
    drawn(name, table, tmp_path)


def test_only_seed_5_is_drawn_without_a_map(tmp_path):
    table = table_of("shi22-emergence", seeds=[5])
    assert len(drawn("shi22-emergence", table, tmp_path).axes) == 2


def test_maps_are_left_out_where_there_are_none_and_panels_of_structure_too(tmp_path):
    table = table_of("shi22-emergence", structure=["yes", "no"])
    without = table.loc[table["structure"] == "no"]
    assert len(drawn("shi22-emergence", table, tmp_path).axes) == 6  # 5 panels, colour bar
    assert len(drawn("shi22-emergence", without, tmp_path).axes) == 1


def test_curves_of_several_settings_are_those_of_the_first_as_the_caption_says(tmp_path):
    table = table_of("shi22-accuracy", p_o=[0.25, 0.5])
    figure = drawn("shi22-accuracy", table, tmp_path)
    words = " ".join(figure.get_supxlabel().split())
    assert "p_o = 0.25, 8 neurons. Points: one seed." in words
    assert "Network by k and $p_o$" in [ax.get_title(loc="left") for ax in figure.axes]


def test_theory_of_both_steps_is_drawn_along_n(tmp_path):
    table = table_of("shi22-emergence", p_o=[0.25, 0.5], map_neurons=0)
    axes = drawn("shi22-emergence", table, tmp_path).axes
    sizes = [len(np.asarray(line.get_xdata())) for line in axes[0].lines]
    assert sizes.count(40) == 2


def test_measures_after_step_2_are_there_where_it_is_the_last():
    row = table_of("shi22-real", steps=2).iloc[0]
    assert row["concentration_2"] == row["concentration_last"]


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_no_method_chosen_alone_gets_the_settings_of_another(scale):
    cells = experiment("shi22-bounds").cells(scale, {"method": "ntk"})
    alone = [c for c in experiment("shi22-bounds").cells(scale) if c["method"] == "ntk"]
    assert cells == alone


@pytest.mark.parametrize(
    ("name", "setting", "value", "said"),
    [
        ("damian22-phases", "sizes", 10**9, "sizes is 1,000,000,000: give 64 or less."),
        ("rad24-rounds", "sizes", 10**9, "sizes is 1,000,000,000: give 64 or less."),
        ("dandi24-outliers", "alpha_2", 1e9, "alpha_2 is 1,000,000,000.0: give 1.0 or less."),
        ("dandi24-reuse", "eta", 1e9, "eta is 1,000,000,000.0: give 100 or less."),
        ("kernel-cost", "n", 1, "n is 1: give 2 or more."),
        ("kernel-iterations", "bandwidth", 0, "bandwidth is 0.0: give a finite number above 0."),
        ("saad95-committee", "noise", 1e9, "noise is 1,000,000,000.0: give 100.0 or less."),
        ("shi22-accuracy", "k", 0, "k is 0: give 1 or more."),
        ("shi22-emergence", "k", -1, "k is -1: give 1 or more."),
        ("shi23-cases", "r", 1, "r is 1: give 2 or more."),
    ],
)
def test_settings_that_no_trial_can_take_are_told(name, setting, value, said):
    found = experiment(name)
    one = {k: v[0] if np.ndim(v) else v for k, v in found.small.items()}
    failures = run(found, seeds=1, **{**one, setting: value}).attrs["failures"]
    assert failures
    assert any(said in failure["error"] for failure in failures)


@pytest.mark.parametrize("kind", ["isotropic", "matched"])
def test_gaussian_rows_of_mixed_inputs_have_the_second_moments_that_they_are_named_by(kind):
    """20,000 rows: entries of the covariance within 5 standard errors, (2/20,000)^(1/2) of 3."""
    X = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-2.0, 0.5, 0.0]])
    drawn = shi22_teacher_mix._gaussian(kind, X.double())(20_000, stream(0, "rows"))
    wanted = X.mT @ X / len(X)
    if kind == "isotropic":
        wanted = wanted.trace() / 3 * torch.eye(3)
    torch.testing.assert_close(drawn.mT @ drawn / len(drawn), wanted.double(), atol=0.15, rtol=0)
