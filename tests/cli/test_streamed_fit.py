"""fit and predict on tables that stream: folders, processes, bad files, interruptions."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.tables import classes, gradfeat, quantity, results, written

#: More time than they need: what ends by the clock depends on what else the machine does.
QUICK = ("--methods", "linear,random-features", "--width", "32", "--time", "60")

# Ridge on 32 features of 180 rows: rounding times a condition of about 1e4.
ROUNDING = 1e-9


pytestmark = pytest.mark.usefixtures("no_page")


def scores(out: Path) -> list[float]:
    return [s["estimate"] for m in results(out)["methods"] for s in m["scores"].values()]


def folder_of(frame: pd.DataFrame, folder: Path, files: int = 3) -> Path:
    """`frame` as Parquet files with row groups of 20 rows."""
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[part].to_parquet(
            folder / f"{number}.parquet",
            row_group_size=20,
            index=False,
            write_page_checksum=True,
            compression="none",
        )
    return folder


def fit(capsys, data, out, *words):
    return gradfeat(capsys, "fit", data, "--target", "y", "--out", out, *QUICK, *words)


@pytest.mark.parametrize("frame", [quantity(240), classes(240, 3)], ids=["numbers", "classes"])
def test_a_folder_a_file_and_text_give_the_same_fit(capsys, tmp_path, frame):
    folder = folder_of(frame, tmp_path / "rows")
    frame.to_parquet(tmp_path / "t.parquet")
    table, found = written(frame, tmp_path), []
    for data, words in (
        (folder, ()),
        (f"{folder}/*.parquet", ()),
        (tmp_path / "t.parquet", ("--stream",)),
        (table, ("--stream",)),
    ):
        ran = fit(capsys, data, tmp_path / "out", *words)
        assert (ran.code, ran.err) == (0, "")
        found.append(scores(tmp_path / "out"))
    assert "240 rows, 4 input columns, streamed in 1 piece; " in ran.out
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "report.html",
        "results.json",
        "comparison.csv",
        "model.gradfeat",
    }
    for each in found[1:]:
        assert each == pytest.approx(found[0], rel=ROUNDING, abs=ROUNDING)


def test_predictions_in_passes_are_those_in_memory(capsys, tmp_path):
    frame = quantity(240)
    folder, table = folder_of(frame, tmp_path / "rows"), written(frame, tmp_path)
    assert fit(capsys, folder, tmp_path / "out").code == 0
    model, said = tmp_path / "out" / "model.gradfeat", []
    for data, name in ((folder, "p.csv"), (table, "q.csv"), (folder, "p.parquet"), (table, "q.pq")):
        ran = gradfeat(capsys, "predict", model, data, "--out", tmp_path / name)
        assert (ran.code, ran.err) == (0, "")
        assert "240 predictions of y" in ran.out
        read = pd.read_csv if name.endswith("csv") else pd.read_parquet
        said.append(read(tmp_path / name))
    for each in said[1:]:
        pd.testing.assert_frame_equal(each, said[0], atol=ROUNDING)


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        (("--jobs", "2"), "2 processes"),
        pytest.param(
            ("--dask", "local", "--jobs", "1"),
            "a Dask cluster of 1 process on this machine",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_processes_give_what_threads_give(capsys, tmp_path, words, engine):
    folder = folder_of(quantity(240), tmp_path / "rows")
    assert fit(capsys, folder, tmp_path / "threads").code == 0
    ran = fit(capsys, folder, tmp_path / "processes", *words)
    assert (ran.code, ran.err) == (0, "")
    assert results(tmp_path / "processes")["streaming"]["engine"] == engine
    found, expected = scores(tmp_path / "processes"), scores(tmp_path / "threads")
    assert found == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)


def torn(folder: Path) -> Path:
    """A folder with a page damaged in the middle file."""
    data = bytearray((folder / "1.parquet").read_bytes())
    data[len(data) // 3] ^= 0xFF
    (folder / "1.parquet").write_bytes(data)
    return folder


def test_a_damaged_file_is_named_before_anything_is_fitted(capsys, tmp_path):
    ran = fit(capsys, torn(folder_of(quantity(240), tmp_path / "rows")), tmp_path / "out")
    assert ran.code == 2
    assert "1.parquet', row group" in ran.err
    assert "is damaged" in ran.err
    assert ran.err.count("\n") == 1
    assert "Linear" not in ran.out
    assert not (tmp_path / "out" / "report.html").exists()


def test_a_column_that_holds_dates_in_one_file_and_numbers_in_others_is_named(capsys, tmp_path):
    folder = folder_of(quantity(240), tmp_path / "rows")
    dates = pd.Timestamp("2024-01-01")
    pd.read_parquet(folder / "1.parquet").assign(a=dates).to_parquet(folder / "1.parquet")
    ran = fit(capsys, folder, tmp_path / "out")
    assert ran.code == 2
    assert "1.parquet" in ran.err
    assert "'a'" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("words", [("--stream",), ("--no-stream",)])
def test_missing_targets_are_dropped_or_refused_as_asked(capsys, tmp_path, words):
    frame = quantity(240)
    frame.loc[::8, "y"] = None
    table = written(frame, tmp_path)
    ran = fit(capsys, table, tmp_path / "out", *words)
    assert (ran.code, results(tmp_path / "out")["n_rows"]) == (0, 210)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "30 rows without a target left out" in page
    assert "30 rows without a target left out" in " ".join(ran.out.split())
    ran = fit(capsys, table, tmp_path / "out", *words, "--missing-target", "refuse")
    assert ran.code == 2
    assert "missing in 30 of 240 rows" in ran.err


@pytest.mark.parametrize("words", [("--stream",), ("--no-stream",)])
def test_ignored_columns_are_left_out(capsys, tmp_path, words):
    table = written(quantity(240), tmp_path)
    assert fit(capsys, table, tmp_path / "out", *words, "--ignore", "when, kind").code == 0
    assert [c["name"] for c in results(tmp_path / "out")["columns"]] == ["a", "b"]
    commas = written(quantity(240).rename(columns={"kind": "resp, heart"}), tmp_path, "commas.csv")
    asked = ("--ignore", "resp, heart", "--ignore", "when")
    assert fit(capsys, commas, tmp_path / "out", *words, *asked).code == 0
    assert [c["name"] for c in results(tmp_path / "out")["columns"]] == ["a", "b"]
    ran = fit(capsys, table, tmp_path / "out", *words, "--ignore", "kin")
    assert ran.code == 2
    assert "no column 'kin' to ignore; did you mean 'kind'?" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jobs", "2", "--no-stream"), "leave one of them out"),
        (("--stream", "--time-column", "when"), "--time-column"),
        (("--dask", "tcp://127.0.0.1:9"), "no Dask scheduler answers"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(capsys, tmp_path, words, said):
    ran = fit(capsys, written(quantity(240), tmp_path), tmp_path / "out", *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_an_empty_folder_is_one_sentence(capsys, tmp_path):
    (tmp_path / "rows").mkdir()
    ran = fit(capsys, tmp_path / "rows", tmp_path / "out")
    assert ran.code == 2
    assert "rows'" in ran.err
    assert ran.err.count("\n") == 1


#: The program; once two passes are kept it leaves the test the time to interrupt it.
HELD = """
import os, sys, time
from gradfeat.cli import main
replace, totals = os.replace, []
def held(source, target):
    replace(source, target)
    if str(target).endswith("total.safetensors"):
        totals.append(target)
        time.sleep(5 * (len(totals) == 2))
