"""The target decides the task; one that cannot be predicted gives one sentence."""

import numpy as np
import pandas as pd
import pytest

from gradfeat.errors import TableError
from gradfeat.table.row_sample import typed
from gradfeat.table.target import prepare_target, too_many

N = 12


def frame(values, dtype=None):
    return pd.DataFrame({"other": range(len(values)), "target": pd.Series(values, dtype=dtype)})


CLASSES = {
    "text": (["b", "a"] * 6, None, ("a", "b")),
    "three": (["b", "a", "c"] * 4, None, ("a", "b", "c")),
    "bool": ([True, False] * 6, None, ("False", "True")),
    "bool with gaps": ([True, False, None] * 4, object, ("False", "True")),
    "category of numbers": ([10, 9, 2] * 4, "category", ("10", "2", "9")),
    "minus one and one": ([1, -1] * 6, None, ("-1", "1")),
    "ten and a thousand": ([1000, 10] * 6, None, ("10", "1000")),
    "float with gaps": ([0.0, 1.0, np.nan] * 4, None, ("0", "1")),
}


@pytest.mark.parametrize("case", CLASSES, ids=str)
def test_auto_classification(case):
    values, dtype, classes = CLASSES[case]
    target = prepare_target(frame(values, dtype), "target")
    assert target.task == "classification"
    assert target.classes == classes
    kept = [value for value in values if value is not None and value == value]
    labels = [str(int(v)) if isinstance(v, float) else str(v) for v in kept]
    assert [classes[code] for code in target.values] == labels
    assert "--task regression" in target.remark


@pytest.mark.parametrize("values", [range(N), [0.5, 1.5] * 6, [1, 2, 3] * 4])
def test_auto_regression(values):
    target = prepare_target(frame(list(values)), "target")
    assert target.task == "regression"
    assert target.classes == ()
    assert target.values.dtype == np.float64
    assert target.values.tolist() == list(values)
    assert "--task classification" in target.remark


def test_the_task_asked_for_is_taken():
    asked = prepare_target(frame([0, 1] * 6), "target", "regression")
    assert asked.task == "regression"
    asked = prepare_target(frame([10, 9, 2] * 4), "target", "classification")
    assert asked.classes == ("2", "9", "10")
    asked = prepare_target(frame([True, False] * 6), "target", "regression")
    assert asked.values.tolist() == [1.0, 0.0] * 6
    asked = prepare_target(frame([10, 9, 2] * 4, "category"), "target", "regression")
    assert asked.values.tolist() == [10.0, 9.0, 2.0] * 4


def test_rows_without_a_target_are_left_out_and_counted():
    target = prepare_target(frame([1.0, np.nan, 3.0, 4.5]), "target")
    assert target.rows.tolist() == [0, 2, 3]
    assert target.rows_dropped == 1
    assert "1 row without" in target.remark


BAD = {
    "constant": ([1.5] * N, "auto", "'1.5' in every row"),
    "constant text": (["x"] * N, "auto", "nothing to predict"),
    "constant but for gaps": ([2.0, np.nan] * 6, "auto", "in every row"),
    "one row": ([2.0], "auto", "in 1 row only"),
    "all missing": ([np.nan] * N, "auto", "missing in every row"),
    "infinite": ([1.0, np.inf, -np.inf] * 4, "auto", "8 infinite values"),
    "dates": (pd.date_range("2020", periods=N), "auto", "datetime64"),
    "5,000 classes": ([f"v{i}" for i in range(5000)] * 2, "auto", "5,000 distinct values"),
    "101 numbers": ([i + 0.5 for i in range(101)] * 2, "classification", "101 distinct"),
    "text regression": (["a", "b"] * 6, "regression", "is text (such as 'a')"),
    "single-row class": (["a", "b"] * 6 + ["c"], "auto", "only 1 row of 'c'"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_targets(case):
    values, task, expected = BAD[case]
    with pytest.raises(TableError) as caught:
        prepare_target(frame(values), "target", task)
    assert expected in str(caught.value)
    assert "'target'" in str(caught.value)


def test_100_classes_are_taken():
    values = [f"v{i}" for i in range(100)] * 2
    assert len(prepare_target(frame(values), "target").classes) == 100


def test_absent_target():
    with pytest.raises(TableError, match="did you mean 'target'"):
        prepare_target(frame([1, 2]), "tarjet")
    with pytest.raises(TableError, match="its columns are 'other', 'target'"):
        prepare_target(frame([1, 2]), "zzz")


def test_outputs_are_one_for_a_quantity_and_two_classes_and_else_one_a_class():
    for values, outputs in (([1.5, 2.5, 3.5], 1), (list("abab"), 1), (list("abcabc"), 3)):
        assert prepare_target(pd.DataFrame({"y": values}), "y").outputs == outputs


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("{:%Y-%m-%d}", "dates"),
        ("{:%H:%M:%S}", "times of day"),
        ("{0.day}h {0.second}m", "durations"),
    ],
)
def test_a_target_of_moments_is_named_so(cell, kind):
    moments = pd.date_range("2020-01-01", periods=300, freq="23h13s")
    values = pd.Series([cell.format(moment) for moment in moments])
    assert f"holds {kind} (such as" in str(too_many("y", "300", values))


def test_classes_beyond_whole_floats_are_numbers():
    found = prepare_target(pd.DataFrame({"y": [2.0**63, 0.0] * 3}), "y", "classification")
    assert found.labels == "number"
    assert typed(found.classes, found.labels).tolist() == [0.0, 2.0**63]
