"""What goes wrong is one sentence and a code that is not zero."""

from __future__ import annotations

import errno
import importlib
import os
import re
import sys
from pathlib import Path

import pytest

from gradfeat.cli.app import app, open_streams, own_surroundings
from gradfeat.cli.guard import UNFORESEEN, guarded
from gradfeat.errors import TableError
from gradfeat.table.methods import chosen_methods


def run(error: Exception, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    def fail(**_: object) -> None:
        raise error

    return guarded(fail), capsys.readouterr().err


def test_what_the_system_refuses_is_a_sentence_with_the_file(capsys):
    assert run(PermissionError(errno.EACCES, "Permission denied", "/a/b"), capsys) == (
        2,
        "gradfeat: '/a/b' cannot be used (Permission denied): check the path, and who may read "
        "or write.\n",
    )


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("can't start new thread"),
        ImportError("a.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        MemoryError(),
        MemoryError("Unable to allocate 68.0 MiB for an array with shape (1,)"),
    ],
    ids=repr,
)
def test_memory_that_the_system_refuses_is_a_sentence_whoever_asked_for_it(error, capsys):
    code, said = run(error, capsys)
    assert code == 2
    assert said.startswith("gradfeat: the memory is used up: give less at once")


def test_a_fault_of_the_program_is_a_sentence_and_a_report(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("GRADFEAT_DEBUG")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, err = run(ZeroDivisionError("division\nby zero"), capsys)
    assert code == UNFORESEEN
    assert re.fullmatch(r"gradfeat: this is a fault of gradfeat.*\n", err)
    assert "ZeroDivisionError: division)" in err
    report = Path(re.search(r"\S+gradfeat-error-\w+\.txt", err)[0]).read_text()
    assert "Traceback" in report
    assert "by zero" in report


def test_a_traceback_for_those_who_ask(capsys):
    with pytest.raises(ZeroDivisionError):
        run(ZeroDivisionError(), capsys)


def test_a_program_without_standard_streams_writes_nowhere(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    open_streams()
    with sys.stdin, sys.stdout, sys.stderr:
        assert sys.stdin.read() == ""
        sys.stdout.write("x")
        sys.stderr.write("x")


def test_a_folder_that_is_gone_is_a_sentence(tmp_path, monkeypatch, capsys):
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert guarded(app, ["list"]) == 2
    assert capsys.readouterr().err.startswith("gradfeat: the current folder is gone")


@pytest.mark.parametrize(
    ("columns", "kept"), [("0", False), ("1", False), ("20", True), ("x", True)]
)
def test_a_width_that_shows_nothing_is_left_out(monkeypatch, columns, kept):
    monkeypatch.setenv("COLUMNS", columns)
    own_surroundings()
    assert ("COLUMNS" in os.environ) == kept


def test_figures_go_to_files_whatever_a_notebook_left(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "module://nonesuch")
    own_surroundings()
    assert os.environ["MPLBACKEND"] == "agg"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import os\nint(os.environ['SIZE_OF_IT'])", " (SIZE_OF_IT='x');"),
        ("raise ValueError('SIZE_OF_IT is neither 0 nor 1')", " (SIZE_OF_IT='x');"),
        ("raise ValueError", " does not allow;"),
    ],
)
def test_a_library_that_stops_while_it_is_loaded_is_named(
    tmp_path, monkeypatch, capsys, source, named
):
    (tmp_path / "alibrary.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SIZE_OF_IT", "x")
    monkeypatch.delenv("GRADFEAT_DEBUG")
    monkeypatch.delitem(sys.modules, "alibrary", raising=False)

    def command(**_):
        importlib.import_module("alibrary")

    assert guarded(command) == 2
    said = capsys.readouterr().err
    assert said.startswith("gradfeat: the library alibrary stopped while it was loaded")
    assert named in said


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["compare", "t.csv"], "`gradfeat fit` compares methods"),
        (["export", "folder"], "gradfeat.export_onnx in Python"),
    ],
)
def test_what_people_try_is_pointed_to_what_does_it(words, hint, capsys):
    assert guarded(app, words) == 2
    assert hint in " ".join(capsys.readouterr().err.split())


def test_libraries_of_trees_are_pointed_to_boosting():
    with pytest.raises(TableError, match="boosting is boosted trees"):
        chosen_methods(["xgboost"])
