"""Hypothesis makes tables of odd cells: held and streamed they come to the same, or are refused."""

from __future__ import annotations

import csv
import io
import re
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfeat.errors import SourceError, TableError
from gradfeat.interface.open import opened
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.open import tables
from gradfeat.table.prepared import Prepared, prepare
from gradfeat.table.request import Request
from hostile.malformed import ODD

#: Cells of a column: plain ones of a kind, among which odd ones stand.
PLAIN = st.sampled_from(
    (
        tuple(map(str, range(40))),
        tuple(f"{v / 7:.3f}" for v in range(40)),
        tuple(f"2024-{1 + k % 12:02d}-11" for k in range(40)),
        ("p", "q", "r"),
        tuple(f"{k:02d}" for k in range(40)),
        tuple(f"{k},{k}" for k in range(40)),
    )
)
CELLS = tuple(cell for cell in ODD if cell.isprintable() and len(cell) < 100)
ASKED = Request("t", "y", rare_classes="drop")


@st.composite
def columns(draw: st.DrawFn, n: int) -> list[str]:
    cells = draw(PLAIN)
    column = [cells[draw(st.integers(0, len(cells) - 1))] for _ in range(n)]
    for _ in range(draw(st.integers(0, 3))):
        column[draw(st.integers(0, n - 1))] = draw(st.sampled_from(CELLS))
    return column


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A table of a target and up to three columns."""
    n = draw(st.integers(8, 40))
    named = [draw(columns(n)) for _ in range(draw(st.integers(2, 4)))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["y", *(f"c{k}" for k in range(len(named) - 1))])
    writer.writerows(zip(*named, strict=True))
    return out.getvalue()


def outcome(path: str, streamed: bool) -> Prepared | str:
    """What came of a table, or the sentence that refuses it."""
    try:
        if streamed:
            return prepare(tables(path, piece_rows=7, text=ASKED.wanted), ASKED, InProcess())
        return prepare(opened(path, ASKED.wanted, streamed=False), ASKED)
    except (TableError, SourceError) as error:
        return re.sub(r"'/\S+'|line \d+|row \d+", "", str(error))


@pytest.mark.slow
@settings(max_examples=40)
@given(texts())
def test_a_table_of_odd_cells_is_the_same_held_and_streamed_or_refused(text):
    with TemporaryDirectory() as folder:
        path = f"{folder}/t.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        held, streamed = (outcome(path, way) for way in (False, True))
    match held, streamed:
        case str(), _:
            assert held == streamed
            assert re.fullmatch(r".{10,}[.?!]", held, re.DOTALL)
        case Prepared(), Prepared():
            assert [n.kind for n in held.columns] == [n.kind for n in streamed.columns]
            assert held.target.classes == streamed.target.classes
            assert held.remarks == streamed.remarks
            for one, other in ((held.train, streamed.train), (held.test, streamed.test)):
                order = [np.lexsort(rows.T) for rows in (one, other)]
                np.testing.assert_allclose(one[order[0]], other[order[1]], rtol=1e-12)
        case _:
            raise AssertionError((type(held), streamed))
