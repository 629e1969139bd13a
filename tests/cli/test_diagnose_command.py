"""gradfeat diagnose: its files, its words, its refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cli.tables import classes, gradfeat, quantity, results, written
from cli.test_bad_input import is_one_sentence, tree
from reports.diagnosis_factory import shares


@pytest.fixture(autouse=True)
def without_models(monkeypatch):
    """Leave out the models, which take most of the time; `tests/tabular` fits them."""
    fixed = shares(0.1, 0.0, 0.0)
    monkeypatch.setattr("gradfeat.table.diagnose.variance_shares", lambda *_: fixed)


def diagnosed(capsys, tmp_path, frame: pd.DataFrame, *options: object):
    table, out = written(frame, tmp_path), tmp_path / "out"
    ran = gradfeat(capsys, "diagnose", table, "--target", "y", "--out", out, *options)
    assert (ran.code, ran.err) == (0, "")
    return out, ran


def refused(capsys, tmp_path, frame: pd.DataFrame, *options: object) -> str:
    """The sentence of a refusal that wrote nothing."""
    table = written(frame, tmp_path)
    before = tree(tmp_path)
    target = () if "--target" in options else ("--target", "y")
    words = ("diagnose", table, *target, "--out", tmp_path / "out", *options)
    ran = gradfeat(capsys, *words)
    assert ran.code == 2, ran
    assert is_one_sentence(ran), ran.err
    assert tree(tmp_path) == before
    assert not (tmp_path / "out").exists()
    return ran.err


def test_files_and_words(capsys, tmp_path):
    out, ran = diagnosed(capsys, tmp_path, quantity(300))
    assert {p.name for p in out.iterdir()} == {"report.html", "results.json"}
    assert "</html>" in (out / "report.html").read_text()
    found = results(out)
    assert found["exponent"] == 1
    assert [d["degree"] for d in found["degrees"]] == [1, 2, 3, 4]
    assert len(found["directions"]["loadings"]) == len(found["directions"]["columns"])
    assert "information exponent 1" in " ".join(ran.out.split())
    assert "table.csv: 300 rows used" in ran.out
    lines = ran.out.split("\nReport:")[0].splitlines()
    assert all(len(line) <= 80 for line in lines)


def test_noise_is_called_no_evidence(capsys, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((300, 3)), columns=["a", "b", "y"])
    out, ran = diagnosed(capsys, tmp_path, frame)
    assert results(out)["exponent"] is None
    assert "There is no evidence of a signal about y" in " ".join(ran.out.split())


def test_text_is_a_class(capsys, tmp_path):
    out, _ = diagnosed(capsys, tmp_path, classes(300, 3))
    assert results(out)["task"] == "classification"


@pytest.mark.usefixtures("no_page")
def test_the_same_command_gives_the_same_results(capsys, tmp_path):
    found = []
    for options in ((), (), ("--seed", 1)):
        out, _ = diagnosed(capsys, tmp_path, quantity(120), *options)
        found.append({k: v for k, v in results(out).items() if k != "seconds"})
    assert found[0] == found[1]
    assert found[0]["degrees"] != found[2]["degrees"]


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda f: f.rename(columns={"y": "bikers"}), ["--target", "biker"], "mean 'bikers'"),
        (lambda f: f.assign(y=3), [], "nothing to predict"),
        (lambda f: f.assign(y=np.nan), [], "missing in every row"),
        (lambda f: f.head(30), [], "30 rows"),
        (lambda f: f[["y"]], [], "no column beside the target"),
        (lambda f: f.assign(y=[f"t{i}" for i in range(len(f))]), [], "classification takes"),
        (lambda f: f.assign(y="a few words"), ["--task", "regression"], "nothing to predict"),
        (lambda f: f.assign(y=f["kind"]), ["--task", "regression"], "is text"),
        (lambda f: f, ["--seed", "-1"], "--seed"),
        (lambda f: f, ["--bogus"], "--bogus"),
    ],
)
def test_what_cannot_be_used(capsys, tmp_path, change, options, said):
    assert said in refused(capsys, tmp_path, change(quantity(120)), *options)


def test_out_is_a_file(capsys, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    table = written(quantity(120), tmp_path)
    ran = gradfeat(capsys, "diagnose", table, "--target", "y", "--out", taken)
    assert ran.code == 2
    assert "is a file" in ran.err
    assert taken.read_text() == "mine"


def test_more_columns_than_rows(capsys, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 80))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(80)]).assign(y=X[:, 0])
    out, _ = diagnosed(capsys, tmp_path, frame)
    assert results(out)["n_inputs"] == 12
