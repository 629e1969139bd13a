"""Numbers among words, days without years, epochs, and what is assumed of them, which is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gradfeat
from gradfeat.errors import TableError
from gradfeat.rows.sources.tables import FrameTables, with_places
from gradfeat.table.encode import TableEncoder
from gradfeat.table.read import as_frame
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.unread import unread_sentence

DAYS = pd.date_range("2020-01-02", periods=300, freq="31h")


def plan_of(cells, name="x"):
    return plan_column(name, pd.Series(cells))


def read(plan, *cells):
    return {k: v.tolist() for k, v in plan.encode(pd.Series(cells)).parts.items()}


@pytest.mark.parametrize(
    ("write", "cell", "numbers"),
    [
        ("{0}/{1}", "120/80", [120, 80]),
        ("{0}-{1}", "5 \u2013 10", [5, 10]),
        ("{0} to {1}", "65+", [65, 65]),
        ("No. {0}", "No.7", [7]),
        ("#{0}", "#12", [12]),
        ("Floor {0}", "floor 3", [3]),
        ("{0} x {1}.5 x {0} cm", "4\u00d75.25x6 cm", [4, 5.25, 6]),
        ("10.0.{0}.{1}", "10.0.3.12", [10, 0, 3, 12]),
        ("({0}.5, -{1}.25)", "(48.1, 11.5)", [48.1, 11.5]),
        ("FY{0}", "FY21", [21]),
    ],
)
def test_numbers_among_the_same_words_are_a_column_each(write, cell, numbers):
    cells = [write.format(7 * i % 97, 3 * i % 89) for i in range(200)]
    encoder = TableEncoder().fit(pd.DataFrame({"x": cells}))
    assert encoder.notes_[0].kind == "numbers"
    assert "is taken as" in encoder.notes_[0].remark
    found = read(plan_of(cells), cell, "none of them")
    assert [v[0] for k, v in found.items() if k != "_missing"] == numbers
    assert found["_missing"] == [0, 1]
    assert encoder.unread(pd.DataFrame({"x": ["none"]}))[0].what.startswith("text such as")


@pytest.mark.parametrize(
    "cells",
    [
        [f"{i:05d}-{7 * i % 10000:04d}" for i in range(9, 300)],
        [f"{'ABCDEFG'[i % 7]}{i}.{i % 9}" for i in range(200)],
        [f"c{i}" for i in range(200)],
        [f"SKU{7 * i % 199}-{i % 9}" for i in range(200)],
        [f"text {i} of {'many words '[: i % 11]}" for i in range(200)],
    ],
)
def test_codes_and_other_texts_are_no_numbers(cells):
    assert plan_of(cells).kind == "text"


def test_numbers_among_words_are_saved_and_loaded(tmp_path):
    frame = pd.DataFrame({"x": [f"{i}/{i % 7}" for i in range(100)]})
    encoder = TableEncoder().fit(frame)
    gradfeat.save(encoder, tmp_path / "e")
    loaded = gradfeat.load(tmp_path / "e").transform(frame)
    np.testing.assert_array_equal(loaded, encoder.transform(frame))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("timestamp", "%s"),
        ("created_at", "%s000"),
        ("day", "%d%m%Y"),
        ("date", "%m%d%Y"),
        ("x", "%Y-%m-%d %H:%M:%S JST"),
        ("x", "%Y-%m-%d %H:%M:%S IST"),
        ("x", "%Y-%m-%d %H:%M Europe/Berlin"),
        ("x", "%Y-%m-%dT%H:%M:%S+01:00[Europe/Berlin]"),
        ("x", "%m/%d/%Y %I %p"),
    ],
)
def test_moments_are_read_where_they_were_text(name, way):
    cells = [day.strftime(way.replace("%s", str(int(day.timestamp())))) for day in DAYS]
    plan = plan_of(cells, name)
    assert plan.kind == "date"
    seconds = np.array(read(plan, *cells)["_seconds"])
    step = 86_400 if name in ("day", "date") else 1
    truth = np.array([day.timestamp() for day in DAYS]) // step * step
    np.testing.assert_allclose(seconds - seconds[0], truth - truth[0], atol=3600 * ("%M E" in way))


@pytest.mark.parametrize("column", [[202001, 202002, 202112], ["202001", "202002", "202112"]])
def test_months_of_six_digits_are_dates_by_their_name(column):
    assert plan_of(column, "month").kind == "date"
    assert plan_of(column, "amount").kind == "number"
    assert plan_of([64_792, 147_409, 99], "Time").kind == "number"


@pytest.mark.parametrize("way", ["%d %B", "%b %d", "%d-%b"])
def test_days_without_a_year_are_days_of_one(way):
    plan = plan_of([day.strftime(way) for day in DAYS])
    found = read(plan, "1 Jan" if way == "%d %B" else pd.Timestamp("2021-01-01").strftime(way))
    assert found["_day_circular_0"][0] == pytest.approx(np.sin(2 * np.pi / 30))
    assert not any("weekday" in part for part in found)
    assert plan.assumption == "" or "is taken as a day without a year" in plan.assumption


@pytest.mark.parametrize("way", ["%b %y", "%y-%b"])
def test_two_digits_that_are_few_are_years(way):
    plan = plan_of([day.strftime(way) for day in DAYS])
    assert read(plan, DAYS[0].strftime(way))["_year"] == [2020]
    assert "is taken as a month of a year" in plan.assumption


def test_what_is_assumed_of_clocks_zones_and_versions_is_said():
    assert "2h 05m" in plan_of([f"{i % 9}:{i % 60:02d}" for i in range(90)]).assumption
    assert plan_of([f"{i % 24}:{i % 60:02d}" for i in range(90)]).assumption == ""
    assert plan_of([f"{i % 9}:{i % 60:02d}" for i in range(90)], "lap").kind == "duration"
    zones = [f"{day:%Y-%m-%d %H:%M}{'+01:00' * (i % 2)}" for i, day in enumerate(DAYS)]
    assert "are taken as UTC" in plan_of(zones).assumption
    assert "--category 'zip' takes its numbers" in plan_of([94110, 94114, 10001], "zip").assumption
    assert plan_of([94110, 94114, 10001], "unzipped").assumption == ""
    said = "In 'version' '1.10' is taken as 1.1; --category 'version' takes it as a level."
    assert plan_of([1.1, 1.2, 1.10], "version").assumption == said
    assert plan_of([1.1, 1.2, 1.10], "conversion").assumption == ""


@pytest.mark.parametrize(("cell", "seconds"), [("5 days ago", 432_000), ("2 hours old", 7200)])
def test_times_since_are_durations(cell, seconds):
    assert read(plan_of([f"{i} days ago" for i in range(60)]), cell)[""] == [seconds]


def test_years_before_the_era_are_below_zero():
    cells = [f"{i} {'BC' if i % 2 else 'AD'}" for i in range(1, 200)]
    assert read(plan_of(cells), "44 BC", "14 AD")[""] == [-44, 14]


def test_dates_with_day_and_month_turned_are_said_to_misread_others():
    plan = plan_of([day.strftime("%d/%m/%Y") for day in DAYS])
    cells = [*(day.strftime("%m/%d/%Y") for day in DAYS), "soon"]
    strange, turned = plan.encode(pd.Series(cells)).unread
    assert "day first, but some with the month first" in turned.what
    assert (strange.what, strange.cells, strange.row) == ("date", 1, len(DAYS))


@pytest.mark.parametrize("write", ["{0}{1}.50", "{1}.50 {0}"])
def test_amounts_in_several_currencies_are_told(write):
    plan = plan_of([write.format("€$"[k % 2], k) for k in range(200)])
    assert plan.kind == "text"
    assert "amounts in several currencies ('$', '€')" in plan.assumption


SHARES = [f"{share / 1000:.3f}" for share in range(100, 900, 10)]
PER_CENT = [f"{i} %" for i in range(10, 90)]


@pytest.mark.parametrize(
    ("trained", "later", "values", "said"),
    [
        (PER_CENT, [45.0, 0.0], [0.45, 0], "1 cell of 'x' without % as per cent ('45'"),
        (PER_CENT, ["0.54", "95 %"], [0.54, 0.95], "without % as shares of 1 ('0.54'"),
        (PER_CENT, ["0.5", "95"], [0.5, np.nan], "Taken as missing: 1 cell of 'x' that is no num"),
        (SHARES, ["54.1%", "0.2"], [0.541, 0.2], "1 cell of 'x' with % as hundredths ('54.1%'"),
        (SHARES, ["54.1%", "5%"], [0.541, np.nan], "is no number ('5%', row 2)."),
        (range(10, 90), ["54.1%"], [54.1], "with % as the number before it"),
        (range(2, 200), ["0.5%", "150%"], [np.nan, 150], "1 cell of 'x' that is no number ('0.5%'"),
        ([0, 1], ["True", "no", "x"], [1, 0, np.nan], "2 cells of 'x' as no (0) and yes (1)"),
        ([0, 1], [True, False], [1, 0], "as no (0) and yes (1) (the first: 'True', row 1)"),
        ([0, 1, 2], ["True", "2"], [np.nan, 2], "that is no number ('True'"),
        (["Yes", "No"], ["y", "FALSE", "0", "?"], [1, 0, 0, np.nan], "3 cells of 'x' as no and y"),
        (["ja", "nein"], ["y", "no"], [0, 1], "2 cells of 'x' as no and yes"),
        ([b"lo", b"hi"], ["lo", "hi"], [1, 0], ""),
        (
            ["37.50 min", "8 min"],
            ["37.5", "1 h"],
            [2250, 3600],
            "without a unit as minutes ('37.5'",
        ),
        (["37.50 min", "2 h"], ["37.5", "1 h"], [np.nan, 3600], "that is no duration ('37.5'"),
    ],
)
def test_later_cells_of_one_meaning_are_read_and_told(trained, later, values, said):
    column = pd.Series([*trained] * (1 if len(trained) > 40 else 40))
    encoder = TableEncoder().fit(pd.DataFrame({"x": column}))
    (plan,) = TableEncoder.from_contents(encoder.to_contents())._plans
    found = plan.encode(pd.Series(later))
    np.testing.assert_allclose(found.parts[""], values, rtol=1e-12)
    frame = FrameTables(pd.DataFrame({"x": later}))
    assert said in unread_sentence(with_places(found.unread, frame))
    assert bool(said) == bool(found.unread)


def test_records_are_a_table_and_complex_numbers_none():
    records = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert as_frame(records).to_dict("records") == records
    with pytest.raises(TableError, match="'y' holds complex numbers: give two columns"):
        gradfeat.compare(pd.DataFrame({"x": range(50), "y": [1j] * 50}), "y")
