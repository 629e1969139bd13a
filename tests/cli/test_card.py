"""show --card: a model as a page in Markdown or HTML."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest
from rich.console import Console

from cli.tables import gradfeat, quantity, without_pages, written
from gradfeat import __version__
from gradfeat.cli import app, guarded
from gradfeat.cli.table.card import card, slopes_table
from gradfeat.table.saved import load_table_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    table = written(quantity(120).rename(columns={"a": "a|b_c*"}), folder)
    words = ["fit", str(table), "--target", "y", "--out", str(folder / "out"), "--time", "2"]
    with without_pages():
        assert guarded(app, [*words, "--methods", "kernel"]) == 0
    return folder / "out"


def test_it_says_what_the_model_is_and_how_it_was_made(capsys, model):
    ran = gradfeat(capsys, "show", model, "--card")
    assert (ran.code, ran.err) == (0, "")
    about = load_table_model(model).about
    for word in ("# y: Kernel ridge", "R2", f"gradfeat {__version__}", "## Limits", "seed 0"):
        assert word in ran.out
    assert f"fitted on {about['train_rows']} rows of {about['data']}, tested on" in ran.out
    assert about["version"] == __version__
    assert "## Scores" not in gradfeat(capsys, "show", model).out


def test_every_row_of_a_table_has_as_many_cells_as_its_head(model):
    text = card(load_table_model(model)).replace("\\|", "")
    for part in text.split("\n\n"):
        assert len({line.count("|") for line in part.splitlines() if line.startswith("|")}) <= 1
    assert "a\\|b\\_c\\*" in card(load_table_model(model))


def test_experiments_have_no_card(capsys):
    ran = gradfeat(capsys, "show", "shi22-emergence", "--card")
    assert ran.code != 0
    assert ran.err.count("\n") == 1


def test_as_html_it_is_a_page_with_the_same_tables_and_names_as_text(capsys, model):
    plain, page = (gradfeat(capsys, "show", model, "--card", *form) for form in ([], FORM))
    assert (page.code, page.err) == (0, "")
    assert page.out.count("<table") == plain.out.count("| --- |\n") > 1
    assert "<h1>y: Kernel ridge</h1>" in page.out
    assert "a|b_c*" in page.out
    assert not {"http:", "https:"} & {*page.out.split()}


def test_a_format_without_a_card_is_refused(capsys, model):
    ran = gradfeat(capsys, "show", model, *FORM)
    assert ran.code != 0
    assert "--card" in ran.err


FORM = ["--format", "html"]


def test_other_programs_read_what_show_prints(capsys, model):
    found, shown = load_table_model(model), gradfeat(capsys, "show", model, "--format", "json")
    record = json.loads(shown.out)
    assert (record["target"], record["scores"]) == (
        "y",
        [list(one) for one in found.about["scores"]],
    )
    rows = list(csv.DictReader(gradfeat(capsys, "show", model, "--format", "csv").out.splitlines()))
    assert [row["name"] for row in rows] == [one["name"] for one in record["columns"]]
    assert float(rows[0]["loss"]) == record["columns"][0]["loss"]
    assert sum(float(row["share_of_slope"]) for row in rows) == pytest.approx(1)


def test_columns_without_slope_share_a_line_and_the_note_is_as_wide_as_the_terminal():
    shares = {"a": 0.9, "b": 0.1, **{f"c{k}": 0.0 for k in range(28)}}
    console = Console(file=StringIO(), width=80)
    console.print(slopes_table(shares))
    lines = console.file.getvalue().splitlines()
    assert "and 28 more" in lines[4]
    assert "each <1 %" in lines[4]
    assert len(lines) <= 9
    assert max(map(len, lines)) > 60
