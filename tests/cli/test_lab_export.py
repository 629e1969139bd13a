"""export: three formats read back by pandas, selections, files that cannot be written."""

from __future__ import annotations

import errno
import os

import numpy as np
import pandas as pd
import pytest

from cli.lab_files import GROWS, grows, refused, stored, well
from cli.tables import gradfeat


def read_json(path) -> pd.DataFrame:
    return pd.read_json(path, precise_float=True)


READ = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": read_json}


@pytest.mark.parametrize("kind", READ)
def test_every_format_reads_back_as_it_was_stored(capsys, folder, kind):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    out = well(capsys, "export", name, "--to", f"out.{kind}")
    assert f"6 rows of grows, version 1: out.{kind}" in out
    expected = stored(folder)
    expected.attrs = {}
    found = READ[kind](folder / f"out.{kind}")
    if kind == "json":  # pandas reads 2.0 as an integer
        found = found.astype(expected.dtypes)
    # Readers of decimal text may be off by one unit in the last place.
    pd.testing.assert_frame_equal(found, expected, rtol=np.finfo(float).eps)


@pytest.mark.parametrize("kind", READ)
def test_a_format_alone_names_the_file(capsys, folder, kind):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    well(capsys, "export", name, "--to", kind)
    assert len(READ[kind](folder / f"grows.{kind}")) == 6


def test_all_that_is_stored_unless_selected(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    well(capsys, "run", name, "--set", "n=5", "--no-figure")

    def rows(*words: object) -> int:
        well(capsys, "export", name, "--to", "csv", *words)
        return len(pd.read_csv(folder / "grows.csv"))

    assert rows() == 8
    assert rows("--scale", "quick") == 6
    assert rows("--scale", "quick", "--seeds", 1) == 3
    assert rows("--set", "n=1,5") == 4


def test_the_name_is_enough_where_the_file_is_gone(capsys, folder):
    well(capsys, "run", grows(folder), "--no-figure")
    (folder / "grows.py").unlink()
    well(capsys, "export", "grows", "--to", "csv")
    assert len(pd.read_csv(folder / "grows.csv")) == 6
    assert "file at hand" in refused(capsys, "export", "grows", "--to", "csv", "--seeds", 1)


def test_arrays_are_in_parquet_and_not_in_csv(capsys, folder):
    text = GROWS.replace('"twice": 2.0 * n', '"twice": np.arange(2.0) * n')
    name = grows(folder, "import numpy as np\n" + text)
    well(capsys, "run", name, "--no-figure")
    for kind in ("csv", "parquet"):
        well(capsys, "export", name, "--to", kind)
    assert "twice" not in pd.read_csv(folder / "grows.csv")
    found = pd.read_parquet(folder / "grows.parquet")
    np.testing.assert_array_equal(np.stack(list(found["twice"]))[-1], [0.0, 3.0])


def test_failed_cells_are_counted(capsys, folder):
    name = grows(folder)
    gradfeat(capsys, "run", name, "--scale", "paper", "--no-figure")
    assert "(2 failed cells are left out)" in well(capsys, "export", name, "--to", "csv")


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("results", "give a file that ends in"),
        ("a.xls", "give a file that ends in"),
        ("", "the value of --to is empty"),
        ("no/a.csv", "cannot be written"),
        ("taken.csv", "cannot be written"),
    ],
)
def test_a_target_that_cannot_be(capsys, folder, to, said):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    (folder / "taken.csv").mkdir()
    assert said in refused(capsys, "export", name, "--to", to)


def test_the_store_itself_is_no_target(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--store", "s.csv", "--no-figure")
    said = refused(capsys, "export", name, "--store", "s.csv", "--to", "s.csv")
    assert "the store itself" in said
    assert len(stored(folder, "s.csv")) == 6


def test_nothing_stored(capsys, folder):
    name = grows(folder)
    assert "does not exist" in refused(capsys, "export", name, "--to", "csv")
    gradfeat(capsys, "run", name, "--set", "n=9", "--no-figure")
    assert "no finished cell" in refused(capsys, "export", name, "--to", "csv")
    assert "there are grows" in refused(capsys, "export", "shrinks", "--to", "csv")


def test_a_full_disk_leaves_the_old_file_whole(capsys, folder, monkeypatch):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    (folder / "grows.csv").write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in refused(capsys, "export", name, "--to", "csv")
    assert (folder / "grows.csv").read_text() == "old"
