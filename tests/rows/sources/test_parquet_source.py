"""Parquet tables: every layout gives the same rows, and every fault one sentence."""

from __future__ import annotations

import os
import pickle
from decimal import Decimal
from itertools import pairwise

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradfeat.errors import SourceError
from gradfeat.rows.sources.column_files import ArrowFormat, ParquetFormat
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.parquet import ParquetTables
from gradfeat.rows.sources.tables import held
from gradfeat.table.reading.decide import plan_column


def frame_of(rows: int = 100) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": generator.standard_normal(rows),
            "k": np.arange(rows),
            "t": [f"level {i % 3}" for i in range(rows)],
        }
    )


def chunks(table):
    return [chunk for piece in table.pieces() for chunk in piece.read()]


def joined(table):
    return pd.concat(chunks(table), ignore_index=True)


def write_folder(folder, frame, files):
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[rows].to_parquet(folder / f"part.{number}.parquet", row_group_size=7)


def test_file_folder_glob_and_list_give_the_rows_in_order_of_numbered_files(tmp_path):
    frame = frame_of()
    write_folder(tmp_path / "a", frame, 11)
    (tmp_path / "a" / "_SUCCESS").write_bytes(b"")
    (tmp_path / "a" / ".part.crc").write_bytes(b"crc")
    frame.to_parquet(tmp_path / "one.parquet")
    paths = [tmp_path / "a" / f"part.{i}.parquet" for i in range(11)]
    for path in (tmp_path / "one.parquet", tmp_path / "a", tmp_path / "a" / "*.parquet", paths):
        table = ParquetTables(path)
        assert table.rows == 100
        pd.testing.assert_frame_equal(joined(table), frame)
        pd.testing.assert_frame_equal(joined(table), frame)


def test_folders_below_are_read_and_partitions_become_columns(tmp_path):
    frame = frame_of(6)
    for year, rows in ((2001, slice(0, 2)), (2002, slice(2, 6))):
        folder = tmp_path / f"year={year}" / "city=New%20York"
        folder.mkdir(parents=True)
        frame.iloc[rows].to_parquet(folder / "a.parquet")
    table = ParquetTables(tmp_path, columns=["year", "k", "city"])
    read = joined(table)
    assert list(read) == ["year", "k", "city"]
    assert read.year.tolist() == [2001] * 2 + [2002] * 4
    assert set(read.city) == {"New York"}
    assert read.k.tolist() == list(range(6))


@pytest.mark.parametrize("piece_rows", [1, 3, 7, 20, 1000])
def test_chunks_are_never_longer_than_piece_rows_and_small_row_groups_are_put_together(
    tmp_path, piece_rows
):
    frame = frame_of()
    write_folder(tmp_path, frame, 4)
    table = ParquetTables(tmp_path, piece_rows=piece_rows)
    lengths = [len(chunk) for chunk in chunks(table)]
    assert max(lengths) <= piece_rows
    assert table.count == sum(1 for _ in table.pieces())
    if piece_rows >= 7:  # no row group is larger
        assert len(lengths) == table.count
        assert all(a + b > piece_rows for a, b in pairwise(lengths))
    pd.testing.assert_frame_equal(joined(table), frame)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_small_row_groups_of_a_file_are_read_at_once(tmp_path, monkeypatch, kind):
    frame, readings = frame_of(), []
    if kind == "parquet":
        frame.to_parquet(tmp_path / "a.parquet", row_group_size=1)
    else:
        frame.to_feather(tmp_path / "a.feather", chunksize=1)
    for form in (ParquetFormat, ArrowFormat):
        batches = form.batches
        monkeypatch.setattr(
            form, "batches", lambda *args, f=batches: readings.append(1) or f(*args)
        )
    table = tables(tmp_path / f"a.{kind}")
    pd.testing.assert_frame_equal(joined(table), frame)
    assert len(readings) == table.count == 1


