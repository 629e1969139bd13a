"""verify, status, list: exit codes, counts, what is left out."""

from __future__ import annotations

import csv
import json
import re

import pytest

from cli.lab_files import FAILS, GROWS, UNDECIDED, calls, grows, refused, well
from cli.tables import gradfeat
from gradfeat.lab import Store, loading
from gradfeat.lab.store import Count


@pytest.mark.parametrize(
    ("text", "code", "summary"),
    [
        (GROWS, 0, "2 claims: 2 hold"),
        (FAILS, 1, "2 claims: 1 holds, 1 fails"),
        (UNDECIDED, 0, "2 claims: 1 holds, 1 not enough evidence"),
        (GROWS.replace("checks={", "checks={} and {"), 0, "no claims"),
    ],
    ids=["hold", "fails", "undecided", "none"],
)
def test_the_exit_code_says_whether_a_claim_fails(capsys, folder, text, code, summary):
    ran = gradfeat(capsys, "verify", grows(folder, text), "--seeds", 3)
    assert (ran.code, ran.err) == (code, "")
    words = " ".join(ran.out.split())
    assert f"1 experiment, {summary}; 9 cells, 0 failed, 0 there before" in words


def test_the_table_of_claims_has_text_source_verdict_and_the_estimate_once(capsys, folder):
    out = well(capsys, "verify", grows(folder), "--seeds", 3, "--jobs", 2)
    assert all(word in out for word in ("Three is large.", "Theorem 1", "holds", "over 3 seeds"))
    estimate = re.search(r"mean value ([\d.]+) \[", out)
    assert estimate
    assert out.count(estimate[1]) == 1
    assert all(len(line) <= 80 for line in out.splitlines())


def test_other_programs_read_the_claims_and_the_means(capsys, folder):
    name = grows(folder)
    ran = gradfeat(capsys, "verify", name, "--seeds", 3, "--format", "json")
    assert [(one["experiment"], one["outcome"]) for one in json.loads(ran.out)] == 2 * [
        ("grows", "holds")
    ]
    shown = gradfeat(capsys, "show", name, "--format", "csv")
    means = list(csv.DictReader(shown.out.splitlines()))
    assert [row["n"] for row in means] == ["1", "2", "3"]
    assert all(float(m["value_low"]) <= float(m["value"]) <= float(m["value_high"]) for m in means)


def test_failed_cells_fail_the_verification(capsys, folder):
    ran = gradfeat(capsys, "verify", grows(folder), "--scale", "paper")
    assert ran.code == 1
    assert "2 of 6 cells failed" in ran.out
    assert "6 cells, 2 failed" in " ".join(ran.out.split())


def test_what_is_stored_is_not_computed_again(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    out = " ".join(well(capsys, "verify", name).split())
    assert "6 cells, 0 failed, 6 there before" in out
    assert len(calls(folder)) == 6


def test_without_names_it_is_all_that_ship_and_have_the_scale(capsys, folder, monkeypatch):
    grows(folder)
    (folder / "small.py").write_text(GROWS.replace('"grows"', '"small"').replace("quick", "tiny"))
    monkeypatch.setattr("gradfeat.cli.lab.run.shipped", lambda: ["grows.py", "small.py"])
    out = well(capsys, "verify")
    assert "1 experiment, 2 claims" in " ".join(out.split())
    assert "did you mean" not in out
    assert "'quick' is no scale" in refused(capsys, "verify", "small.py")


def test_a_claim_that_cannot_be_checked_is_code_two(capsys, folder):
    ran = gradfeat(capsys, "verify", grows(folder, GROWS.replace('e("value"', 'e("valu"')))
    assert ran.code == 2
    assert "cannot be checked" in ran.err
    assert "1 holds, 1 cannot be checked" in " ".join(ran.out.split())


def test_status_counts(capsys, folder):
    name = grows(folder)
    gradfeat(capsys, "run", name, "--scale", "paper", "--no-figure")
    row = well(capsys, "status").splitlines()[-1].split()
    assert row[:4] == ["grows", "1", "4", "2"]
    assert row[-2:] == ["1", "s"]


def test_status_keeps_the_longest_shipped_name_on_one_line(capsys, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    longest = max(loading.names(), key=len)
    row = Count(longest, 1, 1_280, 10, 7_000.0, "2026-11-30T09:36:00+00:00", 0)
    monkeypatch.setattr(Store, "status", lambda _: [row])
    Store.open(folder / "gradfeat.sqlite").close()
    assert f"{longest} " in well(capsys, "status")


def test_status_of_an_empty_store_and_of_none(capsys, folder):
    assert "does not exist" in refused(capsys, "status")
    assert not (folder / "gradfeat.sqlite").exists()


def test_list_shows_questions_and_sizes(capsys, folder):
    out = well(capsys, "list", grows(folder))
    assert "Does it grow?" in out
    assert "quick 3 x 2" in out
    assert "paper 3 x 2" in out


def test_list_without_names_shows_all_that_ship(capsys):
    out = well(capsys, "list")
    assert all(name in out for name in loading.names())


def test_list_shows_the_good_files_beside_a_bad_one(capsys, folder):
    (folder / "bad.py").write_text("EXPERIMENT = 1")
    ran = gradfeat(capsys, "list", grows(folder), "bad.py")
    assert ran.code == 2
    assert "Does it grow?" in ran.out
    assert "'bad.py' has no EXPERIMENT" in ran.err
