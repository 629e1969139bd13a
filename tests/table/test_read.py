"""Files that are tables come out whole; files that are not give one sentence."""

import csv
import datetime as dt
import gzip
import io
import json
import os
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfeat.errors import SourceError
from gradfeat.rows.sources.looks import looks_of
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.read import as_frame, read_table

FRAME = pd.DataFrame(
    {"n": [1, 2, 3], "x": [0.5, np.nan, -2.0], "t": ['a, "b"', "c;d|e\tf", "two\nlines"]}
)


def written(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def sentence(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read_table(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("compressed", [False, True])
def test_delimited_text_with_quotes(tmp_path, delimiter, compressed):
    data = FRAME.to_csv(index=False, sep=delimiter).encode()
    data = gzip.compress(data) if compressed else data
    path = written(tmp_path, "t.csv.gz" if compressed else "t.txt", data)
    pd.testing.assert_frame_equal(read_table(path), FRAME.astype({"n": float}))


def test_parquet_and_json_lines(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    lines = (tmp_path / "t.jsonl").read_bytes()
    written(tmp_path, "t.ndjson.gz", gzip.compress(lines))
    for name in ("t.parquet", "t.jsonl", "t.ndjson.gz"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name), FRAME)


def test_parquet_keeps_a_named_index_as_a_column(tmp_path):
    FRAME.set_index("n").to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet")) == ["n", "x", "t"]


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ("a\n1\n2\n", ["a"], [1]),
        ("text\nhello, you\nand; you\n", ["text"], ["hello, you"]),
        ("a;b\n1,5;x\n-2;y\n", ["a", "b"], ["1,5", "x"]),
        ("a\tb\n1,5\t2\n", ["a", "b"], ["1,5", "2"]),
        ('a,b\n"1;2;3",4\n"5;6;7",8\n', ["a", "b"], ["1;2;3", 4]),
        (" a , b\n1,2\n", ["a", "b"], [1, 2]),
        ("\ufeffa,b\r\n1,2\r\n", ["a", "b"], [1, 2]),
        ("a,b\n\n1,2\n\n", ["a", "b"], [1, 2]),
        ('a,b\n5" pipe,2\n', ["a", "b"], ['5" pipe', 2]),
    ],
)
def test_unusual_but_good_text(tmp_path, text, columns, first):
    frame = read_table(written(tmp_path, "t.csv", text))
    assert list(frame) == columns
    assert frame.iloc[0].tolist() == first


CELL = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8)
ROWS = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=2, max_size=6)
)


@settings(max_examples=150)
@given(rows=ROWS, delimiter=st.sampled_from(",;\t|"))
def test_any_quoted_cells_come_back(rows, delimiter):
    header = [f"c{position}" for position in range(len(rows[0]))]
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([header, *(["x" + cell for cell in row] for row in rows)])
    assert looks_of(buffer.getvalue().encode(), TextOptions(), "a").separator == delimiter
    fsspec.filesystem("memory").pipe("/any/t.csv", buffer.getvalue().encode())
    frame = read_table("memory://any/t.csv")
    assert frame.to_numpy().tolist() == [["x" + cell for cell in row] for row in rows]


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
RANDOM = np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8).tobytes()
PARQUET = io.BytesIO()
FRAME.to_parquet(PARQUET)
ZIPPED = gzip.compress(RANDOM)

