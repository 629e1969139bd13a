"""Feather and Excel on the road of all tables; what is none is one sentence."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import asdict

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import gradfeat
from gradfeat.errors import SourceError, TableError
from gradfeat.interface.open import why_streamed
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import held
from gradfeat.rows.sources.text_options import TextOptions
from gradfeat.table.encode import TableEncoder
from gradfeat.table.reading.decide import plan_column
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
    assert (table.names, len(held(table))) == (tuple(FRAME.columns), 120)
    found = held(table)
    found["when"] = pd.to_datetime(found["when"])  # of a sheet text, as its cells are
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)
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
    remarks = tables(tmp_path / "t.xlsx").remarks
    assert remarks == ("the sheet 'rows' alone, and not 'notes', which --sheet reads",)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    twice.to_excel(tmp_path / "u.xlsx", index=False)
    with pytest.raises(SourceError, match="'a'"):
        tables(tmp_path / "u.xlsx")


def test_a_sheet_is_read_by_its_name_and_found_again(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        notes = pd.DataFrame({"info": ["see data"], "author": ["us"]})
        notes.to_excel(book, sheet_name="README", index=False)
        FRAME.to_excel(book, sheet_name="data", index=False)
    with pytest.raises(
        TableError, match=r"no column 'y'.*'README' alone, and not 'data', which sheet= reads"
    ):
        gradfeat.compare(tmp_path / "t.xlsx", "y")
    table = tables(tmp_path / "t.xlsx", text=TextOptions(sheet="data"))
    assert (table.names, table.remarks) == (tuple(FRAME), ())
    like = TextOptions.kept(asdict(table.text))  # as a model keeps it
    assert tables(tmp_path / "t.xlsx", text=TextOptions(like=like)).names == tuple(FRAME)
    with pytest.raises(SourceError, match=r"no sheet .date.; did you mean .data.\? Its sheets are"):
        tables(tmp_path / "t.xlsx", text=TextOptions(sheet="date"))
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(SourceError, match=r"t\.csv' is no workbook: leave out the sheet 'data'"):
        tables(tmp_path / "t.csv", text=TextOptions(sheet="data"))


def test_excel_without_openpyxl_and_a_workbook_that_is_none_are_one_sentence(tmp_path, monkeypatch):
    path = written(tmp_path, "xlsx")
    whole = path.read_bytes()
    path.write_bytes(whole[:3000])
    with pytest.raises(SourceError, match="cut short or damaged"):
        tables(path)
    path.write_bytes(whole.replace(b"xl/worksheets/", b"xl/worksheetz/"))
    with pytest.raises(SourceError, match="no Excel workbook that can be read"):
        tables(path)
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as cut:
        for part in old.namelist():
            cut.writestr(part, old.read(part)[: 500 if part.endswith("sheet1.xml") else None])
    with pytest.raises(SourceError, match="no Excel workbook that can be read"):
        tables(path)
    charts = openpyxl.Workbook()
    charts.create_chartsheet("Chart")
    charts.save(path)
    with pytest.raises(SourceError, match="no Excel workbook that can be read"):
        tables(path)
    path.write_bytes(whole)
    monkeypatch.setattr("gradfeat.rows.sources.excel.find_spec", lambda _: None)
    with pytest.raises(SourceError, match="pip install openpyxl"):
        tables(tmp_path / "t.xlsx")


ROWS = [["id", "code", "x", "when", "y"]] + [
    [f"r{i}", f"{i % 7:02d}", i / 8, dt.datetime(2020, 1, 1 + i % 28), i % 3] for i in range(30)
]


@pytest.mark.parametrize(
    "sheet",
    [
        ROWS,
        [["Report of 2024"], [], *ROWS],
        [[None], [None, *ROWS[0]], *([None, *row] for row in ROWS[1:])],
        [*ROWS, [], ["Source: somebody, 2024"]],
        [*ROWS, ["Source: somebody"]],
    ],
)
def test_a_sheet_is_read_as_text_of_its_cells_is(tmp_path, sheet):
    book = openpyxl.Workbook()
    for row in sheet:
        book.worksheets[0].append(row)
    book.save(tmp_path / "t.xlsx")
    table = tables(tmp_path / "t.xlsx")
    found = held(table)
    assert (table.names, len(found)) == (tuple(ROWS[0]), 30)
    assert found["code"].tolist()[:3] == ["00", "01", "02"]
    assert found["x"].tolist() == [i / 8 for i in range(30)]
    assert plan_column("when", found["when"]).kind == "date"
    assert found["y"].dtype.kind in "if"
    line = 1 + sheet.index(next(row for row in sheet if "r5" in row))
    assert table.place(5) == f"line {line}"


def test_codes_of_a_sheet_stay_so_where_all_of_its_cells_are_digits(tmp_path):
    pd.DataFrame({"code": ["01", "1A"] * 9}).to_excel(tmp_path / "a.xlsx", index=False)
    pd.DataFrame({"code": ["01", "02"]}).to_excel(tmp_path / "b.xlsx", index=False)
    encoder = TableEncoder().fit(held(tables(tmp_path / "a.xlsx")))
    later = held(tables(tmp_path / "b.xlsx"), encoder.cells)
    assert later["code"].tolist() == ["01", "02"]


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"\x89PNG\0", r"is not a table but a PNG .*\.gz.*\.zip.*Parquet.*Feather.*\.xlsx"),
        (b"\xd0\xcf\x11\xe0", r"an old Excel or Word file, .* pandas\.read_excel\("),
        (b"$FL2@(#)\0\0\0", r"an SPSS file, .* pandas\.read_spss\("),
        (b"\x80\x04\x95\x00", r"a pickle, .* pandas\.read_pickle\("),
        (b"\x72\x02\x01\x00", r"a Stata file, .* pandas\.read_stata\("),
        (b"<stata_dta>", r"a Stata file"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12\n",
            r"a pointer to a file that Git keeps elsewhere \(`git lfs pull`",
        ),
        (b"/annex/objects/SHA256E-s9--0a.csv\n", r"`git annex get` gets the file"),
        (b"INSERT INTO t VALUES (1, 2);\n", "statements of SQL"),
        (b"+---+---+\n| x | y |\n+---+---+\n| 1 | 2 |\n", "a table as a database prints it"),
        (b" x | y \n---+---\n 1 | 2\n", "a table as a database prints it"),
        (b"\\begin{tabular}{ll}\nx & y \\\\\n", "a table of LaTeX"),
        (b"ORC\x0a\0", r"an ORC file, .* pandas\.read_orc\("),
        (b'<table border="1">', r"an HTML page, .* pandas\.read_html\(\.\.\.\)\[0\]"),
    ],
)
def test_what_is_not_read_is_one_sentence_that_says_what_it_is(tmp_path, start, words):
    (tmp_path / "t.sav").write_bytes(start * 50)
    with pytest.raises(SourceError, match=words):
        tables(tmp_path / "t.sav")


CSV = FRAME.to_csv(index=False)


def packed(text, ending):
    """The text as a packed file."""
    if ending == ".zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("__MACOSX/._t.csv", b"\0")
            archive.writestr("inside/t.jsonl" if text[0] == "{" else "inside/t.csv", text)
        return buffer.getvalue()
    if ending == ".zst":
        return pa.compress(text.encode(), "zstd", asbytes=True)
    return {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[ending](text.encode())


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".zip"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_packed_text_is_the_text_held_and_in_pieces(tmp_path, ending, kind):
    text = CSV if kind == "csv" else FRAME.to_json(orient="records", lines=True, date_format="iso")
    plain, path = tmp_path / f"t.{kind}", tmp_path / f"p.{kind}{ending}"
    plain.write_text(text)
    path.write_bytes(packed(text, ending))
    table = tables(path, piece_rows=50)
    pd.testing.assert_frame_equal(held(table), held(tables(plain)))
    assert [len(f) for piece in table.pieces() for f in piece.read()] == [50, 50, 20]


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".zst", ".zip"])
def test_a_packed_file_that_is_damaged_or_grows_beyond_reason_is_named(
    tmp_path, ending, monkeypatch
):
    monkeypatch.setattr("gradfeat.maths.unpacking.FREE", 2**16)
    path = tmp_path / f"t.csv{ending}"
    whole = packed("a,b\n" + "".join(f"{i},{i * i % 97}\n" for i in range(3_000)), ending)
    at = 8 if ending == ".zst" else 200  # without a checksum, as Arrow writes it, the frame tells
    for data in (whole[: len(whole) // 2], whole[:at] + b"\x55" * 40 + whole[at + 40 :]):
        path.write_bytes(data)
        with pytest.raises(SourceError, match=r"cut short or damaged: fetch or pack it again"):
            held(tables(path))
    path.write_bytes(packed("a,b\n" + "0,0\n" * 2**20, ending))
    with pytest.raises(SourceError, match="unpacks to more than"):
        held(tables(path).select(["a"]))


def test_a_zip_archive_of_several_files_is_one_sentence_with_their_names(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("train.csv", CSV)
        archive.writestr("test.csv", CSV)
    with pytest.raises(
        SourceError, match=r"zip archive of 2 files \('train\.csv', 'test\.csv'\): unp"
    ):
        tables(tmp_path / "t.zip")
    (tmp_path / "t.zip").write_bytes(packed(CSV, ".gz"))  # by its bytes, not by its name
    assert held(tables(tmp_path / "t.zip")).shape == FRAME.shape


def test_cells_merged_over_rows_have_their_value_in_each(tmp_path):
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    sheet = book.worksheets[0]
    for row in (["group", "x"], ["a", 1], [None, 2], ["b", 3], [None, 4], ["c", 5]):
        sheet.append(row)
    for cells in ("A2:A3", "A4:A5"):
        sheet.merge_cells(cells)
    book.save(path)
    table = tables(path)
    assert held(table)["group"].tolist() == ["a", "a", "b", "b", "c"]
    assert "2 merged cells over several rows with the value in each" in " ".join(table.remarks)


@pytest.mark.parametrize("key", ["data", "features"])
def test_an_object_around_the_rows_is_told_with_what_takes_it_off(tmp_path, key):
    path = tmp_path / "t.json"
    rows = [{"properties": {"x": i}} for i in range(9)]
    path.write_text(json.dumps({"meta": {"n": 9}, key: rows}))
    with pytest.raises(SourceError, match=f"whose '{key}' holds the rows: write that list alone"):
        tables(path)
    path.write_text(json.dumps(rows))
    assert held(tables(path))["properties.x"].tolist() == [*range(9)]


def workbook(path, *sheets):
    """Sheets of rows of cells, each by its name."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book, path


