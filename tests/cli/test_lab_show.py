"""show: of an experiment what the last run asked for, of a model what it reads; stores."""

from __future__ import annotations

import os
import re
import sqlite3

import pytest
from matplotlib.figure import Figure

from cli.lab_files import GROWS, calls, grows, refused, well
from cli.tables import gradfeat
from gradfeat.cli.lab.figures import drawn
from gradfeat.lab import Experiment, run
from gradfeat.lab.loading import experiment


def test_show_prints_question_claims_and_means_and_computes_nothing(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--seeds", 3, "--set", "noise=0", "--no-figure")
    out = well(capsys, "show", name)
    assert out.startswith("Does it grow?")
    assert "scale quick, 3 seeds, noise=0.0: 9 of 9 cells" in out
    assert "Three is large." in out
    assert [*"3", "3", "[3,", "3]", "6", "[6,", "6]", "3"] == out.splitlines()[-2].split()
    assert "the same in all cells: noise=0, kind=plain" in out
    assert len(calls(folder)) == 9
    assert [path.name for path in folder.glob("*.p*")] == ["grows.py"]


def test_show_follows_the_last_run_unless_told_otherwise(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    well(capsys, "run", name, "--set", "n=5", "--seeds", 1, "--no-figure")
    assert "n=5: 1 of 1 cells" in well(capsys, "show", name)
    assert "scale quick: 6 of 6 cells" in well(capsys, "show", name, "--scale", "quick")
    out = well(capsys, "show", name, "--seeds", 3)
    assert "1 of 3 cells, 2 not computed" in out
    command = out.split("the rest is computed by: gradfeat ")[1].splitlines()[0]
    well(capsys, *command.split(), "--no-figure")
    assert "3 of 3 cells" in well(capsys, "show", name)


def test_the_means_are_those_of_the_table(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--seeds", 4, "--no-figure")
    table = run(experiment(name), seeds=4)
    means = table.groupby("n")["value"].mean()
    out = well(capsys, "show", name)
    for n, mean in means.items():
        assert re.search(rf"^{n} +{mean:.4g} \[", out, re.MULTILINE)


def test_metrics_are_chosen_by_name(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    assert "twice" in well(capsys, "show", name)
    out = well(capsys, "show", name, "--metrics", "value")
    assert "choose with --metrics: twice" in out
    assert "did you mean 'value'" in refused(capsys, "show", name, "--metrics", "valu")


def test_the_table_of_means_is_as_narrow_as_the_terminal(capsys, folder):
    wide = GROWS.replace('"twice": 2.0 * n', '"a" * 30: seed / 7, "b" * 30: seed / 7')
    name = grows(folder, wide)
    well(capsys, "run", name, "--no-figure")
    out = well(capsys, "show", name)
    assert f"choose with --metrics: {'b' * 30}" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    rows = [line for line in out.splitlines() if line.startswith(("1 ", "2 ", "3 "))]
    assert len(rows) == 3
    assert all(line.rstrip().endswith("2") for line in rows)


def test_settings_that_others_decide_take_no_column(capsys, folder):
    grid = '"quick": [{"n": [1, 2]}, {"n": 3, "noise": 0.0, "kind": "exact"}]'
    name = grows(folder, GROWS.replace('"quick": {"n": [1, 2, 3]}', grid))
    well(capsys, "run", name, "--no-figure")
    out = well(capsys, "show", name)
    assert re.search(r"^n +value +twice +seeds", out, re.MULTILINE)
    assert "said by the settings that are shown (see show --about): noise, kind" in out


def test_values_that_are_not_finite_are_told_apart(capsys, folder):
    odd = GROWS.replace("2.0 * n", 'float("nan") if seed == 0 and n < 3 else 2.0')
    name = grows(folder, odd)
    well(capsys, "run", name, "--no-figure")
    rows = well(capsys, "show", name, "--metrics", "twice").splitlines()
    cells = {line.split()[0]: " ".join(line.split()[1:-1]) for line in rows if line[:1].isdigit()}
    assert cells == {"1": "not finite in 1", "2": "not finite in 1", "3": "2 [2, 2]"}


def test_failures_with_their_tracebacks(capsys, folder):
    name = grows(folder)
    gradfeat(capsys, "run", name, "--scale", "paper", "--no-figure")
    plain = well(capsys, "show", name)
    assert "4 of 6 cells, 2 failed" in plain
    assert "Traceback" not in plain
    assert "--failures" in plain
    out = well(capsys, "show", name, "--failures")
    assert out.count("Traceback (most recent call last)") == 2
    assert 'raise ArithmeticError(f"no nine with [seed] {seed}")' in out
    assert "n=9, seed=1" in out
    assert "no cell failed" in well(capsys, "show", name, "--failures", "--set", "n=1")


def test_all_cells_failed(capsys, folder):
    name = grows(folder)
    ran = gradfeat(capsys, "run", name, "--set", "n=9")
    assert (ran.code, ran.err) == (1, "")
    assert "0 of 2 cells, 2 failed" in well(capsys, "show", name)
    assert "nothing is finished" in refused(capsys, "show", name, "--figure", "a.png")


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_figure_to_a_file(capsys, folder, kind, start):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    well(capsys, "show", name, "--figure", f"mine.{kind}")
    assert (folder / f"mine.{kind}").read_bytes().startswith(start)


@pytest.mark.parametrize("file", ["a.jpg", "figure", "no/a.png", "."])
def test_a_figure_file_that_cannot_be(capsys, folder, file):
    refused(capsys, "show", grows(folder), "--figure", file)


def test_an_experiment_without_figure_says_so(capsys, folder):
    name = grows(folder, GROWS.replace("figure=figure,", ""))
    assert "Figure" not in well(capsys, "run", name)
    assert "it has none" in refused(capsys, "show", name, "--figure", "a.png")


def test_another_version_is_not_shown(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--no-figure")
    grows(folder, GROWS.replace("seeds=2,", "seeds=2, version=2,"))
    assert "gradfeat run grows.py makes one" in refused(capsys, "show", name)


def test_neither_experiment_nor_model(capsys, folder):
    said = refused(capsys, "show", "shi22-acuracy")
    assert "does not exist" in said
    assert "did you mean 'shi22-accuracy'" in said
    assert "holds no model.gradfeat" in refused(capsys, "show", str(folder))


def test_a_file_that_is_no_model(capsys, folder):
    (folder / "bad.gradfeat").write_bytes(b"no")
    assert "bad.gradfeat" in refused(capsys, "show", "bad.gradfeat")


def test_a_name_that_ships_wins_over_a_file(capsys, folder):
    (folder / "shi22-accuracy").write_bytes(b"no")
    assert "store 'gradfeat.sqlite' does not exist" in refused(capsys, "show", "shi22-accuracy")


# ---- stores that cannot be used


def text(path):
    path.write_text("These are words, not results. " * 50)


def foreign(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (a)")
    db.close()


def newer(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (a)")
        db.execute(f"PRAGMA application_id = {0x67667374}")
        db.execute("PRAGMA user_version = 99")
    db.close()


def folder_there(path):
    path.mkdir()


BAD = [(text, "not an SQLite file"), (foreign, "another program"), (newer, "newer gradfeat")]


@pytest.mark.parametrize(("make", "said"), [*BAD, (folder_there, "is a folder")])
def test_a_store_that_is_not_ours(capsys, folder, make, said):
    name, store = grows(folder), folder / "s"
    make(store)
    before = store.read_bytes() if store.is_file() else b""
    for words in (["run", name], ["verify", name], ["show", name], ["status"]):
        assert said in refused(capsys, *words, "--store", "s")
    assert said in refused(capsys, "export", name, "--to", "csv", "--store", "s")
    assert calls(folder) == []
    assert (store.read_bytes() if store.is_file() else b"") == before
    assert not (folder / "grows.csv").exists()


def test_a_store_in_no_folder(capsys, folder):
    name = grows(folder)
    assert "create it first" in refused(capsys, "run", name, "--store", "no/s.db")
    assert "does not exist" in refused(capsys, "show", name, "--store", "no/s.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to(capsys, folder):
    name = grows(folder)
    (folder / "locked").mkdir(mode=0o555)
    assert "allow writing" in refused(capsys, "run", name, "--store", "locked/s.db")


def test_about_tells_what_is_computed_and_reads_no_store(capsys, folder):
    out = well(capsys, "show", "--about", grows(folder))
    assert out.startswith("Does it grow?")
    assert "Settings" in out
    assert "quick: " in out
    assert not list(folder.glob("*.sqlite"))


def test_about_breaks_the_lines_of_a_docstring_where_the_terminal_ends(capsys, folder):
    text = '    """One line of it,\n    and the next.\n\n    - a list\n    - stays\n    """\n'
    opened = '    with (HERE / "calls")'
    out = well(capsys, "show", "--about", grows(folder, GROWS.replace(opened, text + opened)))
    assert "One line of it, and the next.\n\n- a list\n- stays\n" in out


def test_about_leaves_out_bounds_that_are_none(capsys, folder):
    checks = (
        *("at_least(1/0, n=n)", "at_least(*[1], n=n)", "at_least('x', n=n)", "within(1, n=n)"),
        *("within([1], 2, n=n)", "one_of(3, n=n)", "at_most(10**400, n=n)", "paired()"),
        *("one_of(choices={2}, n=n)", "one_of([7, 8], kind=kind)", "within(2, 9, noise=noise)"),
    )
    opened = '    with (HERE / "calls")'
    text = "".join(f"    {check}\n" for check in checks)
    out = well(capsys, "show", "--about", grows(folder, GROWS.replace(opened, text + opened)))
    lines = {line.split()[0]: line.rstrip() for line in out.splitlines() if line.split()}
    assert lines["n"].split() == ["n", "whole", "numbers"]
    assert lines["kind"].endswith("7, 8")
    assert lines["noise"].endswith("2 to 9")


def test_about_of_every_experiment_names_its_claims(capsys):
    out = " ".join(well(capsys, "show", "--about", "damian22-degenerate").split())
    assert "Heₚ" in out or "He_p" in out
    claims = experiment("damian22-degenerate").claims
    assert all(f"{k}. {' '.join(c.text.split())}" in out for k, c in enumerate(claims, start=1))


def test_about_tells_a_long_count_by_its_ends(capsys):
    assert "quick: setting = 0 to 119\n" in well(capsys, "show", "--about", "theory-teachers")


def test_theory_has_a_row_a_cell_however_many_seeds_there_are():
    seen = []

    def sums(n: int, *, seed: int) -> dict[str, float]:
        return {"a": n + seed}

    def doubles(n: int) -> dict[str, float]:
        return {"a": 2.0 * n}

    def figure(table, theory):
        seen.append((len(table), theory["n"].tolist()))
        return Figure()

    found = Experiment(
        *("demo", "?", sums, {"quick": {"n": [1, 2]}}),
        seeds=3, theory=doubles, figure=figure,
    )  # fmt: skip
    points = found.points("quick", None, None)
    drawn(found, run(found), [point.cell for point in points])
    assert seen == [(6, [1, 2])]
