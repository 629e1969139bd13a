"""Amounts, codes and dates that were misread in strangers' tables, on every road."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.table.test_reading import ROADS, r_squared

from gradfeat import compare
from gradfeat.errors import TableError
from gradfeat.rows.sources.tables import FrameTables, with_places
from gradfeat.table.encode import TableEncoder
from gradfeat.table.identifiers import identifiers
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.reading.missing import about_end_days, codes_for_missing
from gradfeat.table.unread import unread_sentence

RNG = np.random.default_rng(11)
N = 240
X, Z = RNG.uniform(0.5, 100, N), RNG.standard_normal(N)


def rupees(value: float) -> str:
    digits = f"{12345 * value:.0f}"
    thousands = f"{digits[-5:-3]},{digits[-3:]}"
    return f"{digits[:-5]},{thousands}" if len(digits) > 5 else thousands


def feet(cm: float) -> str:
    return f"{int(cm / 2.54) // 12}'{int(cm / 2.54) % 12}\""


def season(value: float) -> str:
    return f"{1990 + int(value / 4)}/{(1991 + int(value / 4)) % 100:02d}"


def turns(*ways: str) -> list[str]:
    """The numbers X in one of these formats after another."""
    return [ways[k % len(ways)].format(x, x / 1000, 1000 * x, 100 * x) for k, x in enumerate(X)]


#: Cells of X that are read as it, up to a factor and a shift.
AMOUNTS = {
    "one currency in two ways": turns("{:.2f} EUR", "€{:.2f}", "{:.2f} Euro"),
    "rupees": [f"Rs. {rupees(x)}/-" for x in X],
    "intervals in brackets": [f"{x:.1f} ({x - 3:.1f} to {x + 3:.1f})" for x in X],
    "percent in words": turns("{:.1f} percent", "{:.1f} pct", "{:.1f} per cent", "{:.1f}%"),
    "percent and shares": [f"{x:.1f}%" if k % 2 else f"{x / 100:.3f}" for k, x in enumerate(X)],
    "percent and basis points": turns("{0:.2f}%", "{3:.0f} bps"),
    "percent without the sign": turns("{:.1f} %", "{:.1f}"),
    "energy": turns("{:.1f} Wh", "{1:.4f} kWh"),
    "power": turns("{2:.0f} kW", "{0:.3f} MW"),
    "pressure": turns("{2:.0f} mbar", "{0:.3f} bar"),
    "masses": turns("{2:.0f} µg", "{0:.3f} mg"),
    "heights": [f"{x + 100:.1f} cm" if k % 2 else feet(x + 100) for k, x in enumerate(X)],
    "milliseconds": turns("{0:.3f}s", "{2:.0f}ms"),
    "temperatures": [f"{x:.1f} °C" if k % 2 else f"{1.8 * x + 32:.1f} °F" for k, x in enumerate(X)],
    "seasons": [season(x) for x in X],
    "north and south": [f"{abs(x - 50):.3f}{'N' if x > 50 else 'S'}" for x in X],
    "east and west": [f"{abs(x - 50):.3f} {'E' if x > 50 else 'W'}" for x in X],
    "errors": [f"{x:.3f} +/- {k % 3}.1" for k, x in enumerate(X)],
    "rates": [f"{x:.3f} per month" if k % 2 else f"{12 * x:.3f}/year" for k, x in enumerate(X)],
    "money a time": [f"${x:.3f}/mo" if k % 2 else f"${12 * x:.3f}/yr" for k, x in enumerate(X)],
    "inches": [f"{x:.3f} cm" if k % 2 else f"{x / 2.54:.4f} in" for k, x in enumerate(X)],
    "cents": [f"${x / 10:.3f}" if x > 10 else f"{10 * x:.2f}¢" for x in X],
    "stars": [f"{x:.3f} out of 5 stars" for x in X],
    "ten thousands": [f"{x:.4f}万" if x > 10 else f"{10_000 * x:.0f}" for x in X],
    "ten thousands of a unit": [f"{x:.4f}만원" if x > 10 else f"{10_000 * x:.0f}원" for x in X],
    "words of two sizes": turns("{1:.6f} mln zł", "{0:.3f} tys. zł"),
    "millions by two letters": turns("${0:.3f}MM", "${2:.0f}K"),
    "thousands of euros": turns("{2:.0f} T€", "{0:.3f} Mio. €", "{2:.0f} TEUR"),
    "debits and credits": [f"{abs(x - 50):.2f} {'H' if x > 50 else 'S'}" for x in X],
    "dozens": [f"{x:.3f} dozen" if k % 2 else f"{12 * x:.2f}" for k, x in enumerate(X)],
}


@pytest.mark.parametrize("road", ["csv", "folder", "object"])
def test_factors_multiply_and_an_unknown_unit_beside_no_unit_is_told(tmp_path, road):
    crates = turns("{0:.2f} crates", "{0:.2f} crates", "{2:.0f}")
    columns = {"x": AMOUNTS["ten thousands"], "crates": crates}
    found = ROADS[road](tmp_path, pd.DataFrame({**columns, "z": Z, "y": X / 30 + Z}))
    assert r_squared(found) > 0.999
    told = [remark for remark in found.encoder.remarks if "others, as '" in remark]
    assert len(told) == 1
    assert told[0].startswith("Some cells of 'crates' have 'crate' behind the number and others")


@pytest.mark.parametrize("case", AMOUNTS)
def test_amounts_are_the_numbers_that_they_are(case):
    plan = plan_column("x", pd.Series(AMOUNTS[case]))
    found = plan.encode(pd.Series(AMOUNTS[case]))
    assert (plan.kind, found.unread) == ("number", ())
    lost = 1 - np.corrcoef(X, found.parts[""])[0, 1] ** 2
    assert lost < {"seasons": 5e-3, "heights": 1e-3}.get(case, 1e-5)  # in whole years and inches


@pytest.mark.parametrize("road", ["csv", "folder", "object"])
@pytest.mark.parametrize(
    "case", ["one currency in two ways", "rupees", "percent and shares", "debits and credits"]
)
def test_amounts_are_read_on_each_road(tmp_path, case, road):
    found = ROADS[road](tmp_path, pd.DataFrame({"x": AMOUNTS[case], "z": Z, "y": X / 30 + Z}))
    assert r_squared(found) > 0.999
    assert not any("identifier" in remark for remark in found.remarks)


@pytest.mark.parametrize("code", ["-999", "999", "500"])
@pytest.mark.parametrize("road", ["csv", "folder", "object"])
def test_one_whole_number_makes_no_thousands_of_decimals(tmp_path, code, road):
    cells = [code if k % 30 == 3 else f"{x / 25 + 4:.3f}" for k, x in enumerate(X)]
    found = ROADS[road](tmp_path, pd.DataFrame({"x": Z, "y": cells}))
    values = np.r_[found.y_train, found.y_test]
    assert np.median(values[values != float(code)]) < 10


def test_a_constant_in_cells_of_two_numbers_is_no_code():
    points = pd.Series([f"POINT ({x:.2f} 0.0)" for x in X])
    assert plan_column("x", points).encode(points).parts["_1"].tolist() == X.round(2).tolist()


def test_ranges_of_money_are_two_numbers():
    cells = [f"${100 * x:,.0f}-${100 * x + 5000:,.0f}" for x in X]
    (plan,) = TableEncoder.from_contents(
        TableEncoder().fit(pd.DataFrame({"x": cells})).to_contents()
    )._plans
    parts = plan.encode(pd.Series([*cells[:2], "$200,000 or more"])).parts
    low = [float(f"{100 * x:.0f}") for x in X[:2]]
    assert parts["_1"].tolist() == [*low, 200_000]
    assert parts["_2"].tolist() == [float(f"{100 * x + 5000:.0f}") for x in X[:2]] + [200_000]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*range(100), 255, 255, 255], [255]),
        ([*range(1000), 8888, 8888, 8888], [8888]),
        ([*range(200), 255, 255, 255], []),
        ([3, 4, 5, 6, 8, 8, 8, 8], []),
    ],
)
def test_bytes_and_eights_are_codes_far_from_all_others(values, codes):
    assert codes_for_missing(np.array(values, float)) == codes


@pytest.mark.parametrize("way", ["%d.%m.%Y", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])
@pytest.mark.parametrize("end", ["2099-12-31", "1900-01-01", "2199-12-31 23:59:59", "1899-12-30"])
def test_ends_of_calendars_are_told(way, end):
    days = pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta((15 * X).astype(int), unit="D"))
    days[::20] = pd.Timestamp(end)
    note = TableEncoder().fit(pd.DataFrame({"x": days.dt.strftime(way)})).notes_[0]
    assert f"of 'x' are {end[:10]}, long {'after' if end > '2' else 'before'} all" in note.remark


def test_years_of_a_panel_are_no_ends_of_calendars():
    years = pd.to_datetime([f"{year}-01-01" for year in (2000, 2001, 2002, 2005) for _ in range(9)])
    assert about_end_days("x", years.astype("int64").to_numpy() / 1e9) == ""


def test_24_hours_are_the_end_of_a_day_and_other_days_are_missing_for_what_they_are():
    days = pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d %H:%M")
    plan = plan_column("d", pd.Series(days))
    found = plan.encode(pd.Series(["2020-02-28 24:00", "0000-00-00", "2999-12-31", "2020-02-28"]))
    assert found.parts["_seconds"][0] - found.parts["_seconds"][3] == 86_400
    assert [(one.example, one.what) for one in found.unread] == [
        ("0000-00-00", "date"),
        ("2999-12-31", "date from 1678 to 2261"),
    ]
    clock = plan_column("t", pd.Series([f"{k % 24}:00" for k in range(60)]))
    assert clock.encode(pd.Series(["24:00"])).parts["_seconds"].tolist() == [86_400]


@pytest.mark.parametrize(
    ("train", "later", "value", "said"),
    [
        (turns("{0:.3f}"), "73,728", 73.728, "with ',' before decimals"),
        (turns("{0:.3f}"), "-1,713", -1.713, "with ',' before decimals"),
        ([f"{100 * x + 900:,.0f}" for x in X], "9.345", 9345, "with '.' between thousands"),
        (turns("{3:.0f}"), "7.217k", 7217, "with K, M or B as powers of ten"),
        ([f"{3 * v:.3f}" for v in Z], "1,234", 1.234, "with ',' before decimals"),
        ([f"{10 * x:.3f}" for x in [0.2, *X]], "1,500", np.nan, "no number"),
        (turns("{:.1f} °C"), "68.0 °F", 20, ""),
        (turns("{:.1f}%"), "20.2 percent", 0.202, ""),
        ([season(x) for x in X], "2025/26", 2025, ""),
    ],
)
def test_later_cells_are_read_where_one_reading_has_the_size_of_others(train, later, value, said):
    plan = plan_column("x", pd.Series(train))
    found = plan.encode(pd.Series([later]))
    np.testing.assert_allclose(found.parts[""], value, rtol=1e-12)
    where = with_places(found.unread, FrameTables(pd.DataFrame({"x": [later]})))
    assert said in unread_sentence(where)
    assert bool(said) == bool(where)


def test_months_are_no_seasons():
    months = pd.date_range("2000-01-01", periods=150, freq="MS").strftime("%Y-%m")
    assert plan_column("x", pd.Series(months)).kind == "date"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("{0:.2f} florins {1:.3f}x/{2}", "Most cells of 'x' begin or end with digits"),
        ("{0:.0f} {3}", "numbers with units of several kinds ('ducat', 'florin')"),
        ("0x{4:x}", "hexadecimal numbers such as '0x"),
    ],
)
def test_what_looks_like_numbers_is_no_identifier_without_a_word(cell, words):
    coins = ("ducat", "florin")
    cells = [
        cell.format(100 * x, x, "ab"[k % 2], coins[k % 2], int(1e5 * x)) for k, x in enumerate(X)
    ]
    plan = plan_column("x", pd.Series(cells))
    assert plan.kind == "text"
    assert words in plan.assumption
    frame = pd.DataFrame({"x": cells})
    found = identifiers(frame, frame, N, {"x": 0.0}, Z[:, None], TableEncoder())
    assert words in found["x"]


@pytest.mark.parametrize("cell", ["ID-{:04d}", "A{}", "{:05d}"])
def test_identifiers_do_not_look_like_numbers(cell):
    assert (
        "digits" not in plan_column("x", pd.Series([cell.format(k) for k in range(N)])).assumption
    )


def test_dates_in_two_orders_are_told():
    days = pd.date_range("2019-01-01", periods=N, freq="3D")
    cells = [*days[:150].strftime("%d/%m/%Y"), *days[150:].strftime("%m/%d/%Y")]
    plan = plan_column("x", pd.Series(cells))
    assert "dates with the day first ('13/01/2019') and some with the month" in plan.assumption


@pytest.mark.parametrize("road", ["csv", "folder", "object"])
def test_a_few_decimal_commas_among_points_are_no_thousands(tmp_path, road):
    y = [f"{x / 25 + 4:.3f}" for x in X]
    mixed = [v.replace(".", ",") if k % 40 == 3 else v for k, v in enumerate(y)]
    found = ROADS[road](tmp_path, pd.DataFrame({"x": mixed, "y": [float(v) for v in y]}))
    assert r_squared(found) > 0.999
    (tmp_path / "y").mkdir()
    target = ROADS[road](tmp_path / "y", pd.DataFrame({"x": X, "y": mixed}))
    assert max(target.y_train.max(), target.y_test.max()) < 10
    plan = plan_column("x", pd.Series([*mixed, "1,234.567", "3,456.789"] * 2))
    assert plan.encode(pd.Series(["1,234.567"])).parts[""].tolist() == [1234.567]


@pytest.mark.parametrize("road", ["csv", "folder", "json", "object"])
@pytest.mark.parametrize("levels", [("None", "driver", "both", "NA"), ("None", "NA", "both", "NA")])
def test_none_beside_another_word_for_missing_is_a_level(tmp_path, road, levels):
    codes = np.arange(N) % 4
    y = 3.0 * (codes == 0) + Z / 10
    frame = pd.DataFrame({"x": np.array(levels)[codes], "z": Z, "y": y})
    found = ROADS[road](tmp_path, frame)
    assert r_squared(found) > 0.9
    said = [r for r in found.encoder.remarks if "'None'" in r]
    assert said == ["'None' is taken as a level of 'x', where another word says what is missing."]
    X = found.encoder.transform(pd.DataFrame({"x": ["None", "both"], "z": 0.0}))
    assert (X[0] != X[1]).any()


@pytest.mark.parametrize("stream", [False, True])
def test_files_with_points_and_files_with_commas_before_decimals_are_one_table(tmp_path, stream):
    cells = [f"{x:.2f};{z:.3f};{x / 25 + 2 + z:.4f}" for x, z in zip(X, Z, strict=True)]
    rows = [line.rstrip("0") for line in cells]
    for name, part in (("a", rows[:120]), ("b", [line.replace(".", ",") for line in rows[120:]])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["x;z;y", *part]) + "\n")
    found = compare(str(tmp_path), "y", methods=["linear"], time=5, stream=stream)
    assert found.table["R2"][0] > 0.999
    later = pd.DataFrame({"x": ["12,25"], "z": ["1,500"]})
    np.testing.assert_allclose(found.best.predict(later), 12.25 / 25 + 3.5, atol=1e-2)


@pytest.mark.parametrize("values", [np.arange(5), np.arange(5).astype(str), np.arange(5) / 4])
def test_categories_of_numbers_are_levels_in_files_and_in_frames(tmp_path, values):
    codes = np.arange(N) % 5
    frame = pd.DataFrame({"x": pd.Categorical(values[codes]), "z": Z, "y": codes**2 + Z})
    frame["many"] = pd.Categorical(X.round(4))
    for part in range(2):  # of which one lacks a category
        rows = frame[codes != 3] if part else frame
        rows.to_parquet(tmp_path / f"{part}.parquet", row_group_size=50)
    path = str(tmp_path / "*.parquet")
    for table in (path, frame):
        for stream in (False, True):
            how = {"methods": ["linear"], "time": 5, "stream": stream}
            found = compare(table, "y", **how).results
            kinds = {note.name: note.kind for note in found.columns}
            assert (kinds["x"], kinds["many"]) == ("category", "number")


def test_an_index_with_a_name_is_told():
    frame = pd.DataFrame({"z": Z, "y": X}).set_index(pd.Index(X, name="x"))
    said = " ".join(compare(frame, "y", methods=["linear"], time=5).remarks)
    assert "without the index 'x', which reset_index() makes a column" in said


MINUTES = np.arange(0, 1440, 7)

#: Cells of one number each, the number, and the kind that is said.
MOMENTS = {
    "hours and minutes": ([f"{m // 60:02d}{m % 60:02d}" for m in MINUTES], MINUTES, "time of day"),
    "noon": (
        [{0: "midnight", 720: "noon"}.get(m, f"{m // 60}:{m % 60:02d}") for m in MINUTES // 5 * 5],
        MINUTES // 5 * 5,
        "time of day",
    ),
    "a match": (
        [f"{m}'" if m <= 45 else f"45'+{m - 45}" if m % 2 else f"45+{m - 45}'" for m in range(52)],
        np.arange(52),
        "number",
    ),
    "short days": (
        [f"{d:%y%m%d}" for d in pd.date_range("2015-03-01", periods=400)],
        np.arange(400),
        "date",
    ),
}


def sexagesimal(value: float, mark: str) -> str:
    seconds = round(abs(value))
    parts = f"{seconds // 3600:02d}", f"{seconds // 60 % 60:02d}", f"{seconds % 60:02d}"
    return ("-" if value < 0 else "+") + mark.join(parts)


AROUND = 37.0 * np.arange(-300, 300) + 5
MOMENTS |= {
    "days of years": (
        [f"{d:%Y-%j}" for d in pd.date_range("2015-03-01", periods=400)],
        np.arange(400),
        "date",
    ),
    **{
        f"degrees around 0 with {mark!r}": (
            [sexagesimal(v, mark).replace("-", sign) for v in AROUND],
            AROUND,
            "duration",
        )
        for mark, sign in ((" ", "-"), (":", "−"))
    },
}


def test_three_digits_behind_each_point_of_money_are_told():
    cells = pd.Series([f"€{x / 10:.3f}" for x in X[X > 10]])
    assert (
        "tells what '.' stands for: 1.234 is taken as 1.234" in plan_column("p", cells).assumption
    )
    for others in (cells.str[1:], cells.str[:-1], pd.Series([*cells, "€12.5"])):
        assert plan_column("p", others).assumption == ""


def test_whole_numbers_with_h_and_s_are_no_amounts():
    assert plan_column("seat", pd.Series([f"{k}{'HS'[k % 2]}" for k in range(90)])).kind == "text"


@pytest.mark.parametrize("case", MOMENTS)
def test_moments_without_their_signs_are_read(case):
    cells, right, kind = MOMENTS[case]
    plan = plan_column("x", pd.Series(cells))
    found = plan.encode(pd.Series(cells))
    assert (plan.kind, found.unread) == (kind, ())
    assert np.corrcoef(right, next(iter(found.parts.values())))[0, 1] > 1 - 1e-9


@pytest.mark.parametrize("road", ["csv", "folder", "object"])
def test_hours_and_minutes_are_read_on_each_road(tmp_path, road):
    minutes = (15 * X).astype(int) % 1440
    cells = [f"{m // 60:02d}{m % 60:02d}" for m in minutes]
    found = ROADS[road](tmp_path, pd.DataFrame({"x": cells, "z": Z, "y": minutes / 400 + Z}))
    assert r_squared(found) > 0.999
    assert any("is a time of day: '" in remark for remark in found.encoder.remarks)


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("day of a year", [f"{d:%Y%j}" for d in pd.date_range("2015-03-01", periods=90)], "date"),
        ("months", [f"20{y:02d}{m:02d}" for y in range(10, 13) for m in range(1, 13)], "number"),
        ("parts", [f"{a:02d}{b:02d}" for a in range(1, 9) for b in range(1, 9)], "text"),
        ("month and day", [f"{d:%m%d}" for d in pd.date_range("2015-03-01", periods=90)], "text"),
    ],
)
def test_other_digits_are_no_moments(name, cells, kind):
    assert plan_column(name, pd.Series(cells)).kind == kind


def test_a_day_of_a_year_is_one_where_the_name_says_so():
    days = pd.date_range("2015-03-01", periods=400)
    cells = pd.Series(days.strftime("%Y%j"))
    assert plan_column("amount", cells.astype(int)).kind == "number"
    parts = plan_column("date", cells.astype(int)).encode(cells).parts
    assert np.ptp(np.diff(parts["_seconds"])) == 0


def test_a_temperature_of_39_30_is_no_level_and_codes_of_diagnoses_are_told():
    cells = [f"{t / 10:.1f}" for t in range(360, 400)] + ["39.30", "38.50"]
    assert plan_column("x", pd.Series(cells)).assumption == ""
    assert "--category" in plan_column("x", pd.Series(["1.9", "1.10", "1.1"])).assumption
    codes = pd.Series([250.0, 401.9, 414.01, 427.31, 38.9])
    assert "its name is of codes" in plan_column("dx", codes).assumption
    assert plan_column("weight", codes).assumption == ""
    letters = [f"{c}{i}.{d}" for c in "EJKM" for i in range(10, 30) for d in range(2)]
    assert plan_column("dx", pd.Series(letters)).assumption == ""


@pytest.mark.parametrize("road", ["file", "frame", "parquet"])
@pytest.mark.parametrize("target", ["life expectancy", "life expectancy "])
def test_blanks_around_names_tell_no_columns_apart(tmp_path, road, target):
    frame = pd.DataFrame({" measles ": X, "z": Z, "life expectancy ": X / 30 + Z})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    table = {"frame": frame}.get(road, str(tmp_path / f"t.{'csv' if road == 'file' else road}"))
    found = compare(table, target, methods=["linear"], time=3, ignore=["z "])
    assert found.results.columns[0].name.strip() == "measles"
    assert len(found.results.columns) == 1
    if road != "parquet":
        np.testing.assert_allclose(
            found.best.predict(frame), found.best.predict(pd.read_csv(tmp_path / "t.csv"))
        )


@pytest.mark.parametrize("road", ["csv", "folder", "json", "object"])
def test_levels_that_differ_in_case_alone_are_told(tmp_path, road):
    cells = np.array(["Alpha", "beta", "alpha", "gamma"])[np.arange(N) % 4]
    found = ROADS[road](tmp_path, pd.DataFrame({"x": cells, "z": Z, "y": Z}))
    said = "Levels of 'x' differ in case alone: 'Alpha', 'alpha'; write them alike to have one."
    assert said in found.encoder.remarks


@pytest.mark.parametrize("rows", [N, 60])
def test_a_target_in_two_units_is_refused_with_these(rows):
    y = [f"{x:.3f} mmol/L" if k % 2 else f"{18 * x:.2f} mg/dL" for k, x in enumerate(X[:rows])]
    with pytest.raises(TableError, match=r"several kinds \('mg/dL', 'mmol/L'\)"):
        compare(pd.DataFrame({"z": Z[:rows], "y": y}), "y", methods=["linear"], time=3)


def test_two_rows_are_too_few_and_quotes_around_lines_are_named(tmp_path):
    with pytest.raises(TableError, match=r"No two rows .* have one class .* give more rows"):
        compare(pd.DataFrame({"x": [1, 2], "y": [3, 4]}), "y", time=3)
    lines = ['"x,y"', *(f'"{x:.2f},{x:.2f}"' for x in X)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(TableError, match="quotes are around whole lines: take these off"):
        compare(str(tmp_path / "t.csv"), "y", time=3)


def test_numbers_of_a_cell_are_counted_alike_wherever_they_are_told():
    frame = pd.DataFrame({"x": [f"10.0.{k % 50}.{k % 7}" for k in range(N)], "z": Z})
    (note, _) = TableEncoder().fit(frame).notes_
    assert note.treatment.startswith("2 of the 4 numbers of each cell, the others the same in")
    assert "taken as 4 numbers" in note.remark


def test_processes_of_a_cluster_elsewhere_are_not_counted_here():
    with pytest.raises(TableError, match="jobs= counts processes of this machine"):
        compare(pd.DataFrame({"x": X, "y": Z}), "y", jobs=2, dask="tcp://127.0.0.1:1", time=3)


@pytest.mark.parametrize("road", ["csv", "json", "object"])
def test_years_with_weeks_are_told(tmp_path, road):
    weeks = [str(201601 + 100 * (k // 52) + k % 52) for k in range(N)]
    found = ROADS[road](tmp_path, pd.DataFrame({"x": weeks, "z": Z, "y": Z}))
    assert not any("weeks" in said for said in found.encoder.remarks)
    named = TableEncoder().fit(pd.DataFrame({"YEAR_WEEK": weeks, "z": Z}))
    assert any("'YEAR_WEEK' has years with weeks such as 2016" in said for said in named.remarks)
