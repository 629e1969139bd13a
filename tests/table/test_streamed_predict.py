"""Predictions piece after piece: those in memory, in a file that appears when complete."""

from __future__ import annotations

import pandas as pd
import pytest

from gradfeat.estimators import RandomFeaturesRegressor
from gradfeat.rows.errors import SourceError
from gradfeat.rows.sources.frames import FrameTables
from gradfeat.rows.sources.open import tables
from gradfeat.table.errors import TableError
from gradfeat.table.streamed.predict import predicted_pieces, write_predictions
from gradfeat.table.table_model import TableModel
from table.streamed_tables import mixed, parted

# The same products of 32 features in other groups of rows.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def model() -> TableModel:
    found = parted(mixed())
    fitted = RandomFeaturesRegressor(width=32).fit(found.held.train, found.held.y_train)
    return TableModel(found.coding.encoder, fitted, "y", (), {})


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predictions_are_those_in_memory(model, tmp_path, name):
    frame, out = mixed(seed=1), tmp_path / name
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=90)
    pieces = predicted_pieces(model, tables(tmp_path / "t.parquet", piece_rows=100))
    assert write_predictions(pieces, out) == 400
    found = pd.read_csv(out) if name.endswith("csv") else pd.read_parquet(out)
    pd.testing.assert_frame_equal(found, model.predict(frame), rtol=ROUNDING, atol=ROUNDING)
    assert {p.name for p in tmp_path.iterdir()} == {"t.parquet", name}


def test_a_table_without_a_column_is_refused(model):
    pieces = predicted_pieces(model, FrameTables(mixed().drop(columns=["kind", "a"])))
    with pytest.raises(TableError, match="lacks 'a', 'kind'"):
        next(pieces)


def test_what_fails_midway_leaves_the_old_file(model, tmp_path):
    frame, out = mixed().astype({"a": object}), tmp_path / "p.csv"
    frame.loc[300, "a"] = "text"
    out.write_text("old")
    with pytest.raises(SourceError, match=r"data frame 0, rows 300 to 399: column 'a' held"):
        write_predictions(predicted_pieces(model, FrameTables(frame, 100)), out)
    assert [p.name for p in tmp_path.iterdir()] == ["p.csv"]
    assert out.read_text() == "old"


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(TableError, match="Cannot write"):
        write_predictions(iter([mixed()]), tmp_path / "none" / "p.csv")
