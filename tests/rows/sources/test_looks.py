"""What a text looks like is found from its first lines, or told, and read in any pieces."""

from __future__ import annotations

import gzip
import json
import pickle
from dataclasses import asdict, replace

import pandas as pd
import pytest

from gradfeat.errors import SourceError
from gradfeat.rows.sources.open import csv_tables, tables
from gradfeat.rows.sources.tables import held
from gradfeat.rows.sources.text_options import FOUND, TextOptions, text_options

ECOLI = "AAT_ECOLI   0.49  0.29  cp\nACEA_ECOLI  0.07  0.40  cp\nACEK_ECOLI 0.56 0.40 im\n"

#: Text, columns, first row, and words of what is said of it.
PLAIN = {
    "blanks": (
        ECOLI,
        ["column_1", "column_2", "column_3", "column_4"],
        ["AAT_ECOLI", 0.49, 0.29, "cp"],
        "between blanks",
    ),
    "blanks with quotes": (
        '18.0   8   "che  velle"\n15.5   9   "buick"\n16.5 8 "a\tb"\n',
        ["column_1", "column_2", "column_3"],
        [18.0, 8.0, "che  velle"],
        "row, not",
    ),
    "blanks at both ends": (
        "   x  y  name \n  1.0  2  a  \n\n  3 4 b\n   \n",
        ["x", "y", "name"],
        [1.0, 2.0, "a"],
        "between blanks",
    ),
    "blanks, decimal comma": (
        "x y\n1,5 2,5\n1,7 3,2\n",
        ["x", "y"],
        ["1,5", "2,5"],
        "between blanks",
    ),
    "comments": (
        '# of "x\n# y\nx,y\n1,2\n# between "\n3,4\n# end',
        ["x", "y"],
        [1.0, 2.0],
        "'#' are comm",
    ),
    "a commented header": (
        "% x;y;z\n1,5;2;a\n3,5;4;b\n",
        ["x", "y", "z"],
        ["1,5", "2", "a"],
        "last comment",
    ),
    "a marked header": (
        "#id,name,v\n1,bob,2\n2,al,3\n",
        ["id", "name", "v"],
        [1.0, "bob", 2.0],
        "comment",
    ),
    "R": (
        '"x" "g" "y"\n"1" 1.5 "a b" 2\n"2" 2.5 "c" 3\n',
        ["x", "g", "y"],
        [1.5, "a b", 2.0],
        "R writes",
    ),
    "R with tabs": (
        "x\tg\ty\na b\t1.5\ta\t2\nb\t2.5\tc\t3\n",
        ["x", "g", "y"],
        [1.5, "a", 2.0],
        "R writes",
    ),
    "no header": (
        "5.1,3.5,Iris-a\n4.9,3.0,Iris-a\n4.7,3.2,Iris-b\n",
        ["column_1", "column_2", "column_3"],
        [5.1, 3.5, "Iris-a"],
        "--header reads it as one",
    ),
    "no header, letters": (
        "p,x,s\ne,x,t\np,b,s\ne,x,s\n",
        ["column_1", "column_2", "column_3"],
        ["p", "x", "s"],
        "row, not a header",
    ),
    "no header, decimal commas": (
        "1,5;2,5;3\n2,5;3,5;4\n1,7;2,2;5\n",
        ["column_1", "column_2", "column_3"],
        ["1,5", "2,5", "3"],
        "row, not a header",
    ),
    "no header, twice the same": (
        "1,1,2\n3,4,5\n6,7,8\n",
        ["column_1", "column_2", "column_3"],
        [1.0, 1.0, 2.0],
        "row, not a header",
    ),
    "years as names": (
        "Country,1960,1961\nAruba,5,6\nChile,1,2\n",
        ["Country", "1960", "1961"],
        ["Aruba", 5.0, 6.0],
        "",
    ),
    "numbers as names": ("0,1,2\n4.5,5,2\n6,1,2\n", ["0", "1", "2"], [4.5, 5.0, 2.0], ""),
    "perhaps numbers as names": (
        "3,7,1\n4,5,2\n6,1,2\n",
        ["3", "7", "1"],
        [4.0, 5.0, 2.0],
        "--no-header",
    ),
    "titles": (
        "Report\n\nmade by, x\nname,size,price\na,1,2\nb,2,3\nc,3,4\n",
        ["name", "size", "price"],
        ["a", 1.0, 2.0],
        "first 2 lines above",
    ),
    "titles, a separator after the header": (
        "Series Id:   L1\n\nAge:   16\n\nid,Year,Value,\nL1,1959,5.8\nL1,1960,5.1\nL2,1961,5\n",
        ["id", "Year", "Value"],
        ["L1", 1959.0, 5.8],
        "first 2 lines above",
    ),
    "words beside the numbers of rows": (
        '"","kind","use"\n"1","pp","no"\n"2","nn","auto"\n"3","pp","no"\n',
        ["Unnamed: 0", "kind", "use"],
        [1.0, "pp", "no"],
        "",
    ),
    "names in single quotes": (
        "'OBS'\t'GPA'\n1\t2.66\n2\t2.89\n",
        ["OBS", "GPA"],
        [1.0, 2.66],
        "",
    ),
    "a column of sentences": ("text\nhello, world\nmy, dear\n", ["text"], ["hello, world"], ""),
    "blanks before quotes": ('"a", "b"\n 41, "x, y"\n 42, "z"\n', ["a", "b"], [41.0, "x, y"], ""),
    "a separator at the end": ("a,b\n1,2,\n4,5,\n", ["a", "b", "Unnamed: 2"], [1.0, 2.0, None], ""),
    "a column named as those without a name": (
        ",Unnamed: 0,b\n1,2,4\n5,6,7\n",
        ["Unnamed: 0.1", "Unnamed: 0", "b"],
        [1.0, 2.0, 4.0],
        "",
    ),
    "colours": ("color,v\n#ff0000,1\n#00ff00,2\n", ["color", "v"], ["#ff0000", 1.0], ""),
    "quoted lines": (
        'x,t\n1,"a\n# no comment\nb"\n2,c\n',
        ["x", "t"],
        [1.0, "a\n# no comment\nb"],
        "",
    ),
    "utf-16": ("x\té\r\n1\tü\r\n2\tö\r\n".encode("utf-16"), ["x", "é"], [1.0, "ü"], "UTF-16"),
    "utf-32": ("x\té\r\n1\tü\r\n2\tö\r\n".encode("utf-32"), ["x", "é"], [1.0, "ü"], "UTF-32"),
    "utf-16 without mark": (
        "x,é\n1,ü\n2,ö\n".encode("utf-16-be"),
        ["x", "é"],
        [1.0, "ü"],
        "UTF-16",
    ),
    "Windows": (
        "x,t\n1,Zürich €\n2,Genève\n".encode("cp1252"),
        ["x", "t"],
        [1.0, "Zürich €"],
        "--encoding",
    ),
    "gz": (gzip.compress(b"# a\nx y\n1 2\n# b\n3 4"), ["x", "y"], [1.0, 2.0], "comments"),
}


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def first_row(frame):
    row = frame.iloc[0].astype(object)
    return row.where(row.notna(), None).tolist()


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_what_a_text_looks_like_is_found_and_told(tmp_path, case):
    text, names, row, said = PLAIN[case]
    table = csv_tables(written(tmp_path, text))
    frame = held(table)
    assert list(frame.columns) == names
    assert first_row(frame) == row
    assert said in "; ".join(table.remarks)
    assert bool(table.remarks) == bool(said)
    assert table.rows in (len(frame), None)
    single = csv_tables(tmp_path / "a.csv", piece_rows=1)
    single = single.read_as(single.cells)
    chunks = [c for p in single.pieces() for c in pickle.loads(pickle.dumps(p)).read()]
    assert [len(chunk) for chunk in chunks] == [1] * len(frame)
    pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), frame)


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_further_files_are_read_as_the_first_one(tmp_path, case):
    text, names, _, _ = PLAIN[case]
    for name in ("a.csv", "b.csv"):
        written(tmp_path, text, name)
    both = held(csv_tables(tmp_path))
    one = held(csv_tables(tmp_path / "a.csv"))
    assert list(both.columns) == names
    pd.testing.assert_frame_equal(both, pd.concat([one, one], ignore_index=True))


