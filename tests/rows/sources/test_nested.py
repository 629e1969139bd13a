"""Objects and lists in cells: one level is columns, deeper ones are refused with their column."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradfeat import compare
from gradfeat.errors import SourceError, TableError
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import held
from gradfeat.table.encode import TableEncoder
from gradfeat.table.read import as_frame

ROWS = [{"at": {"lat": i % 7, "how": "uv"[i % 2]} if i % 9 else None, "y": i} for i in range(40)]
FLAT = pd.DataFrame(
    {"at.lat": [r["at"] and r["at"]["lat"] for r in ROWS], "y": [r["y"] for r in ROWS]}
).astype(float)
REMARK = ("objects are columns: 'at.lat', 'at.how'",)


def written(folder, rows, road):
    """A table of these rows: JSON lines, a folder of them, Parquet; as `tables` opens it."""
    if road == "Parquet":
        pq.write_table(pa.Table.from_pylist(rows), folder / "t.parquet", row_group_size=7)
        return tables(folder / "t.parquet", piece_rows=7)
    parts = [rows] if road == "JSON lines" else [rows[:20], rows[20:]]
    for k, part in enumerate(parts):
        (folder / f"{k}.jsonl").write_text("\n".join(map(json.dumps, part)))
    return tables(folder, piece_rows=7)


@pytest.mark.parametrize("road", ["JSON lines", "folder", "Parquet"])
def test_objects_are_columns_with_a_word(tmp_path, road):
    table = written(tmp_path, ROWS, road)
    assert set(table.names) == {"at.lat", "at.how", "y"}
    assert sorted(table.remarks[0]) == sorted(REMARK[0])
    frame = held(table)
    pd.testing.assert_frame_equal(frame[["at.lat", "y"]].astype(float), FLAT)
    assert frame["at.how"].dropna().unique().tolist() == ["v", "u"]
    some = table.select(["at.lat"])
    assert held(some)["at.lat"].astype(float).equals(FLAT["at.lat"])


@pytest.mark.parametrize("road", ["JSON lines", "folder", "Parquet"])
@pytest.mark.parametrize(
    ("cell", "name"),
    [([1, 2], "'deep'"), ({"b": {"c": 1}}, r"'deep\.b'"), ({"b": [1]}, r"'deep\.b'")],
)
def test_what_is_nested_deeper_is_refused_with_its_column(tmp_path, road, cell, name):
    rows = [{**row, "deep": cell} for row in ROWS]
    frame = held(written(tmp_path, rows, road))
    with pytest.raises(TableError, match=f"Column {name}.*lists or objects.*leave the column out"):
        TableEncoder().fit(frame)
    kept = frame[["at.lat", "at.how", "y"]]
    TableEncoder().fit(kept)


def test_a_list_at_predict_is_refused_too():
    encoder = TableEncoder().fit(pd.DataFrame({"x": list("abcabc")}))
    with pytest.raises(TableError, match=r"Column 'x' holds lists or objects \(the first is \[1"):
        encoder.transform(pd.DataFrame({"x": ["a", [1]]}))


def test_structs_of_other_libraries_are_columns_as_those_of_a_file():
    frame = as_frame(pa.Table.from_pylist(ROWS))
    assert set(frame.columns) == {"at.lat", "at.how", "y"}
    np.testing.assert_array_equal(frame["at.lat"], FLAT["at.lat"])


def test_braces_in_text_are_no_objects(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"x": "{a}"}\n{"x": "{b"}\n')
    table = tables(tmp_path / "t.jsonl")
    assert (table.names, table.remarks) == (("x",), ())
    assert held(table)["x"].tolist() == ["{a}", "{b"]


@pytest.mark.parametrize("way", ["lines", "lines with commas", "list"])
def test_half_an_emoji_is_a_character_of_its_own(tmp_path, way):
    rows = [json.dumps({"\ud83d x": text}) for text in ("a\ud83d", "\ud83d\ude00", "\\ud83d")]
    text = (
        f"[{','.join(rows)}]" if way == "list" else (",\n" if "commas" in way else "\n").join(rows)
    )
    (tmp_path / "t.json").write_text(text)
    assert held(tables(tmp_path / "t.json"))["\ufffd x"].tolist() == ["a\ufffd", "😀", "\\ud83d"]


def test_a_column_of_objects_and_other_values_is_refused(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"x": {"a": 1}}\n{"x": 3}\n')
    with pytest.raises(SourceError, match="column 'x' holds objects in some rows and 3 in another"):
        held(tables(tmp_path / "t.jsonl"))


@pytest.mark.parametrize("road", ["file", "frame"])
@pytest.mark.parametrize("stream", [False, True])
def test_whole_numbers_of_any_length_are_read(tmp_path, road, stream):
    rng = np.random.default_rng(0)
    rows = [{"x": x, "y": 2 * x, "id": 10**25 + i} for i, x in enumerate(rng.normal(size=60))]
    rows[7]["id"] = 10**400
    (tmp_path / "t.json").write_text(json.dumps(rows))
    table = str(tmp_path / "t.json") if road == "file" else pd.DataFrame(rows)
    found = compare(table, "y", methods=["linear"], time=3, stream=stream)
    assert found.table["R2"][0] > 0.99


def test_names_that_differ_in_case_alone_are_told(tmp_path):
    rows = [{("x", "X")[i % 2]: i, "y": i} for i in range(40)]
    assert written(tmp_path, rows, "JSON lines").remarks == (
        "columns differ in case alone: 'x', 'X'",
    )
