"""What stands around the rows of a text: titles, footers, lists; rare separators."""

from __future__ import annotations

import bz2
import json

import numpy as np
import pandas as pd
import pytest

from gradfeat.errors import SourceError
from gradfeat.interface.compare import compare
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import held

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "a": rng.standard_normal(60).round(3),
        "b": rng.integers(0, 5, 60),
        "c": rng.choice(["red", "green; {[", 'b"l\\ue'], 60),
    }
).assign(y=lambda frame: frame.a + frame.b)
CSV = FRAME.to_csv(index=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My report 2024,,,\n,,,\n" + CSV, "the first 2 lines above the header left out"),
        ("Report,,2024,\n" + CSV, "the first line above the header left out"),
        (CSV + "\nSource: somebody\n", "the last line ('Source: somebody') left out"),
        (CSV + "Source: a, b, in 2020\n", "the last line ('Source: a, b, in 2020') left out"),
        (CSV + "Note: a,,\n", "the last line ('Note: a,,') left out"),
        (CSV + '"Notes: a, b",""\n', 'the last line (\'"Notes: a, b",""\') left out'),
        (CSV + "Note: a, b\n* p < .05\n", "the last 2 lines ('Note: a, b', '* p < .05') left out"),
        ("A title\n" + CSV + "(c) somebody", "the last line ('(c) somebody') left out"),
        (FRAME.to_csv(index=False, sep=":"), "fields are separated by ':'"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rows", [7, 1_000])
def test_what_is_no_row_is_left_out_with_a_word(tmp_path, text, told, packed, rows):
    path = tmp_path / "t.csv"
    path.write_bytes(bz2.compress(text.encode()) if packed else text.encode())
    table = tables(path, piece_rows=rows)
    pd.testing.assert_frame_equal(held(table), FRAME, check_dtype=False)
    assert told in table.remarks
    if not packed:
        assert table.rows == len(FRAME)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rows", [7, 1_000])
@pytest.mark.parametrize("wide", ["", ",d", ",,"])
def test_a_second_table_below_a_blank_line_is_no_part_of_the_first(tmp_path, wide, packed, rows):
    more = wide.replace("d", "4")
    text = f"{CSV}\nname,count,share{wide}\nalpha,3,0.4{more}\nbeta,5,0.6{more}\n"
    path = tmp_path / "t.csv"
    path.write_bytes(bz2.compress(text.encode()) if packed else text.encode())
    table = tables(path, piece_rows=rows)
    pd.testing.assert_frame_equal(held(table), FRAME, check_dtype=False)
    assert f"the last 3 lines ('name,count,share{wide}'" in "".join(table.remarks)


def test_blank_lines_between_rows_and_a_header_that_comes_again_end_no_table(tmp_path):
    (tmp_path / "t.csv").write_text(CSV + "\n" + CSV.split("\n", 1)[1] + "\n\n" + CSV)
    assert len(held(tables(tmp_path / "t.csv"))) == 3 * len(FRAME) + 1


@pytest.mark.parametrize("rows", [7, 1_000])
def test_the_line_from_which_excel_reads_the_separator_is_no_row(tmp_path, rows):
    (tmp_path / "t.csv").write_text("sep=;\n" + FRAME.to_csv(index=False, sep=";"))
    read = held(tables(tmp_path / "t.csv", piece_rows=rows))
    pd.testing.assert_frame_equal(read, FRAME, check_dtype=False)


@pytest.mark.parametrize("end", ["1,2\n", "12\n", "blue\n", "1,2,Source: x\n", "Source,1,2\n"])
def test_a_row_that_is_cut_short_is_no_footer(tmp_path, end):
    (tmp_path / "t.csv").write_text(CSV + end)
    with pytest.raises(SourceError, match=r"line 62 has \d fields? where the header has 4"):
        held(tables(tmp_path / "t.csv"))


def test_times_do_not_make_a_colon_the_separator(tmp_path):
    text = "at,x\n" + "".join(f"12:{m:02}:30,{m}\n" for m in range(50))
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "one.csv").write_text("at\n" + "".join(f"12:{m:02}:30\n" for m in range(50)))
    assert tables(tmp_path / "t.csv").names == ("at", "x")
    assert tables(tmp_path / "one.csv").names == ("at",)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("rows", [7, 1_000])
def test_a_json_list_of_objects_is_its_rows_held_and_in_pieces(tmp_path, indent, rows):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(FRAME.to_dict("records"), indent=indent) + "\n")
    table = tables(path, piece_rows=rows)
    pd.testing.assert_frame_equal(held(table), FRAME, check_dtype=False)
    assert table.rows == len(FRAME)
    assert table.place(2) == ("line 1" if indent is None else "line 19")
    nested = [{"in": {"a": row.a, "b": row.b}, "y": row.y} for row in FRAME.itertuples()]
    path.write_text(json.dumps(nested, indent=indent))
    assert held(tables(path, piece_rows=rows))["in.a"].tolist() == FRAME["a"].tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": 1},\n{"a": 2},\n', "cut short: its JSON list is never closed"),
        ('[{"a": 1},\n{"a": 2', "cut short: its JSON list is never closed"),
        ('[{"a": 1},\n{"a" 2}]', r"line 2 is not a JSON object"),
        ('[{"a": 1}\n{"a": 2}]', "a comma is missing between objects"),
        ('[{"a": 1},\n{"a": 2, "a": 3}]', "line 2 names the column 'a' twice"),
        ("[[1, 2], [3, 4]]", "line 1 is not a JSON object"),
        ("[]", "has no rows"),
        ('{"a": {"0": 1, "1": 2}, "b": {"0": 1, "1": 2}}', "one JSON object with a whole table"),
        ('{"columns": ["a"], "data": [[1], [2]]}', "one JSON object with a whole table"),
        ('{"a": [1, 2], "b": [3, 4]}', "one JSON object with a whole table"),
    ],
)
def test_json_that_is_no_table_is_one_sentence(tmp_path, text, words):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(SourceError, match=words):
        held(tables(tmp_path / "t.json"))