BAD = {
    "empty": ("t.csv", b"", "is empty"),
    "blank": ("t.csv", b" \n\n", "is blank"),
    "header only": ("t.csv", b"a,b\n", "no rows"),
    "png": ("t.csv", PNG, "a PNG image"),
    "zip that is none": ("t.csv", b"PK\x03\x04rest", "damaged"),
    "random bytes": ("t.csv", RANDOM, "binary data"),
    "html": ("t.csv", b"\n<!DOCTYPE html><html><body>a,b</body></html>", "HTML"),
    "row too long": ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3"),
    "row too short": ("t.csv", b"a,b,c\n1,2,3\n\n1,2\n", "line 4"),
    "open quote": ("t.csv", b'a,b\n1,2\n"3,4\n', "line 3"),
    "open quote at the end": ("t.csv", b'a,b\n1,2\n3,"4\n', "never closed"),
    "endless field": ("t.csv", b'a,b\n1,2\n"' + b"x" * 200_000, "never closed"),
    "twice": ("t.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
    "twice with blanks": ("t.tsv", b"a\tb\ta \n1\t2\t3\n", "more than one column named 'a'"),
    "gz cut": ("t.csv.gz", ZIPPED[:2000], "cut short or damaged"),
    "gz altered": ("t.csv.gz", ZIPPED[:-8] + bytes(8), "cut short or damaged"),
    "parquet cut": ("t.parquet", PARQUET.getvalue()[:300], "cut short or damaged"),
    "text as parquet": ("t.parquet", b"a,b\n1,2\n", "not a Parquet file"),
    "json broken": ("t.jsonl", b'{"a": 1}\n{"a": \n', "line 2"),
    "json list of lists": ("t.json", b"[[1]]\n", "not a JSON object"),
    "json deep": ("t.json", b"[" * 100_000 + b"]" * 100_000, "not a JSON object"),
    "json name twice": ("t.jsonl", b'{"a": 1, "a": 2}\n', "'a' twice"),
    "json no columns": ("t.jsonl", b"{}\n{}\n", "no rows"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_files(tmp_path, case):
    name, data, expected = BAD[case]
    assert expected in sentence(written(tmp_path, name, data))


def test_parquet_with_a_name_twice(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert "more than one column named 'a'" in sentence(tmp_path / "t.parquet")


def test_missing_file_suggests_near_names(tmp_path):
    written(tmp_path, "bikeshare.csv", "a\n1\n")
    assert "did you mean 'bikeshare.csv'?" in sentence(tmp_path / "bikshare.csv")
    assert "no file" in sentence(tmp_path / "none" / "zzz.csv")


def test_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no files" in sentence(tmp_path / "empty")
    for name in ("1.csv", "2.csv"):
        written(tmp_path / "empty", name, f"a,b\n{name[0]},x\n")
    assert read_table(tmp_path / "empty")["a"].tolist() == [1, 2]


def test_unreadable(tmp_path, monkeypatch):
    path = written(tmp_path, "t.csv", "a\n1\n")

    def refuse(_, path, **__):
        raise PermissionError(13, "Permission denied", path)

    if os.geteuid() == 0:
        monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.cat_file", refuse)
    else:
        path.chmod(0)
    assert "Permission denied" in sentence(path)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    text = 'a,b\n"two\nlines",1\n2\n'
    assert "line 4" in sentence(written(tmp_path, "t.csv", text))


def test_json_lines_with_absent_names(tmp_path):
    lines = "\n".join(json.dumps(record) for record in ({"a": 1}, {"a": 2, "b": "x"}))
    frame = read_table(written(tmp_path, "t.json", lines))
    assert frame["b"].isna().tolist() == [True, False]


def test_columns_of_arrows_types_are_pandas_own():
    days = [dt.date(2020, 1, 1), None]
    arrow = {
        "day": pa.date32(),
        "at": pa.time64("us"),
        "kind": pa.dictionary(pa.int32(), pa.string()),
        "code": pa.dictionary(pa.int32(), pa.int64()),
        "word": pa.string_view(),
        "length": pa.duration("us"),
        "count": pa.int64(),
    }
    cells = [
        days,
        [dt.time(1), None],
        ["a", "b"],
        [7, 8],
        ["u", None],
        [dt.timedelta(1), None],
        [1, None],
    ]
    columns = {
        name: pd.Series(pa.array(c, kind), dtype=pd.ArrowDtype(kind))
        for (name, kind), c in zip(arrow.items(), cells, strict=True)
    }
    frame = as_frame(pd.DataFrame(columns))
    plain = as_frame(
        pa.table([pa.array(c, k) for c, k in zip(cells, arrow.values(), strict=True)], [*arrow])
    )
    pd.testing.assert_frame_equal(frame, plain)