@pytest.mark.parametrize(
    ("text", "told", "names", "row"),
    [
        ("x:y\n1:2\n", text_options(":", None, None, None), ["x", "y"], [1.0, 2.0]),
        ("x,y\n1,2\n// no\n3,4\n", text_options(None, "//", None, None), ["x", "y"], [1.0, 2.0]),
        ("3,4\n1,2\n", text_options(None, None, False, None), ["column_1", "column_2"], [3.0, 4.0]),
        ("3.5,4\n1,2\n1,2", text_options(None, None, True, None), ["3.5", "4"], [1.0, 2.0]),
        (
            "x,и\n1,ж\n".encode("cp1251"),
            text_options(None, None, None, "CP1251"),
            ["x", "и"],
            [1.0, "ж"],
        ),
        ("a,b c\n1,2 3\n", text_options("blanks", None, None, None), ["a,b", "c"], ["1,2", "3"]),
        ("#a,b\n1,2\n", text_options(None, "%", None, None), ["#a", "b"], [1.0, 2.0]),
    ],
)
def test_what_is_told_wins(tmp_path, text, told, names, row):
    table = csv_tables(written(tmp_path, text), text=told)
    assert list(held(table).columns) == names
    assert first_row(held(table)) == row
    assert not table.remarks


@pytest.mark.parametrize(
    ("text", "wanted", "names"),
    [
        ("# x y z\n1.5 2 3\n4 5 6\n", "z", ["x", "y", "z"]),
        ("1100.5,1102.5,class\n.1,.2,a\n.3,.4,b\n", "class", ["1100.5", "1102.5", "class"]),
        ("3,7\n4,5\n6,1\n", "column_2", ["column_1", "column_2"]),
    ],
)
def test_columns_that_are_asked_for_tell_a_header_from_a_row(tmp_path, text, wanted, names):
    table = tables(written(tmp_path, text), text=TextOptions(wanted=(wanted,)))
    assert list(table.names) == names


