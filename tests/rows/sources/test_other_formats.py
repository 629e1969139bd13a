"""Feather and Excel on the road of all tables; what is none is one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gradfeat.rows.errors import SourceError
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import held
from gradfeat.table.encode import TableEncoder
from gradfeat.table.read import why_streamed
from table.streamed_tables import mixed

FRAME = mixed(120)


def written(folder, ending):
    """The rows as one file."""
    path = folder / f"t.{ending}"
    if ending == "xlsx":
        FRAME.to_excel(path, index=False)
    else:
        FRAME.to_feather(path, chunksize=50, compression="lz4")
    return path


@pytest.mark.parametrize("ending", ["feather", "arrow", "xlsx"])
def test_rows_are_those_that_were_written_held_and_in_pieces(tmp_path, ending):
    table = tables(written(tmp_path, ending), piece_rows=40)
    assert (table.names, table.rows) == (tuple(FRAME.columns), 120)
    pd.testing.assert_frame_equal(held(table), FRAME, check_dtype=False)
    chunks = [chunk for piece in table.pieces() for chunk in piece.read()]
    assert max(map(len, chunks)) <= 40
    encoder = TableEncoder().fit(FRAME)
    pieces = np.concatenate([encoder.transform(chunk) for chunk in chunks])
    np.testing.assert_allclose(pieces, encoder.transform(FRAME), rtol=1e-15)
    some = held(table.select(["kind", "a"]))
    assert list(some.columns) == ["kind", "a"]
    assert why_streamed(str(tmp_path / f"t.{ending}")) == ""


def test_a_folder_of_feather_files_unifies_types_as_parquet_does(tmp_path):
    pd.DataFrame({"x": [1, 2]}).to_feather(tmp_path / "a.feather")
    pd.DataFrame({"x": ["3", "n/a"]}).to_feather(tmp_path / "b.feather")
    assert held(tables(tmp_path))["x"].tolist() == ["1", "2", "3", "n/a"]


def test_a_feather_file_that_is_none_or_cut_short_is_named(tmp_path):
    path = written(tmp_path, "feather")
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(SourceError, match=r"t\.feather' is cut short or damaged"):
        tables(path)
    path.write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match=r"t\.feather' is not an Arrow file"):
        tables(path)


def test_further_sheets_are_told_of_and_names_twice_refused(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        FRAME.to_excel(book, sheet_name="rows", index=False)
        FRAME.to_excel(book, sheet_name="notes", index=False)
    assert tables(tmp_path / "t.xlsx").remarks == ("the first sheet alone, without 'notes'",)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    twice.to_excel(tmp_path / "u.xlsx", index=False)
    with pytest.raises(SourceError, match="'a'"):
        tables(tmp_path / "u.xlsx")


def test_excel_without_openpyxl_and_a_workbook_that_is_none_are_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match="no Excel workbook that can be read"):
        tables(tmp_path / "t.xlsx")
    monkeypatch.setattr("gradfeat.rows.sources.excel.find_spec", lambda _: None)
    with pytest.raises(SourceError, match="pip install openpyxl"):
        tables(tmp_path / "t.xlsx")


@pytest.mark.parametrize("start", [b"\xd0\xcf\x11\xe0", b"$FL2@(#)\0\0\0", b"\x80\x04\x95\x00"])
def test_what_no_reader_knows_is_one_sentence_that_lists_what_is_read(tmp_path, start):
    (tmp_path / "t.sav").write_bytes(start * 50)
    with pytest.raises(SourceError, match=r"is not a table but .*\.gz.*Parquet.*Feather.*\.xlsx"):
        tables(tmp_path / "t.sav")
