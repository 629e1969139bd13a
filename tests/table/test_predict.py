"""Predictions piece after piece: those in memory, in a file that appears when complete."""

from __future__ import annotations

import pandas as pd
import pytest

from gradfeat.estimators import RandomFeaturesRegressor
from gradfeat.rows.errors import SourceError
from gradfeat.rows.sources.in_memory import FrameTables
from gradfeat.rows.sources.open import tables
from gradfeat.table.errors import TableError
from gradfeat.table.predict import Predictor, write_predictions
from gradfeat.table.table_model import TableModel
from table.streamed_tables import mixed, parted

# The same products of 32 features in other groups of rows.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def model() -> TableModel:
    found = parted(mixed())
    fitted = RandomFeaturesRegressor(width=32).fit(found.train, found.y_train)
    return TableModel(found.encoder, fitted, "y", (), {})


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predictions_are_those_in_memory(model, tmp_path, name):
    frame, out = mixed(seed=1), tmp_path / name
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=90)
    pieces = Predictor(model).frames(tables(tmp_path / "t.parquet", piece_rows=100))
    assert write_predictions(pieces, out) == 400
    found = pd.read_csv(out) if name.endswith("csv") else pd.read_parquet(out)
    pd.testing.assert_frame_equal(found, model.predict(frame), rtol=ROUNDING, atol=ROUNDING)
    assert {p.name for p in tmp_path.iterdir()} == {"t.parquet", name}


def test_a_table_without_a_column_is_refused(model):
    pieces = Predictor(model).frames(FrameTables(mixed().drop(columns=["kind", "a"])))
    with pytest.raises(TableError, match="lacks 'a', 'kind'"):
        next(pieces)


def test_what_fails_midway_leaves_the_old_file(model, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("old")

    def frames():
        yield from Predictor(model).frames(FrameTables(mixed(), 100))
        raise SourceError("row group 4 is damaged")

    with pytest.raises(SourceError, match="row group 4"):
        write_predictions(frames(), out)
    assert [p.name for p in tmp_path.iterdir()] == ["p.csv"]
    assert out.read_text() == "old"


def test_what_cannot_be_read_is_missing_and_counted_over_all_pieces(model):
    frame = mixed().astype({"a": object, "kind": object, "when": object})
    frame.loc[[10, 350], "a"], frame.loc[20, "kind"], frame.loc[30, "when"] = "?", "z", "soon"
    predictor = Predictor(model)
    said = pd.concat(predictor.frames(FrameTables(frame, 100)), ignore_index=True)
    assert {(u.column, u.cells, u.example, u.row) for u in predictor.unread} == {
        ("a", 2, "?", 10),
        ("kind", 1, "z", 20),
        ("when", 1, "soon", 30),
    }
    gaps = frame.replace({"a": {"?": None}, "kind": {"z": None}, "when": {"soon": None}})
    pd.testing.assert_frame_equal(said, model.predict(gaps), rtol=ROUNDING, atol=ROUNDING)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(TableError, match="Cannot write"):
        write_predictions(iter([mixed()]), tmp_path / "none" / "p.csv")
