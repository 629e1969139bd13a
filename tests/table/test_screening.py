"""Identifiers, leaks and copies are named before a verdict; what tells nothing is left out."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from gradfeat.interface.compare import compare
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.open import tables
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.encode import TableEncoder
from gradfeat.table.prepared import prepare
from gradfeat.table.request import Request
from gradfeat.table.row_sample import RowSample
from gradfeat.table.screening import about_equal_rows, explained, screen


def table(n: int = 400) -> pd.DataFrame:
    """T18: a unique text, a row number, the target rounded, a constant, a copy, .99."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    y = x + z + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"id": [f"K{v:05d}" for v in rng.permutation(90_000)[:n]]})
    frame["row"] = np.arange(1, n + 1)
    frame["x"], frame["x2"], frame["z"] = x, x + 0.1 * rng.normal(size=n), z
    frame["leak"], frame["const"], frame["copy"], frame["y"] = np.round(y), 1, z, y
    return frame


@pytest.mark.parametrize("streamed", [False, True])
def test_what_is_odd_is_said_of_rows_that_are_held_and_that_stream(streamed):
    engine = InProcess() if streamed else None
    found = prepare(FrameTables(table(), 60), Request("t", "y"), engine)
    said = "\n".join(found.remarks)
    assert "Left out as identifiers: 'id' (300 of 300 training rows have a value of" in said
    assert " and 'row' (it numbers the rows, " in said
    assert "'leak' (96 %, is it, rounded) alone explains nearly all of 'y'" in said
    assert "--ignore 'leak' leaves it out" in said
    assert "Left out, the same in every row: 'const'." in said
    assert "Columns that are copies: 'copy' of 'z'." in said
    assert set(found.encoder.columns_) == {"x", "x2", "z", "leak", "copy"}
    kinds = {note.name: note.kind for note in found.columns}
    assert [*kinds] == ["id", "row", "x", "x2", "z", "leak", "const", "copy"]
    assert kinds["id"] == kinds["row"] == kinds["const"] == "dropped"


def test_identifiers_are_kept_where_that_is_asked_for():
    found = prepare(FrameTables(table(), 400), Request("t", "y", keep_identifiers=True))
    assert {"id", "row"} <= set(found.encoder.columns_)
    assert any("Kept, though they look like identifiers: 'id' (" in said for said in found.remarks)


def test_identifiers_of_rows_that_come_again_are_found():
    again = pd.concat([table(), table().iloc[:60]])
    found = prepare(FrameTables(again, 500), Request("t", "y"))
    assert not {"id", "row"} & set(found.encoder.columns_)


@pytest.mark.parametrize("classes", [False, True])
def test_levels_that_come_again_are_no_identifiers_where_they_are_all_there_is(classes):
    level = RNG.integers(0, 40, 400)
    y = np.where(level % 2, "odd", "even") if classes else RNG.normal(size=40)[level] + RNG.normal()
    frame = pd.DataFrame({"state": [f"S{v * 7919}" for v in level], "y": y})
    assert "identifier" not in "".join(prepare(FrameTables(frame), Request("t", "y")).remarks)
    frame["region"] = [f"north {v % 8}" for v in level]
    frame["y"] = RNG.normal(size=400)
    assert "identifier" not in "".join(prepare(FrameTables(frame), Request("t", "y")).remarks)


def test_leaks_are_one_sentence():
    x = RNG.normal(size=300)
    inputs = pd.DataFrame({"a": Y, "b": 2 * Y, "c": np.round(Y, 1), "x": x})
    (said, *others) = screen(inputs, Y, "y", 0, 300, keep=False).remarks
    assert said.startswith("'c' (100 %, never goes against it), 'a' (100 %, never goes against it)")
    assert "alone explain nearly all of 'y': if they are known only once" in said
    assert others == ["Columns that are copies: 'b' of 'a' in another unit."]


def test_a_share_that_so_few_rows_do_not_tell_is_not_said():
    a = np.random.default_rng(0).normal(size=60)
    found = prepare(FrameTables(pd.DataFrame({"a": a, "y": np.round(a, 1)})), Request("t", "y"))
    assert "'a' (never goes against it) follows 'y'" in "\n".join(found.remarks)


