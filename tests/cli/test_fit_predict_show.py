"""fit, predict and show on small tables: files, agreement, repetition, every method alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.tables import QUICK, classes, gradfeat, quantity, results, written
from gradfeat.cli import app, guarded
from gradfeat.table.methods import METHODS
from gradfeat.table.read import read_table
from gradfeat.table.saved import load, load_table_model
from gradfeat.wording import number

# The order of sums differs with the number of rows; a kernel sum of 45 terms is off by less.
ROUNDING = 1e-10

KINDS = {"quantity": quantity(), "two classes": classes(K=2), "three classes": classes(K=3)}


@pytest.fixture(scope="module", params=KINDS)
def fit(request, tmp_path_factory) -> tuple[pd.DataFrame, Path]:
    """A table and the folder of its fit."""
    folder, frame = tmp_path_factory.mktemp("fit"), KINDS[request.param]
    table = written(frame, folder)
    words = ["fit", str(table), "--target", "y", "--out", str(folder / "out"), *QUICK]
    assert guarded(app, [*words, "--time", "60"]) == 0  # on a busy machine 2 s are too few
    return frame, folder / "out"


def test_all_files_are_written_and_nothing_else(fit):
    _, out = fit
    found = {"report.html", "results.json", "comparison.csv", "model.gradfeat"}
    beside = {"features.gradfeat"} if results(out)["best"] != "rfm" else set()
    assert {p.name for p in out.iterdir()} == found | beside
    assert "</html>" in (out / "report.html").read_text()


def test_results_describe_the_fit(fit):
    frame, out = fit
    found = results(out)
    assert found["n_rows"] == len(frame) == found["n_train"] + found["n_test"]
    assert [m["name"] for m in found["methods"]] == ["linear", "rfm"]
    assert all(np.isfinite(m["fit_seconds"]) and not m["error"] for m in found["methods"])
    assert sum(found["directions"]["importances"]) == pytest.approx(1.0)


def test_predictions_are_those_of_python_in_any_batch(capsys, tmp_path, fit):
    frame, out = fit
    expected = load_table_model(out / "model.gradfeat").predictions(frame)
    for size in (1, 7, len(frame)):
        table = written(frame.head(size), tmp_path)
        ran = gradfeat(capsys, "predict", out / "model.gradfeat", table, "--out", tmp_path / "p")
        assert (ran.code, ran.err) == (0, "")
        found = pd.read_csv(tmp_path / "p")
        pd.testing.assert_frame_equal(found, expected.head(size), atol=ROUNDING, check_dtype=False)


def test_strict_refuses_cells_that_are_otherwise_told_and_taken_as_missing(capsys, tmp_path, fit):
    frame, out = fit
    table = written(frame.astype({"a": object}).replace({"kind": {"p": "new"}}), tmp_path)
    words = ("predict", out, table, "--out", tmp_path / "p")
    said = "cells of 'kind' that are no value seen in training (the first: 'new', line "
    ran = gradfeat(capsys, *words)
    assert (ran.code, said in ran.out) == (0, True)
    (tmp_path / "p").unlink()
    ran = gradfeat(capsys, *words, "--strict")
    assert (ran.code, said in ran.err, ran.err.count("\n")) == (2, True, 1)
    assert not (tmp_path / "p").exists()


def test_the_order_of_columns_and_further_ones_do_not_matter(capsys, tmp_path, fit):
    frame, out = fit
    for name, table in (("p", frame), ("q", frame[frame.columns[::-1]].assign(more=1))):
        path = written(table, tmp_path)
        words = ("predict", out / "model.gradfeat", path, "--out", tmp_path / name)
        assert gradfeat(capsys, *words).code == 0
    assert (tmp_path / "p").read_text() == (tmp_path / "q").read_text()


def test_columns_are_kept_and_intervals_given(capsys, tmp_path, fit):
    frame, out = fit
    path = written(frame.assign(id=[f"{k:03d}" for k in range(len(frame))]), tmp_path)
    words = ("predict", out, path, "--out", tmp_path / "p", "--keep", "id", "--keep", "a")
    ran = gradfeat(capsys, *words, "--interval", "80")
    assert (ran.code, ran.err) == (0, "")
    found = pd.read_csv(tmp_path / "p", dtype={"id": str})
    expected = load(out).predictions(frame, interval=80)
    assert list(found.columns) == ["id", "a", *expected.columns]
    assert found["id"].iloc[7] == "007"
    assert "80 % of new rows" in ran.out
    for bad in (("--keep", "none"), ("--interval", "100"), ("--interval", "99.99")):
        assert gradfeat(capsys, *words[:3], "--out", tmp_path / "q", *bad).code == 2
    assert gradfeat(capsys, *words[:3], "--out", path).code == 2
    assert not (tmp_path / "q").exists()


def test_show_names_the_columns(capsys, fit):
    _, out = fit
    ran = gradfeat(capsys, "show", out / "model.gradfeat")
    assert (ran.code, ran.err) == (0, "")
    method = load_table_model(out).about["method"]
    assert gradfeat(capsys, "show", out).out == ran.out
    assert all(name in ran.out for name in ("a", "b", "kind", "when", method))


@pytest.mark.usefixtures("no_page")
def test_the_terminal_agrees_with_the_results(capsys, tmp_path):
    table = written(quantity(), tmp_path)
    ran = gradfeat(capsys, "fit", table, "--target", "y", "--out", tmp_path / "out", *QUICK)
    for method in results(tmp_path / "out")["methods"]:
        line = next(part for part in ran.out.splitlines() if f"  {method['label']}  " in part)
        for score in ("R2", "RMSE"):
            assert number(method["scores"][score]["estimate"]) in line
    assert all(len(part) <= 80 for part in ran.out.split("\nModel:")[0].splitlines())


def untimed(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: untimed(v) for k, v in value.items() if k not in ("seconds", "fit_seconds")}
        return kept
    return [untimed(v) for v in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("no_page")
@pytest.mark.usefixtures("no_page")
def test_the_same_command_gives_the_same_results(capsys, tmp_path):
    table = written(quantity(40), tmp_path)
    words = ("fit", table, "--target", "y", "--methods", "random-features,kernel", "--time", "600")
    for name in ("one", "two"):
        assert gradfeat(capsys, *words, "--out", tmp_path / name).code == 0
    one, two = (untimed(results(tmp_path / name)) for name in ("one", "two"))
    assert json.dumps(one) == json.dumps(two)
    assert gradfeat(capsys, *words, "--out", tmp_path / "three", "--seed", "1").code == 0
    assert untimed(results(tmp_path / "three"))["methods"] != one["methods"]


@pytest.mark.parametrize("method", [m.name for m in METHODS])
@pytest.mark.usefixtures("no_page")
def test_every_method_alone(capsys, tmp_path, method):
    table, out = written(quantity(40), tmp_path), tmp_path / "out"
    words = ("fit", table, "--target", "y", "--methods", method, "--time", "1", "--out", out)
    ran = gradfeat(capsys, *words)
    assert (ran.code, ran.err) == (0, "")
    found = results(out)
    assert [(m["name"], m["error"]) for m in found["methods"]] == [(method, "")]
    assert found["verdict"] is None
    model, frame = load(out), read_table(table)
    said = model.predictions(frame)["predicted_y"].to_numpy()
    assert abs(said - frame["y"]).mean() < frame["y"].std()
    assert not (out / "features.gradfeat").exists()  # the model is the best of its kind


@pytest.mark.usefixtures("no_page")
def test_results_hold_what_a_first_step_finds(capsys, tmp_path):
    table, out = written(quantity(400), tmp_path), tmp_path / "out"
    words = ("fit", table, "--target", "y", "--methods", "induced-network", "--time", "1")
    ran = gradfeat(capsys, *words, "--out", out)
    assert (ran.code, ran.err) == (0, "")
    step = results(out)["first_step"]
    assert step["columns"] == ["a", "b", "kind", "when"]
    assert np.shape(step["folded"]) == (4, len(step["mass"]))
    assert abs(step["folded"][1][0]) > 0.8  # b, which y is linear in
    assert set(step["mass"][0]) == {"estimate", "low", "high"}
    sure = sum(mass["low"] >= step["p"] for mass in step["mass"])
    said = f"{'would' if sure else 'may'} find {sure or len(step['mass'])} direction"
    assert said in ran.out


@pytest.mark.usefixtures("no_page")
def test_models_of_an_earlier_fit_and_those_that_cannot_be_saved_are_pointed_out(
    capsys, tmp_path, monkeypatch
):
    table, out = written(quantity(40), tmp_path), tmp_path / "out"
    out.mkdir()
    for name in ("model.gradfeat", "features.gradfeat"):
        (out / name).write_text("old")
    words = ("fit", table, "--target", "y", "--out", out, "--methods", "boosting", "--time", "1")
    monkeypatch.setattr("gradfeat.table.trusted.TRUSTED", [])
    ran = gradfeat(capsys, *words)
    assert "Gradient boosting was not saved, a HistGradient" in ran.out
    assert f"{out / 'model.gradfeat'} is of an earlier fit" in ran.out
    assert f"{out / 'features.gradfeat'} is of an earlier fit" in ran.out
    assert "gradfeat predict" not in ran.out


@pytest.mark.usefixtures("no_page")
def test_the_best_model_and_the_best_feature_learner_are_saved_and_named(capsys, tmp_path):
    """y is linear, so that the linear model wins and gradient features stand beside it."""
    frame = quantity(200).assign(y=lambda f: f["a"] + 2 * f["b"])
    table, out = written(frame, tmp_path), tmp_path / "out"
    words = ("--methods", "linear,gradient-features", "--width", "8", "--time", "1", "--out", out)
    ran = gradfeat(capsys, "fit", table, "--target", "y", *words)
    assert results(out)["best"] == "linear"
    for name, method in (("model", "Linear model"), ("features", "Gradient features")):
        assert load(out / f"{name}.gradfeat").about["method"] == method
        assert f"{out / name}.gradfeat ({method})" in ran.out
    assert f"gradfeat predict {out / 'model.gradfeat'} NEW.csv" in ran.out
    lines = [line.strip() for line in ran.out.splitlines()]
    code = [line for line in lines if line.startswith(("import", "model =", "print("))]
    assert len(code) == 3
    exec("\n".join(code).replace("NEW.csv", str(table)), {})
    assert "Linear model for y" in gradfeat(capsys, "show", out).out
    words = ("refit", out, table, "--target", "a", "--out", tmp_path / "new")
    assert "reads the column 'a'" in gradfeat(capsys, *words).err  # features, not the winner


def test_a_folder_without_a_model_is_one_sentence(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    ran = gradfeat(capsys, "predict", tmp_path, tmp_path / "t.csv", "--out", tmp_path / "p")
    assert (ran.code, "holds no model.gradfeat" in ran.err) == (2, True)


@pytest.mark.usefixtures("no_page")
def test_time_column_holds_out_the_last_rows(capsys, tmp_path):
    frame = quantity(40).assign(t=np.random.default_rng(1).permutation(40))
    frame["y"] = np.where(frame["t"] < 30, frame["a"], frame["a"] + 100)
    table, out = written(frame, tmp_path), tmp_path / "out"
    words = ("--methods", "linear", "--time", "1", "--time-column", "t", "--out", out)
    for further, inputs in (((), ["a", "t"]), (("--ignore", "t"), ["a"])):
        assert gradfeat(capsys, "fit", table, "--target", "y", *words, *further).code == 0
        found = results(out)
        assert found["n_test"] == 10
        assert found["methods"][0]["scores"]["RMSE"]["estimate"] > 90
        assert sorted(c["name"] for c in found["columns"] if c["name"] in "at") == inputs


ODD = {
    "a class after the cut only": (["u"] * 20 + ["v"] * 20 + ["w"] * 20, "--time-column=t"),
    "one class after the cut": (["u"] * 30 + ["v"] * 30, "--time-column=t"),
    "two rows a class": ([f"k{i // 2}" for i in range(60)], "--seed=1"),
    "99 to 1": (["u"] * 58 + ["v"] * 2, f"--seed={2**31}"),
    "truth values": ([True, False] * 30, "--seed=1"),
    "few whole numbers": ([0, 1, 2, 3] * 15, "--seed=1"),
    "zeros": ([0.0] * 57 + [1.5, 2.5, 3.5], "--seed=1"),
    "gaps": ([None, 1.5, 2.5, 7.0] * 15, "--seed=1"),
    "tiny": (list(np.linspace(1e-300, 2e-300, 60)), "--seed=1"),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.usefixtures("no_page")
def test_odd_targets(capsys, tmp_path, name):
    y, option = ODD[name]
    table, out = written(quantity().assign(t=np.arange(60), y=y), tmp_path), tmp_path / "out"
    words = ("--methods", "linear,random-features", "--time", "1", "--out", out, option)
    ran = gradfeat(capsys, "fit", table, "--target", "y", *words)
    assert (ran.code, ran.err) == (0, "")
    assert [m["error"] for m in results(out)["methods"]] == ["", ""]
    assert gradfeat(capsys, "predict", out / "model.gradfeat", table, "--out", out / "p").code == 0


@pytest.mark.usefixtures("no_page")
def test_odd_names_and_sizes_print_as_they_are(capsys, tmp_path):
    frame = quantity().rename(columns={"a": "[bold] é", "b": "[/red]", "y": "[y] z"})
    frame["[/red]"] *= 1e100
    folder = tmp_path / "a folder"
    folder.mkdir()
    table = written(frame, folder, "my [1] table.csv")
    words = ("--methods", "linear,random-features", "--time", "1", "--out", folder / "out [x]")
    ran = gradfeat(capsys, "fit", table, "--target", "[y] z", *words)
    assert (ran.code, ran.err) == (0, "")
    assert "my [1] table.csv: 60 rows" in ran.out
    assert "out [x]" in ran.out
    shown = gradfeat(capsys, "show", folder / "out [x]" / "model.gradfeat").out
    assert all(name in shown for name in ("[bold] é", "[/red]", "[y] z"))


@pytest.mark.usefixtures("no_page")
def test_dates_as_the_only_column(capsys, tmp_path):
    frame = quantity()[["when", "y"]].assign(y=np.sin(np.arange(60) / 9))
    table, out = written(frame, tmp_path), tmp_path / "out"
    words = ("--methods", "random-features", "--time", "1", "--out", out)
    assert gradfeat(capsys, "fit", table, "--target", "y", *words).code == 0
    assert results(out)["directions"]["columns"] == ["when"]


@pytest.mark.parametrize("method", ["boosting", "gradient-features"])
@pytest.mark.usefixtures("no_page")
def test_a_saved_model_shows_what_it_loses_without_a_column(capsys, tmp_path, method):
    table, out = written(quantity(), tmp_path), tmp_path / "out"
    words = ("--methods", method, "--width", "8", "--time", "1", "--out", out)
    ran = gradfeat(capsys, "fit", table, "--target", "y", *words)
    shown = gradfeat(capsys, "show", out).out
    said = ran.out.split("column, shuffled")[1].split("\n\n")[0]
    assert said in shown
    assert "R2 lost" in shown
    assert ("effective direction" in shown) == (method != "boosting")
    # a level has a number of its own, not the largest of its column
    assert ("kind: " in shown) == (method != "boosting")
