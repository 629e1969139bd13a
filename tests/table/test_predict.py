"""Predictions piece after piece: those in memory, in a file that appears when complete."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from gradfeat.cli.terminal import check_output
from gradfeat.errors import SourceError, TableError
from gradfeat.estimators import RandomFeaturesRegressor
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.predict import Predictor, refuse_format, write_predictions
from gradfeat.table.table_model import TableModel
from table.streamed_tables import mixed, parted

# The same products of 32 features in other groups of rows.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def model() -> TableModel:
    found = parted(mixed())
    fitted = RandomFeaturesRegressor(width=32).fit(found.train, found.y_train)
    return TableModel.of(found.encoder, fitted, "y", (), {})


READ = {
    "p.csv": pd.read_csv,
    "p.parquet": pd.read_parquet,
    "p.tsv": partial(pd.read_csv, sep="\t"),
    "p.jsonl": partial(pd.read_json, lines=True, precise_float=True),
}


@pytest.mark.parametrize("name", READ)
def test_predictions_are_those_in_memory(model, tmp_path, name):
    frame, out = mixed(seed=1), tmp_path / name
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=90)
    pieces = Predictor(model).frames(tables(tmp_path / "t.parquet", piece_rows=100))
    assert write_predictions(pieces, out) == 400
    found = READ[name](out)
    pd.testing.assert_frame_equal(found, model.predictions(frame), rtol=ROUNDING, atol=ROUNDING)
    assert {p.name for p in tmp_path.iterdir()} == {"t.parquet", name}


def test_a_table_without_a_column_is_refused(model):
    pieces = Predictor(model).frames(FrameTables(mixed().drop(columns=["kind", "a"])))
    with pytest.raises(TableError, match="lacks 'a', 'kind'"):
        next(pieces)


def test_objects_may_lack_a_column_that_had_gaps_in_training_and_no_other(tmp_path):
    """A record of JSON leaves out what it has no value for; where no record has it, it is told."""
    x = np.linspace(0, 1, 40)
    gaps = pd.Series(np.where(np.arange(40) % 5, 1 - x**2, np.nan))
    model = TableModel(LinearRegression()).fit(pd.DataFrame({"x": x, "late": gaps}), 2 * x)
    for name, text in (("a.jsonl", '{"x": 0.5}\n'), ("c.csv", "x\n0.5\n")):
        (tmp_path / name).write_text(text)
    found = tables(tmp_path / "a.jsonl").with_absent(model.encoder.with_missing)
    said = pd.concat(Predictor(model).frames(found))
    whole = model.predictions(pd.DataFrame({"x": [0.5], "late": [None]}))
    pd.testing.assert_frame_equal(said, whole, rtol=ROUNDING)
    assert found.remarks == ("no object has 'late', taken as missing in all rows",)
    csv = tables(tmp_path / "c.csv").with_absent(model.encoder.with_missing)
    with pytest.raises(TableError, match="lacks 'late'"):
        next(Predictor(model).frames(csv))
    (tmp_path / "b.jsonl").write_text('{"late": 0.5}\n')
    other = tables(tmp_path / "b.jsonl").with_absent(model.encoder.with_missing)
    with pytest.raises(TableError, match="lacks 'x'"):
        next(Predictor(model).frames(other))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of scikit-learn's own product
@pytest.mark.filterwarnings("ignore:Read, though most training rows are otherwise")
def test_predictions_that_are_no_finite_numbers_are_refused_with_their_count(tmp_path):
    """In a file of pieces, and in memory; of a linear model whose products pass the floats."""
    few = pd.DataFrame({"x": np.arange(8.0)})
    model = TableModel(LinearRegression()).fit(few, few["x"])
    model.estimator_.coef_ = np.array([1e307])
    far = pd.DataFrame({"x": [1.0, 2.0, 1e3, 3.0, -1e3]})
    far.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "p.csv").write_text("old")
    pieces = Predictor(model).frames(tables(tmp_path / "t.csv", piece_rows=2))
    with pytest.raises(TableError, match=r"of 2 rows of 5 are no finite numbers .*line 4"):
        write_predictions(pieces, tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "old"
    with pytest.raises(TableError, match="of 2 rows of 5 are no finite numbers"):
        model.predict(far)


def test_what_fails_midway_leaves_the_old_file(model, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("old")

    def frames():
        yield from Predictor(model).frames(FrameTables(mixed(), 100))
        raise SourceError("row group 4 is damaged")

    with pytest.raises(SourceError, match="row group 4"):
        write_predictions(frames(), out)
    assert [p.name for p in tmp_path.iterdir()] == ["p.csv"]
    assert out.read_text() == "old"


def test_what_cannot_be_read_is_missing_and_counted_over_all_pieces(model):
    frame = mixed().astype({"a": object, "kind": object, "when": object})
    frame.loc[[10, 350], "a"], frame.loc[20, "kind"], frame.loc[30, "when"] = "?", "z", "soon"
    predictor = Predictor(model)
    said = pd.concat(predictor.frames(FrameTables(frame, 100)), ignore_index=True)
    assert {(u.column, u.cells, u.example, u.row) for u in predictor.unread} == {
        ("a", 2, "?", 10),
        ("kind", 1, "z", 20),
        ("when", 1, "soon", 30),
    }
    gaps = frame.replace({"a": {"?": None}, "kind": {"z": None}, "when": {"soon": None}})
    pd.testing.assert_frame_equal(said, model.predictions(gaps), rtol=ROUNDING, atol=ROUNDING)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(TableError, match="cannot be written"):
        write_predictions(iter([mixed()]), tmp_path / "none" / "p.csv")


ROWS = mixed(seed=1).head(60).assign(id=[f"{k:03d}" for k in range(60)])


def places(folder) -> dict[str, object]:
    """The same rows in one file, in files of other sizes, as Parquet, and in memory."""
    ROWS.to_csv(folder / "t.csv", index=False)
    ROWS.to_parquet(folder / "t.parquet", row_group_size=17)
    (folder / "rows").mkdir()
    for k, start in enumerate(range(0, 60, 25)):
        ROWS.iloc[start : start + 25].to_csv(folder / "rows" / f"part-{k}.csv", index=False)
    return {
        "a file": tables(folder / "t.csv", piece_rows=7),
        "files": tables(folder / "rows", piece_rows=11),
        "Parquet": tables(folder / "t.parquet", piece_rows=9),
        "memory": FrameTables(ROWS, 13),
    }


def test_kept_columns_stand_beside_their_rows_as_in_the_file(model, tmp_path):
    plain = model.predictions(ROWS)
    for place, table in places(tmp_path).items():
        frames = Predictor(model, keep=["id", "a,id"]).frames(table)
        said = pd.concat(frames, ignore_index=True)
        assert list(said.columns) == ["id", "a", "predicted_y"], place
        assert said["id"].tolist() == ROWS["id"].tolist(), place
        np.testing.assert_array_equal(said["a"].astype(float), ROWS["a"])
        np.testing.assert_allclose(said["predicted_y"], plain["predicted_y"], rtol=ROUNDING)


def test_intervals_stream_too(model, tmp_path):
    held = np.arange(1.0, 40.0)
    model = TableModel.of(model.encoder, model.estimator_, "y", (), {}, held)
    for table in places(tmp_path).values():
        said = pd.concat(Predictor(model, interval=90).frames(table), ignore_index=True)
        expected = model.predictions(ROWS, interval=90)
        pd.testing.assert_frame_equal(said, expected, rtol=ROUNDING, atol=ROUNDING)
        assert ((said["high_y"] - said["low_y"]).round(9) == 72.0).all()  # the 36th of 39


@pytest.mark.parametrize(
    ("keep", "words"), [("idd", "no column 'idd' to keep; did you mean 'id'"), ("z", "no column")]
)
def test_a_column_that_is_not_there_is_not_kept(model, keep, words):
    with pytest.raises(TableError, match=words):
        next(Predictor(model, keep=[keep]).frames(FrameTables(ROWS)))


def test_a_column_named_as_predictions_are_is_not_kept(model):
    table = FrameTables(ROWS.assign(predicted_y=1))
    with pytest.raises(TableError, match="predictions have that name"):
        next(Predictor(model, keep=["predicted_y"]).frames(table))


def test_what_is_read_is_not_written_to(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("x\n1\n")
    model = tmp_path / "m"
    model.write_text("model")
    (tmp_path / "link").symlink_to(folder / "a.csv")
    (tmp_path / "hard").hardlink_to(folder / "b.csv")
    for data in (folder, folder / "*.csv"):
        for name in ("rows/a.csv", "rows/../rows/b.csv", "link", "hard", "m"):
            with pytest.raises(TableError, match="is read by this command"):
                check_output(tmp_path / name, str(data), model)
    with pytest.raises(TableError, match="lies in the folder that is read"):
        check_output(folder / "new.csv", str(folder), model)
    check_output(tmp_path / "new.csv", str(folder), model)
    check_output(folder / "new.csv", str(folder / "a.csv"), model)


def test_lines_of_json_hold_kept_columns_as_they_are_and_null_for_missing(tmp_path):
    frame = pd.DataFrame({"id": ["007", None], "f": [1 / 3, np.nan]})
    write_predictions(iter([frame]), tmp_path / "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert rows == [{"id": "007", "f": 1 / 3}, {"id": None, "f": None}]


@pytest.mark.parametrize("name", ["p.json", "p.XLSX", "p.csv.gz"])
def test_a_name_of_another_format_is_refused(name):
    with pytest.raises(TableError, match=r"not written as .*ends in \.csv"):
        refuse_format(Path(name))


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device"])
def test_only_files_are_written_to(tmp_path, kind):
    out = tmp_path / "out"
    match kind:
        case "a folder":
            out.mkdir()
        case "a pipe":
            os.mkfifo(out)
        case _:
            out = Path(os.devnull)
    with pytest.raises(TableError, match=f"it is {kind}"):
        write_predictions(iter([mixed()]), out)


def test_the_mode_of_an_old_file_is_kept(tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("old")
    out.chmod(0o640)
    write_predictions(iter([mixed()]), out)
    assert out.stat().st_mode & 0o777 == 0o640


STRAYS = mixed(seed=2).head(200).astype({"a": object, "kind": object, "flag": object})
STRAYS.loc[[40, 150], "a"], STRAYS.loc[30, "kind"], STRAYS.loc[77, "flag"] = "?", "z", "maybe"
STRAYS.loc[60:90, "flag"] = STRAYS.loc[60:90, "flag"].map({True: "TRUE", False: "false"})
STRAYS.loc[77, "flag"] = "maybe"


@pytest.mark.parametrize("piece_rows", [None, 30], ids=["held", "streamed"])
def test_strict_refuses_what_could_not_be_read_and_writes_nothing(model, tmp_path, piece_rows):
    STRAYS.to_csv(tmp_path / "t.csv", index=False)
    table = tables(tmp_path / "t.csv", **({"piece_rows": piece_rows} if piece_rows else {}))
    frames = Predictor(model, strict=True).frames(table)
    with pytest.raises(TableError) as error:
        write_predictions(frames, tmp_path / "p.csv")
    said = str(error.value)
    assert "2 cells of 'a' that are no number (the first: '?', line 42)" in said
    assert "1 cell of 'kind' that is no value seen in training ('z', line 32)" in said
    assert "1 cell of 'flag' that is no value seen in training ('maybe', line 79)" in said
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    with pytest.raises(TableError, match=r"2 cells of 'a' that are no number .*row 41"):
        model.predictions(STRAYS, strict=True)


def test_strict_says_nothing_of_rows_that_can_be_read(model):
    frames = Predictor(model, strict=True).frames(FrameTables(ROWS, 30))
    pd.testing.assert_frame_equal(pd.concat(frames, ignore_index=True), model.predictions(ROWS))
    assert len(model.predictions(ROWS, strict=True)) == len(ROWS)


class Steep(LinearRegression):
    """1e300 times a linear function."""

    def predict(self, X):
        with np.errstate(over="ignore"):
            return 1e300 * super().predict(X)


@pytest.mark.filterwarnings("ignore:Read, though most training rows are otherwise")
def test_predictions_that_are_not_finite_are_refused_with_their_rows(tmp_path):
    X = pd.DataFrame({"a": np.linspace(0.0, 1.0, 40)})
    model = TableModel(Steep()).fit(X, X["a"])
    X.loc[[8, 33], "a"] = 1e10
    X.to_csv(tmp_path / "t.csv", index=False)
    for rows in (100, 7):
        frames = Predictor(model).frames(tables(tmp_path / "t.csv", piece_rows=rows))
        with pytest.raises(TableError, match=r"of 2 rows of 40 are no finite .*line 10\)"):
            write_predictions(frames, tmp_path / "p.csv")
    for predict in (model.predict, model.predictions):
        with pytest.raises(TableError, match=r"of 2 rows of 40 are no finite .*row 9\)"):
            predict(X)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


class Unsure(LogisticRegression):
    """No probability where |x| > 5."""

    def predict_proba(self, X):
        return np.where(np.abs(X[:, :1]) > 5, np.nan, super().predict_proba(X))


@pytest.mark.filterwarnings("ignore:Read, though most training rows are otherwise")
def test_no_class_comes_from_blank_probabilities():
    X = pd.DataFrame({"a": np.linspace(-1.0, 1.0, 40)})
    model = TableModel(Unsure()).fit(X, np.where(X["a"] > 0, "p", "q"))
    X.loc[5, "a"] = 100.0
    for predict in (model.predict, model.predict_proba, model.predictions):
        with pytest.raises(TableError, match=r"of 1 row of 40 are no finite .*row 6\)"):
            predict(X)


def test_values_far_beyond_the_training_rows_are_told_and_refused_where_strict(model):
    """As of a column in another unit."""
    far = ROWS.assign(a=ROWS["a"] * 1_000)
    table = FrameTables(far, 30)
    read = Predictor(model)
    assert sum(map(len, read.frames(table))) == len(ROWS)
    (told,) = [one for one in read.unread if one.column == "a"]
    assert told.read
    assert told.cells > 0.9 * len(ROWS)
    with pytest.warns(UserWarning, match="of 'a' beyond"):
        model.predict(far)
    with pytest.raises(TableError, match=r"Strict, .* of 'a' beyond .*, by over 5 such ranges"):
        model.predictions(far, strict=True)