def test_cells_are_read_as_the_options_say():
    days = pd.date_range("2024-01-01", periods=300)
    inputs = pd.DataFrame({"d": days.strftime("%d/%m/%Y"), "x": RNG.normal(size=300)})
    inputs.loc[:200, "x"] = 0
    encoder = TableEncoder(("x=0",), "month-first")
    assert not screen(inputs, Y, "y", 0, 300, keep=False, encoder=encoder).left_out


def test_the_report_names_groups_and_the_page_has_remarks_before_the_verdict():
    found = compare(table(200), "y", methods=["linear", "rfm"], time=1.0).results
    assert any("'x' and 'x2' (0.99" in said.text for said in found.remarks)
    assert {group.columns for group in found.groups} == {("z", "copy"), ("x", "x2")}
    assert found.importances is not None
    assert found.importances.losses[0].columns in {("z", "copy"), ("x", "x2")}


def screened(column: object, y: np.ndarray, classes: int = 0, rows: int = 0):
    inputs = pd.DataFrame({"c": column, "other": np.random.default_rng(1).normal(size=len(y))})
    return screen(inputs, y, "y", classes, rows or len(y), keep=False)


RNG = np.random.default_rng(2)
Y = RNG.normal(size=300)


@pytest.mark.parametrize(
    "column",
    [
        RNG.normal(size=300),
        RNG.integers(0, 10**6, 300),
        np.argsort(np.argsort(Y)) + 1,
        pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d"),
        [f"a short text about row {k}" for k in range(300)],
        [f"code{k % 40}" for k in range(300)],
        RNG.random(300) < 0.5,
    ],
    ids=["numbers", "whole", "order", "dates", "sentences", "codes", "truth"],
)
def test_columns_that_may_tell_something_stay(column):
    assert not screened(column, Y).left_out


@pytest.mark.parametrize(
    "column",
    [
        [f"{k:032x}" for k in RNG.integers(2**60, 2**62, 300)],
        np.arange(300),
        np.arange(300)[::-1] + 1000,
        [f"{a}@mail.org" for a in RNG.permutation(10_000)[:300]],
    ],
    ids=["hex", "from 0", "downwards", "addresses"],
)
def test_columns_that_tell_which_row_it_is_are_left_out(column):
    assert set(screened(column, Y).left_out) == {"c"}


def test_whole_numbers_that_are_all_different_are_an_identifier_by_their_name():
    numbers = RNG.permutation(10**6)[:300]
    inputs = pd.DataFrame({"customer_id": numbers, "income": numbers[::-1]})
    assert set(screen(inputs, Y, "y", 0, 300, keep=False).left_out) == {"customer_id"}


def test_a_number_of_rows_that_explains_the_target_stays_with_a_remark():
    found = screened(np.arange(1, 301), np.sort(Y))
    assert not found.left_out
    assert "'c' (100 %) numbers the rows and alone explains so much of 'y'" in found.remarks[0]
    assert "if the file is sorted, it gives the answer away" in found.remarks[0]


