"""The smallest tries beside damaged files that the campaign, or a stranger's hand, found."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.tables import gradfeat, quantity, written
from gradfeat.cli.terminal import Terminal
from gradfeat.drawing import style
from gradfeat.errors import EngineError
from gradfeat.figures.confusion import confusion
from gradfeat.lab import Store
from gradfeat.lab.presence import presence_of
from gradfeat.maths.files import with_link
from gradfeat.maths.statistics.moments import Moments
from gradfeat.rows.checkpoint import Kept, _read
from gradfeat.rows.sources.open import tables
from gradfeat.rows.workers import interrupts_held
from gradfeat.table.leaks import _same_order
from gradfeat.table.reading import plan
from gradfeat.table.sums import about_sums


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(capsys, tmp_path):
    pipe, model = tmp_path / "pipe", tmp_path / "model"
    os.mkfifo(pipe)
    for words in (
        ("fit", pipe, "--target", "y"),
        ("diagnose", pipe, "--target", "y"),
        ("predict", pipe, pipe, "--out", tmp_path / "p.csv"),
        ("show", pipe),
        ("status", "--store", pipe),
        ("run", "ba22-step-size", "--store", pipe, "--no-figure"),
        ("refit", pipe, pipe, "--target", "y", "--out", model),
    ):
        ran = gradfeat(capsys, *words)
        assert ran.code == 2, words
        assert "is no regular file" in ran.err or "is a pipe or a device" in ran.err, ran.err


@pytest.mark.parametrize("name", ["model.gradfeat", "report.html", "comparison.csv"])
@pytest.mark.parametrize("command", ["fit", "diagnose"])
def test_a_table_in_the_place_of_a_file_of_the_report_is_not_written_to(
    capsys, tmp_path, command, name
):
    table = written(quantity(30), tmp_path, name)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / name).symlink_to(table)
    before = table.read_bytes()
    for out in (tmp_path, tmp_path / "linked"):
        ran = gradfeat(capsys, command, table, "--target", "y", "--time", "1", "--out", out)
        assert (ran.code, table.read_bytes()) == (2, before)
        assert "is read by this command" in ran.err


def test_who_writes_through_a_link_is_told_where_the_file_is(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert with_link(tmp_path / "link") == f"{tmp_path / 'link'} (a link to {tmp_path / 'file'})"
    assert with_link(tmp_path / "file") == str(tmp_path / "file")


def test_names_without_a_blank_are_broken_into_lines():
    lines = style.wrapped("1" + "0" * 400, 16).splitlines()
    assert [len(line) for line in lines] == [16, 16, 16]
    assert style.wrapped("$" * 9, 4) == "\\$" * 4 + "\n" + "\\$" * 4 + "\n\\$"


LONG = ("1" + "0" * 400, "2" + "0" * 400)


def test_a_class_of_400_digits_leaves_room_for_its_figure(tmp_path):
    drawn = confusion(np.zeros(2, int), np.ones(2, int), classes=LONG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn.figure.savefig(tmp_path / "c.svg")


@pytest.mark.parametrize(
    "metadata",
    [b"{not json", b"\xff\xfe", b"[]", b'{"index_columns": 3}',
     b'{"index_columns": [{"kind": "range", "name": "i", "start": "x", "step": 1}]}'],
)  # fmt: skip
def test_metadata_of_pandas_that_is_something_else_is_left_out(tmp_path, metadata):
    table = pa.table({"a": [1.0, 2.0]}).replace_schema_metadata({b"pandas": metadata})
    pq.write_table(table, tmp_path / "t.parquet")
    assert tables(str(tmp_path / "t.parquet")).names == ("a",)


def test_columns_near_the_largest_number_are_screened_without_a_warning():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, 60) * 1.7e308, rng.normal(size=60)
    assert _same_order(pd.Series(x), y) == ""
    assert _same_order(pd.Series(x), x) != ""
    assert _same_order(pd.Series(-x), x) != ""
    read = {"far": pd.Series(x), "a": pd.Series(y), "b": pd.Series(rng.normal(size=60))}
    total = (read["a"] + read["b"]).to_numpy()
    assert "'y' = 'a' + 'b'" in about_sums(read, total, "y")[0].replace("'b' + 'a'", "'a' + 'b'")


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u2028", "\x9b", "\x1b", "\x7f"])
def test_a_name_steers_no_terminal_and_does_not_turn_round(mark):
    Terminal(file=(shown := io.StringIO())).say(f"{mark}evil")
    assert mark not in shown.getvalue()
    assert "evil" in shown.getvalue()


def test_a_checkpoint_reads_regular_files_alone(tmp_path):
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(EngineError, match="is damaged or cannot be read"):
        Kept(Moments(), tmp_path, 1.0)
    (tmp_path / "total.safetensors").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="no regular file"):
        _read(tmp_path / "total.safetensors")


def test_without_masks_of_signals_processes_start_as_well(monkeypatch):
    for name in ("pthread_sigmask", "SIG_BLOCK", "SIG_SETMASK", "SIG_UNBLOCK"):
        monkeypatch.delattr(signal, name)  # Windows has none of them
    with interrupts_held():
        pass


def test_without_locks_of_files_a_run_is_alive_as_long_as_its_process(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    presence = presence_of(tmp_path / "s.db")
    presence.enter(1)
    (tmp_path / "s.db.run-2").write_text("[1, 0.0]")
    assert [presence.alive(run) for run in (1, 2, 3)] == [True, False, False]
    presence.leave(1)
    assert not presence.alive(1)
    with Store.open(tmp_path / "s.db") as store:
        assert store.status() == []


def test_reading_a_table_makes_no_folder_at_home(tmp_path, monkeypatch):
    """skrub makes one where it is imported, which failed in a home that cannot be written to."""
    name, made = "SKB_DATA_DIRECTORY", []
    monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "skrub")
    with plan._without_its_folder():
        assert os.path.isdir(os.environ[name])
        fake = SimpleNamespace(set_config=lambda **how: made.append(how))
        monkeypatch.setitem(sys.modules, "skrub", fake)
    assert made == [{"data_dir": str(tmp_path / "skrub_data")}]
    assert name not in os.environ
    with plan._without_its_folder():  # it is imported
        assert name not in os.environ
