"""Bad input: exit code 2, one sentence on stderr, nothing written; odd but good input works."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.tables import QUICK, Ran, classes, gradfeat, quantity, results, without_pages, written


def is_one_sentence(ran: Ran) -> bool:
    """One line that starts with the program's name and holds one sentence."""
    body = ran.err.strip()
    return (
        body.startswith("gradfeat: ")
        and "\n" not in body
        and "Traceback" not in body
        and re.search(r"[a-z\d'\"][.!?]\s+[A-Z]", body) is None
        and body[-1] in ".?"
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(capsys, tmp_path, *words: object) -> str:
    """The sentence of a refusal that wrote nothing."""
    before, folders = tree(tmp_path), sorted(tmp_path.rglob("*"))
    ran = gradfeat(capsys, *words)
    assert ran.code == 2, ran
    assert is_one_sentence(ran), ran.err
    assert tree(tmp_path) == before
    assert sorted(tmp_path.rglob("*")) == folders
    return ran.err


def fit_refused(capsys, tmp_path, frame: pd.DataFrame, *options: object) -> str:
    table = written(frame, tmp_path)
    target = () if "--target" in options else ("--target", "y")
    return refused(
        capsys, tmp_path, "fit", table, *target, "--out", tmp_path / "out", *QUICK, *options
    )


def fitted(capsys, tmp_path, frame: pd.DataFrame, *options: object) -> tuple[Path, Ran]:
    out = tmp_path / "out"
    table = written(frame, tmp_path)
    ran = gradfeat(capsys, "fit", table, "--target", "y", "--out", out, *QUICK, *options)
    assert (ran.code, ran.err) == (0, "")
    return out, ran


# ---- the program itself, once


def run_program(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradfeat", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_program_exits_with_two_and_one_sentence(tmp_path):
    done = run_program(tmp_path, "fit", "absent.csv", "--target", "y")
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_sentence(Ran(2, "", done.stderr))
    assert "absent.csv" in done.stderr
    assert list(tmp_path.iterdir()) == []


def are_plain(lines: str) -> bool:
    verdict = "No method predicts y beyond chance"  # of 15 test rows
    return "\x1b" not in lines and "\r" not in lines and verdict in lines


@pytest.mark.slow
def test_the_program_writes_plain_lines_into_a_pipe(tmp_path):
    written(quantity(), tmp_path)
    done = run_program(tmp_path, "fit", "table.csv", "--target", "y", *QUICK)
    assert (done.returncode, done.stderr) == (0, "")
    assert are_plain(done.stdout)
    assert (tmp_path / "gradfeat-out" / "report.html").exists()


def test_lines_are_plain_where_there_is_no_terminal(capsys, tmp_path):
    out, ran = fitted(capsys, tmp_path, quantity())
    assert are_plain(ran.out)
    assert "</html>" in (out / "report.html").read_text()


# ---- the words of the command


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "guess"], "'classification'"),
        (["--methods", "linear,magic"], "'magic'"),
        (["--methods", ","], "allowed are linear"),
        (["--device", "abacus"], "'abacus'"),
        (["--device", "meta"], "'meta'"),
        (["--time", "0"], "--time"),
        (["--time", "inf"], "--time"),
        (["--time", "nan"], "--time"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**32)], "--seed"),
        (["--time-column", "wen"], "did you mean 'when'"),
        (["--time-column", "kind"], "neither numbers nor dates"),
        (["--group-column", "kidn"], "did you mean 'kind'"),
        (["--group-column", "y"], "cannot be held out by the target 'y'"),
        (["--bogus"], "--bogus"),
    ],
)
def test_an_option_that_is_not_allowed(capsys, tmp_path, options, said):
    assert said in fit_refused(capsys, tmp_path, quantity(), *options)


@pytest.mark.parametrize("words", [["fit"], ["fit", "a.csv"], ["guess"], ["predict", "a", "b"]])
def test_words_missing_or_unknown(capsys, tmp_path, words):
    assert "--help" in refused(capsys, tmp_path, *words)


def test_no_words_show_the_help(capsys):
    ran = gradfeat(capsys)
    assert "predict" in ran.out
    assert gradfeat(capsys, "--help").code == 0