SURVEY = (
    "id,Fan?,Rank these,,Sex\n,Response,red,blue,Response\n1,yes,2,1,f\n2,no,1,2,m\n3,no,1,2,f\n"
)


@pytest.mark.parametrize(
    ("text", "names", "rows", "said"),
    [
        (SURVEY.replace("these,,", "these,0,"), None, 4, ""),
        (SURVEY, ["id", "Fan?", "Rank these", "blue", "Sex"], 3, "second line goes on"),
        (SURVEY.replace("Response", "no"), None, 4, ""),
        ("x,z,y\n,Response,Response\na,c,no\nb,d,yes\na,d,yes\n", ["x", "z", "y"], 3, "second"),
        ("x,z,y\n,c,c\na,c,no\nb,d,c\na,d,yes\n", ["x", "z", "y"], 4, ""),
        ("In,In,Out\nx,z,y\n1,2,3\n4,5,6\n7,8,9\n", ["x", "z", "y"], 3, "the first line above"),
        (
            "Station: 4711, north\nExported: 2021-03-04\nRows: 3\n\nx,z,y\n1,2,3\n4,5,6\n7,8,9\n",
            ["x", "z", "y"],
            3,
            "the first 3 lines above the header left out",
        ),
        (
            "Station: 1, north, up\nRows: 3\nx,z,y\n1,2,3\n4,5,6\n7,8,9\n",
            ["x", "z", "y"],
            3,
            "2 lin",
        ),
    ],
)
def test_the_names_of_columns_are_found_below_titles_and_in_two_lines(
    tmp_path, text, names, rows, said
):
    (tmp_path / "t.csv").write_text(text)
    table = tables(tmp_path / "t.csv", piece_rows=2)
    assert len(held(table)) == rows
    assert names is None or list(table.names) == names
    assert said in " ".join(table.remarks)
    assert names is None or said or not table.remarks


def test_a_header_above_rows_that_the_model_knows_without_one_is_no_row(tmp_path):
    (tmp_path / "t.csv").write_text("0.5,2,9\n1.5,3,8\n2.5,7,6\n")
    trained = tables(tmp_path / "t.csv", text=FOUND)
    assert trained.names == ("column_1", "column_2", "column_3")
    like = TextOptions(
        wanted=("column_1", "column_2"), like=replace(trained.text, target="column_3")
    )
    for path, text in {"n.csv": "x,z\n1,2\n3,4\n", "rows.csv": "1,2\n3,4\n"}.items():
        (tmp_path / path).write_text(text)
        table = tables(tmp_path / path, text=like)
        assert held(table).to_numpy().tolist() == [[1, 2], [3, 4]]
        assert ("'x', 'z', is a header" in str(table.remarks)) == ("x" in text)
    told = tables(tmp_path / "n.csv", text=replace(like, header=False))
    assert len(held(told)) == 3
    (tmp_path / "stray.csv").write_text("x,2\n3,4\n5,6\n")
    assert len(held(tables(tmp_path / "stray.csv", text=like))) == 3


def test_a_value_of_the_first_row_asked_for_as_a_column_is_refused(tmp_path):
    with pytest.raises(SourceError, match=r"looks like a row.*--no-header, with which 'cp' stands"):
        tables(written(tmp_path, ECOLI), text=TextOptions(wanted=("cp",)))


def test_lines_that_look_like_comments_are_told_of(tmp_path):
    with pytest.raises(SourceError, match=r"line 3 has 1 field.*left out with --comment '//'"):
        csv_tables(written(tmp_path, "x,y\n1,2\n// no\n3,4\n"))


@pytest.mark.parametrize("words", [("::",), (None, ""), (None, None, None, "klingon")])
def test_what_cannot_be_told_is_refused(words):
    with pytest.raises(SourceError, match="give"):
        text_options(*[*words, None, None, None, None][:4])


