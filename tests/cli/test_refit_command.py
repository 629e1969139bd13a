"""refit: another column on the features of a saved model; refusals that write nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.tables import classes, gradfeat, quantity, written
from gradfeat.cli import app, guarded
from gradfeat.table.saved import load_table_model


def saved(folder: Path, frame: pd.DataFrame, method: str = "gradient-features") -> Path:
    """The model file of a fit."""
    table, out = written(frame, folder), folder / "out"
    words = ["fit", str(table), "--target", "y", "--out", str(out), "--time", "2"]
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
    machine = saved(tmp_path, quantity(40), "rfm")
    ran = run(capsys, machine, other(), tmp_path)
    assert (ran.code, "no features apart from its fit" in ran.err) == (2, True)
