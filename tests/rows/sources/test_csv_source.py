"""Delimited text: byte ranges give the rows of the whole, and every fault names its line."""

from __future__ import annotations

import gzip
import io
import os
import pickle
from functools import partial

import fsspec
import numpy as np
import pandas as pd
import pytest

from gradfeat.errors import SourceError
from gradfeat.rows.sources.open import csv_tables
from gradfeat.rows.sources.records import record_ends, spans
from gradfeat.rows.sources.tables import held
from gradfeat.rows.sources.text_options import TextOptions


def chunks(table):
    return [chunk for piece in table.pieces() for chunk in piece.read()]


def joined(table):
    return pd.concat(chunks(table), ignore_index=True)


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def frame_of(rows=50):
    generator = np.random.default_rng(1)
    texts = ["plain", 'with "quotes"', "two\nlines", "a;b,c\td", "\r\n", '"']
    return pd.DataFrame(
        {
            "x": generator.standard_normal(rows) * 10.0 ** generator.integers(-300, 300, rows),
            "t": [texts[i % len(texts)] for i in range(rows)],
            "f": [i % 2 == 0 for i in range(rows)],
        }
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("piece_rows", [1, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_delimiter_and_piece_size_gives_the_same_numbers_and_text(
    tmp_path, delimiter, piece_rows, end
):
    frame = frame_of()
    path = tmp_path / "a.csv"
    frame.to_csv(path, sep=delimiter, index=False, lineterminator=end)
    table = csv_tables(path, piece_rows=piece_rows)
    assert table.rows == 50
    assert table.count == -(-50 // piece_rows)
    assert max(len(chunk) for chunk in chunks(table)) <= piece_rows
    pd.testing.assert_frame_equal(joined(table), frame, check_exact=True)


def test_blocks_that_end_anywhere_give_the_same_records(monkeypatch):
    data = frame_of().to_csv(index=False, lineterminator="\r\n").encode()

    def found():
        return list(
            spans(io.BytesIO(data).read, partial(record_ends, delimiter=","), 3, "a.csv", 0, 1)
        )

    whole = found()
    assert sum(span.rows for span, _ in whole) == 51
    assert b"".join(text for _, text in whole) == data
    for size in (1, 2, 5, 17):
        monkeypatch.setattr("gradfeat.rows.sources.records._BLOCK", size)
        assert found() == whole


def test_a_quote_inside_a_field_opens_nothing():
    ends, open_quote = record_ends(b'5" pipe,1\n6" pipe,2\n', ",")
    assert ends.tolist() == [10, 20]
    assert open_quote is None
    ends, open_quote = record_ends(b'5" pipe,"a\nb"\n"c""\nd",6" pipe\n"open\n', ",")
    assert ends.tolist() == [14, 30]
    assert open_quote == 30


def test_a_gz_file_is_read_from_its_start_and_gives_the_same(tmp_path):
    frame = frame_of()
    path = tmp_path / "a.csv.gz"
    frame.to_csv(path, index=False)
    table = csv_tables(path, piece_rows=7)
    assert (table.rows, table.count, table.parallel) == (None, None, False)
    assert [len(chunk) for chunk in chunks(table)] == [7] * 7 + [1]
    pd.testing.assert_frame_equal(joined(table), frame, check_exact=True)


def test_sources_and_pieces_survive_pickling_and_may_be_read_in_any_order(tmp_path):
    frame = frame_of()
    frame.to_csv(tmp_path / "a.csv", index=False)
    table = pickle.loads(pickle.dumps(csv_tables(tmp_path / "a.csv", piece_rows=9)))
    sent = [pickle.dumps(piece) for piece in table.pieces()]
    assert max(map(len, sent)) < 2000
    read = [chunk for data in reversed(sent) for chunk in pickle.loads(data).read()]
    pd.testing.assert_frame_equal(pd.concat(read[::-1], ignore_index=True), frame)


def test_folders_and_urls_are_read_and_a_header_alone_has_no_rows():
    memory = fsspec.filesystem("memory")
    memory.pipe(
        {
            "/csv-source/b.csv": b"\xef\xbb\xbfx,y\n1,2\n",
            "/csv-source/c.csv": b"x,y\n",
            "/csv-source/d.csv": b"\n\nx,y\n\n3,4",
        }
    )
    table = csv_tables("memory://csv-source")
    assert joined(table).to_dict("list") == {"x": [1.0, 3.0], "y": [2.0, 4.0]}
    assert table.select(["y"]).names == ("y",)
    assert list(joined(csv_tables("memory://csv-source", columns=["y"]))) == ["y"]
    with pytest.raises(SourceError, match=r"c\.csv' has no rows"):
        csv_tables("memory://csv-source/c.csv")


@pytest.mark.parametrize("last", [b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_lines_may_end_in_carriage_returns_alone(tmp_path, name, last):
    data = b'x,t\r1,a\r\r2,"b\rc"' + last
    path = written(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
    assert joined(csv_tables(path, piece_rows=1)).to_dict("list") == {
        "x": [1, 2],
        "t": ["a", "b\nc"],
    }


IMPOSED = "x;f;t\n1,5;True;01\n 2;maybe;1A\n0x12;;7\n"


@pytest.mark.parametrize("piece_rows", [1, 1000])
def test_cells_are_read_as_told_whatever_stands_beside_them(tmp_path, piece_rows):
    table = csv_tables(written(tmp_path, IMPOSED), piece_rows=piece_rows)
    assert dict(table.cells) == dict.fromkeys("xft", "text")
    read = joined(table.read_as({"x": "numbers", "f": "truth values"}))
    assert read.x.map(str).str.strip().tolist() == ["1,5", "2" if piece_rows > 1 else "2.0", "0x12"]
    assert read.f.map(str).tolist()[:2] == ["True", "maybe"]
    assert read.t.tolist() == ["01", "1A", "7"]
    alone = csv_tables(written(tmp_path, "x;f;t\n1,5;True;01\n", "b.csv"))
    assert dict(alone.cells) == {"x": "text", "f": "truth values", "t": "text"}
    assert joined(alone.read_as(table.cells)).t.tolist() == ["01"]


def test_rows_that_are_held_decide_what_all_cells_of_a_column_are(tmp_path, monkeypatch):
    table = late(tmp_path, monkeypatch, "x,f,y\n01,True,1\n02,False,2\n1A,maybe,3\n", piece_rows=2)
    assert dict(table.cells) == {"x": "text", "f": "truth values", "y": "numbers"}
    frame = held(table)
    assert frame.x.tolist() == ["01", "02", "1A"]
    assert frame.f.tolist() == ["True", "False", "maybe"]
    assert frame.y.tolist() == [1.0, 2.0, 3.0]


def test_a_decimal_comma_is_understood_where_the_comma_does_not_delimit(tmp_path):
    path = written(tmp_path, "x;k;t\n1,5;1;a,b\n-2,5e3;2;c\n;3,5;d\n")
    read = joined(csv_tables(path))
    assert read.x.tolist()[:2] == [1.5, -2500.0]
    assert np.isnan(read.x[2])
    assert read.k.tolist() == [1, 2, 3.5]
    assert read.t.tolist() == ["a,b", "c", "d"]


def test_numbers_that_may_be_codes_or_written_otherwise_are_handed_on_as_text(tmp_path):
    path = written(tmp_path, "code;comma;point;whole\n007;1,5;1.234;1\n012;2,25;2.500;20\n")
    table = csv_tables(path)
    assert set(table.cells.values()) == {"text"}
    assert joined(table).iloc[1].tolist() == [12.0, 2.25, 2.5, 20.0]  # where none is asked for
    assert held(table).iloc[1].tolist() == ["012", "2,25", "2.500", "20"]
    plain = csv_tables(written(tmp_path, "code,x\n007,1.234\n012,2.5\n", "b.csv"))
    assert dict(plain.cells) == {"code": "text", "x": "numbers"}


def test_words_for_missing_values_are_none_in_numbers_and_stay_in_text(tmp_path):
    read = joined(csv_tables(written(tmp_path, "x,t\n1,a\nNA,n/a\n,\n nan ,None\n")))
    assert read.x.isna().tolist() == [False, True, True, True]
    assert read.t.fillna("").tolist() == ["a", "n/a", "", "None"]


def late(tmp_path, monkeypatch, text, sampled=2, **keywords):
    """A table whose kinds were decided before the last lines."""
    monkeypatch.setattr("gradfeat.rows.sources.open.SAMPLE_ROWS", sampled)
    monkeypatch.setattr("gradfeat.rows.sources.text.SAMPLE_BYTES", 12)
    return csv_tables(written(tmp_path, text), **keywords)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "x,y\n1,2\n3,4\n\n5,abc\n",
            r"a\.csv', line 5: column 'y' holds 'abc' where its first 2 r",
        ),
        ('x,t\n1,"a\nb"\n3,u\nz,v\n', r"a\.csv', line 5: column 'x' holds 'z' .* numbers"),
        ("x;y\n1,5;2\n3;4\n5;x\n", r"a\.csv', line 4: column 'y' holds 'x' .* decimal comma"),
        ("x,f\n1,True\n2,False\n3,maybe\n", r"a\.csv', line 4: column 'f' holds 'maybe' .* truth"),
        ("x,y\n1,2\n3,4\n5\n", r"a\.csv', line 4 has 1 field where the header has 2"),
        ("x,y\n1,2\n3,4\n5,6,7\n", r"a\.csv', line 4 has 3 fields where the header has 2"),
        (b"x,t\n1,a\n2,b\n3,\xff\n4,c\n", r"a\.csv', line 4 is not UTF-8 text"),
    ],
)
@pytest.mark.parametrize("piece_rows", [1, 1000])
def test_a_later_line_that_does_not_fit_is_named(tmp_path, monkeypatch, text, sentence, piece_rows):
    table = late(tmp_path, monkeypatch, text, piece_rows=piece_rows)
    with pytest.raises(SourceError, match=sentence):
        chunks(table)


def test_a_number_of_any_kind_may_follow_whole_ones(tmp_path, monkeypatch):
    table = late(tmp_path, monkeypatch, "x\n1\n2\n2.5\n\n+3e1\n", piece_rows=2)
    assert [chunk.x.tolist() for chunk in chunks(table)] == [[1, 2], [2.5, 30]]
    assert {chunk.x.dtype for chunk in chunks(table)} == {np.dtype(float)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"is empty \(0 bytes\)"),
        (" \n\n", "is blank"),
        ('{"x": 1}\n{"x": 2}\n', "is JSON: "),
        ("\n<!DOCTYPE html><p>x,y\n", "an HTML page"),
        ("x,x\n1,2\n", "more than one column named 'x'"),
        ("x,y\n1,2\n3\n", "line 3 has 1 field where the header has 2"),
        ('x,y\n1,2\n3,"4\n5,6\n', "line 3: a quote opens there that is never closed"),
        ("@relation r\n@attribute x numeric\n@data\n1\n", "is an ARFF file"),
        ("1 1:0.5 3:2\n-1 2:1\n", "is sparse rows as LIBSVM writes them"),
        (gzip.compress(b"x,y\n" + b"1,2\n" * 1000, mtime=0)[:40], "packed file that is cut short"),
    ],
)
def test_text_that_cannot_be_a_table_is_refused(tmp_path, text, sentence):
    with pytest.raises(SourceError, match=r"a\.csv'.*" + sentence):
        csv_tables(written(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "The best of times, the worst,\nwise, foolish, and\nin short, so.\nIt was.\nWe had all.\n",
        "A long line of words without any comma\nand then another one of these lines\n",
    ],
)
def test_prose_is_no_table(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(SourceError, match=r"a\.csv' does not look like a table with 'price'"):
        csv_tables(path, text=TextOptions(wanted=("price",)))


def test_a_gz_file_cut_short_late_is_refused_when_it_is_read(tmp_path):
    generator = np.random.default_rng(0)
    text = pd.DataFrame({"x": generator.standard_normal(40_000)}).to_csv(index=False)
    path = written(tmp_path, gzip.compress(text.encode(), mtime=0)[:-1000], "a.csv.gz")
    with pytest.raises(SourceError, match=r"a\.csv\.gz' is a packed file that is cut short"):
        chunks(csv_tables(path))


def test_headers_that_differ_are_refused_naming_both_files(tmp_path):
    written(tmp_path, "x,y\n1,2\n")
    written(tmp_path, "x,z\n1,2\n", "b.csv")
    with pytest.raises(SourceError, match=r"'.*b\.csv' \('x', 'z'\) is not that of '.*a\.csv'"):
        csv_tables(tmp_path)


@pytest.mark.parametrize("wanted", [["when", "x"], ["x"]])
@pytest.mark.parametrize("name", ["b.csv", "b.csv.gz"])
def test_columns_of_several_files_go_by_their_names(tmp_path, name, wanted):
    first = pd.DataFrame({"x": [1.5, 2.5], "when": ["u", "v"], "n": [True, False]})
    first.to_csv(tmp_path / "a.csv", index=False)
    first[["n", "x", "when"]].to_csv(tmp_path / name, index=False)
    found = pd.concat(chunks(csv_tables(tmp_path).select(wanted)), ignore_index=True)
    pd.testing.assert_frame_equal(found, pd.concat([first[wanted]] * 2, ignore_index=True))
    with (tmp_path / "c.csv").open("w") as third:
        third.write("when,n,x\nu,True,1\nv,False,oops\n")
    with pytest.raises(SourceError, match=r"c\.csv', line 3: column 'x' holds 'oops'"):
        chunks(csv_tables(tmp_path).select(wanted))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, name):
    path = tmp_path / name
    frame_of(5).to_csv(path, index=False)
    table = csv_tables(path)
    before = table.fingerprint
    frame_of(6).to_csv(path, index=False)
    with pytest.raises(SourceError, match="has changed since it was opened"):
        chunks(table)
    assert csv_tables(path).fingerprint != before


def test_a_change_that_keeps_size_and_time_is_noticed(tmp_path):
    path = written(tmp_path, "x,y\n1,2\n3,4\n", "a.csv")
    before = csv_tables(path).fingerprint
    kept = path.stat()
    path.write_text("x,y\n1,2\n3,5\n")
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (kept.st_size, kept.st_mtime_ns)
    assert csv_tables(path).fingerprint != before
