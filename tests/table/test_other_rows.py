"""Rows of sums, units and names are left out and said, on three roads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.diagnosis_rows import diagnosis_rows
from gradfeat.table.other_rows import other_rows
from gradfeat.table.prepared import prepare
from gradfeat.table.request import Request
from gradfeat.table.statistic_rows import about_sums_in_order, statistic_rows

N = 120
RNG = np.random.default_rng(0)
X, Z = (RNG.standard_normal((2, N)) + 5).round(3)
Y = (X + Z).round(3)
AREA = np.array(["north", "south", "east"] * (N // 3))
NUMBERS = {"x": X, "z": Z, "y": Y}
NAMED = {"area": AREA, "x": X, "y": Y}
SUM = f"{X.sum():.2f}"


def sums_of(label, first, last):
    return f"{label},{X[first:last].sum():.3f},{Y[first:last].sum():.3f}"


def SD(x):
    return x.std(ddof=1)


def rows_of(*named):
    """Lines of a label, where there is one, and a statistic of each column of numbers."""
    columns = [X, Y] if named[0][0] else [X, Z, Y]
    return "\n".join(
        ",".join([*([label] if label else []), *(f"{find(x):.3f}" for x in columns)])
        for label, find in named
    )


#: Columns, rows (after which row, cells), kinds of inputs, and words of what is said.
CASES = {
    "units": (NUMBERS, {0: "kg,,m/s"}, "number number", "line 2 ('kg' in 'x') is a row of units"),
    "units without one of y": (NUMBERS, {0: "kg,cm,"}, "number number", "('kg' in 'x') is a row"),
    "sums": (NUMBERS, {N: f"Total,,{Y.sum():.2f}"}, "number number", "line 122 ('Total' in 'x')"),
    "both": (
        NUMBERS, {0: "kg,cm,m/s", N: f"TOTAL:,,{Y.sum():.2f}"}, "number number",
        "line 2 ('kg' in 'x') is a row of units or names; line 123 ('TOTAL:' in 'x')",
    ),
    "subtotals": (
        NUMBERS, {60: "Subtotal,,290", N: "Total,,580"}, "number number", "line 62 ('Subtotal'",
    ),
    "the header again": (NUMBERS, {50: "x,z,y", 70: "x,z,y"}, "number number", "line 52 ('x' in"),
    "a named sum": (
        NAMED, {N: f"Total,{SUM},{Y.sum():.2f}"}, "category number",
        "line 122 ('Total' in 'area') is a row that sums up others",
    ),
    "a named mean": (
        NAMED, {N: f"Average,{X.mean():.3f},{Y.mean():.3f}"}, "category number",
        "line 122 ('Average' in 'area') is a row that sums up others",
    ),
    "sums in German": (
        NAMED, {N: f"Summe,{SUM},{Y.sum():.2f}"}, "category number",
        "line 122 ('Summe' in 'area') is a row that sums up others",
    ),
    "sums in Chinese": (
        NAMED, {N: f"合计,{SUM},{Y.sum():.2f}"}, "category number",
        "line 122 ('合计' in 'area') is a row that sums up others",
    ),
    "sums without a word": (
        NAMED, {N: f",{SUM},{Y.sum():.2f}"}, "category number",
        f"('{SUM.rstrip('0')}' in 'x') is a row that sums up others",
    ),
    "subtotals and their total": (
        NAMED, {**{40 * k: sums_of("小计", 40 * k - 40, 40 * k) for k in (1, 2)},
                N: sums_of("小计", 80, N) + "\n" + sums_of("Итого", 0, N)}, "category number",
        "line 42 ('小计' in 'area') and 2 others are rows that sum up others",
    ),
    "totals of groups": (
        NAMED, {60: sums_of("A total", 0, 60), N: sums_of("B total", 60, N)}, "category number",
        "('A total' in 'area') is a row that sums up others",
    ),
    "a named spread": (
        NAMED, {N: f"SD,{X.std():.3f},{Y.std():.3f}"}, "category number",
        "line 122 ('SD' in 'area') is a row that sums up others",
    ),
    "statistics in French": (
        NAMED, {N: rows_of(("Moyenne", np.mean), ("Écart-type", SD), ("Médiane", np.median),
                           ("N", len), ("CV %", lambda x: 100 * SD(x) / x.mean()))},
        "category number", "('Moyenne' in 'area') is a row that sums up others",
    ),
    "statistics without a word": (
        NUMBERS, {N: rows_of(("", np.mean), ("", SD), ("", len))}, "number number",
        " in 'x') is a row that sums up others",
    ),
    "statistics above, in English": (
        NAMED, {0: rows_of(("Count", len), ("Mean", np.mean), ("Std", np.std), ("Min", np.min),
                           ("50%", np.median), ("Max", np.max))},
        "category number", "line 2 ('Count' in 'area') is a row that sums up others",
    ),
    "statistics, one of them of another kind": (
        NAMED, {N: rows_of(("a", np.mean), ("b", SD), ("Mode", lambda x: x[3]), ("d", len))},
        "category number", "('a' in 'area') is a row that sums up others",
    ),
}  # fmt: skip


def written(columns, more):
    frame = pd.DataFrame(columns)
    lines = frame.to_csv(index=False).splitlines()
    for at in sorted(more, reverse=True):
        lines.insert(at + 1, more[at])
    return "\n".join(lines) + "\n"


def found_in(path, text, road):
    path.write_text(text)
    if road == "frame":
        return prepare(FrameTables(pd.read_csv(path)), Request("t", "y"))
    table = tables(path, piece_rows=50, text=Request("t", "y").wanted)
    return prepare(table, Request("t", "y"), InProcess() if road == "stream" else None)


#: Each case held, and streamed or as a frame in turn; the third road is slow.
EACH = [
    pytest.param(case, road, marks=[pytest.mark.slow] * (road == ("frame", "stream")[i % 2]))
    for i, case in enumerate(CASES)
    for road in ("held", "stream", "frame")
]


@pytest.mark.parametrize(("case", "road"), EACH)
def test_rows_that_are_no_observations_are_left_out_and_said(tmp_path, case, road):
    columns, more, kinds, said = CASES[case]
    found = found_in(tmp_path / "t.csv", written(columns, more), road)
    assert found.n_rows == N
    assert found.target.task == "regression"
    assert [note.kind for note in found.columns] == kinds.split()
    assert np.abs(np.r_[found.y_train, found.y_test]).max() < 20
    words = said if road != "frame" else said.rsplit("(", 1)[-1]
    assert (road == "stream" and case == "units without one of y") or words in found.remarks[0]


@pytest.mark.parametrize(
    ("columns", "more", "said"),
    [
        (NAMED, {N: "Total,5.1,9.9"}, "line 122 ('Total' in 'area') may be a row that sums up"),
        (NAMED, {N: "Total,5.1,9.9"}, "take it out, as --comment 'Total' does"),
        (NAMED, {N: "average,5.1,9.9"}, ""),
        (NUMBERS, {i: f"hidden,hidden,{i}" for i in range(1, 9)}, ""),
        ({"x": X, "area": AREA, "y": Y}, {5: "n/a,total war,9"}, ""),
    ],
)
def test_rows_that_may_be_observations_stay(tmp_path, columns, more, said):
    found = found_in(tmp_path / "t.csv", written(columns, more), "held")
    assert found.n_rows == N + len(more)
    assert said in " ".join(found.remarks)
    assert bool(said) == ("row" in " ".join(found.remarks))


def test_the_ends_of_designs_and_growing_tables_are_rows():
    t = np.arange(60.0)
    growing = pd.DataFrame({"t": t, "x": t**2, "y": 3 * t})
    centre = np.tile([50.0, 20.0], (5, 1))
    design = np.vstack([[*product([40.0, 60.0], [10.0, 30.0])] * 5, centre])
    y = np.round(design @ [0.1, 0.2] + np.random.default_rng(0).normal(size=25), 2)
    for frame in (growing, growing[::-1], pd.DataFrame(design, columns=[*"ab"]).assign(y=y)):
        place = np.arange(len(frame))
        rows = np.ones(len(frame), np.int64)
        assert not other_rows(frame, rows, ends=[place[:12], place[:-13:-1]]).cells


def test_a_sum_is_found_where_numbers_are_stored_as_text():
    x = np.round(np.random.default_rng(0).normal(5.0, 1.0, 40), 2)
    frame = pd.DataFrame({"name": [f"n{i % 7}" for i in range(40)], "x": x, "y": 2 * x})
    frame.loc[40] = ["Grand Total", x.sum(), 2 * x.sum()]
    found = prepare(FrameTables(frame.astype(str)), Request("t", "y"))
    assert any("'Grand Total' in 'name') is a row that sums up others" in r for r in found.remarks)


def test_levels_of_a_design_are_no_sums_of_each_other():
    factors = [[1.0, 2.0, 3.0], [10.0, 20.0], [5.0, 7.0], ["a", "b", "c"], ["u", "v"]]
    frame = pd.DataFrame(product(*factors), columns=[*"pqrst"])
    rows = np.ones(len(frame), np.int64)
    assert not other_rows(frame, rows).cells
    control = pd.concat([frame, frame.assign(s="control")], ignore_index=True)
    assert not other_rows(control, np.ones(len(control), np.int64)).cells


def test_a_diagnosis_leaves_them_out_too():
    frame = pd.DataFrame({"x": [*map(str, X), "Total"], "z": [*Z, 0.0], "y": [*Y, Y.sum()]})
    found = diagnosis_rows(FrameTables(frame), Request("t", "y"))
    assert found.known == N
    said = " ".join(remark.text for remark in found.remarks)
    assert "row 121 ('Total' in 'x') is a row that sums up others" in said


def test_numbers_near_the_largest_are_no_statistics_and_warn_of_nothing(recwarn):
    x = np.append(np.random.default_rng(0).choice([-1e308, 1e308, 3.0], 40), 1e308)
    assert statistic_rows([x, x[::-1].copy()], np.ones(41), [np.arange(40, 28, -1)]).size == 0
    assert not recwarn.list


@pytest.mark.parametrize("road", ["held", "stream"])
def test_files_of_loggers_are_their_measurements(tmp_path, road):
    times = pd.date_range("2021-05-01", periods=N, freq="h").strftime("%Y-%m-%d %H:%M:%S")
    rows = pd.DataFrame({"TIMESTAMP": times, "RECORD": range(N), "x": X, "y": Y})
    about = '"TOA5","CR1000","CR1000","12345","CR1000.Std.31","CPU:p.CR1","54321","Table1"'
    names, *lines = rows.to_csv(index=False).splitlines()
    units = ['"TS","RN","Deg C","meters/second"', '"","","Avg","Avg"']
    found = found_in(tmp_path / "t.dat", "\n".join([about, names, *units, *lines]), road)
    assert found.n_rows == N
    assert [note.kind for note in found.columns] == ["date", "number", "number"]
    assert "line 3 ('RN' in 'RECORD') is a row of units or names" in " ".join(found.remarks)


def in_groups(sizes, label, *, below=False, quarters=False):
    """Rows in groups of such sizes, each group with its sum, and with those of four groups."""
    rng, rows, four = np.random.default_rng(1), [], []
    for k, size in enumerate(sizes):
        group = rng.normal(10, 3, (size, 2)).round(2)
        each = [[f"g{k}", *x] for x in group]
        total = [label or f"g{k}", *group.sum(axis=0).round(2)]
        rows += [total, *each] if below else [*each, total]
        four.append(group.sum(axis=0))
        if quarters and k % 4 == 3:
            rows.append(["", *np.sum(four[-4:], axis=0).round(2)])
    return pd.DataFrame(rows, columns=["g", "x", "y"])


@pytest.mark.parametrize("road", ["held", "stream", "frame"])
@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (in_groups([10] * 12, " "), "12 of the first 132 rows are sums of the rows just above"),
        (in_groups([7, 3, 9, 12, 5, 8] * 2, ""), "12 of the first 100 rows are sums of the rows"),
        (in_groups([6] * 8, " ", quarters=True), "10 of the first 58 rows are sums of the rows"),
        (in_groups([10] * 12, " ", below=True), "12 of the first 132 rows are sums of the rows jus"
         "t below"),
    ],
)  # fmt: skip
def test_sums_without_a_label_of_theirs_are_told_by_their_order(tmp_path, frame, said, road):
    found = found_in(tmp_path / "t.csv", frame.to_csv(index=False), road)
    remark = next((r for r in found.remarks if "rows are sums of" in r), "")
    assert remark.startswith(said)


def test_rows_that_are_sums_by_chance_are_observations():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        small = rng.integers(-3, 4, (2, 300)), rng.integers(0, 3, (2, 300))
        for x in (*small, rng.normal(size=(1, 200)).round(1), 2.0 ** (np.arange(40) // 3)[None]):
            assert not about_sums_in_order([*x.astype(float)], str)
