"""plan: tables and JSON, numbers as people write them, refusals in one sentence."""

from __future__ import annotations

import contextlib
import io
import json
from inspect import signature
from typing import Any

import pytest

from cli.tables import gradfeat
from gradfeat.cli import app, guarded
from gradfeat.cli.plan.answer import row_count
from gradfeat.cli.plan.command import plan
from gradfeat.planning import calibration
from gradfeat.planning.job import WIDTH, PlanError
from gradfeat.planning.rates import CARDS
from gradfeat.rows.source import PIECE_ROWS

SIZES = ("plan", "--rows", "1e9", "--columns", 200, "--width", 2048, "--workers", 64)
RATES = ("--no-calibration", "--rate", 20, "--network", 1200)


@pytest.mark.parametrize(
    ("width", "more"),
    [(80, ()), (80, ("--gpu", "h100")), (80, ("--penalty-by", "loo")), (120, ())],
)
def test_the_table_fits_the_terminal(capsys, monkeypatch, width, more):
    monkeypatch.setenv("COLUMNS", str(width))
    ran = gradfeat(capsys, *SIZES, *RATES, *more)
    assert (ran.code, ran.err) == (0, "")
    assert max(len(line.rstrip()) for line in ran.out.splitlines()) <= width
    assert "1,000,000,000 rows" in ran.out
    assert "..." not in ran.out
    assert "…" not in ran.out
    for word in ("moments", "gradient", "normal equations", "bound by", "Together", "Assumed"):
        assert word in ran.out


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    """The plan that options are compared with."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert guarded(app, [*map(str, (*SIZES, *RATES)), "--format", "json"]) == 0
    return json.loads(printed.getvalue())


def test_json_holds_the_plan(plain):
    found = plain
    assert found["job"]["rows"] == 10**9
    assert found["job"]["width"] == 2048
    assert found["rates"]["network"]["value"] == 1.2e9
    assert [one["pass"] for one in found["passes"]] == ["moments", "gradient", "normal equations"]


@pytest.mark.parametrize(
    ("option", "key", "value"),
    [
        (("--outputs", 3), "outputs", 3),
        (("--steps", 2), "steps", 2),
        (("--threads-per-worker", 2), "threads", 2),
        (("--float-bytes", 8), "float_bytes", 8),
        (("--piece-rows", 1000), "piece_rows", 1000),
        (("--method", "kernel"), "method", "kernel"),
        (("--penalty-by", "loo"), "penalty_by", "loo"),
    ],
)
def test_every_option_changes_the_plan(capsys, plain, option, key, value):
    found = json.loads(gradfeat(capsys, *SIZES, *RATES, *option, "--format", "json").out)
    assert found["job"][key] == value
    assert found["passes"] != plain["passes"]


def test_storage_and_memory_are_given(capsys):
    ran = gradfeat(capsys, *SIZES, *RATES, "--read", 100, "--memory", 0.5)
    assert "reading" in ran.out
    assert "Warning: a worker needs" in ran.out


def test_this_machine_is_measured_unless_told_otherwise(capsys, monkeypatch):
    monkeypatch.setattr(calibration.calibrate, "__defaults__", (calibration.Given(), 0.01))
    words = ("plan", "--rows", "2_000", "--columns", 3, "--width", 8)
    found = json.loads(gradfeat(capsys, *words, "--format", "json").out)
    assert {figure["origin"] for figure in found["rates"].values()} == {"measured"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows", "0"), "rows is 0: give a whole number from 2 to"),
        (("--rows", "many"), "rows is 'many': give a whole number, such as 1e9, 10M"),
        (("--workers", "0"), "workers is 0: give a whole number from 1"),
        (("--width", "7"), "width is 7: gradient features pair their neurons"),
        (("--gpu", "abacus"), "gpu is 'abacus': give one of v100, a100, h100"),
        (("--rate", "0"), "--rate is 0: give a positive number."),
        (("--read", "-1"), "--read is -1: give a positive number."),
        (("--network", "nan"), "--network is nan: give a positive number."),
        (("--memory", "0"), "--memory is 0: give a positive number."),
        (("--columns", "0"), "columns is 0: give a whole number from 1"),
    ],
)
def test_bad_words_are_refused_in_one_sentence(capsys, words, said):
    ran = gradfeat(capsys, *SIZES, *RATES, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.replace("\n", " ").startswith(f"gradfeat: {said}")


def test_without_calibration_rates_are_asked_for(capsys):
    ran = gradfeat(capsys, *SIZES, "--no-calibration")
    assert ran.code == 2
    assert "give --rate" in ran.err


@pytest.mark.parametrize(
    ("words", "value"),
    [("1e9", 10**9), ("10M", 10**7), ("1_000_000", 10**6), ("2.5k", 2500), (" 3 B ", 3 * 10**9)],
)
def test_rows_are_read_as_people_write_them(words, value):
    assert row_count(words) == value


@pytest.mark.parametrize("words", ["", "-5", "1.5", "1e", "0x10", "ten", "1e-3", "nan"])
def test_other_rows_are_refused(words):
    with pytest.raises(PlanError, match="give a whole number"):
        row_count(words)


def test_the_words_of_the_command_are_those_of_the_planner():
    parameters = signature(plan).parameters
    assert parameters["piece_rows"].default == PIECE_ROWS
    help_of = {name: p.annotation for name, p in parameters.items()}
    assert all(card in str(help_of["gpu"]) for card in CARDS)
    assert f"left out: {WIDTH}" in str(help_of["width"])