def read_so(book, path):
    book.save(path)
    table = tables(path)
    return held(table), " ".join(table.remarks)


SQUARES = [["x", "y"], *([i, i * i] for i in range(9))]


def test_a_first_sheet_of_notes_is_no_table(tmp_path):
    notes = ("About", [["Sales of the year"], ["made", "by hand"]])
    frame, said = read_so(*workbook(tmp_path / "t.xlsx", notes, ("Data", SQUARES)))
    assert frame.shape == (9, 2)
    assert "the sheet 'Data' alone, and not 'About'" in said


def test_a_smaller_table_beside_a_blank_column_is_left_out_and_a_gap_is_not(tmp_path):
    beside = [["name", "count"], ["a", 1], ["b", 2]]
    rows = [[*row, None, *(beside[i] if i < 3 else [])] for i, row in enumerate(SQUARES)]
    frame, said = read_so(*workbook(tmp_path / "t.xlsx", ("Data", rows)))
    assert list(frame) == ["x", "y"]
    assert "without the smaller table of 'name', 'count' beside it" in said
    rows = [[*row, None, *(["a", "b"] if i in (0, 2, 9) else [])] for i, row in enumerate(SQUARES)]
    frame, said = read_so(*workbook(tmp_path / "t.xlsx", ("Data", rows)))
    assert {"a", "b"} <= {*frame}  # cells at the end of all rows
    assert not said


def test_zeros_that_a_format_shows_are_digits_of_codes(tmp_path):
    book, path = workbook(tmp_path / "t.xlsx", ("Data", SQUARES))
    for row in range(2, 11):
        book.worksheets[0].cell(row, 1).number_format = "00000"
    assert read_so(book, path)[0]["x"].tolist() == [f"{i:05d}" for i in range(9)]


def test_hidden_rows_and_formulas_without_a_value_are_told(tmp_path):
    book, path = workbook(tmp_path / "t.xlsx", ("Data", [["x", "y"], [1, "=2+3"], [3, 4], [5, 6]]))
    sheet = book.worksheets[0]
    sheet.row_dimensions[3].hidden = True
    frame, said = read_so(book, path)
    assert frame["y"].isna().sum() == 1
    assert "1 hidden row as all others" in said
    assert "formulas without a stored value, as in 'B2', as empty cells" in said
    sheet["B2"] = 5
    sheet.row_dimensions[3].hidden = False
    assert read_so(book, path)[1] == ""
