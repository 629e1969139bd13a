"""Dates whose year, century or place in the cell only the whole column tells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import with_places
from gradfeat.table.encode import TableEncoder
from gradfeat.table.predict import Predictor
from gradfeat.table.reading import clocks, date_cells
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.table_model import TableModel
from gradfeat.table.unread import unread_sentence

RNG = np.random.default_rng(3)
DAYS = pd.Series(pd.Timestamp("2012-03-05") + pd.to_timedelta(RNG.integers(0, 3000, 200), unit="D"))


def years_of(plan, cells):
    return plan.encode(pd.Series(cells)).parts["_year"].tolist()


@pytest.mark.parametrize("way", ["%Y-%m-%d", "%d/%m/%Y", "%B %d, %Y", "%Y-%m", "%Y/%m", "%Y, %B"])
@pytest.mark.parametrize("each", [3, 30])
def test_years_alone_among_dates_are_their_first_days_and_that_is_said(way, each):
    cells = DAYS.dt.strftime(way).where(DAYS.index % each > 0, DAYS.dt.strftime("%Y"))
    plan = plan_column("released", cells)
    assert plan.kind == "date"
    assert years_of(plan, cells) == DAYS.dt.year.tolist()
    assert "alone is taken as its first day" in plan.assumption


def test_years_without_dates_stay_numbers_or_levels():
    years = pd.Series([str(2000 + k % 7) for k in range(100)])
    assert plan_column("x", years).kind == "number"
    assert plan_column("x", years.where(years.index % 20 > 0, "PRESENT")).kind == "category"


def test_the_year_is_first_where_the_last_numbers_are_all_days_of_a_month():
    cells = DAYS.dt.strftime("%y/%m/%d")
    plan = plan_column("d", cells)
    assert plan.read(cells).tolist() == DAYS.tolist()
    assert "is taken as a day with the year first" in plan.assumption
    turned = DAYS.dt.strftime("%d/%m/%y")
    assert years_of(plan_column("d", turned), turned) == DAYS.dt.year.tolist()


@pytest.mark.parametrize("way", ["%Y-%m-%d-%H.%M.%S", "%Y. %m. %d. %H:%M:%S"])
def test_times_of_databases_and_dates_with_dots_and_blanks_are_dates(way):
    cells = DAYS.dt.strftime(way)
    assert plan_column("d", cells).read(cells).tolist() == DAYS.tolist()


@pytest.mark.parametrize(
    ("way", "name"),
    [("%y%m%d", "date"), ("%d%m%y", "order_date"), ("%m%d%y", "date")],
)
def test_six_digits_are_days_where_the_column_is_named_so(way, name):
    cells = DAYS.dt.strftime(way)
    plan = plan_column(name, cells)
    assert years_of(plan, cells) == DAYS.dt.year.tolist()
    assert "is taken as a day with the year" in plan.assumption
    assert plan_column("lot", "7" + cells.str[1] + "7" + cells.str[3:]).kind == "number"


def test_six_digits_of_years_and_months_stay_these():
    cells = pd.Series(["201201", "201212", "201911"] * 9)
    assert years_of(plan_column("date", cells), cells) == [2012, 2012, 2019] * 9


@pytest.mark.parametrize(
    "years", [(1935, 2005), (1955, 1968), (1962, 2006), (1990, 2024), (2020, 2050)]
)
def test_the_century_of_two_digits_leaves_no_gap_between_years(years):
    first, last = years
    told = [first + 5 * k % (last - first + 1) for k in range(200)]
    cells = [f"{k % 28 + 1:02}/{k % 12 + 1:02}/{year % 100:02}" for k, year in enumerate(told)]
    assert years_of(plan_column("d", pd.Series(cells)), cells) == told


def test_years_of_two_digits_that_fill_a_century_are_told():
    cells = pd.Series([f"{k % 28 + 1:02}/{k % 12 + 1:02}/{k % 100:02}" for k in range(300)])
    assert "are taken as 1941 to 2040" in plan_column("d", cells).assumption


def test_days_that_a_spreadsheet_made_of_months_are_months_again():
    cells = [f"{k}-Jul" for k in range(1, 16)] + ["May-98", "Feb-78"] * 4
    found = years_of(plan_column("joined", pd.Series(cells)), ["13-Jul", "1-Jul", "May-98"])
    assert found == [2013, 2001, 1998]


@pytest.mark.parametrize(
    ("way", "order"),
    [("%d/%m/%Y", "day-first"), ("%m/%d/%Y", "month-first"), ("%d-%m-%y", "day-first")],
)
def test_the_day_is_what_stays_the_same_from_month_to_month(way, order):
    months = pd.Series(pd.date_range("2003-01-01", periods=40, freq="MS"))
    plan = plan_column("d", months.dt.strftime(way))
    assert plan.order == order
    assert plan.assumption == ""
    within = plan_column("d", pd.Series([f"1/{k}/2003" for k in range(1, 13)] * 3))
    assert "Nothing in 'd' tells" in within.assumption


@pytest.mark.parametrize(
    ("trained", "later", "order"),
    [
        ("%Y-%m-%d", "%m/%d/%Y", ""),
        ("%Y-%m-%d", "%d/%m/%Y", ""),
        ("%Y/%m/%d", "%d-%m-%Y", ""),
        ("%d.%m.%Y", "%m/%d/%Y", "day-first"),
        ("%Y-%m-%d", "%m%d%Y", ""),
        ("%m/%d/%Y", "%d-%m-%Y", "month-first"),
    ],
)
def test_later_dates_with_another_sign_are_read_where_they_have_one_order(trained, later, order):
    plan = plan_column("d", DAYS.dt.strftime(trained))
    assert plan.order == order
    found = plan.encode(DAYS.dt.strftime(later))
    sure = (DAYS.dt.day > 12) | (DAYS.dt.day == DAYS.dt.month)
    seconds = (DAYS - pd.Timestamp(0)).dt.total_seconds()
    np.testing.assert_array_equal(found.parts["_seconds"], seconds.where(sure))
    (unread,) = found.unread
    assert unread.cells == (~sure).sum() > 0
    assert "sure date, as training rows do not tell day from month" in unread.what


def test_dates_with_dots_have_the_day_first_whatever_the_order_of_others():
    plan = plan_column("d", DAYS.dt.strftime("%m/%d/%Y"))
    assert plan.read(DAYS.dt.strftime("%d.%m.%Y")).tolist() == DAYS.tolist()
    found = plan.encode(pd.Series(["10.13.2020", "13/10/2020", "3/4/21", "3-4-21"]))
    assert np.isnan(found.parts["_seconds"]).tolist() == [True, True, False, True]
    assert sorted((one.cells, one.example) for one in found.unread) == [
        (1, "13/10/2020"),
        (2, "10.13.2020"),
    ]


@pytest.mark.parametrize("zone", ["", "Z"])
def test_later_day_numbers_of_a_spreadsheet_are_dates_and_told(zone):
    plan = plan_column("d", DAYS.dt.strftime(f"%Y-%m-%d{' 00:00' if zone else ''}{zone}"))
    found = plan.encode(pd.Series(["44197.5", "2021-01-01", "123", None]))
    noon = pd.Timestamp("2021-01-01 12:00").timestamp()
    np.testing.assert_array_equal(found.parts["_seconds"], [noon, noon - 43200, np.nan, np.nan])
    told, lost = found.unread
    assert (told.example, told.read, lost.example) == ("44197.5", True, "123")
    stored = plan.encode(pd.Series([44197.0, 44198.0]))
    assert np.diff(stored.parts["_seconds"]) == 86400
    assert "as days that spreadsheets number" in stored.unread[0].what


def test_a_later_file_with_another_order_is_told_whole_and_in_parts(tmp_path):
    frame = pd.DataFrame({"d": DAYS.dt.strftime("%Y-%m-%d"), "y": np.arange(200.0)})
    model = TableModel(LinearRegression()).fit(frame[["d"]], frame["y"])
    rows = pd.DataFrame({"d": ["soon", *DAYS.dt.strftime("%m/%d/%Y")]})
    with pytest.warns(UserWarning, match=r"no date \(.*tell day from month") as caught:
        model.predict(rows)
    rows.to_csv(tmp_path / "n.csv", index=False)
    predictor = Predictor(model)
    for _ in predictor.frames(tables(tmp_path / "n.csv", piece_rows=40)):
        pass
    said = unread_sentence(with_places(predictor.unread, tables(tmp_path / "n.csv")))
    counts = [one.cells for one in predictor.unread]
    assert said.count("cell") == 2
    assert all(str(count) in str(caught[0].message) for count in counts)


@pytest.mark.parametrize("mark", [",", "."])
def test_a_mark_that_may_be_of_thousands_or_decimals_is_told_where_training_has_none(mark):
    other = ",."[mark == ","]
    cells = [f"{1000 * k}" if k < 1 else f"{k}{mark}{500 + k % 10 * 10}" for k in range(90)]
    cells += [str(k) for k in range(1, 999, 20)]
    plan = plan_column("x", pd.Series(cells))
    found = plan.encode(pd.Series([f"37{other}500", f"37{other}5", f"37{mark}500", "37"]))
    np.testing.assert_array_equal(found.parts[""], [np.nan, 37.5, 37500, 37])
    (unread,) = found.unread
    assert unread.example == f"37{other}500"
    assert f"whether {other!r} stands before decimals or between thousands" in unread.what
    decimals = plan_column("x", pd.Series([*cells, f"1{mark}200{other}5"]))
    assert decimals.read(pd.Series([f"37{other}500"])).tolist() == [37.5]


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("08:02:13  3 Sep 2020", "2020-09-03 08:02:13"),
        ("1:08 PM, 31/01/2020", "2020-01-31 13:08"),
        ("13:08 on 2020-01-31", "2020-01-31 13:08"),
    ],
)
def test_the_time_may_stand_before_the_date(cell, moment):
    plan = plan_column("x", pd.Series([cell, cell.replace("2020", "2021")] * 3))
    seconds = plan.encode(pd.Series([cell])).parts["_seconds"][0]
    assert seconds == (pd.Timestamp(moment) - pd.Timestamp(0)).total_seconds()


def test_a_number_alone_is_no_duration_where_no_training_row_had_one():
    laps = TableEncoder().fit(pd.DataFrame({"t": ["1:02.50", "58.31", "59.02", "1:00.00"] * 5}))
    X, _ = laps.encoded(pd.DataFrame({"t": ["57.5"]}))
    assert X[0, 0] == 57.5
    stored = TableEncoder().fit(pd.DataFrame({"t": pd.to_timedelta(range(20), unit="min")}))
    _, unread = stored.encoded(pd.DataFrame({"t": ["0.0113", "1 days 02:00:00"]}))
    assert [(one.cells, one.example) for one in unread] == [(1, "0.0113")]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["10E5", "20E6", "15E3"], "category"),
        (["1E5", "2E6", "3E4"], "number"),
        (["10E3", "470E3", "22E6"], "number"),
        (["12.5E4", "10E5", "2E1"], "number"),
        ([f"https://x.org/s/{k}" for k in range(60)], "text"),
        ([f"u{k}@x.org" for k in range(60)], "text"),
    ],
)
def test_powers_of_ten_codes_and_links(cells, kind):
    assert plan_column("x", pd.Series(cells * (1 if len(cells) > 9 else 20))).kind == kind


FIFTH_OF_MAY = {
    "5 Mei 2021": "Indonesian",
    "5. toukokuuta 2021": "Finnish",
    "2021. május 5.": "Hungarian",
    "5 mai 2021": "Romanian",
    "5 травня 2021": "Ukrainian",
    "5 Μαΐου 2021": "Greek",
    "令和3年5月5日": "Japanese",
    "[05/May/2021:00:00:00 +0000]": "of servers",
}


@pytest.mark.parametrize("cell", FIFTH_OF_MAY)
def test_dates_of_more_languages_and_of_servers(cell):
    written = date_cells.written_dates(np.array([cell], dtype=object))
    assert (written.found[0], written.year[0], written.month[0], written.day[0]) == (1, 2021, 5, 5)


@pytest.mark.parametrize("way", ["%d%m%Y", "%m%d%Y", "%Y%m%d"])
def test_eight_digits_that_are_all_days_are_dates_in_any_order(way):
    days = pd.date_range("2019-01-01", periods=300, freq="3D")
    plan = plan_column("visit", pd.Series(days.strftime(way)))
    assert plan.kind == "date"
    assert plan.assumption.startswith("Every number of 'visit' is a day of the calendar: ")
    years = plan.encode(pd.Series(days.strftime(way))).parts["_year"]
    assert years.tolist() == days.year.tolist()


@pytest.mark.parametrize("first", [31_000_000, 10_000_000])
def test_eight_digits_that_are_not_all_days_stay_numbers(first):
    assert plan_column("visit", pd.Series([str(first + 7 * k) for k in range(300)])).kind != "date"


def test_day_numbers_of_spreadsheets_beside_dates_are_dates_and_told():
    days = pd.date_range("2019-01-01", periods=300, freq="3D")
    counted = (days - pd.Timestamp("1899-12-30")).days.astype(str)
    cells = np.where(np.arange(300) % 3 == 1, counted, days.strftime("%Y-%m-%d"))
    plan = plan_column("visit", pd.Series(cells))
    found = plan.encode(pd.Series(cells))
    assert found.parts["_year"].tolist() == days.year.tolist()
    (told,) = found.unread
    assert (told.cells, told.read) == (100, True)
    others = np.where(np.arange(300) % 3 == 1, "21000", days.strftime("%Y-%m-%d"))
    assert plan_column("visit", pd.Series(others)).kind != "date"


@pytest.mark.parametrize(
    ("cell", "days"), [("P2Y3M", 2.25 * 365.25), ("P12M", 365.25), ("1 s 250 ms", 1.25 / 86_400)]
)
def test_lengths_of_years_months_and_milliseconds(cell, days):
    assert clocks.durations(np.array([cell], dtype=object))[0] == pytest.approx(86_400 * days)