@pytest.mark.parametrize("stream", [False, True])
def test_a_comparison_tells_of_a_footer_of_a_packed_file(tmp_path, stream):
    path = tmp_path / "t.csv.bz2"
    path.write_bytes(bz2.compress((CSV + "Source: somebody\n").encode()))
    found = compare(path, "y", methods=["linear"], time=5, stream=stream)
    assert any("'Source: somebody'" in remark for remark in found.remarks)


@pytest.mark.parametrize("ending", [b"\x1a", 50 * b"\0", b"\r\n\x1a\0\0"])
@pytest.mark.parametrize("start", [b"", 2 * b"\xef\xbb\xbf"])
@pytest.mark.parametrize("stream", [False, True])
def test_marks_before_a_text_and_padding_behind_are_no_part_of_it(tmp_path, start, ending, stream):
    rows = b"".join(b"%d,%d\n" % (i, 2 * i) for i in range(40))
    (tmp_path / "t.csv").write_bytes(start + b"x,y\n" + rows.rstrip() + ending)
    table = tables(tmp_path / "t.csv", piece_rows=7 if stream else 100)
    assert table.names == ("x", "y")
    assert held(table)["y"].tolist() == [2.0 * i for i in range(40)]


def test_notes_behind_a_blank_line_may_have_commas(tmp_path):
    rows = "".join(f"{i},{2 * i},{i % 3}\n" for i in range(40))
    notes = "\n* provisional\n** revised figure, see notes\n"
    (tmp_path / "t.csv").write_text("x,y,z\n" + rows + notes)
    table = tables(tmp_path / "t.csv")
    assert len(held(table)) == 40
    assert any("last 2 lines" in said for said in table.remarks)