def test_a_large_row_group_is_never_held_as_a_whole(tmp_path):
    numbers = np.random.default_rng(0).standard_normal((500_000, 2))
    table = pa.table({"a": numbers[:, 0], "b": numbers[:, 1]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=500_000, use_dictionary=False)
    del table
    (piece,) = ParquetTables(tmp_path, piece_rows=1000).pieces()
    before = pa.total_allocated_bytes()
    reader = piece.read()
    chunk = next(reader)
    # A page of 1 MB and a buffer of 1 MB for each of two columns of 4 MB.
    assert pa.total_allocated_bytes() - before < numbers.nbytes / 2
    assert len(chunk) == 1000
    assert sum(len(rest) for rest in reader) == 499_000


def test_sources_and_pieces_survive_pickling_and_pieces_are_small(tmp_path):
    frame = frame_of()
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=10)
    table = pickle.loads(pickle.dumps(ParquetTables(tmp_path / "a.parquet", piece_rows=10)))
    sent = [pickle.dumps(piece) for piece in table.pieces()]
    assert max(map(len, sent)) < 4000
    read = [chunk for data in reversed(sent) for chunk in pickle.loads(data).read()]
    pd.testing.assert_frame_equal(pd.concat(read[::-1], ignore_index=True), frame)


def test_any_fsspec_url_can_be_read():
    frame = frame_of()
    with fsspec.open("memory://parquet-source/a/b.parquet", "wb") as file:
        frame.to_parquet(file)
    pd.testing.assert_frame_equal(joined(ParquetTables("memory://parquet-source")), frame)


def test_columns_are_projected_and_selected_in_the_order_asked(tmp_path):
    frame_of().to_parquet(tmp_path / "a.parquet")
    table = ParquetTables(tmp_path / "a.parquet", columns=["t", "x"])
    assert table.names == ("t", "x")
    assert list(chunks(table.select(["x"]))[0]) == ["x"]
    assert table.fingerprint != table.select(["x"]).fingerprint
    with pytest.raises(SourceError, match=r"no column 'xx'; did you mean 'x'\?"):
        table.select(["xx"])
    with pytest.raises(SourceError, match="more than one column named 'x'"):
        table.select(["x", "x"])


def test_widths_of_numbers_and_codes_of_text_may_differ_between_files(tmp_path):
    pd.DataFrame({"a": [1], "t": ["u"]}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"a": [2.5], "t": pd.Categorical(["v"])}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": pd.array([3], "int32"), "t": [None], "more": [1]}).to_parquet(
        tmp_path / "2.parquet"
    )
    read = chunks(ParquetTables(tmp_path, piece_rows=1))
    assert [chunk.a.dtype for chunk in read] == [np.dtype(float)] * 3
    assert pd.concat(read).a.tolist() == [1, 2.5, 3]
    assert pd.concat(read).t.tolist()[:2] == ["u", "v"]
    assert all(list(chunk) == ["a", "t"] for chunk in read)


def test_files_without_rows_are_passed_over_and_a_table_without_rows_is_refused(tmp_path):
    frame = frame_of(5)
    frame.iloc[:0].to_parquet(tmp_path / "0.parquet")
    with pytest.raises(SourceError, match=r"0\.parquet' has no rows"):
        ParquetTables(tmp_path)
    frame.to_parquet(tmp_path / "1.parquet")
    pd.testing.assert_frame_equal(joined(ParquetTables(tmp_path)), frame)


def test_the_fingerprint_changes_with_the_file_and_the_pieces(tmp_path):
    frame_of(5).to_parquet(tmp_path / "a.parquet")
    before = ParquetTables(tmp_path)
    assert before.fingerprint == ParquetTables(tmp_path).fingerprint
    assert before.fingerprint != ParquetTables(tmp_path, piece_rows=3).fingerprint
    frame_of(6).to_parquet(tmp_path / "a.parquet")
    assert before.fingerprint != ParquetTables(tmp_path).fingerprint


