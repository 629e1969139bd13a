"""Blocks from tables: which columns are numbers, what is missing, and what is counted."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.errors import SourceError
from gradfeat.rows.sources.parquet import ParquetTables
from gradfeat.rows.sources.table_rows import TableRows
from gradfeat.rows.sources.tables import FrameTables

GOOD = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1, 2, 3, 4], "w": [1, 0, 2, 1], "y": [1.0, 2.0, 3.0, 4.0]}


def rows_of(
    piece_rows=2, inputs=None, weight=None, missing: Any = "refuse", targets: Any = "y", **changed
):
    table = FrameTables(pd.DataFrame(GOOD | changed), piece_rows=piece_rows)
    return TableRows(table, targets, inputs, weight, missing)


def blocks(rows):
    return [block for piece in rows.pieces() for block in piece.read()]


def test_inputs_are_all_columns_but_targets_and_weight():
    rows = rows_of(weight="w", targets=["y", "b"])
    assert rows.columns.inputs == ("a",)
    assert rows.columns.targets == ("y", "b")
    first, second = blocks(rows)
    assert second.X.tolist() == [[3], [4]]
    assert second.y.tolist() == [[3, 3], [4, 4]]
    assert first.w.tolist() == [1, 0]
    assert {first.X.dtype, first.y.dtype, first.w.dtype} == {torch.float64}
    assert first.X.is_contiguous()


def test_float32_is_given_where_asked():
    rows = TableRows(FrameTables(pd.DataFrame(GOOD)), "y", dtype=torch.float32)
    assert blocks(rows)[0].X.dtype == torch.float32
    with pytest.raises(SourceError, match=r"dtype is torch\.int64"):
        TableRows(FrameTables(pd.DataFrame(GOOD)), "y", dtype=torch.int64)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([True, False, True, True]),
        pd.array([1, 0, 1, 1], "Int64"),
        pd.array([1, 0, 1, 1], "Float32"),
        pd.array([1, 0, 1, 1], "int64[pyarrow]"),
        np.array([1, 0, 1, 1], "uint8"),
        np.array([True, False, True, True], object),
        [Decimal(1), Decimal(0), Decimal(1), Decimal(1)],
    ],
)
def test_numbers_of_every_kind_are_read(column):
    (block,) = blocks(rows_of(piece_rows=4, inputs=["b", "a"], b=column))
    assert block.X[:, 0].tolist() == [1, 0, 1, 1]
    assert block.X[:, 1].tolist() == GOOD["a"]


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (["u", "v", "w", "x"], "text"),
        (["u", None, "w", "x"], "text"),
        (pd.Categorical([1, 2, 1, 2]), "categories"),
        (pd.to_datetime(["2020-01-01"] * 4), "dates"),
        ([datetime.date(2020, 1, 1)] * 4, "dates"),
        ([1j, 2, 3, 4], "complex"),
        ([1, "two", 3, 4], "mixed"),
    ],
)
def test_columns_that_are_no_numbers_are_refused_naming_column_and_rows(column, what):
    with pytest.raises(SourceError, match=rf"data frame 0, rows 0 to .*column 'b' holds {what}"):
        blocks(rows_of(piece_rows=4, b=column))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_inputs_missing_or_infinite_are_refused_with_column_rows_and_number(bad):
    with pytest.raises(SourceError, match="rows 2 to 3: input 'a' has 2 values missing or infin"):
        blocks(rows_of(a=[1.0, 2.0, bad, bad]))


def test_missing_values_of_nullable_columns_are_found():
    with pytest.raises(SourceError, match="input 'b' has 1 value missing"):
        blocks(rows_of(b=pd.array([1, None, 3, 4], "Int64")))
    with pytest.raises(SourceError, match="input 'b' has 1 value missing"):
        blocks(rows_of(b=np.array([True, None, False, True], object)))


def test_missing_targets_are_refused_with_their_number_or_dropped():
    y = [1.0, np.nan, np.nan, np.nan]
    with pytest.raises(SourceError, match=r"rows 0 to 1: target 'y' is missing in 1 row: .*drop"):
        blocks(rows_of(y=y))
    rows = rows_of(y=y, a=[1.0, np.nan, 3.0, 4.0], missing="drop")
    first, second = blocks(rows)
    assert first.X.tolist() == [[1, 1, 1]]
    assert second.X.shape == (0, 3)


def test_a_row_is_dropped_where_any_of_several_targets_is_missing():
    rows = rows_of(
        piece_rows=4, y=[1, None, 3, 4], b=[1, 2, 3, None], targets=["y", "b"], missing="drop"
    )
    assert blocks(rows)[0].X[:, 0].tolist() == [1, 3]


def test_infinite_targets_are_refused_even_where_missing_ones_are_dropped():
    with pytest.raises(SourceError, match="target 'y' has 1 value missing or infinite"):
        blocks(rows_of(y=[1.0, np.inf, 1.0, 1.0], missing="drop"))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_must_be_finite_and_not_negative(bad):
    with pytest.raises(SourceError, match="rows 2 to 3: weight 'w' has 1 value missing, infinite"):
        blocks(rows_of(weight="w", w=[1.0, 1.0, 1.0, bad]))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"targets": "yy"}, r"no column 'yy'; did you mean 'y'\?"),
        ({"inputs": ["A1"]}, "no column 'A1'"),
        ({"inputs": ["a", "y"]}, "'y' would be an input and a target"),
        ({"inputs": ["a", "w"], "weight": "w"}, "'w' would be an input and a target or weight"),
        ({"inputs": ["a", "a"]}, "more than one column named 'a'"),
        ({"inputs": []}, "left without input"),
        ({"targets": []}, "left without target"),
        ({"missing": "guess"}, "missing is 'guess': give 'refuse' or 'drop'"),
    ],
)
def test_columns_that_cannot_be_are_refused(asked, sentence):
    with pytest.raises(SourceError, match=sentence):
        rows_of(**asked)


def test_a_text_column_of_one_file_is_named_with_file_and_row_group(tmp_path):
    frame = pd.DataFrame(GOOD | {"t": list("abcd")})
    frame.to_parquet(tmp_path / "a.parquet")
    table = ParquetTables(tmp_path)
    with pytest.raises(SourceError, match=r"a\.parquet', row group 0: column 't' holds text"):
        blocks(TableRows(table, "y"))
    rows = TableRows(table, "y", inputs=["b"])
    assert rows.tables.names == ("b", "y")
    again = pickle.loads(pickle.dumps(rows))
    assert blocks(again)[0].X.tolist() == [[1], [2], [3], [4]]
    assert again.fingerprint == rows.fingerprint != TableRows(table, "y", ["a"]).fingerprint
    assert (rows.count, rows.parallel) == (1, True)
