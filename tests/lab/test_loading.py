"""Experiments by name and by file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradfeat import catalogue
from gradfeat.lab import ExperimentError, run
from gradfeat.lab.loading import experiment, names

FILE = """
from gradfeat.lab import Experiment

def trial(n: int, *, seed: int) -> dict:
    return {"value": float(n + seed)}

OTHER = Experiment("other", "?", trial, {"quick": {"n": 1}}, seeds=1)
EXPERIMENT = Experiment("mine", "?", trial, {"quick": {"n": [1, 2]}}, seeds=2)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", sys.modules)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return str(path)


def sentence(path):
    with pytest.raises(ExperimentError) as caught:
        experiment(path)
    return str(caught.value)


@pytest.mark.parametrize("name", names())
def test_a_shipped_experiment_is_named_like_its_file(name):
    assert experiment(name).name == name


def test_dropping_a_file_adds_an_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "__path__", [*catalogue.__path__, str(tmp_path)])
    (tmp_path / "dropped_here.py").write_text(FILE.replace('"mine"', '"dropped-here"'))
    (tmp_path / "_parts.py").write_text("raise RuntimeError")
    assert "dropped-here" in names()
    assert "-parts" not in names()
    assert experiment("dropped-here").name == "dropped-here"
    assert "did you mean 'dropped-here'?" in sentence("droped-here")


def test_only_the_file_asked_for_is_imported():
    code = (
        "import sys; from gradfeat.lab.loading import names; names();"
        "print([m for m in sys.modules if m.startswith('gradfeat.catalogue.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_of_the_user_runs_in_processes_too(folder):
    mine = experiment(written(folder, "mine_a.py", FILE))
    assert mine.name == "mine"
    assert run(mine, jobs=2)["value"].tolist() == [1, 2, 2, 3]


def test_a_changed_file_is_read_anew(folder):
    experiment(written(folder, "mine_b.py", FILE))
    changed = FILE.replace('"mine"', '"mine now, of another length"')
    assert experiment(written(folder, "mine_b.py", changed)).name == "mine now, of another length"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("bad_a.py", "x = = 1", "does not run: line 1: invalid syntax."),
        ("bad_b.py", "\n\n1 / 0", "does not run: line 3: ZeroDivisionError: division by zero"),
        ("bad_c.py", "import nowhere", "line 1: ModuleNotFoundError: No module named 'nowhere'"),
        ("bad_d.py", "x = 1", "has no EXPERIMENT: set it to an Experiment."),
        ("bad_e.py", "EXPERIMENT = 3", "has no EXPERIMENT"),
        ("numpy.py", FILE, "has the name of another module (numpy): rename the file."),
        ("graphlib.py", FILE, "has the name of another module (graphlib): rename the file."),
        ("bad.v2.py", FILE, "has a dot in its name"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(folder, name, text, words):
    assert words in sentence(written(folder, name, text))


def test_a_missing_file_is_a_sentence(folder):
    assert "there is no file" in sentence(str(folder / "none.py"))


def test_a_file_may_not_take_the_name_of_a_shipped_one(folder, monkeypatch):
    monkeypatch.setattr("gradfeat.lab.loading.names", lambda: ["mine"])
    assert "calls itself 'mine', a shipped experiment" in sentence(
        written(folder, "mine_c.py", FILE)
    )
