"""Held-out rows: disjoint, in proportion, in order, and independent of global state."""

import io

import numpy as np
import pandas as pd
import pytest

from gradfeat.errors import TableError
from gradfeat.table.row_sample import frame_hash
from gradfeat.table.split import parse_groups, parse_time, split_rows


def check_whole(split, n):
    assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(n))


@pytest.mark.parametrize(("n", "held"), [(100, 25), (4, 1), (10, 2)])
def test_random(n, held):
    split = split_rows(n, np.zeros(n), "regression")
    check_whole(split, n)
    assert len(split.test) == held
    assert f"{held} of {n} rows" in split.description


def test_stratified_with_rare_classes():
    y = np.array([0] * 80 + [1] * 18 + [2] * 2)
    split = split_rows(100, y, "classification")
    check_whole(split, 100)
    # a quarter of 80; of 18 to the nearest even whole number; of 2, one
    assert np.bincount(y[split.test]).tolist() == [20, 4, 1]


def test_seed_and_global_state():
    before = np.random.get_state()[1].copy()
    first, again, other = (split_rows(50, np.zeros(50), "regression", seed=s) for s in (0, 0, 1))
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)
    assert np.array_equal(before, np.random.get_state()[1])


def test_ordered_takes_the_last_rows():
    time = np.random.default_rng(0).permutation(40).astype(float)
    split = split_rows(40, np.zeros(40), "regression", time=time)
    check_whole(split, 40)
    assert time[split.train].max() < time[split.test].min()
    assert len(split.test) == 10


@pytest.mark.parametrize("time", [[0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0, 1]])
def test_equal_times_stay_on_one_side(time):
    time = np.array(time, dtype=float)
    split = split_rows(8, np.zeros(8), "regression", time=time)
    check_whole(split, 8)
    assert set(time[split.train]).isdisjoint(time[split.test])
    assert len(split.train)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"n": 1}, "1 usable row,"),
        ({"n": 3}, "3 usable rows"),
        ({"time": np.zeros(8)}, "same value in every row"),
        ({"time": np.arange(8.0), "task": "classification"}, "a single class"),
    ],
)
def test_bad_splits(arguments, expected):
    given = {"n": 8, "task": "regression"} | arguments
    y = np.repeat([0, 1], [6, 2])[: given["n"]]
    with pytest.raises(TableError, match=expected):
        split_rows(y=y, **given)


def test_groups_stay_on_one_side_whatever_the_order_of_the_rows():
    who = np.repeat([f"p{k}" for k in range(40)], 5)
    held = []
    for order in (np.arange(200), np.random.default_rng(0).permutation(200)):
        groups = parse_groups(pd.DataFrame({"who": who[order]}), "who", 3)
        split = split_rows(200, np.zeros(200), "regression", groups=groups, seed=3)
        assert split.description == "50 of 200 rows held out: whole groups (10), seed 3"
        held.append(set(who[order][split.test]))
        assert not held[-1] & set(who[order][split.train])
    assert held[0] == held[1]
    other = parse_groups(pd.DataFrame({"who": who}), "who", 4)
    assert set(who[split_rows(200, np.zeros(200), "regression", groups=other).test]) != held[0]


@pytest.mark.parametrize("seed", range(6))
def test_a_group_of_most_rows_is_learned_from(seed):
    groups = parse_groups(pd.DataFrame({"who": [1] * 90 + [2] * 10}), "who", seed)
    assert split_rows(100, np.zeros(100), "regression", groups=groups).test.tolist() == [
        *range(90, 100)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", None, "b", " "], "'who' is missing in 2 rows: fill it in"),
        (["a"] * 4, "the same value in every row: give one with two groups or more"),
    ],
)
def test_bad_group_columns(values, expected):
    with pytest.raises(TableError, match=expected):
        parse_groups(pd.DataFrame({"who": values}), "who", 0)
    with pytest.raises(TableError, match="group column 'hwo'; did you mean 'who'"):
        parse_groups(pd.DataFrame({"who": values}), "hwo", 0)


def test_groups_to_learn_from_have_two_classes():
    groups = parse_groups(pd.DataFrame({"who": [1, 1, 1, 2]}), "who", 0)
    with pytest.raises(
        TableError, match="rows that --group-column leaves to learn from hold a single class"
    ):
        split_rows(4, np.array([0, 0, 0, 1]), "classification", groups=groups)


def test_parse_time_reads_dates_and_numbers():
    dates = pd.date_range("2024-01-01", periods=3, freq="90min")
    expected = [1704067200.0, 1704072600.0, 1704078000.0]
    for values in (dates, dates.astype(str), dates.tz_localize("UTC"), expected):
        assert parse_time(pd.DataFrame({"when": values}), "when").tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b", "c"], "neither numbers nor dates"),
        (["yes", "no", "no"], "neither numbers nor dates"),
        ([1.0, np.nan, np.nan], "missing in 2 rows"),
        (["2024-01-01", None, "2024-01-02"], "missing in 1 row:"),
        ([None, None, None], "missing in 3 rows"),
        ([1.0, np.inf, 2.0], r"missing or no number \('inf'\) in 1 row:"),
    ],
)
def test_bad_time_columns(values, expected):
    with pytest.raises(TableError, match=expected):
        parse_time(pd.DataFrame({"when": values}), "when")


def test_absent_time_column():
    with pytest.raises(TableError, match="did you mean 'when'"):
        parse_time(pd.DataFrame({"when": [1]}), "wehn")


@pytest.mark.parametrize("step", ["1D", "7h", "1543ms"])
def test_dates_as_text_and_as_moments_are_the_same_rows(step):
    when = pd.Series(pd.date_range("2024-01-01", periods=200, freq=step))
    real = pd.DataFrame({"when": when, "x": range(200)})
    hashes = frame_hash(real, 0)
    clock = when.dt.strftime("%Y-%m-%dT%H:%M:%S.%f")
    written = [pd.read_csv(io.StringIO(real.to_csv(index=False)))["when"], clock]
    written += [when.astype("datetime64[s]")] if step != "1543ms" else []
    for texts in written:
        np.testing.assert_array_equal(frame_hash(real.assign(when=texts), 0), hashes)
    far = real.assign(when=when.astype("datetime64[us]"))
    np.testing.assert_array_equal(frame_hash(far, 0), hashes)
    assert len(np.unique(hashes)) == 200


def test_test_rows_know_their_group_or_stretch_of_time():
    who = np.repeat(np.arange(20.0), 10)
    split = split_rows(200, np.zeros(200), "regression", groups=who)
    assert (np.unique(who[split.test], return_inverse=True)[1] == split.units).all()
    time = np.repeat(np.arange(100.0), 4)
    split = split_rows(400, np.zeros(400), "regression", time=time)
    assert split.units.max() + 1 == 10  # the square root of 100 test rows
    assert (np.diff(split.units) >= 0).all()
    moments = {(moment, unit) for moment, unit in zip(time[split.test], split.units, strict=True)}
    assert len(moments) == 25  # each moment is in one stretch
    assert split_rows(40, np.zeros(40), "regression").units.tolist() == [*range(10)]
