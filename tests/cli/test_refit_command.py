"""refit: another column on the features of a saved model; refusals that write nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.tables import classes, gradfeat, quantity, without_pages, written
from gradfeat.cli import app, guarded
from gradfeat.table.saved import load_table_model


def saved(folder: Path, frame: pd.DataFrame, method: str = "gradient-features") -> Path:
    """The model file of a fit."""
    table, out = written(frame, folder), folder / "out"
    words = ["fit", str(table), "--target", "y", "--out", str(out), "--time", "2"]
    with without_pages():
        assert guarded(app, [*words, "--methods", method]) == 0
    return out / "model.gradfeat"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("source"), quantity(120))


def other(n: int = 60) -> pd.DataFrame:
    """The columns of another draw; z = 10 + 3 |a|."""
    frame = quantity(n, seed=4)
    return frame.drop(columns="y").assign(z=10 + 3 * frame["a"].abs())


def run(capsys: Any, model: Path, frame: pd.DataFrame, folder: Path, *more: object) -> Any:
    table = written(frame, folder, "other.csv")
    words = ("refit", model, table, "--target", "z", "--out", folder / "new.gradfeat", *more)
    return gradfeat(capsys, *words)


def test_another_column_is_predicted_on_the_same_features(capsys, tmp_path, source):
    ran = run(capsys, source, other(), tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "learned for y, head for z: fitted on" in ran.out
    assert "R2" in ran.out
    old, new = (load_table_model(path) for path in (source, tmp_path / "new.gradfeat"))
    X = new.encoder.transform(other())
    np.testing.assert_array_equal(new.estimator_.transform(X), old.estimator_.transform(X))
    assert new.about["train_rows"] + new.about["test_rows"] == 60
    predicted = new.predictions(other())["predicted_z"].to_numpy(dtype=float)
    assert np.corrcoef(predicted, other()["z"].to_numpy(dtype=float))[0, 1] > 0.8
    shown = gradfeat(capsys, "show", tmp_path / "new.gradfeat").out
    assert "Gradient features for z (regression)" in shown


def test_a_table_is_read_from_a_url_too(capsys, tmp_path, source):
    table = written(other(), tmp_path, "other.csv")
    words = ("refit", source, table.as_uri(), "--target", "z", "--out", tmp_path / "new.gradfeat")
    assert gradfeat(capsys, *words).code == 0
    assert load_table_model(tmp_path / "new.gradfeat").about["data"] == "other.csv"


def test_a_pipe_is_no_table(capsys, tmp_path, source):
    for words in (("refit", source, "-", "--target", "z"), ("predict", source, "-")):
        ran = gradfeat(capsys, *words, "--out", tmp_path / "new")
        assert ran.code
        assert "'-' is a pipe or a device, and tables are read more than" in ran.err


def test_rows_that_come_again_are_told(capsys, tmp_path, source):
    twice = pd.concat([other(), other().assign(a=other()["a"] + 1e-7)], ignore_index=True)
    told = " ".join(run(capsys, source, twice, tmp_path).out.split())
    assert "50 % of the rows are copies of others to within rounding: of these some are" in told
    twice.insert(0, "note", np.arange(120))  # no input of the model
    assert "50 % of the rows are copies" in " ".join(
        run(capsys, source, twice, tmp_path).out.split()
    )


def test_the_seed_chooses_the_rows_held_out(capsys, tmp_path, source):
    first, same, second = (run(capsys, source, other(), tmp_path, "--seed", s).out for s in "001")
    assert first == same != second


def test_other_classes_come_from_a_model_of_classes(capsys, tmp_path):
    model = saved(tmp_path, classes(120))
    frame = other().assign(z=np.where(other()["a"].to_numpy() > 0, "plus", "minus"))
    assert run(capsys, model, frame, tmp_path).code == 0
    new = load_table_model(tmp_path / "new.gradfeat")
    assert new.classes == ("minus", "plus")
    right = new.predictions(frame)["predicted_z"].to_numpy() == frame["z"].to_numpy()
    assert np.mean(right) > 0.8
    rare = frame.assign(z=["odd", *frame["z"][1:]])
    assert "--rare-classes drop" in run(capsys, model, rare, tmp_path).err
    assert "tested on 14" in run(capsys, model, rare, tmp_path, "--rare-classes", "drop").out


def test_a_declared_value_is_missing_in_the_new_target_and_the_inputs(capsys, tmp_path, source):
    odd = other().assign(z=[-999.0] * 3 + other()["z"].tolist()[3:])
    odd.loc[5, "a"] = -999.0
    assert "3 rows without a target" in run(capsys, source, odd, tmp_path, "--missing", "-999").out
    new = load_table_model(tmp_path / "new.gradfeat")
    assert new.about["train_rows"] + new.about["test_rows"] == 57
    gap, declared = (new.predictions(odd.assign(a=a))["predicted_z"] for a in (np.nan, -999.0))
    assert gap.tolist() == declared.tolist()
    assert (
        "The table has no column 'c'" in run(capsys, source, odd, tmp_path, "--missing", "c=1").err
    )


def test_a_machine_is_refitted_and_a_model_without_features_names_the_file_that_can_be(
    capsys, tmp_path, source
):
    machine = saved(tmp_path, quantity(60), "rfm")
    ran = run(capsys, machine, other(), tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "Recursive feature machine learned for y, head for z" in ran.out
    shown = gradfeat(capsys, "show", tmp_path / "new.gradfeat").out
    assert "head_kernel" in shown
    beside = tmp_path / "out" / "features.gradfeat"
    beside.write_bytes(source.read_bytes())
    linear = saved(tmp_path, quantity(40), "linear")
    beside.write_bytes(source.read_bytes())
    ran = run(capsys, linear, other(), tmp_path)
    assert (ran.code, f"give '{beside}'" in " ".join(ran.err.split())) == (2, True)
    assert run(capsys, tmp_path / "out", other(), tmp_path).code == 0  # the folder: its features


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (other().drop(columns="z"), "no column 'z'"),
        (other().drop(columns="a"), "lacks 'a'"),
        (other(1), "known in 1 row only"),
        (other(3), "3 usable rows"),
        (other().assign(z=["p", "q"] * 30), "holds classes and the model predicts quantities"),
    ],
)
def test_bad_tables_are_one_sentence_and_write_nothing(capsys, tmp_path, source, frame, words):
    ran = run(capsys, source, frame, tmp_path)
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "new.gradfeat").exists()


def test_inputs_and_other_methods_are_no_targets_and_no_sources(capsys, tmp_path, source):
    table = written(other(), tmp_path, "other.csv")
    ran = gradfeat(capsys, "refit", source, table, "--target", "a", "--out", tmp_path / "n")
    assert (ran.code, "as an input" in ran.err) == (2, True)
    linear = saved(tmp_path, quantity(40), "linear")
    ran = run(capsys, linear, other(), tmp_path)
    assert (ran.code, "no features apart from its fit" in ran.err) == (2, True)


def strays(n: int = 60) -> pd.DataFrame:
    """An unread number, a level never seen, a target with a stray and one without value."""
    frame = other(n).astype({"a": object, "z": object})
    frame.loc[3, "a"], frame.loc[4, "kind"] = "?", "s"
    frame.loc[10, "z"], frame.loc[11, "z"] = "n/k", None
    return frame


def test_what_could_not_be_read_is_told_with_its_line(capsys, tmp_path, source):
    ran = run(capsys, source, strays(), tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "1 row left out, whose 'z' is no number ('n/k'; the first is line 12)." in ran.out
    assert "1 row without a target left out." in ran.out
    assert "1 cell of 'a' that is no number ('?', line 5)" in ran.out
    assert "1 cell of 'kind' that is no value seen in training ('s', line 6)" in ran.out


def test_how_the_text_was_found_to_be_written_is_told(capsys, tmp_path, source):
    table, new = tmp_path / "other.csv", tmp_path / "new.gradfeat"
    table.write_text("# drawn twice\n" + other().to_csv(index=False))
    ran = gradfeat(capsys, "refit", source, table, "--target", "z", "--out", new)
    assert (ran.code, "Read so: " in ran.out) == (0, True)


@pytest.mark.parametrize("words", ["'n/k'; the first is line 12", "'?', line 5"])
def test_strict_refuses_them_and_writes_nothing(capsys, tmp_path, source, words):
    frame = strays() if "n/k" in words else strays().assign(z=other()["z"])
    ran = run(capsys, source, frame, tmp_path, "--strict")
    assert (ran.code, words in ran.err, ran.err.count("\n")) == (2, True, 1)
    assert not (tmp_path / "new.gradfeat").exists()
    frame = strays().drop(index=[3, 4, 10])
    assert run(capsys, source, frame, tmp_path, "--strict").code == 0


def test_a_row_of_sums_is_left_out(capsys, tmp_path, source):
    frame = other()
    sums = frame.select_dtypes("number").sum().to_frame().T.assign(kind="Total")
    for options in ((), ("--strict",)):  # such a row is no stray
        ran = run(capsys, source, pd.concat([frame, sums]), tmp_path, *options)
        said = "('Total' in 'kind') is a row that sums up others" in ran.out
        assert (ran.code, ran.err, said) == (0, "", True)


def test_codes_in_the_new_target_and_few_test_rows_are_told(capsys, tmp_path, source):
    codes = other().assign(z=np.where(np.arange(60) % 9 == 0, -999, other()["z"]))
    told = " ".join(run(capsys, source, codes, tmp_path).out.split())
    assert "of 'z' are -999 and its other values 1" in told
    assert "--missing 'z=-999' takes them as missing" in told
    told = run(capsys, source, other(12), tmp_path).out
    assert "Only 3 rows tested on" in told
    assert "interval 0" not in told


def test_dates_are_said_to_be_dates(capsys, tmp_path, source):
    days = pd.date_range("2020-01-31", periods=60).strftime("%d.%m.%Y")
    ran = run(capsys, source, other().assign(z=days), tmp_path)
    assert (ran.code, "'z' holds dates (such as '31.01.2020')" in ran.err) == (2, True)