@pytest.mark.parametrize("command", ["diagnose", "fit", "predict", "refit", "plan", "run"])
def test_help_names_options_in_full_on_a_narrow_screen(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    names = re.findall(r"--\S+", gradfeat(capsys, command, "--help").out)
    assert names
    assert not [name for name in names if "…" in name]


def test_out_is_a_file(capsys, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    table = written(quantity(), tmp_path)
    said = refused(capsys, tmp_path, "fit", table, "--target", "y", "--out", taken / "deep")
    assert "is a file" in said


# ---- the file


def file_refused(capsys, tmp_path, content: bytes, name: str = "table.csv") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return refused(capsys, tmp_path, "fit", path, "--target", "y", "--out", tmp_path / "out")


def test_a_missing_file(capsys, tmp_path):
    written(quantity(), tmp_path, "bikes.csv")
    said = refused(capsys, tmp_path, "fit", tmp_path / "bike.csv", "--target", "y")
    assert "did you mean 'bikes.csv'" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG"),
        (b"<!DOCTYPE html><p>y</p>", "HTML"),
        (b"", "empty"),
        (b"a,y\n", "no rows"),
        (b"a,y\n1,2\n3\n", "line 3"),
        (b"a,y,a\n1,2,3\n", "more than one column named 'a'"),
    ],
)
def test_not_a_table(capsys, tmp_path, content, said):
    assert said in file_refused(capsys, tmp_path, content)


# ---- the columns


def test_target_absent(capsys, tmp_path):
    frame = quantity().rename(columns={"y": "bikers"})
    said = fit_refused(capsys, tmp_path, frame, "--target", "biker")
    assert "did you mean 'bikers'" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.assign(y=3), "nothing to predict"),
        (lambda f: f.assign(y=np.nan), "missing in every row"),
        (lambda f: f.assign(y=f["y"] * 1e200), "larger unit"),
        (lambda f: f.assign(y=[np.inf, *f["y"][1:]]), "infinite"),
        (lambda f: f[["y"]], "no column beside the target"),
        (lambda f: f.assign(a=1, b=1, kind="p", when="2024-01-01"), "No input column varies"),
        (lambda f: f.head(1), "1 row"),
        (lambda f: f.head(3), "3 usable rows"),
    ],
)
def test_columns_that_cannot_be_used(capsys, tmp_path, change, said):
    assert said in fit_refused(capsys, tmp_path, change(quantity()))


@pytest.mark.usefixtures("no_page")
def test_an_infinite_input_is_missing_and_told_with_its_line(capsys, tmp_path):
    frame = quantity().assign(a=lambda f: [*f["a"][1:], -np.inf])
    _, ran = fitted(capsys, tmp_path, frame, "--methods", "linear")
    said = " ".join(ran.out.split())
    assert "1 cell of 'a' that is no number ('-inf', line 61)" in said


def test_five_thousand_classes(capsys, tmp_path):
    frame = pd.DataFrame({"a": np.arange(10_000), "y": [f"c{i % 5000}" for i in range(10_000)]})
    assert "more than 100 distinct values" in fit_refused(capsys, tmp_path, frame)


# ---- odd but good


def note(out: Path, column: str) -> dict:
    return next(c for c in results(out)["columns"] if c["name"] == column)


@pytest.mark.usefixtures("no_page")
def test_a_column_without_values_is_dropped_and_said(capsys, tmp_path):
    out, _ = fitted(capsys, tmp_path, quantity().assign(empty=np.nan, same=5))
    assert note(out, "empty")["kind"] == note(out, "same")["kind"] == "dropped"
    assert "missing" in note(out, "empty")["treatment"]
    assert "same value" in note(out, "same")["treatment"]


@pytest.mark.usefixtures("no_page")
def test_more_columns_than_rows(capsys, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 80))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(80)]).assign(y=X[:, 0])
    out, _ = fitted(capsys, tmp_path, frame)
    assert all(not m["error"] for m in results(out)["methods"])


@pytest.mark.usefixtures("no_page")
def test_ten_thousand_categories(capsys, tmp_path):
    n = 10_000
    frame = pd.DataFrame({"a": np.arange(n) % 97, "id": [f"c{i}" for i in range(n)]})
    words = ("--methods", "linear", "--keep-identifiers")
    out, _ = fitted(capsys, tmp_path, frame.assign(y=frame["a"] * 1.5), *words)
    assert note(out, "id")["kind"] == "text"
    assert results(out)["n_rows"] == n


@pytest.mark.usefixtures("no_page")
def test_text_with_two_classes(capsys, tmp_path):
    out, ran = fitted(capsys, tmp_path, classes())
    assert results(out)["task"] == "classification"
    assert "accuracy" in ran.out


# ---- models


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    from gradfeat.cli import app, guarded

    folder = tmp_path_factory.mktemp("fit")
    table = written(quantity(), folder)
    words = ["fit", str(table), "--target", "y", "--out", str(folder / "out"), *QUICK]
    with without_pages():
        assert guarded(app, words) == 0
    return folder / "out" / "model.gradfeat"


def test_predict_on_other_columns(capsys, tmp_path, model):
    table = written(quantity().drop(columns=["a", "kind"]), tmp_path)
    said = refused(capsys, tmp_path, "predict", model, table, "--out", tmp_path / "p.csv")
    assert "'a', 'kind'" in said