@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "row_id", "Obs", "index", "id"])
def test_what_is_called_a_number_of_rows_is_left_out_of_a_file_in_order_too(name):
    inputs = pd.DataFrame({name: np.arange(1, 301), "x": RNG.normal(size=300)})
    found = screen(inputs, np.sort(Y), "y", 0, 300, keep=False)
    assert set(found.left_out) == {name}
    assert "it numbers the rows of a file in order: it alone explains 100 %" in found.remarks[0]
    assert len(found.remarks) == 1


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "index", "id", " ", "seq"])
def test_numbers_of_rows_are_found_in_a_sample_of_a_file_in_order(name, streamed):
    """Three quarters of a file that is ordered by its target: the numbers have gaps by chance."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.gamma(2.0, size=800))
    frame = pd.DataFrame({name: np.arange(1, 801), "x": y + rng.normal(size=800), "y": y})
    some = frame.sample(frac=0.75, random_state=1)
    found = prepare(FrameTables(some, 100), Request("t", "y"), InProcess() if streamed else None)
    said = "\n".join(found.remarks)
    if name == "seq":
        assert re.search(
            r"'seq' \(100 %; 450 of the numbers \d+ to 800, none of them twice\)", said
        )
        assert "numbers the rows and alone explains so much of 'y'" in said
    else:
        assert found.encoder.columns_ == ("x",)
        assert f"and it is called {name!r}: it alone explains 100 %" in said


def test_different_numbers_that_do_not_count_rows_are_no_numbers_of_rows():
    far = np.random.default_rng(0).permutation(10**5)[:300]
    assert screened(far, np.sqrt(far)).remarks[0].startswith("'c' (100 %, never")


def test_names_that_tell_nothing_are_identifiers():
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    names = ["".join(RNG.choice(letters, 6)) + " " + "".join(RNG.choice(letters, 7)) for _ in Y]
    found = screened(names, Y)
    assert set(found.left_out) == {"c"}
    assert "300 of 300 training rows have a value of their own, such as" in found.remarks[0]
    assert "and like letters do not go with like targets" in found.remarks[0]
    titled = [("Lady " if y > 0 else "King ") + name for y, name in zip(Y, names, strict=True)]
    frame = pd.DataFrame({"c": titled, "x": RNG.normal(size=300), "y": Y})
    kept = prepare(FrameTables(frame, 300), Request("t", "y"))
    assert "c" in kept.encoder.columns_
    assert "Read as text, similar ones as similar numbers: 'c'." in kept.remarks


def test_a_column_that_is_known_in_part_of_the_rows_follows_the_target():
    part = pd.Series(np.where(Y > 0.7, np.round(Y), np.nan))
    said = screen(pd.DataFrame({"c": part, "x": RNG.normal(size=300)}), Y, "y", 0, 300, False)
    assert re.match(r"'c' \(\d\d %, is it, rounded\) follows 'y': if it is", said.remarks[0])


def test_of_identifiers_alone_all_are_kept():
    inputs = pd.DataFrame({"id": np.arange(300)})
    found = screen(inputs, Y, "y", 0, 300, keep=False)
    assert not found.left_out
    assert "looks like an identifier: 'id' (" in found.remarks[0]


def test_a_column_of_classes_under_other_names_is_a_leak():
    y = RNG.integers(0, 3, 300).astype(float)
    said = screened(np.array(["p", "q", "r"])[y.astype(int)], y, classes=3).remarks
    assert said[0].startswith("'c' (100 %) alone explains nearly all of 'y': if it is known")
    assert not screened(np.array(["p", "q", "r"])[RNG.integers(0, 3, 300)], y, classes=3).remarks


def test_what_a_column_explains_is_adjusted_for_its_levels():
    y = RNG.normal(size=(2000, 1))
    noise = [explained(pd.Series(RNG.integers(0, 200, 2000).astype(str)), y) for _ in range(20)]
    # 1/n times the number of levels has a mean of 0 once adjusted; its standard deviation is
    # sqrt(2 / 2000), and of 20 means that are cut at 0 half a standard deviation is left.
    assert np.mean(noise) < 0.03
    assert explained(pd.Series(y[:, 0]), y) > 0.9


@pytest.mark.parametrize(
    "told",
    [
        [f"${v:,.2f}" for v in 50_000 + 9_000 * Y],
        [f"{v:.3f} kg per m" for v in 50 + 9 * Y],
        [f"{day:%d.%m.%Y}" for day in pd.Timestamp("2020-01-01") + pd.to_timedelta(900 * Y, "D")],
        pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(900 * Y), "D"),
        [f"{v * 100:.2f}%" for v in Y],
        [f"{v:.4f}".replace(".", ",") for v in Y],
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_amounts_and_days_in_text_are_leaks_too(told, noise):
    y = Y + noise * RNG.normal(size=300)
    (said,) = screened(told, y).remarks
    assert said.startswith("'c' (")
    assert " alone explains nearly all of 'y'" in said


def test_what_is_called_an_identifier_and_tells_something_is_named():
    rng = np.random.default_rng(0)
    pid = 10_000 + 37 * rng.permutation(400)
    frame = pd.DataFrame({"PID": pid, "humid": pid + 1 + (pid % 5), "z": rng.normal(size=400)})
    frame["y"] = (pid > 15_000) + rng.normal(size=400)
    said = "\n".join(prepare(FrameTables(frame, 400), Request("t", "y")).remarks)
    assert re.search(
        r"Kept, though called an identifier: 'PID' \(all different; \d+ % of 'y'\)", said
    )
    assert "humid" not in said


@pytest.mark.parametrize("streamed", [False, True])
def test_rows_that_come_again_and_values_far_from_others_are_told(streamed):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "z": rng.normal(size=200).round(1)})
    frame["when"] = [f"2020-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(200)]
    frame.loc[::10, "when"] = "1900-01-01"
    frame.loc[::20, "z"] = 1e20
    frame["y"] = frame["x"] + 10
    frame.loc[::25, "y"] = -999
    twice = pd.concat([frame, frame.head(60)], ignore_index=True)
    engine = InProcess() if streamed else None
    found = prepare(FrameTables(twice, 60), Request("t", "y"), engine)
    said = "\n".join([*found.remarks, *(note.remark for note in found.columns)])
    assert "23 % of the rows are copies of others in every column" in said
    assert re.search(r"\d % of 'y' are -999 and its other values .*--missing 'y=-999'", said)
    assert re.search(r"\d % of 'z' are 1e\+20 and its other values", said)
    assert re.search(r"\d+ % of 'when' are 1900-01-01, long before all others", said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f, _: f.assign(a=f["a"] + 1e-6), "50 % of the rows are copies of others to within"),
        (lambda f, _: f.assign(b=f["b"].astype("float32").astype(float)), "50 % of the rows are"),
        (lambda f, r: f.assign(a=f["a"] + 0.01 * r.normal(size=120)), ""),
    ],
)
def test_copies_that_differ_by_rounding_are_told(change, said):
    """Coin flips beside such copies were predicted at 92 % without a word."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    frame["y"] = np.where(rng.random(120) < 0.5, "heads", "tails")
    both = pd.concat([frame, change(frame, rng)], ignore_index=True)
    found = about_equal_rows(RowSample.of(both, 0, 1_000))
    assert " ".join(found).startswith(said)
    assert bool(found) == bool(said)


