"""What commands print for other programs, quietly, or in full."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

from cli.tables import gradfeat, quantity, written
from gradfeat import __version__


@pytest.fixture
def fit(capsys, tmp_path, no_page):
    """Fit a small table with these words; figures are left out."""
    del no_page
    table = written(quantity(), tmp_path)
    words = ("--target", "y", "--methods", "linear", "--time", "60", "--out", tmp_path / "out")
    return lambda *more: gradfeat(capsys, "fit", table, *words, *more)


def test_the_comparison_is_printed_as_records_alone(fit):
    ran = fit("--format", "csv")
    assert pd.read_csv(io.StringIO(ran.out))["method"].tolist() == ["linear"]
    assert "(Linear model)" in ran.err  # the file
    assert json.loads(fit("--format", "json").out)["best"] == "linear"


def test_quietly_the_answer_and_the_files_are_printed(fit):
    quiet, full = fit("--quiet").out, fit("--verbose").out
    assert "0 %" not in quiet
    assert "does not predict y beyond chance" in " ".join(quiet.split())
    assert "report.html" in quiet
    assert "regression (--task classification" in quiet  # remarks, a leak among them
    assert "0 %" in full
    assert len(full.splitlines()) > 2 * len(quiet.splitlines())


def test_lists_are_printed_as_records(capsys):
    ran = gradfeat(capsys, "list", "ba22-step-size", "--format", "json")
    assert [one["experiment"] for one in json.loads(ran.out)] == ["ba22-step-size"]
    ran = gradfeat(capsys, "list", "ba22-step-size", "--format", "csv")
    assert ran.out.splitlines()[0] == "experiment,question,settings x seeds"


def test_the_version_is_printed(capsys):
    ran = gradfeat(capsys, "--version")
    assert (ran.code, ran.out) == (0, f"gradfeat {__version__}\n")