def test_paths_that_lead_to_no_file_are_refused(tmp_path):
    (tmp_path / "flights.parquet").write_bytes(b"PAR1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "_a.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"no file or folder.*did you mean 'flights\.parquet'"):
        ParquetTables(tmp_path / "flight.parquet")
    for folder in ("empty", "hidden"):
        with pytest.raises(SourceError, match=f"the folder '.*{folder}' holds no files"):
            ParquetTables(tmp_path / folder)
    with pytest.raises(SourceError, match="no file matches"):
        ParquetTables(tmp_path / "*.pq")
    with pytest.raises(SourceError, match="the path is empty"):
        ParquetTables("")
    with pytest.raises(SourceError, match="the list of files is empty"):
        ParquetTables([])
    with pytest.raises(SourceError, match="'nowhere://a' cannot be opened"):
        ParquetTables("nowhere://a")
    with pytest.raises(SourceError, match="piece_rows is 0"):
        ParquetTables(tmp_path, piece_rows=0)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda _: b"", r"b\.parquet' is empty \(0 bytes\)"),
        (lambda _: b"hello, this is text", r"b\.parquet' is not a Parquet file"),
        (lambda _: b"PAR", r"b\.parquet' is not a Parquet file"),
        (lambda good: good[: len(good) // 2], r"b\.parquet' is cut short or damaged"),
        (lambda good: good[:-1], r"b\.parquet' is cut short or damaged"),
        (lambda good: b"PARE" + good[4:-4] + b"PARE", r"b\.parquet' is an encrypted"),
    ],
)
def test_a_file_that_is_not_whole_is_named_among_good_ones(tmp_path, content, sentence):
    for name in "abc":
        frame_of(50).to_parquet(tmp_path / f"{name}.parquet")
    good = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(content(good))
    with pytest.raises(SourceError, match=sentence):
        ParquetTables(tmp_path)


def damage(path, group: int) -> None:
    """Flip bytes in the middle of a row group's first column."""
    column = pq.ParquetFile(path).metadata.row_group(group).column(0)
    data = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    for offset in range(middle, middle + 8):
        data[offset] ^= 0xFF
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_a_damaged_row_group_is_named_when_it_is_read_and_others_can_be_read(tmp_path, compression):
    frame = frame_of(90)
    for name in "ab":
        pq.write_table(
            pa.Table.from_pandas(frame),
            tmp_path / f"{name}.parquet",
            row_group_size=30,
            compression=compression,
            use_dictionary=False,
            write_page_checksum=True,
        )
    damage(tmp_path / "b.parquet", 1)
    pieces = list(ParquetTables(tmp_path, piece_rows=30).pieces())
    for number, piece in enumerate(pieces):
        if number == 4:
            with pytest.raises(SourceError, match=r"b\.parquet', row group 1 is damaged \("):
                list(piece.read())
        else:
            assert len(next(piece.read())) == 30
    with pytest.raises(SourceError, match=r"b\.parquet', row group 1 is damaged"):
        chunks(ParquetTables(tmp_path, piece_rows=1000))


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"x": [1.0], "k": [1]}, r"b\.parquet' has no column 't', which '.*a\.parquet' has"),
        (
            {"x": [pd.Timestamp(0)], "k": [1], "t": ["u"]},
            r"'x' holds numbers in '.*a\.parq.* dates in '.*b\.parq",
        ),
        ({"x": [1.0], "k": [[1]], "t": ["u"]}, "'k' holds numbers in .* values of type list<"),
        ({"x": [1.0], "k": [1], "t": [pd.Timedelta(1)]}, "'t' holds text in .* durations in"),
    ],
)
def test_schemas_that_differ_between_files_are_refused_naming_column_and_files(
    tmp_path, other, sentence
):
    frame_of(5).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame(other).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=sentence):
        ParquetTables(tmp_path)


def test_a_column_that_differs_is_no_matter_where_it_is_not_asked_for(tmp_path):
    frame_of(5).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"x": [1.0], "t": [3], "new": [1]}).to_parquet(tmp_path / "b.parquet")
    assert len(joined(ParquetTables(tmp_path, columns=["x"]))) == 6


def test_repeated_column_names_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"a\.parquet' has more than one column named 'a'"):
        ParquetTables(tmp_path / "a.parquet")


