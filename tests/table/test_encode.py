"""A table is encoded the same way at every later sight of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gradfeat import load, save
from gradfeat.errors import ModelFileError, TableError
from gradfeat.estimators.container import as_bytes
from gradfeat.table.encode import TableEncoder
from gradfeat.table.results import UnreadCells

N = 120


def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    dates = pd.date_range("2020-01-01", periods=N, freq="31h")
    frame = pd.DataFrame(
        {
            "number": rng.standard_normal(N),
            "large": 1_700_000_000 + np.arange(N),
            "code": rng.integers(0, 4, N),
            "gaps": np.where(rng.random(N) < 0.3, np.nan, rng.standard_normal(N)),
            "truth": rng.random(N) < 0.5,
            "two": rng.choice(["yes", "no"], N),
            "level": rng.choice(["x", "y", "z"], N),
            "text": [f"{'pqrst'[i % 5]}{i} on street {i % 7} {'pqrst'[i % 5]}" for i in range(N)],
            "when": dates,
            "written": dates.strftime("%d/%m/%Y %H:%M"),
            "constant": 1.0,
            "empty": None,
        }
    )
    frame.loc[3, "level"] = frame.loc[4, "text"] = None
    frame.loc[5, "when"] = pd.NaT
    return frame


def column(encoder: TableEncoder, encoded: np.ndarray, name: str) -> np.ndarray:
    return encoded[:, encoder.feature_names_.index(name)]


def test_mixed_table():
    frame = mixed()
    encoder = TableEncoder().fit(frame)
    encoded = encoder.transform(frame)
    assert encoded.shape == (N, len(encoder.feature_names_))
    assert encoded.dtype == np.float64
    assert np.isfinite(encoded).all()
    assert len(set(encoder.feature_names_)) == len(encoder.source_) == encoded.shape[1]
    assert encoder.columns_ == tuple(frame)[:10]
    assert tuple(dict.fromkeys(encoder.source_)) == encoder.columns_
    kinds = {note.name: note.kind for note in encoder.notes_}
    assert list(kinds.values()) == [
        *["number"] * 4,
        *["yes/no"] * 2,
        *["category", "text", "date", "date", "dropped", "dropped"],
    ]
    for name in ("number", "large", "code"):
        assert np.array_equal(column(encoder, encoded, name), frame[name])
    assert encoder.source_.count("text") == 8
    assert np.array_equal(column(encoder, encoded, "level_y"), frame["level"] == "y")
    assert np.array_equal(column(encoder, encoded, "two"), frame["two"] == "yes")


def test_missing_numbers_are_the_median_and_marked():
    frame = mixed()
    encoder = TableEncoder().fit(frame)
    encoded = encoder.transform(frame)
    missing = frame["gaps"].isna().to_numpy()
    assert (column(encoder, encoded, "gaps")[missing] == frame["gaps"].median()).all()
    assert np.array_equal(column(encoder, encoded, "gaps_missing"), missing)
    # one row of 120 is below the share that gets a mark
    assert "text_missing" not in encoder.feature_names_


def test_dates_given_as_text_or_in_another_zone():
    frame = mixed()
    seconds = (frame["when"] - pd.Timestamp(0)).dt.total_seconds()
    encoder = TableEncoder().fit(frame)
    encoded = encoder.transform(frame)
    known = frame["when"].notna()
    assert np.array_equal(column(encoder, encoded, "when_seconds")[known], seconds[known])
    assert "written_hour_circular_0" in encoder.feature_names_
    again = frame.assign(written=pd.to_datetime(frame["written"], format="%d/%m/%Y %H:%M"))
    again["when"] = again["when"].astype(str).where(known, None)
    assert np.array_equal(encoder.transform(again), encoded)
    in_zone = frame.assign(when=frame["when"].dt.tz_localize("Asia/Tokyo"))
    zoned = TableEncoder().fit(in_zone)
    moved = in_zone.assign(when=in_zone["when"].dt.tz_convert("America/New_York"))
    assert np.array_equal(zoned.transform(moved), zoned.transform(in_zone))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, "", " "])
def test_unseen_and_missing_levels_are_the_same(missing):
    frame = mixed()
    encoder = TableEncoder().fit(frame)
    rows = pd.concat([frame.iloc[[0]]] * 3).astype({"level": object, "two": object})
    rows["level"], rows["two"] = ["x", "unseen", missing], ["no", "unseen", missing]
    encoded = encoder.transform(rows)
    assert np.array_equal(encoded[1], encoded[2])
    of_level = [source == "level" for source in encoder.source_]
    assert encoded[:, of_level].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    more_frequent = frame["two"].mode()[0] == "yes"
    assert column(encoder, encoded, "two").tolist() == [0, more_frequent, more_frequent]


LATER = {
    "category": lambda column: column.astype("category"),
    "integer": lambda column: column.astype(int),
    "category of integers": lambda column: column.astype(int).astype("category"),
    "float": lambda column: column.astype(float),
    "nullable": lambda column: column.astype(int).astype("Int64"),
    "string": lambda column: column.astype("string"),
    "int8": lambda column: column.astype(int).astype("int8"),
}


@pytest.mark.parametrize("levels", [2, 5, 60], ids=["two", "category", "text"])
@pytest.mark.parametrize("later", LATER, ids=str)
def test_object_at_fit_and_another_dtype_later(levels, later):
    codes = pd.Series([str(i % levels) for i in range(150)], dtype=object)
    frame = pd.DataFrame({"code": codes, "x": np.arange(150.0)})
    encoder = TableEncoder().fit(frame)
    again = frame.assign(code=LATER[later](codes))
    assert np.array_equal(encoder.transform(again), encoder.transform(frame))


@pytest.mark.parametrize("dtype", ["float32", "Int64", object, str, "category"])
def test_numbers_at_fit_and_another_dtype_later(dtype):
    frame = pd.DataFrame({"x": np.arange(50)})
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(encoder.transform(frame.astype(dtype)), encoder.transform(frame))


@pytest.mark.parametrize("later", [[0, 1], ["true", "FALSE"], [1.0, 0.0], [True, None]])
def test_truth_values_later(later):
    encoder = TableEncoder().fit(pd.DataFrame({"x": [True, False, False]}))
    expected = [[float(value in (1, "true"))] for value in later]
    assert encoder.transform(pd.DataFrame({"x": later})).tolist() == expected


def test_ten_thousand_categories_and_identifiers_stay_small():
    names = [f"id-{i:05d}" for i in range(10_000)]
    encoder = TableEncoder().fit(pd.DataFrame({"id": names, "x": range(10_000)}))
    assert len(encoder.feature_names_) == 9
    data = as_bytes(encoder.to_contents())
    assert len(data) < 10_000
    assert b"id-0000" not in data
    assert b"id-09999" not in data


def test_identifiers_of_a_small_table_do_not_become_a_column_each():
    encoder = TableEncoder().fit(pd.DataFrame({"id": list("abcdefghijklmnopqrst")}))
    assert len(encoder.feature_names_) <= 8


def test_more_columns_than_rows():
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((5, 40)))
    assert TableEncoder().fit(frame).transform(frame).shape == (5, 40)


def test_clashing_names():
    frame = pd.DataFrame({"c": list("xyzw") * 5, "c_x": range(20), "c_y": list("abcd") * 5})
    encoder = TableEncoder().fit(frame)
    assert len(set(encoder.feature_names_)) == 9
    again = TableEncoder().fit(frame)
    assert again.feature_names_ == encoder.feature_names_
    assert np.array_equal(column(encoder, encoder.transform(frame), "c_x (2)"), range(20))


def test_rows_alone_or_together():
    frame = mixed()
    encoder = TableEncoder().fit(frame)
    together = encoder.transform(frame)
    alone = np.concatenate([encoder.transform(frame.iloc[[i]]) for i in (0, 3, 4, 5)])
    assert np.array_equal(alone, together[[0, 3, 4, 5]])
    assert encoder.transform(frame.iloc[:0]).shape == (0, together.shape[1])


def test_columns_are_found_by_name():
    frame = mixed()
    encoder = TableEncoder().fit(frame)
    other = frame[list(frame)[::-1]].assign(further=np.inf).drop(columns="empty")
    assert np.array_equal(encoder.transform(other), encoder.transform(frame))
    upper = frame.rename(columns={"level": "LEVEL"})
    with pytest.raises(TableError, match=r"lacks 'level'.*\(it has 'LEVEL', spelt otherwise\)"):
        encoder.transform(upper)
    with pytest.raises(TableError, match="lacks 'number', 'level'"):
        encoder.transform(frame.drop(columns=["level", "number"]))


def test_column_of_some_numbers_is_pointed_out():
    values = [f"{i}.5" for i in range(60)] + [f"near {i}" for i in range(20)]
    encoder = TableEncoder().fit(pd.DataFrame({"x": values}))
    assert encoder.notes_[0].kind == "text"
    assert "75 % of 'x' is numbers" in encoder.notes_[0].remark


BAD = {
    "complex": ({"x": [1j, 2.0, 3.0]}, "'x' holds complex numbers"),
    "constant": ({"x": [1.0] * 3, "t": ["a"] * 3}, "No input column varies"),
    "one row": ({"x": [1.0], "t": ["a"]}, "No input column varies"),
    "all missing": ({"x": [np.nan] * 3}, "No input column varies"),
    "no rows": ({"x": []}, "no rows or no columns"),
    "no columns": ({}, "no rows or no columns"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_tables(case):
    columns, expected = BAD[case]
    with pytest.raises(TableError, match=expected):
        TableEncoder().fit(pd.DataFrame(columns))


def test_bad_tables_later():
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0]}))
    X, unread = encoder.encoded(pd.DataFrame({"x": ["1", "abc"]}))
    assert X.tolist() == [[1.0], [1.5]]
    assert unread == (UnreadCells("x", 1, "abc", "number", 1),)
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(TableError, match="more than one column named 'x'"):
        encoder.transform(twice)


@pytest.mark.parametrize("columns", [tuple(mixed()), ("number", "gaps"), ("text",), ("when",)])
def test_saved_and_loaded(columns, tmp_path):
    frame = mixed()[list(columns)]
    encoder = TableEncoder().fit(frame)
    save(encoder, tmp_path / "e")
    loaded = load(tmp_path / "e")
    assert np.array_equal(loaded.transform(frame), encoder.transform(frame))
    for name in ("columns_", "feature_names_", "source_", "notes_"):
        assert getattr(loaded, name) == getattr(encoder, name)
    assert TableEncoder.from_contents(loaded.to_contents()).notes_ == encoder.notes_


@pytest.mark.parametrize("change", [{"plans": [{}]}, {"plans": 3}, {"notes": [{"no": 1}]}])
def test_files_without_a_part(change):
    contents = TableEncoder().fit(mixed()).to_contents()
    with pytest.raises(ModelFileError, match="lacks a part"):
        TableEncoder.from_contents(replace(contents, state=contents.state | change))


def test_dates_with_a_zone_are_read_back():
    times = pd.date_range("2024-01-01", periods=50, freq="7h", tz="Europe/Paris")
    frame = pd.DataFrame({"t": times, "a": np.arange(50.0)})
    encoder = TableEncoder().fit(frame)
    again = TableEncoder.from_contents(encoder.to_contents())
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
