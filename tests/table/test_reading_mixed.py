"""Columns written in more than one way: units of a kind, ages, flags of laboratories, masks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.table.test_reading import ROADS, r_squared

from gradfeat.table.encode import TableEncoder
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.reading.missing import codes_for_missing
from gradfeat.table.reading.plan import EncodedColumn

RNG = np.random.default_rng(5)
N = 240
X, Z = RNG.uniform(0.5, 99.5, N), RNG.standard_normal(N)


def cells(*ways: str) -> list[str]:
    """The numbers X in each of the ways in turn: x, x / 1000, 1000 x, x / 10, 3.6 x."""
    values = ((x, x / 1000, 1000 * x, x / 10, 3.6 * x) for x in X)
    return [ways[k % len(ways)].format(*each) for k, each in enumerate(values)]


#: Cells of X, the kind of their column, and what may be lost in rounding.
MIXED = {
    "whole thousands beside decimal commas": (
        [
            f"{1000 * x:,.0f}" if k % 2 else f"{1000 * x:.2f}".replace(".", ",")
            for k, x in enumerate(X)
        ],
        "number",
    ),
    "whole thousands beside decimal points": (
        [
            f"{1000 * x:,.0f}".replace(",", ".") if k % 2 else f"{1000 * x:.2f}"
            for k, x in enumerate(X)
        ],
        "number",
    ),
    "masses in two volumes": (cells("{0:.2f} g/L", "{3:.3f} g/dL"), "number"),
    "masses in a volume": (cells("{0:.2f} mg/L", "{2:.0f} µg/L"), "number"),
    "parts": (cells("{0:.3f} ppm", "{2:.0f} ppb"), "number"),
    "speeds": (cells("{0:.3f} m/s", "{4:.3f} km/h"), "number"),
    "ages of the earth": (cells("{0:.3f} Ma", "{2:.0f} ka"), "number"),
    "ages": ([f"{x:.1f} y" if x > 8 else f"{12 * x:.1f} mo" for x in X], "number"),
    "ages in letters": ([f"{x:.0f}Y" if x > 8 else f"{12 * x:.0f}M" for x in X], "duration"),
    "ages of DICOM": ([f"{x:03.0f}Y" if x > 8 else f"{12 * x:03.0f}M" for x in X], "duration"),
    "flags": ([f"{x:.2f} {'H' if x > 80 else 'L' if x < 20 else ''}".strip() for x in X], "number"),
    "qualifiers": ([f"{x:.2f}{' U' if x < 9 else ' J' if x < 20 else ''}" for x in X], "number"),
    "millions beside thousands": (
        [f"{x / 10:.3f}M" if x > 10 else f"{100 * x:.1f}K" for x in X],
        "number",
    ),
    "small letters": ([f"{x / 10:.3f}m" if x > 10 else f"{100 * x:.1f}k" for x in X], "number"),
    "powers behind a blank": ([f"{x:.3e}".replace("e", " E") for x in X], "number"),
    "kilometres beside metres": (
        [f"{x / 10:.3f} km" if x > 10 else f"{100 * x:.0f} m" for x in X],
        "number",
    ),
    "kilograms with commas beside grams": (
        [f"{x / 10:.3f} kg".replace(".", ",") if x > 10 else f"{100 * x:.0f} g" for x in X],
        "number",
    ),
    "seconds beside milliseconds": (
        [f"{x / 10:.3f} s" if x > 10 else f"{100 * x:.0f} ms" for x in X],
        "number",
    ),
    "basis points": ([f"{100 * x:.0f} bp{'s' * (k % 2)}" for k, x in enumerate(X)], "number"),
    "lakhs": ([f"₹{x / 100:.4f} Cr" if x > 30 else f"₹{x:.2f} L" for x in X], "number"),
    "stones": ([f"{int(x * 2) // 14} st {int(x * 2) % 14} lb" for x in X], "number"),
    "minutes of degrees": (
        [f"{abs(int(x - 50))}° {abs(x - 50) % 1 * 60:.3f}' {'N' if x > 50 else 'S'}" for x in X],
        "number",
    ),
    "months of years": ([f"{1 + int(x * 12) % 12:02d}.{2000 + int(x)}" for x in X], "date"),
    "months of one year": ([f"{1 + int(x / 8.5):02d}/2021" for x in X], "date"),
}


def read(case: str) -> EncodedColumn:
    column = pd.Series(MIXED[case][0])
    return plan_column("x", column).encode(column)


@pytest.mark.parametrize("case", MIXED)
def test_cells_written_in_two_ways_are_the_numbers_that_they_are(case):
    found = read(case)
    assert plan_column("x", pd.Series(MIXED[case][0])).kind == MIXED[case][1]
    assert not found.unread
    lost = 1 - np.corrcoef(X, next(iter(found.parts.values())))[0, 1] ** 2
    assert lost < (0.02 if "months of" in case else 1e-3)  # whole months; whole years


@pytest.mark.parametrize("road", ["csv", "folder", "object"])
@pytest.mark.parametrize("case", ["whole thousands beside decimal commas", "flags"])
def test_they_are_read_on_each_road_and_told(tmp_path, case, road):
    found = ROADS[road](tmp_path, pd.DataFrame({"x": MIXED[case][0], "z": Z, "y": X / 30 + Z}))
    assert r_squared(found) > 0.999
    assert any(remark.startswith("In 'x' '") for remark in found.encoder.remarks)


@pytest.mark.parametrize("road", ["csv", "folder", "object"])
def test_months_with_a_point_are_dates_on_each_road(tmp_path, road):
    cells = MIXED["months of years"][0]
    found = ROADS[road](tmp_path, pd.DataFrame({"x": cells, "z": Z, "y": X / 30 + Z}))
    assert r_squared(found) > 0.99


@pytest.mark.parametrize(
    "last",
    ["90+", "90 +", "90+ years", "90 or more", "90 and over", "over 90", "At least 90", "90 & up"],
)
def test_a_limit_beside_numbers_is_that_number_and_told(last):
    unit = " years" * last.endswith("years")
    column = pd.Series([last if x >= 90 else f"{x:.0f}{unit}" for x in X])
    plan = plan_column("x", column)
    found = plan.encode(column)
    assert np.allclose(found.parts[""], np.minimum(X.round(), 90), atol=0.01)
    assert not found.unread
    assert f"{last!r} is taken as 90" in plan.assumption


@pytest.mark.parametrize("word", ["not tested", "Free", "Varies with device"])
@pytest.mark.parametrize("road", ["csv", "folder", "object"])
def test_one_word_beside_many_numbers_says_that_there_is_none(tmp_path, word, road):
    cells = [word if k % 3 == 0 else f"${x:.2f}" for k, x in enumerate(X)]
    shown = np.where(np.arange(N) % 3, X / 30, 0)
    found = ROADS[road](tmp_path, pd.DataFrame({"x": cells, "z": Z, "y": shown + Z}))
    assert [note.kind for note in found.columns] == ["number", "number"]
    assert r_squared(found) > 0.999
    assert found.unread == ()
    note = found.columns[0]
    assert f"{word!r} says that there is no number, in 3" in note.remark
    assert 50 < note.missing <= N // 3
    plan = plan_column("x", pd.Series(cells))
    later = plan.encode(pd.Series([word.upper(), "$5.00", "lost"])).unread
    assert [(one.example, one.cells) for one in later] == [("lost", 1)]


def test_two_words_or_few_numbers_are_levels_or_text():
    words = pd.Series([("free", "sold")[k % 2] if k % 3 else f"{x:.2f}" for k, x in enumerate(X)])
    assert plan_column("x", words).kind == "text"
    few = pd.Series(["none yet" if k % 3 == 0 else f"{x / 10:.0f}.5" for k, x in enumerate(X)])
    assert plan_column("x", few).kind == "category"


def test_ranges_beside_whole_numbers_are_missing_and_told():
    size = [f"{2000 + 20 * x:.0f}" for x in X]
    size = [f"{2050 + k} - {2200 + k}" if k % 25 == 3 else s for k, s in enumerate(size)]
    plan = plan_column("x", pd.Series(size))
    assert plan.kind == "number"
    assert [one.cells for one in plan.encode(pd.Series(size)).unread] == [10]


@pytest.mark.parametrize("last", ["3+", "3 or more", "over 2"])
def test_a_limit_beside_few_numbers_is_a_level(last):
    column = pd.Series([last if x > 75 else str(int(x / 25)) for x in X])
    assert plan_column("x", column).kind == "category"


def test_decimals_with_three_places_beside_others_stay_decimals():
    column = pd.Series([f"{x:.3f}".rstrip("0").replace(".", ",") for x in X])
    assert np.allclose(plan_column("x", column).encode(column).parts[""], X.round(3))


def test_kelvin_beside_no_unit_are_no_thousands():
    mixed = [f"{x + 280:.1f}{' K' * (k % 3 == 0)}" for k, x in enumerate(X)]
    remarks = TableEncoder().fit(pd.DataFrame({"x": mixed})).remarks
    assert any("67 % of 'x' is numbers, and it is taken as text" in said for said in remarks)
    amounts = [f"{x / 10:.1f}K" if x > 10 else f"{100 * x:.0f}" for x in X]
    found = plan_column("x", pd.Series(amounts)).encode(pd.Series(amounts)).parts[""]
    assert np.abs(found - 100 * X).max() <= 50.1  # in hundreds


@pytest.mark.parametrize("mark", ["*****", ".....", "----", "BDL", "<LOD"])
def test_what_stands_where_a_number_had_no_room_is_missing(mark):
    column = pd.Series([mark if k % 6 == 0 else f"{x:.2f}" for k, x in enumerate(X)])
    found = plan_column("x", column).encode(column)
    assert [(one.cells, one.example, one.what) for one in found.unread] == [(40, mark, "number")]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*(np.arange(100) / 10), *[99.99] * 4], [99.99]),
        ([*(np.arange(1000) / 10), *[-8888] * 4, *[-7777] * 4], [-8888, -7777]),
        ([*(np.arange(300) / 3 - 100), *[-99.9] * 9], [-99.9]),
        ([*(np.arange(300) / 3 - 100), *[-50.5] * 9], []),
        ([*np.arange(1, 60, 0.5), *[9.99] * 9, *[59.9] * 9], []),
    ],
)
def test_masks_are_told_among_other_numbers_too(values, codes):
    assert codes_for_missing(np.array(values, float)) == codes
