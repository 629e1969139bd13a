"""Tables in files come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sweep_trials import make, unbounded

from gradfeat.lab import ExperimentError, StoreError, run
from gradfeat.lab.tables import export


def test_csv_and_parquet_round_trip(tmp_path):
    table = run(make())
    export(table, tmp_path / "t.csv")
    export(table, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), table, rtol=1e-15)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), table)


def test_arrays_are_nested_lists_in_parquet_and_json_and_not_in_csv(tmp_path):
    table = run(make(), arrays=True)
    for name in ("t.csv", "t.parquet", "t.json"):
        export(table, tmp_path / name)
    assert "draws" not in pd.read_csv(tmp_path / "t.csv").columns
    back = pd.read_parquet(tmp_path / "t.parquet")["draws"]
    records = json.loads((tmp_path / "t.json").read_text())
    for row, listed, record in zip(table["draws"], back, records, strict=True):
        np.testing.assert_array_equal(np.stack(list(listed)), row)
        np.testing.assert_array_equal(record["draws"], row)
    assert records[0]["n"] == 1
    assert isinstance(table["draws"][0], np.ndarray)


def test_json_has_null_for_what_is_not_finite(tmp_path):
    table = run(make(unbounded, grids={"quick": {"n": range(3)}}, seeds=1))
    export(table, tmp_path / "t", "json")
    assert [r["a"] for r in json.loads((tmp_path / "t").read_text())] == [None] * 3


def test_what_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(ExperimentError, match="'xml' is no format; there are csv, parquet, json"):
        export(run(make()), tmp_path / "t.csv", "xml")
    with pytest.raises(StoreError, match="cannot be written"):
        export(run(make()), tmp_path / "no" / "t.csv")
