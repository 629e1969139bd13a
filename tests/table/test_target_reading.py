"""Targets with strays, classes called None, and rare classes: the same on three roads."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import gradfeat
from gradfeat.errors import TableError
from gradfeat.interface.open import opened
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.rows.sources.text_options import FOUND
from gradfeat.table.diagnosis_rows import diagnosis_rows
from gradfeat.table.first_pass import with_target_read
from gradfeat.table.prepared import prepare
from gradfeat.table.request import Request
from gradfeat.table.row_sample import TargetValues
from gradfeat.table.target_reading import called_missing, target_reading

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(2, 240)).round(4)
SUM = X + 0.5 * Z


def with_cells(values, **cells):
    """The values as text, with some cells replaced: `n` of them by each word, from row 7 on."""
    texts, place = np.array([str(v) for v in values], dtype=object), 7
    for word, n in cells.items():
        texts[place : place + n] = {"mark": "?", "gap": "NA"}.get(word, word)
        place += n
    return texts


#: Targets: cells, task, classes, rows used, and words of what is said of them.
CASES = {
    "classes called None": (
        np.array(["None", "Insomnia", "Apnea"])[np.digitize(SUM, [-0.4, 0.4])],
        "classification", ("Apnea", "Insomnia", "None"), 240, "'None' is a class here",
    ),
    "classes with gaps": (
        with_cells(np.where(SUM > 0, "yes", "no"), mark=1, gap=5),
        "classification", ("no", "yes"), 234, "whose 'y' is no class ('?', 'NA'; the first",
    ),
    "whole numbers": (
        with_cells(np.clip(np.round(5 + SUM), 3, 7).astype(int), mark=5),
        "regression", (), 235, "5 rows left out, whose 'y' is no number ('?'; the first is",
    ),
    "a quantity": (
        with_cells(SUM.round(4), mark=1),
        "regression", (), 239, "1 row left out, whose 'y' is no number ('?'; the first is",
    ),
    "money": (
        with_cells([f"$ {v:,.2f}" for v in 5000 + 900 * SUM], mark=1),
        "regression", (), 239, "1 row left out",
    ),
    "two numbers": (
        with_cells((SUM > 0).astype(int), mark=2),
        "classification", ("0", "1"), 238, "2 rows left out",
    ),
}  # fmt: skip


def given(cells, road, tmp_path):
    frame = pd.DataFrame({"x": X, "z": Z, "y": cells})
    if road == "python":
        return frame, {}
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv", {"stream": road == "streamed"}


#: Each case held, and streamed or in Python in turn; the third road is slow.
EACH = [
    pytest.param(case, road, marks=[pytest.mark.slow] * (road == ("python", "streamed")[i % 2]))
    for i, case in enumerate(CASES)
    for road in ("held", "streamed", "python")
]


@pytest.mark.parametrize(("case", "road"), EACH)
def test_cells_of_targets_that_are_none_are_left_out_and_told(tmp_path, case, road):
    cells, task, classes, rows, said = CASES[case]
    table, options = given(cells, road, tmp_path)
    found = gradfeat.compare(table, "y", methods=["linear"], time=1, **options)
    report = found.results
    assert (report.task, report.classes, report.n_rows) == (task, classes, rows)
    remark = next(one for one in found.remarks if said in one)
    if "the first" in said:
        assert ("row 8)" if road == "python" else "line 9)") in remark
    assert next(iter(report.methods[0].scores.values())).estimate > 0.85


@pytest.mark.parametrize("word", ["inf", "-Infinity", "1e999"])
@pytest.mark.parametrize("road", ["held", "streamed", "python"])
def test_infinite_numbers_are_refused_as_text_too(tmp_path, road, word):
    """Files refused them, and of the text in a frame their rows were left out."""
    table, options = given(with_cells(SUM, **{word: 3}), road, tmp_path)
    with pytest.raises(TableError, match="The target 'y' has 3 infinite values"):
        gradfeat.compare(table, "y", methods=["linear"], time=1, **options)


def test_infinite_numbers_among_objects_are_refused_in_the_same_words():
    frame = pd.DataFrame({"x": X, "y": pd.Series(SUM, dtype=object)})
    frame.loc[3, "y"] = np.inf
    with pytest.raises(TableError, match="The target 'y' has 1 infinite value"):
        prepare(FrameTables(frame), Request("t", "y"))


@pytest.mark.parametrize("road", ["held", "streamed", "python"])
def test_blanks_are_no_class_on_any_road(tmp_path, road):
    """A file cannot tell an empty text from an empty cell; estimators take the labels given."""
    cells = np.where(SUM > 0.5, "", np.where(SUM > 0, "yes", "no")).astype(object)
    table, options = given(cells, road, tmp_path)
    found = gradfeat.compare(table, "y", methods=["linear"], time=1, **options)
    assert found.results.classes == ("no", "yes")
    assert f"{(cells == '').sum()} rows without a target left out" in " ".join(found.remarks)
    table, options = given(np.where(SUM > 0, "yes", " "), road, tmp_path)
    with pytest.raises(TableError, match="and a word where an empty cell is a class"):
        gradfeat.compare(table, "y", methods=["linear"], time=1, **options)
    labels = gradfeat.LinearClassifier().fit(X[:, None], cells.astype(str)).classes_
    assert labels.tolist() == ["", "no", "yes"]


@pytest.mark.parametrize("road", ["held", "streamed", "python"])
def test_rare_classes_are_refused_before_any_fit_or_left_out_or_merged(tmp_path, road):
    cells = np.where(SUM > 0, "yes", "no").astype(object)
    cells[[3, 7]] = "once", "rare"
    table, options = given(cells, road, tmp_path)
    options |= {"methods": ["linear"], "time": 1}
    with pytest.raises(TableError, match=r"1 row of 'once', 'rare'.*rare_classes='drop'"):
        gradfeat.compare(table, "y", **options)
    found = gradfeat.compare(table, "y", rare_classes="drop", **options)
    assert (found.results.classes, found.results.n_rows) == (("no", "yes"), 238)
    assert "2 rows left out, whose 'y' is a class of one row" in " ".join(found.remarks)
    found = gradfeat.compare(table, "y", rare_classes="merge", **options)
    assert (found.results.classes, found.results.n_rows) == (("no", "other", "yes"), 240)
    assert "taken together as 'other'" in " ".join(found.remarks)


def test_a_diagnosis_reads_the_target_as_a_fit_does():
    cells, *_ = CASES["whole numbers"]
    request = Request("t", "y")
    frame = pd.DataFrame({"x": X, "z": Z, "y": cells})
    found = diagnosis_rows(FrameTables(frame), request)
    assert found.target.task == "regression"
    assert any("5 rows left out" in remark.text for remark in found.remarks)
    assert "without a target" not in " ".join(remark.text for remark in found.remarks)


def test_a_diagnosis_names_the_line_of_a_target_that_is_none(tmp_path):
    frame = pd.DataFrame({"x": X, "z": Z, "y": [*map(str, X[:-1]), "n/k"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = tables(tmp_path / "t.csv")
    found = diagnosis_rows(table, Request("t.csv", "y"))
    said = " ".join(remark.text for remark in found.remarks)
    assert f"the first is line {len(frame) + 1}" in said


def test_a_rare_word_among_classes_that_are_numbers_is_named():
    column = pd.Series(["3", "4", "5"] * 50 + ["ERR"] * 3)
    assert called_missing(TargetValues.of(column)) == (
        "'ERR' is a class here (3 rows); --missing 'ERR' takes it as missing."
    )
    assert called_missing(TargetValues.of(pd.Series(["3", "4", "many"] * 50))) == ""


def test_what_is_left_out_is_named_alike_where_rows_stream(tmp_path):
    cells = [f"{v / 7:.3f}" for v in range(60)]
    for row, cell in {12: "#REF!", 30: "?!", 44: "x"}.items():
        cells[row] = cell
    pd.DataFrame({"y": cells, "x": range(60)}).to_csv(tmp_path / "t.csv", index=False)
    asked = Request("t", "y")
    whole = tables(tmp_path / "t.csv", text=asked.wanted)
    pieces = tables(tmp_path / "t.csv", piece_rows=7, text=asked.wanted)
    held_remarks = prepare(whole, asked).remarks
    assert "('#REF!', '?!', 'x'; the first is line 14)" in held_remarks[0]
    assert prepare(pieces, asked, InProcess()).remarks == held_remarks


@pytest.mark.parametrize(
    ("cells", "gone"),
    [
        (["+", "-"] * 20, []),
        (["+", "-", "0"] * 20, []),
        (["yes", "-"] * 20, []),
        (["a", "b", "-"] * 20, ["-"]),
        (["yes", "no", "?"] * 20, ["?"]),
        (["yes"] * 40 + ["?"], ["?"]),
    ],
)
def test_a_sign_is_a_class_where_it_is_one_of_two(cells, gone):
    column = pd.Series(cells)
    reading = target_reading("y", column, TargetValues.of(column))
    assert [text for text, _ in reading.labels] == gone


@pytest.mark.parametrize(("rows", "kept"), [(30, True), (20, True), (6, False)])
def test_a_word_is_a_class_that_is_about_as_frequent_as_others(rows, kept):
    column = pd.Series(["Apnea"] * 33 + ["Insomnia"] * 31 + ["None"] * rows)
    found = target_reading("y", column, TargetValues.of(column))
    assert (found.labels == ()) == kept


def test_classes_that_differ_in_case_alone_are_told():
    said = called_missing(TargetValues.of(pd.Series(["low", "LOW", "high"] * 9)))
    assert said.startswith("Classes differ in case alone: 'LOW', 'low'")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("{}%", r"Predictions of 'y' are plain numbers: 0\.(\d\d?) for '\d+%'\."),
        ("{} kg", r"Predictions of 'y' are plain numbers: (\d+) for '\1 kg'\."),
        ("<{}", r"In 'y' '<(\d+)' is taken as \1\."),
        (
            "1,{}1",
            "Nothing in 'y' tells what ',' stands for: 1,234 is taken as 1234; where 1.234 .*",
        ),
        ("{}.5", None),
    ],
)
def test_how_numbers_of_a_target_are_written_is_said(cell, said):
    frame = pd.DataFrame({"x": range(40), "y": [cell.format(i) for i in range(11, 51)]})
    _, _, told, _ = with_target_read(frame, Request("t", "y"))
    assert not told if said is None else re.fullmatch(said, told[0])


THIRD = np.digitize(SUM, [-0.4, 0.4])


@pytest.mark.parametrize("road", ["held", "stream"])
@pytest.mark.parametrize(
    ("cells", "task", "category", "classes", "said"),
    [
        (["None", "TRUE", "FALSE"], "auto", (), ("False", "True"), "is 'None': --category 'y'"),
        (["None", "TRUE", "FALSE"], "auto", ("y",), ("FALSE", "None", "TRUE"), "is a class here"),
        (["NA", "0", "1"], "auto", (), ("0", "1"), "rows are left out, whose 'y' is 'NA'"),
        (["None", "TRUE", "TRUE"], "auto", (), ("None", "TRUE"), "'None' is a class here"),
        (["-1", "+1", "+1"], "auto", (), ("+1", "-1"), ""),
        (["1.2", "1.10", "2.5"], "classification", (), ("1.10", "1.2", "2.5"), ""),
        (["1.0", "2.0", "2.0"], "auto", (), ("1", "2"), ""),
        (["TRUE", "FALSE", "TRUE"], "auto", (), ("FALSE", "TRUE"), ""),
    ],
)
def test_classes_keep_their_text_and_rows_without_one_are_told_first(
    tmp_path, road, cells, task, category, classes, said
):
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": X, "y": np.array(cells)[THIRD]}).to_csv(path, index=False)
    table = opened(str(path), FOUND, streamed=road == "stream")
    asked = Request("t", "y", task=task, category=category)
    found = prepare(table, asked, InProcess() if road == "stream" else None)
    assert found.target.classes == classes
    assert said in [*found.remarks, ""][0]
    assert found.n_rows == (THIRD > 0).sum() if "left out" in said or "--" in said else len(X)