def test_values_that_lie_close_by_chance_are_no_copies():
    """Of 30,000 rows with one column of numbers most agree with another in four digits."""
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=30_000), rng.standard_cauchy(30_000), rng.lognormal(0, 3, 30_000)):
        frame = pd.DataFrame({"x": x, "y": rng.integers(0, 2, 30_000)})
        assert about_equal_rows(RowSample.of(frame, 0, 30_000)) == []


@pytest.mark.parametrize("classes", [False, True])
def test_where_nothing_is_learned_the_verdict_says_so(classes):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "y"])
    if classes:
        frame["y"] = np.where(frame["y"] > 1, "yes", "no")
    found = compare(frame, "y", time=2, methods=["linear"])
    assert "does not predict y beyond chance on these 50 test rows" in found.verdict
    assert "best, with" not in found.verdict
    learned = compare(frame.assign(y=frame["a"]), "y", time=2, methods=["linear"])
    assert "beyond chance" not in learned.verdict


@pytest.mark.parametrize("road", ["file", "frame"])
def test_a_value_in_the_first_row_of_each_block_alone_is_told(tmp_path, road):
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=120)
    frame = pd.DataFrame({"month": days.strftime("%B").where(days.day == 1), "day": days.day})
    frame["z"], frame["y"] = rng.normal(size=(2, 120))
    frame.loc[rng.random(120) < 0.8, "z"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = FrameTables(frame) if road == "frame" else tables(tmp_path / "t.csv")
    said = [r for r in prepare(table, Request("t", "y")).remarks if "first of each block" in r]
    assert len(said) == 1
    assert said[0].startswith("'month' has a value in one of 30 rows")


def test_a_verdict_of_chance_is_joined_to_a_column_that_explains_all():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 400)))
    found = compare(frame.assign(y=3 * frame[7]), "y", time=3, methods=["linear"])
    assert any("'7' (100 %" in remark for remark in found.remarks)
    assert "A column that alone explains it is named above" in found.verdict