os.replace = held
sys.exit(main())
"""


@pytest.mark.parametrize(
    "ending",
    [
        signal.SIGTERM,  # as a scheduler of jobs stops them
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_fit_goes_on_from_its_passes(capsys, tmp_path, ending):
    folder, out = folder_of(quantity(600), tmp_path / "rows"), tmp_path / "out"
    words = ["fit", str(folder), "--target", "y", "--out", str(out), *QUICK]
    program = [sys.executable, "-c", HELD, *words]
    with subprocess.Popen(
        program, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        finished = out / "checkpoint"
        (finished / "pass-of-another-fit").mkdir(parents=True, exist_ok=True)
        while len([*finished.glob("pass-*/total.safetensors")]) < 2:
            assert run.poll() is None, run.communicate()[1]
            time.sleep(0.01)
        run.send_signal(ending)
        said = run.communicate()[1]
    assert not (out / "report.html").exists()
    if ending != signal.SIGKILL:
        assert run.returncode == 130
        assert said.count("\n") == 1
        assert "the same command goes on from there" in said
        assert str(finished) in said
    again = gradfeat(capsys, *words, "--verbose")
    assert (again.code, again.err) == (0, "")
    assert "Preparing: rows and target, 100 %, done before" in again.out
    assert [path.name for path in finished.iterdir()] == ["pass-of-another-fit"]
    assert gradfeat(capsys, *words[:5], tmp_path / "whole", *words[6:]).code == 0
    assert scores(out) == pytest.approx(scores(tmp_path / "whole"), rel=ROUNDING, abs=ROUNDING)
