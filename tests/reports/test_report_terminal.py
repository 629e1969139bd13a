"""The comparison on a terminal: 80 columns, best first, nothing printed by itself."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from gradfeat.figures.comparison import span
from gradfeat.reports import terminal_table
from gradfeat.reports.words import answer, first_step_number, outcome
from gradfeat.table.results import ColumnLoss, Interval, Remark
from gradfeat.table.row_sample import RowSample
from gradfeat.table.screening import about_equal_rows
from gradfeat.wording import number, text_table
from reports.factory import VARIANTS


def printed(report, width: int = 80) -> str:
    out = StringIO()
    Console(file=out, width=width).print(terminal_table(report))
    return out.getvalue()


@pytest.mark.parametrize("name", VARIANTS)
def test_it_fits_eighty_columns_without_escape_codes(name):
    text = printed(VARIANTS[name])
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    for method in VARIANTS[name].methods:
        for value in list(method.scores.values())[:1]:
            assert number(value.estimate) in text
            assert span(value) in text


@pytest.mark.parametrize("name", ["regression", "three"])
def test_methods_are_sorted_and_marked_by_family(name):
    marks = {"learned": "*", "fixed": "o", "reference": "+"}
    lines = [line for line in printed(VARIANTS[name]).splitlines() if " to 0." in line]
    table = [line.strip() for line in lines if line.rstrip().endswith(" s")]
    order = sorted(VARIANTS[name].methods, key=lambda m: -next(iter(m.scores.values())).estimate)
    starts = [f"{marks[m.family]}  {m.label}"[:16] for m in order]
    assert [line[:16] for line in table] == starts


def test_what_was_read_then_remarks_verdict_scores_and_importances():
    report = replace(VARIANTS["regression"], remarks=(Remark("'id' is odd."),))
    text = " ".join(printed(report).split())
    parts = [
        f"{report.data}: {report.n_rows:,} rows, {len(report.columns)} input columns; ",
        "'id' is odd.",
        report.verdict.sentence.rstrip("."),
        "method R2",
        "column, shuffled",
        "A first gradient step would find",
    ]
    assert [text.count(part) for part in parts] == [1] * len(parts)
    assert sorted(parts, key=text.index) == parts


def test_a_line_for_each_direction_of_a_first_step():
    text = " ".join(printed(VARIANTS["regression"]).split())
    assert "A first gradient step would find 2 directions: 1. 48 % of random neurons" in text
    assert "1. 48 % of random neurons (38 % to 60 %): hr +0.9" in text
    many = " ".join(printed(VARIANTS["twelve"]).partition("A first gradient")[2].split())
    assert "3. " in many
    assert "4. " not in many
    assert "and 9 more" in many
    assert "first gradient" not in printed(VARIANTS["bare"])


def with_best(score: Interval):
    """One method of six that was fitted."""
    report = VARIANTS["regression"]
    first, *others = report.methods
    lost = [replace(one, scores={}, error="no time was left") for one in others]
    fitted = replace(first, scores={"R2": score})
    return replace(report, methods=(fitted, *lost), best=first.name, verdict=None)


def test_a_score_whose_whole_interval_is_below_chance_is_worse_than_the_mean():
    text = outcome(with_best(Interval(-3.984, -4.753, -3.435)))
    assert text.startswith("The only method that was fitted (Linear (ridge)) does not predict ")
    assert text.endswith(
        "(95 % interval −4.753 to −3.435), which is worse than predicting the mean."
    )
    text = outcome(with_best(Interval(-0.1, -0.3, 0.1)))
    assert text.endswith("which these rows do not tell from predicting the mean.")


def test_the_best_score_names_the_copies_that_a_remark_is_of():
    """The verdict said that a method predicts coin flips, which stood twice in the table."""
    report, frame = with_best(Interval(0.5, 0.4, 0.6)), pd.DataFrame({"a": [*range(40)] * 2})
    told = about_equal_rows(RowSample.of(frame, 0, 100))
    assert "copies" not in outcome(report)
    text = outcome(replace(report, remarks=(*map(Remark, told),)))
    assert text.endswith(
        "(95 % interval 0.400 to 0.600); copies of test rows are among the rows "
        "learned from, so that new rows may do worse."
    )


def test_few_test_rows_do_not_tell_whether_a_method_predicts():
    report = replace(with_best(Interval(0.99, np.nan, np.nan)), y_true=np.arange(2.0))
    assert outcome(report) == (
        f"2 test rows are too few to tell whether any method predicts {report.target}: "
        "Linear (ridge) has R2 0.990."
    )


def test_what_is_needed_most_is_so_of_the_columns_that_were_shuffled_apart():
    report = VARIANTS["regression"]
    rest = ColumnLoss(("u", "v"), Interval(0.9, 0.8, 1.0), rest=True)
    found = replace(report.importances, losses=(*report.importances.losses[:2], rest))
    text = answer(replace(report, importances=found))
    assert "needs hr most of the 2 that were shuffled apart: shuffled, R2 falls by 0.800" in text


def test_columns_that_the_rows_do_not_order_are_named_together():
    report = VARIANTS["regression"]
    found = replace(report.importances, tied=2, score="log-loss")
    text = answer(replace(report, importances=found))
    said = "needs hr and temp with atemp most, in no order that these test rows tell: shuffled, "
    assert f"{said}log-loss rises by 0.800 and 0.400" in text
    assert "log-loss gained" in printed(replace(report, importances=found))


def test_failures_are_plain_lines():
    text = " ".join(printed(VARIANTS["failure"]).split())
    assert "Kernel ridge (Laplace) could not be fitted: Needs 97.6 GB and 16 GB are free." in text


def test_methods_that_failed_alike_share_a_line():
    report = VARIANTS["regression"]
    kept, *others = report.methods
    lost = [replace(one, scores={}, error="no time was left") for one in others[:2]]
    text = " ".join(printed(replace(report, methods=(kept, *lost))).split())
    assert f"{others[0].label} and {others[1].label} could not be fitted: no time was left" in text


def test_markup_in_names_is_text():
    report = VARIANTS["regression"]
    named = replace(report.methods[0], label="[bold]odd[/]")
    assert "[bold]odd[/]" in printed(replace(report, methods=(named,)))


def test_nothing_is_printed_by_itself(capsys):
    terminal_table(VARIANTS["three"])
    assert capsys.readouterr() == ("", "")


def test_a_long_name_goes_on_in_the_next_line():
    table, name = text_table(["column", "lost"], right=(1,)), "n" * 90
    table.add_row(name, "0.2")
    out = StringIO()
    Console(file=out, width=60).print(table)
    assert out.getvalue().count("n") == len(name) + "column".count("n")


@pytest.mark.parametrize(
    ("lows", "words"),
    [
        ((0.03, 0.04), "would find 2 directions"),
        ((0.03, 0.01), "would find 1 direction, and may find 1 more"),
        ((0.01, 0.01), "may find 2 directions"),
    ],
)
def test_a_first_step_may_find_what_is_not_surely_of_the_least_share(lows, words):
    step = VARIANTS["regression"].first_step
    mass = tuple(replace(one, low=low) for one, low in zip(step.mass, lows, strict=True))
    assert first_step_number(replace(step, mass=mass)) == f"A first gradient step {words}"
