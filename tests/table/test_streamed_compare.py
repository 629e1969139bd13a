"""Comparisons by passes: numbers of rows, methods that cannot, failures that end the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd
import pytest
from rich.console import Console

from gradfeat import RFMRegressor
from gradfeat.errors import SourceError, TableError
from gradfeat.interface.open import why_streamed
from gradfeat.interface.page import page
from gradfeat.reports import fit_contents, terminal_table
from gradfeat.rows.in_process import Threads
from gradfeat.rows.source import Piece
from gradfeat.rows.sources.tables import FrameTables, Tables
from gradfeat.table.compare import Compared, compare
from gradfeat.table.fitting import predictions
from gradfeat.table.methods import chosen_methods
from gradfeat.table.request import Request, Steps
from gradfeat.table.results import FitReport
from table.streamed_tables import mixed

QUICK = ("linear", "random-features")


def rendered(report: FitReport) -> str:
    return page("report.html.j2", fit_contents(report))


def compared(table: Tables, methods: tuple[str, ...] = QUICK, **options) -> Compared:
    request = Request("table", "y", methods=methods, width=32, seconds=2.0, **options)
    steps = Steps()
    return compare(table, request, steps, Threads(1, report=steps), "1 thread")


def test_the_report_counts_all_rows_and_tells_every_pass():
    frame = mixed()
    frame.loc[::10, "y"] = None
    report = compared(FrameTables(frame, 50)).report
    assert (report.n_rows, report.n_train, report.n_test) == (360, 270, 90)
    assert report.streaming is not None
    assert report.streaming.pieces == 8
    taken = {each.label: each.rows for each in report.streaming.passes}
    assert taken["Preparing: rows and target"] == 400
    assert taken["Random features: normal equations"] == 270
    assert report.directions is not None
    assert "a" in report.directions.columns
    html = rendered(report)
    assert "streamed in 8 pieces by 1 thread" in html
    assert "every fit is to all 270" in html


def test_a_report_of_rows_in_memory_has_no_word_of_passes():
    report = compared(FrameTables(mixed(), 50)).report
    assert "streamed" not in rendered(replace(report, streaming=None))


def test_methods_that_need_their_rows_in_memory_are_fitted_to_a_sample(monkeypatch):
    monkeypatch.setattr("gradfeat.table.prepared.SAMPLE_ROWS", 100)
    report = compared(FrameTables(mixed(), 50), ("linear", "boosting")).report
    found = {m.name: (m.rows_used, m.sampled, m.error) for m in report.methods}
    assert found == {"linear": (300, False, ""), "boosting": (100, True, "")}
    said = "Gradient boosting was fitted on 100 of the 300 training rows, which it needs in memory"
    assert any(said in remark.text for remark in report.remarks)
    html, console = rendered(report), Console(width=100, record=True)
    console.print(terminal_table(report))
    text = console.export_text()
    for shown in (html, text):
        assert "Gradient boosting (100 of 300 rows)" in " ".join(shown.split())
        assert "Linear model (" not in shown


def test_a_method_that_had_no_time_for_all_rows_is_said_to_have_had_none(monkeypatch):
    monkeypatch.setattr("gradfeat.table.prepared.SAMPLE_ROWS", 100)
    monkeypatch.setattr("gradfeat.table.fitting._streams", lambda *_: False)  # no time for passes
    report = compared(FrameTables(mixed(), 50), ("linear", "boosting")).report
    on = "was fitted on 100 of the 300 training rows,"
    text = " ".join(remark.text for remark in report.remarks)
    assert f"Linear model {on} to keep to the time asked for" in text
    assert f"Gradient boosting {on} which it needs in memory" in text


def test_columns_to_be_ignored_are_not_read():
    report = compared(FrameTables(mixed()), ignore=("a", "name")).report
    assert {note.name for note in report.columns} == {"b", "whole", "kind", "when", "flag"}
    with pytest.raises(TableError, match="no column 'nam' to ignore; did you mean 'name'"):
        compared(FrameTables(mixed()), ignore=("nam",))
    with pytest.raises(TableError, match="The target 'y' is among the columns to ignore"):
        compared(FrameTables(mixed()), ignore=("a", "y"))


def test_a_time_column_needs_the_rows_in_memory():
    with pytest.raises(TableError, match="--time-column"):
        compared(FrameTables(mixed()), time_column="when")


def torn() -> Iterator[pd.DataFrame]:
    raise SourceError("piece 3 is damaged: write it again.")


class TornLater(Tables):
    """A table of pieces one of which goes bad after the first pass."""

    def __init__(self, table: FrameTables) -> None:
        self.table, self.passes = table, 0

    name = property(lambda self: self.table.name)
    names = property(lambda self: self.table.names)
    rows = property(lambda self: self.table.rows)
    count = property(lambda self: self.table.count)
    fingerprint = property(lambda self: self.table.fingerprint)

    def select(self, columns: Sequence[str]) -> TornLater:
        del columns
        return self

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        found = list(self.table.pieces())
        self.passes += 1
        return iter([*found[:3], Piece("piece 3", torn), *found[4:]] if self.passes > 2 else found)


def test_rows_that_cannot_be_read_end_the_run():
    with pytest.raises(SourceError, match="piece 3 is damaged"):
        compared(TornLater(FrameTables(mixed(), 50)))


def test_tables_are_passed_over_when_they_are_many_files_or_large(tmp_path, monkeypatch):
    frame, file = mixed(), tmp_path / "t.parquet"
    frame.to_parquet(file)
    frame.to_csv(tmp_path / "t.csv", index=False)
    small = [str(file), str(tmp_path / "t.csv")]
    assert [why_streamed(path) for path in small] == ["", ""]
    assert [why_streamed(path, True) for path in small] == ["as asked"] * 2
    assert "folder" in why_streamed(str(tmp_path))
    assert "pattern" in why_streamed(str(tmp_path / "*.csv"))
    monkeypatch.setattr("gradfeat.interface.open.MOST_ROWS", 399)
    assert [why_streamed(path) for path in small] == ["it has more than 399 rows"] * 2
    assert why_streamed(str(file), False) == ""
    monkeypatch.setattr("gradfeat.interface.open.MOST_ROWS", 10_000)
    monkeypatch.setattr("gradfeat.interface.open.available_memory", lambda: 4096)
    assert all("in memory, more than a quarter" in why_streamed(path) for path in small)
    assert why_streamed("a.jsonl", True) == "as asked"


def test_a_machine_that_updated_no_metric_counts_as_fixed_features(monkeypatch):
    (rfm,) = chosen_methods(["rfm"])
    still = replace(rfm, make=lambda s: RFMRegressor(n_iter=0, random_state=s.seed))
    monkeypatch.setattr("gradfeat.table.methods.METHODS", (*chosen_methods(["linear"]), still))
    frame = mixed().drop(columns="text", errors="ignore")
    report = compare(
        FrameTables(frame, 500), Request("t", "y", methods=("linear", "rfm"), seconds=2.0), Steps()
    ).report
    assert {m.name: m.family for m in report.methods} == {"linear": "fixed", "rfm": "fixed"}
    assert report.verdict is None
    said = [r.text for r in report.remarks if r.place == "last"]
    assert said[-1].startswith("Recursive feature machine learned no features here")


def test_a_question_that_no_method_could_answer_stays_open():
    frame = mixed().drop(columns="text", errors="ignore")
    request = Request("t", "y", methods=("linear", "induced-network"), seconds=2.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradfeat.table.fitting.predictions", failing_for("Induced"))
        report = compare(FrameTables(frame, 500), request, Steps()).report
    first = [r.text for r in report.remarks if r.place == "first"]
    assert any(text.startswith("Whether learning features helps stays open") for text in first)
    assert report.verdict is None


def failing_for(name: str):
    def said(estimator, X, target):
        if type(estimator).__name__.startswith(name):
            raise ValueError("it does not fit")
        return predictions(estimator, X, target)

    return said