@pytest.mark.parametrize(
    ("fitted", "further", "row"),
    [
        (ECOLI, "AAT_ECOLI 0.5 0.25\n", ["AAT_ECOLI", 0.5, 0.25]),
        (ECOLI, "AAT_ECOLI 0.5 0.25 cp", ["AAT_ECOLI", 0.5, 0.25]),
        ("3.5;7;1\n4;5;2\n6;1,5;3\n", "4;5", [4.0, 5.0]),
        ("a:b:y\n1:2:3\n4:5:6\n", "b:a\n2:1", [1.0, 2.0]),
    ],
)
def test_a_file_like_the_one_before_needs_no_telling(tmp_path, fitted, further, row):
    told = text_options(":", None, None, None) if ":" in fitted else FOUND
    table = csv_tables(written(tmp_path, fitted), text=told)
    kept = replace(table.text, target=table.names[-1])
    like = TextOptions.kept(json.loads(json.dumps(asdict(kept))))
    columns = table.names[:-1]
    table = csv_tables(written(tmp_path, further), text=TextOptions(wanted=columns, like=like))
    assert [str(cell) for cell in first_row(held(table.select(columns)))] == [str(c) for c in row]


PLAIN_MODEL = "x,z,y\n1.5,2,3\n4,5,6.5\n7,8,9\n"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("# Export\n", "1.5,2\n4,5\n"),
        ("# Export\n", "1.5,2\n# between, some\n4,5\n"),
        ("Export of 2021\n", "1.5,2\n4,5\n"),
        ("Export of 2021\n\n", "1.5,2\n4,5\n"),
        ("Export\nof me, them\n\n", "1.5,2\n4,5\n"),
        ("Input,\n", "1.5,2\n4,5\n"),
    ],
)
def test_lines_above_the_header_of_a_further_file_need_not_have_been_in_the_first(
    tmp_path, above, below, packed
):
    trained = csv_tables(written(tmp_path, PLAIN_MODEL))
    like = TextOptions(wanted=("x", "z"), like=replace(trained.text, target="y"))
    further = f"{above}x,z\n{below}".encode()
    path = written(tmp_path, gzip.compress(further) if packed else further)
    table = csv_tables(path, text=like)
    assert held(table).to_numpy().tolist() == [[1.5, 2], [4, 5]]
    assert table.remarks


@pytest.mark.parametrize(
    ("above", "left_out"),
    [
        ("Input,,Output\nx,z,y\n", "the first line"),
        ("Input,,Output\nx,z,y\nkg,m,EUR\n", "the first line"),
        ("Input,Input,Output\nx,z,y\nkg,m,EUR\n", "the first line"),
        ("Report of May,,\nInput,,Output\nx,z,y\n", "the first 2 lines"),
    ],
)
def test_the_line_with_the_target_is_the_header_below_names_of_groups(tmp_path, above, left_out):
    path = written(tmp_path, f"{above}1,2,3\n4,5,6\n7,8,9\n")
    table = csv_tables(path, text=TextOptions(wanted=("y",)))
    assert table.names == ("x", "z", "y")
    assert held(table)["y"].astype(str).str.rstrip("0").str.rstrip(".").tolist()[-3:] == list("369")
    assert f"{left_out} above the header left out" in "; ".join(table.remarks)


def test_a_class_called_as_the_target_makes_no_row_a_header(tmp_path):
    path = written(tmp_path, "a,b,kind\n1,x,p\n2,y,kinds\n3,x,p\n")
    assert csv_tables(path, text=TextOptions(wanted=("kinds",))).names == ("a", "b", "kind")


@pytest.mark.parametrize(
    ("rows", "cells", "said"),
    [
        ("'a, b',1\n'it''s \"so\"',2\nc,3\n", ["a, b", 'it\'s "so"', "c"], "quoted with '"),
        ('"say \\"hi, you\\"",1\n"a\\\\",2\nc,3\n', ['say "hi, you"', "a\\", "c"], "a backslash"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_fields_quoted_in_other_ways_are_one_field(tmp_path, rows, cells, said, packed):
    text = f"t,n\n{rows}".encode()
    path = written(tmp_path, gzip.compress(text) if packed else text)
    table = csv_tables(path, piece_rows=2)
    assert held(table).to_numpy().tolist() == [[cell, i + 1.0] for i, cell in enumerate(cells)]
    assert said in "; ".join(table.remarks)
    like = TextOptions.kept(json.loads(json.dumps(asdict(table.text))))
    further = written(tmp_path, "t,n\n'c',4\n" if "'" in said else "t,n\nc,4\n")
    known = csv_tables(further, text=TextOptions(wanted=("t", "n"), like=like))
    assert held(known).to_numpy().tolist() == [["c", 4.0]]
