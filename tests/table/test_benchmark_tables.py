"""The benchmark suite's own arithmetic: ranks, means, gaps, searches, encoding, resuming."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SUITE = Path(__file__).parents[2] / "benchmarks" / "tabular"
sys.path.append(str(SUITE))

from lines import dropped, read_lines  # noqa: E402
from problem import Problem, one_hot, probabilities, squared_error  # noqa: E402
from report import document  # noqa: E402
from score_tables import score_table  # noqa: E402
from search import best_of  # noqa: E402
from splits import problem, sizes  # noqa: E402
from standardised import column_scale, least_squares  # noqa: E402
from summary import complete, cost, far_below, mean_ranks  # noqa: E402
from table_list import TABLES, Table  # noqa: E402


def line(method: str, score: float | None, table: str = "concrete", split: int = 0) -> dict:
    found = {"table": table, "split": split, "method": method, "task": "regression"}
    found |= {"cap": 4000, "date": "2000-01-01"}
    if score is None:
        return found | {"error": "it broke"}
    measures = {"rows": 10, "inputs": 2, "fit_s": 2.0, "predict_s": 0.5, "peak_mb": 7.0}
    return found | measures | {"score": score, "version": "x 1"}


def test_ranks_share_ties_and_put_failures_last() -> None:
    lines = [line("a", 0.9), line("b", 0.9), line("c", None), line("d", 0.1)]
    assert mean_ranks(lines) == {"a": 1.5, "b": 1.5, "c": 4.0, "d": 3.0}


def test_a_table_counts_once_however_many_splits_it_has() -> None:
    lines = [line("a", 0.9, split=s) for s in (0, 1, 2)]
    lines += [line("b", 0.8, split=s) for s in (0, 1, 2)]
    lines += [line("a", 0.1, "ames"), line("b", 0.2, "ames")]
    assert mean_ranks(lines) == {"a": 1.5, "b": 1.5}


def test_the_least_log_loss_ranks_first() -> None:
    lines = [line("a", 0.9) | {"log_loss": 0.7}, line("b", 0.8) | {"log_loss": 0.3}]
    assert mean_ranks(lines, "log_loss") == {"a": 2.0, "b": 1.0}


def test_only_cells_that_every_method_was_tried_on_are_ranked() -> None:
    lines = [line("a", 0.9), line("b", None), line("a", 0.5, split=1)]
    assert complete(lines) == lines[:2]


def test_cost_sums_tables_and_averages_splits() -> None:
    lines = [line("a", 0.9, split=0), line("a", 0.9, split=1) | {"fit_s": 4.0, "peak_mb": 9.0}]
    lines += [line("a", 0.2, "ames"), line("a", None, "cps1988")]
    found = cost(lines)
    assert (found.fit_s, found.median_fit_s, found.predict_s) == (5.0, 2.0, 1.0)
    assert (found.peak_mb, found.failed) == (9.0, 1)


def test_gaps_are_those_beyond_the_margin_and_failures() -> None:
    lines = [line("a", 0.80), line("b", 0.86)]
    lines += [line("a", 0.82, "ames"), line("b", 0.86, "ames")]
    lines += [line("a", None, "abalone"), line("b", 0.5, "abalone")]
    gaps = far_below(lines, "a", 0.05)
    assert [(g.table, g.best, g.by) for g in gaps] == [
        ("concrete", 0.86, "b"),
        ("abalone", 0.5, "b"),
    ]
    assert math.isnan(gaps[1].score)


def test_the_best_score_of_a_row_is_bold_and_a_failure_a_dash() -> None:
    lines = [line("xrfm", 0.25), line("hist", 0.5), line("mlp", None)]
    lines += [line("hist", 0.7, split=1)]
    row = score_table(lines, "score").splitlines()[-1]
    assert row == "| concrete | 0.2500 | – | **0.6000** ± 0.1414 |"


def test_the_report_says_command_date_versions_and_failures() -> None:
    text = document([line("gradfeat", 0.2), line("hist", None)], "x.jsonl")
    for said in ("--out benchmarks/tabular/x.jsonl --splits 1 --rows 4000", "2000-01-01", "x 1"):
        assert said in text
    assert "- concrete, split 0, hist: it broke" in text


def test_redo_drops_a_method_on_the_chosen_tables_alone() -> None:
    lines = [line("a", 0.1), line("b", 0.1), line("a", 0.1, "ames")]
    assert dropped(lines, {"a"}, {"ames"}) == lines[:2]


def test_a_line_cut_short_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"table": "a"}\n{"table": "b')
    assert read_lines(path) == [{"table": "a"}]
    assert read_lines(tmp_path / "none.jsonl") == []


def made(classes: bool) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] > 0).astype(int) if classes else 5 + 3 * X[:, 0]
    return Problem(X[:150], y[:150], X[150:], y[150:], classes)


@pytest.mark.parametrize("classes", [True, False])
def test_held_out_rows_come_from_the_training_rows(classes: bool) -> None:
    whole = made(classes)
    held = whole.held_out()
    assert (len(held.X), len(held.X_test)) == (120, 30)
    rows = {tuple(row) for row in whole.X}
    assert {tuple(row) for row in np.vstack([held.X, held.X_test])} == rows


def test_the_search_refits_the_best_setting_on_all_rows() -> None:
    fitted_rows = []

    def fit(given: Problem, settings: dict) -> object:
        fitted_rows.append(len(given.X))
        return lambda X: settings["slope"] * X[:, 0] + 5

    settings = [{"slope": 0.0}, {"slope": 3.0}, {"slope": float("nan")}]
    found = best_of(fit, made(False), settings)  # pyright: ignore[reportArgumentType]
    assert found.settings == {"slope": 3.0}
    assert fitted_rows == [120, 120, 120, 150]


def test_squared_error_of_probabilities_is_the_brier_score() -> None:
    whole = made(True)
    right = one_hot(whole.y_test, 2)
    assert squared_error(whole, right) == 0
    assert squared_error(whole, 1 - right) == 1


def test_outputs_become_probabilities() -> None:
    found = probabilities(np.array([[-0.2, 1.3], [0.5, 0.5]]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[0, 1] > 0.99
    assert found[0, 0] > 0


def test_least_squares_gives_back_the_units_of_the_target() -> None:
    whole = made(False)

    def exact(X: np.ndarray, y: np.ndarray) -> object:
        slope = np.linalg.lstsq(X, y, rcond=None)[0]
        return lambda Z: Z @ slope

    predict = least_squares(whole, exact)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(predict(whole.X_test), whole.y_test, rtol=1e-10)  # rounding


def test_binary_and_constant_columns_keep_their_scale() -> None:
    X = np.array([[0.0, 7.0, 1.0], [1.0, 7.0, 5.0]])
    centre, spread = column_scale(X, keep_binary=True)
    assert (centre.tolist(), spread.tolist()) == ([0, 0, 3], [1, 1, 2])


def test_sizes_leave_a_quarter_for_the_test() -> None:
    assert sizes(400, 4000) == (300, 100)
    assert sizes(50_000, 4000) == (4000, 4000)


def test_a_split_is_encoded_stratified_and_the_same_each_time() -> None:
    def read() -> pd.DataFrame:
        kind = np.where(np.arange(200) % 10 == 0, "rare", "usual")
        return pd.DataFrame({"x": np.arange(200.0), "c": ["p", "q"] * 100, "target": kind})

    table = Table("made", "classification", read, "kind", "none")
    first, again, other = (problem(table, split, 4000) for split in (0, 0, 1))
    assert (first.X.shape, first.X_test.shape) == ((150, 2), (50, 2))
    assert (first.y == 0).sum() == 15
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_tables_have_names_of_their_own() -> None:
    assert len({table.name for table in TABLES}) == len(TABLES)


@pytest.mark.slow
def test_growth_fits_what_is_missing_and_no_more(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SUITE.parent))
    import growth

    out = tmp_path / "fits.jsonl"
    asked = ["--out", str(out), "--families", "thresholds,multi-index", "--models", "gradfeat,hist"]
    growth.main([*asked, "--sizes", "250"])
    growth.main([*asked, "--sizes", "250,1000", "--picture", str(tmp_path / "growth.png")])
    lines = read_lines(out)
    assert len({growth.key(one) for one in lines}) == len(lines) == 8
    assert not any("error" in one for one in lines)
    found = growth.means(lines).set_index(["family", "model", "size"])["score"]
    for family in ("thresholds", "multi-index"):
        assert found[family, "gradfeat", 1000] > found[family, "gradfeat", 250]
    assert (tmp_path / "growth.png").stat().st_size > 10_000
    assert growth.table(lines).count("\n") == 5


def test_rows_of_a_family_are_nested_and_its_test_rows_stay(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SUITE.parent))
    import growth

    for family in growth.FAMILIES:
        few, many = growth.drawn(family, 20, 1), growth.drawn(family, 50, 1)
        np.testing.assert_array_equal(few.X, many.X[:20])
        np.testing.assert_array_equal(few.y, many.y[:20])
        np.testing.assert_array_equal(few.y_test, many.y_test)