def test_predict_on_text_in_place_of_numbers_is_told(capsys, tmp_path, model):
    frame = quantity().astype({"a": object})
    frame.loc[3:4, "a"], frame.loc[5, "kind"] = "x", "unseen"
    ran = gradfeat(capsys, "predict", model, written(frame, tmp_path), "--out", tmp_path / "p.csv")
    assert (ran.code, ran.err) == (0, "")
    assert "Taken as missing" in ran.out
    assert "2 cells of 'a' that are no number (the first: 'x', line 5)" in ran.out
    assert "1 cell of 'kind' that is no value seen in training ('unseen', line 7)" in ran.out


def test_predict_into_a_folder_that_is_not_there(capsys, tmp_path, model):
    table = written(quantity(), tmp_path)
    refused(capsys, tmp_path, "predict", model, table, "--out", tmp_path / "no" / "p.csv")


@pytest.mark.parametrize("option", [("--figure", "f.png"), ("--seeds", 3), ("--about",)])
def test_options_of_experiments_are_refused_of_a_model(capsys, tmp_path, model, option):
    assert option[0] in refused(capsys, tmp_path, "show", model, *option)


def test_predictions_are_printed_alone(capsys, tmp_path, model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lengths = []
    said = sys.stdout.write
    monkeypatch.setattr(sys.stdout, "write", lambda text: lengths.append(len(text)) or said(text))
    ran = gradfeat(capsys, "predict", model, written(quantity(9000), tmp_path), "--out", "-")
    assert max(lengths) < sum(lengths) / 2  # of more rows than memory holds, too
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert (lines[0], len(lines)) == ("predicted_y", 9001)
    assert "the standard output" in ran.err
    assert not Path("-").exists()


@pytest.mark.parametrize("out", ["a/" + 300 * "n", "full", "file/out", "-", ""])
@pytest.mark.parametrize("command", ["fit", "diagnose"])
def test_folders_that_cannot_be_written_to_are_refused_before_any_work(
    capsys, tmp_path, command, out, monkeypatch
):
    monkeypatch.setattr("gradfeat.interface.open.Asked.of", lambda *_: pytest.fail("it began"))
    monkeypatch.chdir(tmp_path)
    Path("full/report.html").mkdir(parents=True)
    table = written(quantity(), tmp_path)
    Path("file").write_text("")
    said = refused(capsys, tmp_path, command, table, "--target", "y", "--out", out)
    assert (out.removesuffix("/out") or "--out") in said


def damaged(model: Path, how: str) -> bytes:
    data = model.read_bytes()
    match how:
        case "cut":
            return data[: len(data) // 2]
        case "changed":
            return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
        case "empty":
            return b""
    return b"a,y\n1,2\n"


@pytest.mark.parametrize("how", ["cut", "changed", "empty", "a table"])
def test_a_damaged_model(capsys, tmp_path, model, how):
    table = written(quantity(), tmp_path)
    bad = tmp_path / "bad.gradfeat"
    bad.write_bytes(damaged(model, how))
    assert "bad.gradfeat" in refused(capsys, tmp_path, "show", bad)
    out = tmp_path / "p.csv"
    assert "bad.gradfeat" in refused(capsys, tmp_path, "predict", bad, table, "--out", out)


def test_a_model_that_is_not_there_or_a_folder(capsys, tmp_path):
    assert "does not exist" in refused(capsys, tmp_path, "show", tmp_path / "none")
    refused(capsys, tmp_path, "show", tmp_path)


# ---- the disk


def full_disk(handle: int) -> None:
    raise OSError(errno.ENOSPC, f"No space left on device for file {handle}")


@pytest.mark.parametrize("whole", [0, 2], ids=lambda n: f"after {n} files")
def test_a_full_disk_leaves_the_old_files_whole(capsys, tmp_path, monkeypatch, whole):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("report.html", "results.json", "model.gradfeat"):
        (out / name).write_text("old")
    table, done, real = written(quantity(), tmp_path), [], os.fsync

    def full(handle: int) -> None:
        done.append(handle)
        if len(done) > whole:
            full_disk(handle)
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr("gradfeat.interface.page.page", lambda *_: "<p>new</p>")
    words = ("--methods", "random-features", "--out", out)
    assert "No space left" in refused(capsys, tmp_path, "fit", table, "--target", "y", *words)
    assert len(done) == whole + 1


def test_a_full_disk_makes_no_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full_disk)
    assert "No space" in fit_refused(capsys, tmp_path, quantity(), "--methods", "linear")


def test_a_full_disk_leaves_old_predictions_whole(capsys, tmp_path, monkeypatch, model):
    table = written(quantity(), tmp_path)
    old = tmp_path / "p.csv"
    old.write_text("old")

    monkeypatch.setattr(os, "fsync", full_disk)
    assert "No space" in refused(capsys, tmp_path, "predict", model, table, "--out", old)
