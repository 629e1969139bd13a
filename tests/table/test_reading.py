"""Cells are read right on every road: held, streamed from several files, Parquet, JSON, Python."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfeat.errors import TableError
from gradfeat.interface.open import opened
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import FrameTables, held, with_places
from gradfeat.rows.sources.text_options import FOUND
from gradfeat.table.encode import TableEncoder
from gradfeat.table.prepared import Prepared, prepare
from gradfeat.table.read import read_table
from gradfeat.table.reading import clocks, date_cells
from gradfeat.table.reading.decide import plan_column, plan_columns
from gradfeat.table.reading.missing import about_codes_for_missing, codes_for_missing
from gradfeat.table.request import Request
from gradfeat.table.results import UnreadCells
from gradfeat.table.unread import unread_sentence

N = 400
RNG = np.random.default_rng(0)
X, Z = RNG.standard_normal((2, N))
DAYS = pd.date_range("2020-01-01", periods=N)
SWAPPED = str.maketrans(",.", ".,")


def some(cells: object, at: int, value: str) -> list[str]:
    """The cells as text, with one of them changed."""
    texts = [str(cell) for cell in cells]  # pyright: ignore[reportGeneralTypeIssues]
    texts[at] = value
    return texts


def fixed(values: np.ndarray) -> list[str]:
    return [f"{value:.4f}" for value in values]


AMOUNT = 1e5 * np.abs(X)
HOURS = RNG.integers(0, 24, N)
STATES = RNG.integers(0, 30, N)
CODES = np.random.default_rng(1).integers(0, 30, N)
NAMES = [f"{a}{b}" for a in "ABCDE" for b in "ghijklmnop"]

#: Name: cells of x, the numbers that they are, the kind that is said, and the first stray.
CASES: dict[str, tuple[list[str], np.ndarray, str, str]] = {
    "a question mark": (some(fixed(X), 15, "?"), X, "number", "?"),
    "a unit": (some(fixed(X), 0, "kg/m2"), X, "number", "kg/m2"),
    "a dash": (some(fixed(X), 7, "-"), X, "number", "-"),
    "thousands": ([f"{v:,.0f}" for v in AMOUNT], AMOUNT, "number", ""),
    "comma": ([f"{v:,.2f}".translate(SWAPPED) for v in AMOUNT], AMOUNT, "number", ""),
    "apostrophes": ([f"{v:,.0f}".replace(",", "'") for v in AMOUNT], AMOUNT, "number", ""),
    "blanks": ([f"{v:,.0f}".replace(",", "\u00a0") for v in AMOUNT], AMOUNT, "number", ""),
    "money": ([f"${v:,.2f}" if v > 0 else f"(${-v:,.2f})" for v in X], X, "number", ""),
    "per cent": ([f"{v:.2f} %" for v in X], X, "number", ""),
    "a measure": ([f"{v:.2f} kg/m²" for v in X], X, "number", ""),
    "minus": ([f"{v:.4f}".replace("-", "\u2212") for v in X], X, "number", ""),
    "huge": (some(fixed(X), 3, "1e400"), X, "number", "1e400"),
    "dotted": (list(DAYS.strftime("%d.%m.%Y")), np.arange(N), "date", ""),
    "slashes": (list(DAYS.strftime("%m/%d/%y")), np.arange(N), "date", ""),
    "names": (list(DAYS.strftime("%d %B %Y")), np.arange(N), "date", ""),
    "half days": (list(DAYS.strftime("%b %d, %Y %I:%M %p")), np.arange(N), "date", ""),
    "zulu": (list(DAYS.strftime("%Y-%m-%dT%H:%M:%SZ")), np.arange(N), "date", ""),
    "far": (some(DAYS.strftime("%Y-%m-%d"), 9, "9999-12-31"), np.arange(N), "date", "9999-12-31"),
    "clock": ([f"{h:02d}:{m:02d}" for h, m in zip(HOURS, RNG.integers(0, 60, N), strict=True)],
              HOURS, "time of day", ""),
    "lengths": ([str(one) for one in pd.to_timedelta(1000 * X, unit="s").round("s")],
                X, "duration", ""),
    "codes": ([f"{code:03d}" for code in CODES], CODES, "category", ""),
    "states": ([NAMES[i] for i in STATES], STATES, "category", ""),
}  # fmt: skip

#: Of numbers rounded to two places, and of whole hours taken for times of day.
FAITHFUL = 0.99


def written(folder: Path, frame: pd.DataFrame) -> Path:
    """The table in two files of a folder."""
    (folder / "rows").mkdir()
    frame.iloc[:150].to_csv(folder / "rows" / "1.csv", index=False)
    frame.iloc[150:].to_csv(folder / "rows" / "2.csv", index=False)
    return folder / "rows"


def of_csv(folder: Path, frame: pd.DataFrame) -> Prepared:
    frame.to_csv(folder / "t.csv", index=False)
    return prepare(opened(str(folder / "t.csv"), FOUND, streamed=False), ASKED)


def of_folder(folder: Path, frame: pd.DataFrame) -> Prepared:
    return prepare(tables(written(folder, frame), piece_rows=64), ASKED, InProcess())


def of_parquet(folder: Path, frame: pd.DataFrame) -> Prepared:
    frame.to_parquet(folder / "t.parquet", row_group_size=90)
    return prepare(tables(folder / "t.parquet", piece_rows=100), ASKED, InProcess())


def of_json(folder: Path, frame: pd.DataFrame) -> Prepared:
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    return prepare(opened(str(folder / "t.jsonl"), FOUND, streamed=False), ASKED)


def of_frame(dtype: str) -> Callable[[Path, pd.DataFrame], Prepared]:
    return lambda _, frame: prepare(FrameTables(frame.astype({"x": dtype})), ASKED)


ASKED = Request("t", "y")
ROADS = {
    "csv": of_csv,
    "folder": of_folder,
    "parquet": of_parquet,
    "json": of_json,
    **{dtype: of_frame(dtype) for dtype in ("object", "string", "category")},
}


def r_squared(found: Prepared) -> float:
    """Of least squares, on the test rows."""
    A, B = (np.c_[np.ones(len(rows)), rows] for rows in (found.train, found.test))
    size = np.abs(A).max(axis=0)
    left = found.y_test - B / size @ np.linalg.lstsq(A / size, found.y_train, rcond=None)[0]
    return float(1 - left.var() / found.y_test.var())


#: Cases that are tried on every road; the others from files, and slowly as a frame of objects.
EVERYWHERE = ("a question mark", "comma", "slashes", "clock")
OBJECTS = (*EVERYWHERE, "lengths", "codes")
EACH: list[Any] = [(case, road) for case in CASES for road in ("csv", "folder")]
EACH += [
    pytest.param(case, "object", marks=[pytest.mark.slow] * (case not in OBJECTS)) for case in CASES
]
EACH += [(case, road) for case in EVERYWHERE for road in ("parquet", "json", "string", "category")]


def in_german(frame: pd.DataFrame, path: Path) -> Path:
    """A text as spreadsheets write it where numbers have a decimal comma."""
    path.parent.mkdir(exist_ok=True)
    frame.to_csv(path, sep=";", decimal=",", index=False)
    return path


@pytest.mark.parametrize("road", ["held", "folder", "frame"])
@pytest.mark.parametrize("places", [3, 4])
def test_a_stray_does_not_change_how_cells_beside_it_are_read(tmp_path, road, places):
    x = (3 * np.abs(X) + 1).round(places)
    frame = pd.DataFrame({"x": x, "code": [f"{c:05d}" for c in CODES % 7], "y": (x + Z).round(3)})
    in_german(frame.iloc[:150], tmp_path / "rows" / "1.csv")
    in_german(frame.iloc[150:], tmp_path / "rows" / "2.csv")
    if road == "folder":
        found = prepare(tables(tmp_path / "rows", piece_rows=64), ASKED, InProcess())
    else:
        whole = tables(in_german(frame, tmp_path / "t.csv"))
        found = prepare(whole if road == "held" else FrameTables(held(whole)), ASKED)
    x_note, code = found.encoder.notes_
    assert (x_note.kind, code.kind, found.target.task) == ("number", "category", "regression")
    later = frame.iloc[:9].assign(x=[str(v).replace(".", ",") for v in x[:9]])
    clean = encoded(found.encoder, in_german(later, tmp_path / "later" / "1.csv"), 9)
    assert clean[:, 0].tolist() == x[:9].tolist()
    later.iloc[4, 0] = "broken"
    later.iloc[5, 1] = "none"
    rows = encoded(found.encoder, in_german(later, tmp_path / "later" / "1.csv"), 4)
    others = [i for i in range(9) if i not in (4, 5)]
    assert np.array_equal(rows[others], clean[others])


@pytest.mark.parametrize(("case", "road"), EACH)
def test_cells_are_read_right(tmp_path, case, road):
    cells, value, kind, stray = CASES[case]
    y = Z[value] if kind == "category" else value / np.std(value) + 0.1 * Z
    found = ROADS[road](tmp_path, pd.DataFrame({"x": cells, "z": Z, "y": y}))
    assert [note.kind for note in found.encoder.notes_] == [kind, "number"]
    assert r_squared(found) > FAITHFUL - 0.02 * bool(stray)
    # What is too large for a float comes as infinite from a reader of numbers.
    said = ["1e400" if one.example == "inf" else one.example for one in found.unread]
    assert said == ([stray] if stray else [])


@pytest.mark.parametrize("road", ["csv", "folder"])
def test_the_line_of_a_stray_is_told(tmp_path, road):
    cells = some(fixed(X), 215, "?")
    found = ROADS[road](tmp_path, pd.DataFrame({"x": cells, "z": Z, "y": X + Z}))
    (unread,) = found.unread
    assert (unread.cells, unread.row) == (1, 215)
    assert unread.place.endswith("line 217" if road == "csv" else "2.csv', line 67")


def test_a_row_of_sums_is_told():
    found = of_csv_text("x,y\n1,2\n2,3\n3,4\n4,5\n5,7\nTotal,21\n")
    assert "The row of 'Total' (line 7) sums up others" in unread_sentence(found)


def of_csv_text(text: str) -> tuple[UnreadCells, ...]:
    fsspec.filesystem("memory").pipe("/reading/t.csv", text.encode())
    table = tables("memory://reading/t.csv")
    return with_places(TableEncoder().fit(held(table)).unread_, table)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["01", "02", "1A", "2B"], "category"),
        (["0", "1", "2", "3+"], "category"),
        (["1", "2", "other"], "category"),
        (["007", "042", "100"], "category"),
        (["0x12", "0x13", "0x20"], "category"),
        (["1.2.3", "1.2.10", "10.1.2"], "category"),
        (["A12", "12", "17"], "category"),
        (["$5", "€7", "€9"], "category"),
        (["1 star", "2 stars", "5 stars"], "number"),
        (["$(1,200)", "$1,300", "$ (20)"], "number"),
        (["£48m", "£1.2bn", "£7m"], "number"),
        (["1.2 acres", "7,840 sqft", "9,000 sq ft"], "number"),
        (["7,265E4", "1,5E3", "2,25E4"], "number"),
        (["15.19 Uhr", "7.05 Uhr", "23.00 Uhr"], "time of day"),
        (["1,991 sq ft", "850 sq. ft.", "990 sq ft"], "number"),
        (["31 miles per gallon", "1 mile per gallon", "9 miles per gallon"], "number"),
        (["$450/mo", "$1,200 per mo", "$ 95 / mo."], "number"),
        (["5/mo", "7/mo", "9/mo"], "category"),
        (["5 m per s", "7 m per s", "9 m per s"], "number"),
        (["12 kg", "500 g", "3 t", "7 lb"], "number"),
        (["12 kg", "500 m", "3 t", "7 s"], "category"),
        (["1 (low)", "2 (mid)", "3 (high)"], "category"),
        (["<18", "18-30", ">30"], "category"),
        (["1/2020", "2/2020", "3/2021"], "date"),
        (["5b", "7c", "9p"], "category"),
        (["1 North", "2 South", "3 East"], "category"),
        (["10 AM", "11 AM", "2 PM"], "time of day"),
        (["5 days", "7 days", "1 day"], "duration"),
        (["35 min", "2 h 5 min", "1 hr"], "duration"),
        (["1h30m", "45m", "2h"], "duration"),
        (["1 Hr 5 Min", "2 Hrs", "45 Min."], "duration"),
        (["1H", "2H", "1M"], "category"),
        (["P-1DT21H57M11S", "PT3S"], "duration"),
        (["1:02:03", "0:30:00", "1 day, 2:00:00"], "duration"),
        (["13h08", "7h30", "0h15"], "time of day"),
        (["13:08 Uhr", "7 Uhr"], "time of day"),
        (["5 m", "12 m", "3 m"], "number"),
        (["1 A", "2 A", "2 B"], "category"),
        (["01", "02", "1B", "2B"], "category"),
        (["32B", "34C", "36A", "36B"], "category"),
        (["01B", "02B", "13B"], "category"),
        (["2WD", "4WD", "AWD"], "category"),
        (["1-", "2-", "2", "3"], "category"),
        (["1st", "2nd", "3rd", "11th"], "number"),
        (["5G", "4G", "3G"], "number"),
        (["12am", "1pm", "11pm"], "time of day"),
    ],
)
def test_codes_and_levels_stay_what_they_are(cells, kind):
    encoder = TableEncoder().fit(pd.DataFrame({"x": cells * 40}))
    assert encoder.notes_[0].kind == kind


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["€110.5M", "€565K", "€0", "€1.2B"], [110.5e6, 565e3, 0, 1.2e9]),
        (["8.7M", "201k", "19M", "512"], [8.7e6, 201e3, 19e6, 512]),
        (["1,5 Mio. €", "20 Mio. €", "1,2 Mrd. €"], [1.5e6, 20e6, 1.2e9]),
        (["159lbs", "172lbs", "1lb"], [159, 172, 1]),
        (["23.4kmpl", "18kmpl", "9.5kmpl"], [23.4, 18, 9.5]),
        (["5'7", "6'11\"", "5′10″", "6ft 2in"], [67, 83, 70, 74]),
        (["~120", "≈95", "80"], [120, 95, 80]),
        (["10,000+", "500+", "1,000,000+"], [1e4, 500, 1e6]),
        (["１２．５", "٣٤", "-１"], [12.5, 34, -1]),
        (["5,000 m²", "120 m²", "1,250m²"], [5000, 120, 1250]),
        (["123.45-", "1,200.00-", "7.50"], [-123.45, -1200, 7.5]),
    ],
)
def test_magnitudes_measures_and_digits_of_other_scripts(cells, numbers):
    plan = plan_column("x", pd.Series(cells * 40))
    assert plan.kind == "number"
    np.testing.assert_allclose(plan.read(pd.Series(cells)), numbers)


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["20160123T101500", "20160201 235959"], ["2016-01-23", "2016-02-01"]),
        (["23/Jan/2016:02:31:34 +0000", "1/Feb/2016:00:00:00 +0000"], ["2016-01-23", "2016-02-01"]),
        (["Jan-16", "Feb-17", "Dec '99"], ["2016-01-01", "2017-02-01", "1999-12-01"]),
        (["2016-W01", "2020W53", "2015-W53-7"], ["2016-01-04", "2020-12-28", "2016-01-03"]),
        (["23. Januar 2016", "1. März 2016"], ["2016-01-23", "2016-03-01"]),
        (["1er août 2016", "5 fév 16"], ["2016-08-01", "2016-02-05"]),
        (["3 de enero de 2016", "12 de dic de 2016"], ["2016-01-03", "2016-12-12"]),
        (["2016年1月23日", "2016年12月3日"], ["2016-01-23", "2016-12-03"]),
        (["23 Oca 2016", "1-Şub-16"], ["2016-01-23", "2016-02-01"]),
        (["23 sty 2016", "3 lis 16"], ["2016-01-23", "2016-11-03"]),
        (["4Q15", "1Q16"], ["2015-10-01", "2016-01-01"]),
        (["01.2016", "12.2015"], ["2016-01-01", "2015-12-01"]),
        (["2016-01-23 05:00 GMT+6", "2016-01-23 15:00 UTC-11"], ["2016-01-22", "2016-01-24"]),
    ],
)  # fmt: skip
def test_dates_of_logs_weeks_and_other_languages(cells, days):
    plan = plan_column("d", pd.Series(cells * 40))
    assert plan.kind == "date"
    assert plan.read(pd.Series(cells)).dt.strftime("%Y-%m-%d").tolist() == days


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2021-11-17 17:26:04 EST", "2021-11-17 22:26:04"),
        ("Wed Nov 17 2021 17:26:04 GMT+0100 (CET)", "2021-11-17 16:26:04"),
        ("2021 11 17", "2021-11-17"),
        ("2021_11_17", "2021-11-17"),
        ("17 11 2021", "2021-11-17"),
        ("17. 11. 2021", "2021-11-17"),
        ("Mi, 17.11.2021", "2021-11-17"),
        ("17Nov2021:17:26:04", "2021-11-17 17:26:04"),
        ("20211117 17:26", "2021-11-17 17:26"),
        ("20211117172604", "2021-11-17 17:26:04"),
        ("2021M11", "2021-11-01"),
        ("Q4 2021", "2021-10-01"),
        ("4Q2021", "2021-10-01"),
        ("KW 46/2021", "2021-11-15"),
        ("17 ноября 2021 г.", "2021-11-17"),
        ("17 listopada 2021", "2021-11-17"),
        ("2021年11月17日 17:26", "2021-11-17 17:26"),
        ("'2021-11-17'", "2021-11-17"),
        ("17.11.2021 17.26", "2021-11-17 17:26"),
        ("17/11/2021 17h26", "2021-11-17 17:26"),
        ("November 17, 2021 at 05:26 PM", "2021-11-17 17:26"),
    ],
)
def test_moments_of_more_writers_are_read(cell, moment):
    plan = plan_column("x", pd.Series([cell, cell.replace("2021", "2020")] * 3))
    assert plan.kind == "date"
    read = plan.encode(pd.Series([cell])).parts["_seconds"][0]
    assert read == (pd.Timestamp(moment) - pd.Timestamp(0)).total_seconds()


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("2 years", 2 * 365.25 * 86400),
        ("3y 7m", (3 + 7 / 12) * 365.25 * 86400),
        ("5 months", 5 / 12 * 365.25 * 86400),
        ("2 weeks", 14 * 86400),
        ("1 hour and 5 minutes", 3900),
        ("2 Std. 5 Min.", 7500),
        ("1:02.50", 62.5),
        ("59.87", 59.87),
    ],
)
def test_ages_and_laps_are_durations(cell, seconds):
    assert clocks.durations(np.array([cell, "12"], dtype=object)).tolist() == pytest.approx(
        [seconds, np.nan], nan_ok=True
    )


@pytest.mark.parametrize("cell", ["20:17", "8:17 P", "T20:17:00", "20:17:00+00:00"])
def test_times_of_day_of_more_writers(cell):
    assert clocks.times_of_day(np.array([cell], dtype=object))[0] == 73020


def test_names_of_months_in_each_language_come_in_order():
    words = date_cells._LANGUAGES.split()
    rows = [words[k : k + 12] for k in range(0, len(words), 12)]
    assert len(words) % 12 == 0
    months = {
        name: {1 + row.index(name) for row in rows if name in row} for r in rows for name in r
    }
    assert {name: at for name, at in months.items() if len(at) > 1} == {}


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["21.5°C", "-3 °C", "0.5°C"], [21.5, -3, 0.5]),
        (["12‰", "7 ‰", "1.5‰"], [0.012, 0.007, 0.0015]),
        (["12元", "1,200元", "7元"], [12, 1200, 7]),
        (["3,5 µm", "7 µm", "1,5 µm"], [3.5, 7, 1.5]),
        (["53 455,84 руб.", "12,50 руб.", "7 руб."], [53455.84, 12.5, 7]),
        (["Rs. 1,200.50", "Rs 95", "Rs. 7"], [1200.5, 95, 7]),
        (["12 m2", "7.5 m2", "8 m2"], [12, 7.5, 8]),
        (["1.2x10^4", "3 × 10⁻²", "7·10³"], [12000, 0.03, 7000]),
        (["–1.5", "−2.5", "3·25"], [-1.5, -2.5, 3.25]),
        (["'1.5'", "'2.5'", "'3'"], [1.5, 2.5, 3]),
        (['="1.5"', '="2.5"', '="30"'], [1.5, 2.5, 30]),
        (["\ufeff1.5", "2.5\u200b", "3"], [1.5, 2.5, 3]),
        (["88/100", "7/100", "95.5/100"], [88, 7, 95.5]),
        (["4.5 out of 5", "3 out of 5", "1 out of 5"], [4.5, 3, 1]),
        (["16.5:1", "9:1", "11.2:1"], [16.5, 9, 11.2]),
        (["3 1/2", "1/4", "2"], [3.5, 0.25, 2]),
        (["2½", "¾", "1"], [2.5, 0.75, 1]),
        (["5 ft 11 in", "6 feet 0 inches", "5'2\""], [71, 72, 62]),
        (["7 lb 3 oz", "6 lbs 12 oz", "8lb 0oz"], [115, 108, 128]),
        (["500 g", "1.5 kg", "2 kg"], [0.5, 1.5, 2]),
        (["512 MB", "4 GB", "1 TB", "8 GB"], [0.512, 4, 1000, 8]),
        (["12.50 CR", "7.25 DR", "9.00 CR"], [12.5, -7.25, 9]),
        (["52.5° N", "33.9°S", "10° N"], [52.5, -33.9, 10]),
        (["51°30'0\"N", "0°15'S", "10°0'36\" N"], [51.5, -0.25, 10.01]),
        (["1.5 million", "2 Million", "250 thousand"], [1.5e6, 2e6, 2.5e5]),
        (["1.5 crore", "20 lakh", "2.25 crore"], [1.5e7, 2e6, 2.25e7]),
        (["2 Crores", "35 Lakhs", "1.5 lakhs"], [2e7, 3.5e6, 1.5e5]),
    ],
)
def test_measures_signs_and_powers_are_read(cells, numbers):
    column = pd.Series(cells * 3)
    plan = plan_column("x", column)
    np.testing.assert_allclose(plan.encode(column).parts[""][: len(cells)], numbers, rtol=1e-9)


@pytest.mark.parametrize(
    "cell", ["<{}", ">{}", "≤ {}", "ca. {}", "about {}", "{}*", "{}[1]", "{} (a)", "{} e", "{} ± 2"]
)
def test_marks_beside_some_numbers_are_left_out_and_that_is_said(cell):
    cells = [cell.format(i + 0.5) if i % 3 == 0 else f"{i + 0.5}" for i in range(60)]
    encoder = TableEncoder().fit(pd.DataFrame({"x": cells}))
    assert encoder.transform(pd.DataFrame({"x": cells}))[:, 0].tolist() == [
        i + 0.5 for i in range(60)
    ]
    assert encoder.notes_[0].remark == f"In 'x' {cells[0]!r} is taken as 0.5."


@pytest.mark.parametrize("cells", [["<5", "<10", "<20", "<50"], ["1/2", "3/4", "1", "2 1/4"]])
def test_limits_alone_and_fractions_are_numbers_and_that_is_said(cells):
    remark = TableEncoder().fit(pd.DataFrame({"x": cells * 20})).notes_[0].remark
    assert remark == f"In 'x' {cells[0]!r} is taken as {5 if '<' in cells[0] else 0.5}."


def test_what_nobody_sees_makes_no_level():
    cells = ["red", "caf\u00e9", "New York"] * 20
    model = TableEncoder().fit(pd.DataFrame({"x": cells}))
    other = pd.DataFrame({"x": ["\ufeffred", "cafe\u0301\u200b", "New\u00a0York"]})
    assert model.unread(other) == ()
    assert (
        model.transform(other).tolist() == model.transform(pd.DataFrame({"x": cells[:3]})).tolist()
    )


def test_codes_beside_many_numbers_are_no_strays():
    codes = [f"{10 + i % 80}" for i in range(400)] + ["2A", "2B"]
    assert TableEncoder().fit(pd.DataFrame({"x": codes})).notes_[0].kind == "text"


def test_what_may_be_either_is_said():
    frame = pd.DataFrame({"a": ["1,234", "5,678"] * 20, "d": ["1/2/2020", "3/4/2021"] * 20})
    a, d = TableEncoder().fit(frame).notes_
    assert "1,234 is taken as 1234" in a.remark
    assert "March 4" in d.remark
    told = frame.assign(b=["1,5", "1234,56"] * 20, e=["31/1/2020", "1/2/2020"] * 20)
    encoder = TableEncoder().fit(told)
    assert [note.remark for note in encoder.notes_[:2]][1] == ""
    assert encoder.transform(told)[:, 0].tolist()[:2] == [1.234, 5.678]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("{0:05.0f}-{0:05.0f}", "holds digits and signs such as '00000-00000'"),
        ("{:.0f} {}", r"^67 % of 'x' is numbers.* as '0 a'"),
    ],
)
def test_text_that_may_be_meant_to_be_numbers_is_told(cell, words):
    cells = [cell.format(i, "a" if i % 3 == 0 else "").strip() for i in range(300)]
    note = TableEncoder().fit(pd.DataFrame({"x": cells})).notes_[0]
    assert note.kind == "text"
    assert re.search(words, note.remark)


def test_the_order_of_dates_can_be_told():
    frame = pd.DataFrame({"d": ["1/2/2020", "3/4/2021"] * 20})
    seconds = [
        TableEncoder(dates=order).fit(frame).transform(frame)[0, 0]
        for order in ("day-first", "month-first")
    ]
    assert seconds == [pd.Timestamp(2020, 2, 1).timestamp(), pd.Timestamp(2020, 1, 2).timestamp()]


def test_dates_written_otherwise_later():
    encoder = TableEncoder().fit(pd.DataFrame({"d": DAYS.strftime("%d/%m/%Y")}))
    later = pd.DataFrame({"d": ["2020-03-12", "12 March 2020", "20200312", "3/13/2020"]})
    X, unread = encoder.encoded(later)
    assert X[0, 0] == X[1, 0] == X[2, 0] == pd.Timestamp(2020, 3, 12).timestamp()
    assert [(one.cells, one.example) for one in unread] == [(1, "3/13/2020")]


@pytest.mark.parametrize("road", ["csv", "folder", "json", "parquet"])
def test_whole_numbers_are_dates_where_the_column_is_named_so_or_all_are_days(tmp_path, road):
    cells = DAYS.strftime("%Y%m%d")
    cells = cells.astype(int) if road == "parquet" else [str(cell) for cell in cells]
    other = np.arange(20190101, 20190101 + N)  # some are no days
    frame = pd.DataFrame({"startDate": cells, "dob": cells, "order": other})
    found = ROADS[road](tmp_path, frame.assign(y=np.arange(N) + 0.1 * Z))
    assert [note.kind for note in found.columns] == ["date", "date", "number"]
    assert any("'dob' is a day of the calendar" in said for said in found.encoder.remarks)
    later = pd.DataFrame({"startDate": [20200201.0, 20200230], "dob": ["2020-02-01", ""]})
    X, unread = found.encoder.encoded(later.assign(order=20190102))
    names = found.encoder.feature_names_
    moments = X[0, [names.index("startDate_seconds"), names.index("dob_seconds")]]
    assert moments.tolist() == [pd.Timestamp(2020, 2, 1).timestamp()] * 2
    assert [one.example for one in unread] == ["20200230"]


@pytest.mark.parametrize("first", [20240101, 20240131])
def test_a_few_whole_numbers_are_days_only_by_the_name_of_their_column(first):
    serial = pd.Series(range(first, first + (31 if first == 20240101 else 1))).repeat(3)
    assert plan_column("serial", serial).kind == "number"


def test_years_beyond_nanoseconds():
    old = [dt.date(1500, 1, 1) + dt.timedelta(31 * i) for i in range(60)]
    encoder = TableEncoder().fit(pd.DataFrame({"d": old}))
    assert encoder.unread(pd.DataFrame({"d": [dt.date(1600, 1, 1), None]})) == ()


def test_numbers_later_in_another_format():
    encoder = TableEncoder().fit(pd.DataFrame({"x": ["1.5", "2.25", "3"]}))
    X, unread = encoder.encoded(pd.DataFrame({"x": ["1,5", "1,234", "1,234,567", "2 %"]}))
    assert X[:, 0].tolist() == [1.5, 1.234, 1234567.0, 2.0]  # 1234 is far from all others
    assert [(one.cells, one.example, one.read) for one in unread] == [
        (1, "1,234", True),
        (1, "2 %", True),
        (1, "1,234,567", True),  # and it is far from all others
    ]


def test_levels_spelt_otherwise_later():
    frame = pd.DataFrame({"a": ["Yes", "No"] * 20, "b": ["x", "y", "z", "z"] * 10})
    encoder = TableEncoder().fit(frame)
    later = pd.DataFrame({"a": ["yes", "NO", "Y", "1"], "b": ["X", "q", "y", None]})
    X, unread = encoder.encoded(later)
    assert X[:2, 0].tolist() == [1.0, 0.0]
    assert [(one.column, one.cells, one.example) for one in unread] == [
        ("a", 2, "Y"),
        ("b", 1, "q"),
    ]


@pytest.mark.parametrize("road", ["csv", "folder"])
def test_declared_missing_values(tmp_path, road):
    x = np.where(np.arange(N) % 30 == 0, -999, (X * 4).round(2) + 20)
    frame = pd.DataFrame({"x": x, "z": Z, "y": x * (x > 0)})
    asked = Request("t", "y", missing=("-999", "z=0"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    held = prepare(opened(str(tmp_path / "t.csv"), FOUND, streamed=False), asked)
    streamed = prepare(tables(written(tmp_path, frame)), asked, InProcess())
    found = held if road == "csv" else streamed
    assert found.encoder.notes_[0].missing > 8
    later = found.encoder.transform(pd.DataFrame({"x": [-999.0], "z": [1.0]}))
    assert later[0, 0] == pytest.approx(20, abs=1)


COLUMN = st.sampled_from(sorted(CASES))


@settings(max_examples=8)
@given(case=COLUMN, other=COLUMN, rows=st.lists(st.integers(0, N - 1), min_size=1, max_size=20),
       cut=st.integers(0, 20))  # fmt: skip
def test_any_rows_in_any_order_and_files_are_encoded_as_all_of_them(
    tmp_path_factory, case, other, rows, cut
):
    folder = tmp_path_factory.mktemp("rows")
    frame = pd.DataFrame({"x": CASES[case][0], "u": CASES[other][0], "z": Z})
    frame.to_csv(folder / "all.csv", index=False)
    table = opened(str(folder / "all.csv"), FOUND, streamed=False)
    encoder = TableEncoder().fit(next(next(table.pieces()).read()))
    everything = encoded(encoder, folder / "all.csv", 150)
    (folder / "parts").mkdir()
    parts = [frame.iloc[rows[:cut]], frame.iloc[rows[cut:]]]
    for number, part in enumerate(part for part in parts if len(part)):
        part.to_csv(folder / "parts" / f"{number}.csv", index=False)
    assert np.array_equal(encoded(encoder, folder / "parts", 7), everything[rows])


def encoded(encoder: TableEncoder, path: Path, at_once: int) -> np.ndarray:
    """All rows, as they are predicted."""
    table = tables(path, piece_rows=at_once).select(encoder.columns_).read_as(encoder.cells)
    frames = (frame for piece in table.pieces() for frame in piece.read())
    return np.concatenate([encoder.transform(frame) for frame in frames])


@pytest.mark.parametrize("piece_rows", [7, 500])
def test_hexadecimal_codes_are_text_in_all_pieces(piece_rows):
    """Also where a piece of the rows holds none but those that are whole numbers to Arrow."""
    codes = [["0x12", "0x13", "0x20"][k // 40] for k in range(120)]
    text = "x,y\n" + "".join(f"{code},{k}\n" for k, code in enumerate(codes))
    fsspec.filesystem("memory").pipe("/reading/hex.csv", text.encode())
    table = tables("memory://reading/hex.csv", piece_rows=piece_rows)
    encoder = TableEncoder().fit(held(table))
    assert encoder.feature_names_[:3] == ("x_0x12", "x_0x13", "x_0x20")
    chunks = [c for piece in table.read_as(encoder.cells).pieces() for c in piece.read()]
    assert [value for chunk in chunks for value in chunk["x"]] == codes
    encoded = np.concatenate([encoder.transform(chunk) for chunk in chunks])
    np.testing.assert_array_equal(
        encoded, encoder.transform(pd.DataFrame({"x": codes, "y": range(120)}))
    )


def test_postcodes_are_codes_also_where_they_are_many_and_that_is_said():
    codes = [f"{k:05}" for k in RNG.permutation(9_000)[:N]]
    frame = pd.DataFrame({"zip": codes, "z": Z})
    encoder = TableEncoder().fit(frame)
    note = encoder.notes_[0]
    assert (note.kind, note.remark[:40]) == ("text", "'zip' has whole numbers of one width wit")
    assert plan_column("zip", pd.Series(codes[:30] * 20)).kind == "category"
    assert plan_column("n", pd.Series(map(str, range(100, 500)))).kind == "number"


def test_places_are_said_to_be_read_so():
    note = TableEncoder().fit(pd.DataFrame({"x": ["1st", "2nd", "3rd"] * 9})).notes_[0]
    assert note.treatment == "as it is, read as places (1st, 2nd)"


@pytest.mark.parametrize(
    ("others", "first", "open_"),
    [
        (["$6,655.62", "$12.50", "$9"], 1991.0, False),
        (["6.655,62 €", "12,50 €", "9 €"], 1.991, False),
        (["35 sq. ft.", "12 sq. ft.", "9 sq. ft."], 1991.0, True),  # no number has decimals
    ],
)
def test_one_column_tells_what_a_comma_stands_for_in_another(others, first, open_):
    table = {"area": pd.Series(["1,991", "2,500", "1,100"]), "other": pd.Series(others)}
    area, _ = plan_columns(table)
    assert next(iter(area.encode(table["area"]).parts.values()))[0] == first
    assert ("tells what" in area.assumption) == open_


@pytest.mark.parametrize(
    ("smallest", "first", "open_"), [(300, 30_000.0, False), (1_000, 30.0, True)]
)
def test_in_a_semicolon_file_commas_stand_between_thousands_where_none_is_below_1000(
    tmp_path, smallest, first, open_
):
    whole = [30_000, *range(smallest, 90_000, 1_234)]
    path = tmp_path / "sales.csv"
    path.write_text("x;z\n" + "".join(f"{n:,};{n % 7}\n" for n in whole))
    frame = read_table(path)
    plan = plan_columns({"x": frame["x"]}, decimal=",")[0]
    assert plan.encode(frame["x"]).parts[""][0] == first
    assert ("tells what ','" in plan.assumption) == open_


def test_points_stand_between_thousands_where_no_whole_number_below_1000_has_one(tmp_path):
    whole = [30_000, *range(300, 90_000, 1_234)]
    column = pd.Series([f"{n:,}".replace(",", ".") for n in whole])
    assert plan_column("x", column).encode(column).parts[""].tolist() == whole
    path = tmp_path / "sales.csv"
    path.write_text("x,z\n" + "".join(f"{n},1\n" for n in column))
    assert plan_column("x", read_table(path)["x"]).format.thousands == "."
    few = pd.Series([f"{n / 1000:.3f}" for n in whole])
    assert plan_column("x", few).encode(few).parts[""][0] == 30.0


def test_whole_numbers_that_floating_point_confuses_are_levels():
    column = pd.Series([10**18 + 1, 10**18 + 2, 10**18 + 3] * 20)
    assert plan_column("shop", column).kind == "category"
    assert plan_column("mass", 8 * 10**18 + 10**9 * column.index.to_series()).kind == "number"


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("{0} 7/{2}/2020", "text"),  # what a word before a date says is kept
        ("{0} 2020-01-{2:02d}", "text"),
        ("0{1}:00-1{1}:30", "category"),  # opening hours
        ("{3}_{1}_{2}", "numbers"),  # codes of an article
        ("{3} {1} {2}", "numbers"),
    ],
)
def test_what_only_looks_like_a_date_or_a_time_stays_what_it_was(cell, kind):
    words = ("Delivered", "Ann", "Model", "Sold", "Morning")
    cells = [cell.format(words[i % 5], 1 + i % 9, 1 + i % 28, 3000 + i) for i in range(120)]
    assert plan_column("x", pd.Series(cells)).kind == kind


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["2dr", "4dr", "5dr"], [2, 4, 5]),
        (["76,- €", "19,50 €", "1.250,- €"], [76, 19.5, 1250]),
        (["5.-", "12.50", "7.-"], [5, 12.5, 7]),
        (["1 DR", "2.5 CR", "3 DR"], [-1, 2.5, -3]),
        (["33.9°S", "10° S", "12.5°S"], [-33.9, -10, -12.5]),
        (["70.5° W", "10° E", "12°W"], [-70.5, 10, -12]),
    ],
)
def test_signs_are_those_of_debits_of_the_globe_and_of_no_cents(cells, numbers):
    plan = plan_column("x", pd.Series(cells * 3))
    np.testing.assert_allclose(plan.encode(pd.Series(cells)).parts[""], numbers)


def test_six_m_are_months_beside_years_and_minutes_beside_hours():
    year = 365.25 * 86400.0
    tenors = plan_column("x", pd.Series(["1w", "6m", "1y", "3m", "10y"] * 3))
    found = tenors.encode(pd.Series(["6m", "1y", "2w"])).parts[""]
    assert found.tolist() == [year / 2, year, 14 * 86400.0]
    ago = plan_column("x", pd.Series(["5m", "2h", "1w", "3d", "30s"] * 3))
    assert ago.encode(pd.Series(["6m"])).parts[""].tolist() == [360.0]


@pytest.mark.parametrize(
    "cell", ["lundi 3/2/2020", "пн, 03.02.2020", "Pon. 3/2/2020", "Mo 3.2.2020"]
)
def test_days_of_the_week_before_a_date_add_nothing(cell):
    plan = plan_column("x", pd.Series([cell, cell.replace("2020", "2021")] * 3))
    assert plan.kind == "date"


CELLS = np.arange(500)
QUANTITY = np.random.default_rng(11).uniform(0, 100, 500).round(1)
AGE = np.floor(0.9 * QUANTITY)


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (AGE, [999.0, 998.0]),
        (AGE, [-99.0, -9.0]),
        (AGE, [-1.0]),
        (QUANTITY, [-1.0]),
        (20 + QUANTITY / 5, [0.0]),
        (QUANTITY / 100, [-9.99]),
        (np.floor(0.12 * QUANTITY), [99.0, 97.0]),
    ],
)
def test_codes_for_missing_are_told_with_what_declares_them(values, codes):
    values = values.copy()
    for shift, code in enumerate(codes):
        values[shift == CELLS % 15] = code
    assert codes_for_missing(values) == codes
    said = about_codes_for_missing("x", values)
    assert all(f"--missing 'x={code:g}'" in said for code in codes)


@pytest.mark.parametrize(
    "values",
    [
        QUANTITY,
        AGE,
        AGE - 1,
        np.where(CELLS % 3, QUANTITY, 0),
        CELLS % 3 - 1,
        np.array([3, 4, 5, 6, 8])[CELLS % 5],
        np.array([0, 2, 3, 4, 5])[CELLS % 5],
        np.round(np.random.default_rng(1).normal(size=500) * 3),
    ],
)
def test_honest_numbers_are_no_codes_for_missing(values):
    assert codes_for_missing(values.astype(float)) == []


LEVEL = np.arange(N) % 5
VERSIONS = np.array(["1.1", "1.10", "1.2", "1.20", "1.9"])[LEVEL]


@pytest.mark.parametrize("road", ["held", "stream", "frame"])
def test_a_column_that_is_declared_a_category_is_read_as_levels(tmp_path, road):
    path, asked = tmp_path / "t.csv", Request("t", "y", category=("x",))
    frame = pd.DataFrame({"x": VERSIONS, "y": LEVEL + 0.01 * np.arange(N)})
    frame.to_csv(path, index=False)
    engine = InProcess() if road == "stream" else None
    table = FrameTables(frame)
    table = table if road == "frame" else opened(str(path), FOUND, streamed=bool(engine))
    plain = prepare(table, replace(asked, category=()), engine)
    assert [note.kind for note in plain.columns] == ["number"]
    assert "--category 'x' takes it as a level" in " ".join(plain.encoder.remarks)
    found = prepare(table, asked, engine)
    assert [note.kind for note in found.columns] == ["category"]
    kept = TableEncoder.from_contents(found.encoder.to_contents())
    assert kept.cells == {"x": "text"}
    assert np.array_equal(kept.transform(read_table(path, kept.cells)).argmax(axis=1), LEVEL)


def test_a_category_that_is_not_there_is_refused():
    table = FrameTables(pd.DataFrame({"level": [1.0, 2.0] * 9, "y": range(18)}))
    with pytest.raises(TableError, match="no column 'levl' to read as levels; did you mean"):
        prepare(table, Request("t", "y", category=("levl",)))


def test_numbers_are_a_category_where_that_is_declared():
    frame = pd.DataFrame({"x": LEVEL * 1.5, "y": np.arange(N) * 0.5})
    found = prepare(FrameTables(frame), Request("t", "y", category=("x",)))
    assert found.encoder.feature_names_ == ("x_0", "x_1.5", "x_3", "x_4.5", "x_6")


def test_codes_that_look_like_exponents_are_levels(tmp_path):
    path, codes = tmp_path / "t.csv", np.array(["12E4", "1E10", "7E2", "3E5", "44E1"])[LEVEL]
    pd.DataFrame({"x": codes, "y": np.arange(N) * 0.5}).to_csv(path, index=False)
    found = prepare(opened(str(path), FOUND, streamed=False), Request("t", "y"))
    assert [note.kind for note in found.columns] == ["category"]