@pytest.mark.parametrize("told", ["subtype", "cause"])
def test_what_is_filled_in_afterwards_is_a_leak_where_it_is(told):
    """Half the animals have a subtype, of which each belongs to one outcome; few have a cause."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 2_000, p=[0.6, 0.3, 0.1])
    kinds = np.array([["foster", "offsite"], ["partner", "barn"], ["medical", "age"]])
    frame = pd.DataFrame({"x": rng.standard_normal(2_000), "chance": rng.choice(["a", "b"], 2_000)})
    frame["subtype"] = kinds[y, rng.integers(0, 2, 2_000)]
    frame.loc[rng.random(2_000) < 0.5, ["subtype", "chance"]] = np.nan
    frame["cause"] = np.where(y == 2, "illness", np.array(np.nan, dtype=object))
    (said,) = screen(frame[["x", "chance", told]], y.astype(float), "y", 3, 2_000, False).remarks
    share = frame[told].notna().mean()
    assert said.startswith(
        f"'{told}' (100 % where it is filled in, {100 * share:.0f} % of rows) alone explains"
    )


def test_a_rare_remark_that_falls_on_the_common_class_is_no_leak():
    rng = np.random.default_rng(0)
    y = (rng.random(2_000) < 0.01).astype(float)
    frame = pd.DataFrame({"remark": np.where(np.arange(2_000) < 110, "seen", None)})
    y[:110] = 0
    assert not screen(frame, y, "y", 2, 2_000, False).remarks


def _said(inputs, y, classes=0):
    frame = pd.DataFrame(inputs)
    return " ".join(screen(frame, np.asarray(y, float), "y", classes, len(frame), False).remarks)


@pytest.mark.parametrize("bins", [2, 3, 4])
def test_a_target_in_bins_under_any_names_is_a_leak(bins):
    y = np.random.default_rng(0).normal(size=300)
    names = np.array(["mid", "low", "top", "end"])[pd.qcut(y, bins, labels=False)]
    assert re.match(
        r"'bin' \(.*, each of its values is a range of the target\) ", _said({"bin": names}, y)
    )
    shuffled = np.random.default_rng(1).permutation(names)
    assert _said({"bin": shuffled}, y) == ""


def test_columns_that_add_up_or_multiply_to_the_target_are_named():
    rng = np.random.default_rng(0)
    fare, tip = rng.gamma(2, 8, 300), rng.gamma(1, 2, 300) * (rng.random(300) < 0.5)
    parts = {"fare": fare, "tip": tip, "z": rng.normal(size=300)}
    told = _said(parts, fare + tip)
    assert "The target is a sum of other columns: 'y' = 'fare' + 'tip'. If they are known" in told
    assert "--ignore 'fare' leaves one of them out." in told
    assert "is a sum" not in _said(parts, fare + tip + rng.normal(size=300))
    n = rng.integers(1, 9, 300)
    told = _said({**parts, "n": n}, 2 * fare / n)
    assert "The target is a product of other columns: 'y' = 2 × 'fare' / 'n'. If" in told
    assert "'total' (" in (said := _said({"total": fare + tip + 3.3}, fare))
    assert "3.3 more than it in" in said


def test_each_sum_is_named_with_its_fewest_columns_and_signs():
    """As in polls: the lead is a difference of shares, and the sum of the result and the error."""
    rng = np.random.default_rng(0)
    one, two, won, x = rng.normal(40, 9, (4, 400))
    lead = one - two
    polls = {"one": one, "two": two, "won": won, "x": x, "three": 100 - one - two}
    told = _said({**polls, "bias": lead - won, "seldom": np.where(x > 44, x, np.nan)}, lead)
    assert re.search(r"'y' = '(one' - 'two|won' \+ 'bias|bias' \+ 'won)' and 'y' = ", told)
    assert "'y' = 'one' - 'two'" in told
    assert "'x'" not in told
    assert "leaves one of them out of each." in told
    left_out = re.findall(r"--ignore '(\w+)'", told)
    assert "is a sum" not in _said({n: c for n, c in polls.items() if n not in left_out}, lead)
    four = {**{f"x{k}": column for k, column in enumerate(rng.normal(size=(6, 400)))}}
    told = _said(four, four["x0"] - four["x2"] + four["x3"] + 3 * four["x5"] + 1)
    assert "'y' = 3 × 'x5'" in told
    assert "'x1'" not in told
    assert "'x4'" not in told


def test_a_formula_that_is_off_by_more_than_rounding_is_nearly_one():
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(10, 1.5, 900))
    parts = {f"g{k}": np.round(size * k * np.exp(rng.normal(0, 0.002, 900))) for k in range(2, 14)}
    eight = sum(parts[f"g{k}"] for k in range(2, 10))
    told = _said(parts, eight)
    formula = re.search(r"The target is a sum of other columns: 'y' = (.*?)\. If", told)
    assert formula
    assert set(formula[1].split(" + ")) == {f"'g{k}'" for k in range(2, 10)}
    assert "leaves one of them out, but the others together still have an R2 above 0.99" in told
    x, z = rng.uniform(0, 100, 400).round(3), rng.normal(size=400).round(3)
    told = _said({"x": x, "z": z}, np.round(2.20462 * x + z, 3))
    assert re.search(r"is a sum of other columns: 'y' = 2\.2046\d? × 'x' \+ 'z'\. If", told)
    told = _said({"x": x, "z": z}, 2 * x + z + rng.normal(size=400) / 50)
    assert "is nearly a sum of other columns: 'y' = 2 × 'x' + " in told


_A, _B, _OLD = np.random.default_rng(0).normal(size=(3, 400))
_OLD = np.round(10_000 * np.exp(_OLD))


@pytest.mark.parametrize(
    ("columns", "y", "formula"),
    [
        ({"a": _A, "b": _B}, _A * _B, "'a' × 'b'"),
        ({"a": _A, "b": _B}, _A / _B, "'a' / 'b'"),
        ({"a": _A, "b": _B}, np.maximum(_A, _B), "max('a', 'b')"),
        ({"a": _A, "b": _B}, abs(_A - _B), "|'a' - 'b'|"),
        ({"a": _OLD, "b": _OLD + _A}, (100 * _A / _OLD).round(6), "100 × 'b' / 'a' - 100"),
        ({"a": np.round(200 * abs(_A)), "b": _OLD}, None, "100 × 'a' / 'b'"),
    ],
)
def test_two_columns_that_give_the_target_are_named_with_how(columns, y, formula):
    y = (100 * columns["a"] / columns["b"]).round(1) if y is None else y
    told = _said({"other": np.random.default_rng(1).normal(size=400), **columns}, y)
    assert f"The target is given by two other columns: 'y' = {formula}. If they are" in told
    noise = np.random.default_rng(2).normal(size=400) * np.std(y) / 50
    assert "two other columns" not in _said(columns, y + noise)


def test_two_columns_are_not_said_to_give_a_target_of_few_values():
    """Within half a step of a target of a few whole numbers nearly any formula lies."""
    a, b = np.random.default_rng(3).uniform(1, 2, (2, 400))
    assert "two other columns" not in _said({"a": a, "b": b}, np.round(a * b))


def test_a_dummy_of_a_class_follows_the_target():
    k, z = np.random.default_rng(0).integers(0, 4, 200), np.random.default_rng(1).normal(size=200)
    frame = pd.DataFrame({"is_a": k == 0, "b": np.where(k == 1, "yes", "no"), "z": z})
    frame["few"], y = (k == 2) & (z > 0), k.astype(float)
    told = "\n".join(screen(frame, y, "y", 4, 200, keep=False).remarks)
    assert re.search(r"'(is_a|b)' \(\d+ %, tells one class from all others\) and '", told)
    assert "'few' (" not in told


def test_values_declared_missing_that_no_cell_is_are_told():
    frame = pd.DataFrame({"x": [*range(40)], "y": [*range(40)]})
    asked = Request("t", "y", missing=("999", "x=7", "y=-1"))
    told = " ".join(prepare(FrameTables(frame, 40), asked).remarks)
    assert "No cell is '999', 'y=-1', which --missing takes as missing." in told


def test_columns_that_stand_for_the_same_are_copies():
    kinds = np.random.default_rng(0).choice(["red", "green", "blue"], 300)
    codes = pd.factorize(kinds)[0]
    said = _said({"kind": kinds, "code": codes}, np.arange(300) % 7)
    assert said == "Columns that are copies: 'code' of 'kind', written otherwise."
    km = np.random.default_rng(0).gamma(2.0, 5.0, 300)
    said = _said({"km": km, "miles": -km / 1.609344 + 3, "z": np.sqrt(km)}, np.arange(300) % 7)
    assert said == "Columns that are copies: 'miles' of 'km' in another unit."


def test_columns_that_are_known_in_the_same_rows_are_no_copies():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["iron", "zinc"])
    frame.loc[np.arange(300) % 5 < 3] = np.nan
    assert "copies" not in _said(dict(frame.items()), np.arange(300) % 7)
    subjects = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["age", "size"])
    again = subjects.loc[np.arange(300) % 60]
    assert "copies" not in _said({n: c.to_numpy() for n, c in again.items()}, np.arange(300) % 7)


def test_a_text_that_names_the_class_is_remarked_on():
    y, noise = RNG.integers(0, 3, 300), RNG.integers(0, 3, 300)
    labels = ("bird", "cat", "dog")
    texts = [f"no {i}, a {labels[k]}" for i, k in enumerate(y)]
    others = [f"no {i}, a {labels[k]}" for i, k in enumerate(noise)]
    frame = pd.DataFrame({"note": texts, "other": others})
    said = " ".join(screen(frame, y.astype(float), "y", 3, 300, False, labels=labels).remarks)
    assert "'note' names the class of 'y' in 100 % of rows" in said
    assert "'other' names" not in said


def test_columns_of_far_apart_numbers_have_no_copy_and_no_warning():
    far = np.where(np.arange(40) == 7, 1e308, np.arange(40) / 1e4)
    frame = pd.DataFrame({"a": far, "b": RNG.normal(size=40), "y": RNG.normal(size=40)})
    assert not any(
        "copies" in said for said in prepare(FrameTables(frame), Request("t", "y")).remarks
    )


def test_few_cells_are_neither_groups_nor_copies():
    """Notes of one row each, and a blank for half of the rows; columns of two cells."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=160), "z": rng.normal(size=160)})
    frame["notes"] = [f"note {i}" if i % 5 < 2 else None for i in range(160)]
    frame["one"] = frame["other"] = [("yes" if i in (3, 80) else None) for i in range(160)]
    frame["y"] = np.where(np.arange(160) % 5 < 2, 9.0, 0.0) + 0.01 * frame["z"]
    said = " ".join(
        screen(frame.drop(columns="y"), frame["y"].to_numpy(), "y", 0, 160, True).remarks
    )
    assert "copies" not in said
    assert "groups by" not in said


def test_numbers_of_half_precision_are_screened_without_a_warning():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80).astype(np.float16), "z": rng.normal(size=80)})
    assert screen(frame, rng.normal(size=80), "y", 0, 80, False).remarks == ()


def test_a_column_without_a_value_is_left_out_as_such():
    frame = pd.DataFrame({"x": np.arange(80) % 7, "gap": [None] * 80, "one": [1] * 80})
    said = " ".join(screen(frame, np.arange(80.0), "y", 0, 80, False).remarks)
    assert "Left out, without a value in training rows: 'gap'." in said
    assert "Left out, the same in every row: 'one'." in said