def test_a_file_that_changes_or_goes_between_passes_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    frame_of(5).to_parquet(path)
    table = ParquetTables(path)
    assert len(joined(table)) == 5
    frame_of(6).to_parquet(path)
    with pytest.raises(SourceError, match=r"a\.parquet' has changed since it was opened"):
        chunks(table)
    path.unlink()
    with pytest.raises(SourceError, match=r"a\.parquet' is not there any more"):
        chunks(table)


def test_a_file_without_permission_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    frame_of(5).to_parquet(path)

    def denied(*args, **keywords):
        del args, keywords
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as context:
        context.setattr("gradfeat.rows.sources.column_files.pq.ParquetFile", denied)
        with pytest.raises(SourceError, match=r"a\.parquet' cannot be read \(Permission denied\)"):
            ParquetTables(path)
    table = ParquetTables(path)
    with monkeypatch.context() as context:
        context.setattr("fsspec.implementations.local.LocalFileSystem.info", denied)
        with pytest.raises(SourceError, match=r"a\.parquet' cannot be read \(Permission denied\)"):
            chunks(table)
        with pytest.raises(SourceError, match=r"a\.parquet' cannot be read \(Permission denied\)"):
            ParquetTables(path)


#: Values of a column, of which the last is missing or more than 2^53.
TYPES = {
    "whole": [1, 2, 3, 2**53 + 1],
    "float": [1.0, 2.0, 3.0, float("nan")],
    "decimal": [Decimal("1.00"), Decimal("2.00"), Decimal("3.00"), None],
    "truth values": [True, False, True, None],
    "text": ["1", "2", "3", "n/a"],
}


@pytest.mark.parametrize("second", [name for name in TYPES if name != "truth values"])
@pytest.mark.parametrize("first", TYPES)
def test_a_column_is_read_the_same_whatever_types_files_hold_it_in(tmp_path, first, second):
    """As the plan of the column reads it, in memory and in pieces."""
    for name, values in (("a", TYPES[first]), ("b", TYPES[second])):
        pq.write_table(pa.table({"x": values * 4}), tmp_path / f"{name}.parquet")
    frame = held(ParquetTables(tmp_path))
    if {first, second} == {"truth values", "text"}:
        assert frame["x"].tolist()[:3] == ["true", "false", "true"]
        return
    plan = plan_column("x", frame["x"])
    values = plan.encode(frame["x"]).parts[""]
    for part, kind in ((values[:16], first), (values[16:], second)):
        known = [1.0, 0.0, 1.0] if kind == "truth values" else [1.0, 2.0, 3.0]
        last = float(2**53) if kind == "whole" else np.nan
        np.testing.assert_array_equal(part, [*known, last] * 4)
    pieces = [plan.encode(c["x"]).parts[""] for c in chunks(ParquetTables(tmp_path, piece_rows=3))]
    np.testing.assert_array_equal(np.concatenate(pieces), values)


def test_dates_and_days_go_together_and_with_text(tmp_path):
    days = pa.array([0, 1], pa.date32())
    for name, values in (("a", days), ("b", days.cast(pa.timestamp("ms"))), ("c", ["1970-01-03"])):
        pq.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
    for files, read in (("[ab]", "dates"), ("[abc]", "text")):
        frame = held(ParquetTables(tmp_path / f"{files}.parquet"))
        found = pd.to_datetime(frame["x"], format="ISO8601")
        assert found.dt.day.tolist() == [1, 2, 1, 2, 3][: len(frame)], read


def test_a_change_that_keeps_size_and_time_is_noticed(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"x": pa.array([1, 2, 3, 4]), "y": pa.array([1, 0, 1, 0])})
    pq.write_table(table, path, compression="none")
    before, kept = ParquetTables(path).fingerprint, path.stat()
    data = bytearray(path.read_bytes())
    place = data.index((4).to_bytes(8, "little"))
    data[place] = 5
    path.write_bytes(data)
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (kept.st_size, kept.st_mtime_ns)
    assert ParquetTables(path).fingerprint != before
