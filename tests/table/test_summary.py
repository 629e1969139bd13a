"""The first pass: the same sample in any pieces and order, counts, and refusals of the target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gradfeat.errors import TableError
from gradfeat.rows.wire import pack, unpack
from gradfeat.table.first_pass import Summarise, TableSummary
from gradfeat.table.row_sample import HASHES, TargetValues, frame_hash, held_out
from table.streamed_tables import looked, mixed, parted


def same(one: TableSummary, other: TableSummary) -> None:
    """Every count and row is equal."""
    assert (one.rows, one.known, one.target.infinite) == (
        other.rows,
        other.known,
        other.target.infinite,
    )
    pd.testing.assert_frame_equal(one.target.table, other.target.table)
    assert (one.sample.hash == other.sample.hash).all()
    assert (one.sample.count == other.sample.count).all()
    pd.testing.assert_frame_equal(one.sample.frame, other.sample.frame, check_dtype=False)


@pytest.mark.parametrize("piece_rows", [7, 1000])
def test_pieces_do_not_matter(piece_rows):
    same(looked(mixed(), piece_rows, size=50), looked(mixed(), size=50))


def test_the_order_of_rows_does_not_matter():
    frame = mixed()
    same(looked(frame.sample(frac=1, random_state=1), size=50), looked(frame, size=50))


def test_a_look_comes_back_from_its_numbers():
    frame = mixed().assign(half=[True, None] * 200)
    seen, look = looked(frame, size=50), Summarise("y", 50, 0)
    same(look.unpack(look.pack(seen)), seen)
    same(unpack(look, pack(look, seen)), seen)


def test_the_seed_draws_other_rows():
    one, other = (set(looked(mixed(), size=50, seed=s).sample.frame["a"]) for s in (0, 1))
    assert len(one & other) < 25


def test_equal_rows_are_one_row_with_a_count():
    frame = pd.DataFrame({"x": [1.0, 1.0, 2.0, 1.0], "y": [0.0, 0.0, 1.0, 1.0]})
    sample = looked(frame, piece_rows=1).sample
    assert sorted(zip(sample.frame["x"], sample.frame["y"], sample.count, strict=True)) == [
        (1.0, 0.0, 2),
        (1.0, 1.0, 1),
        (2.0, 1.0, 1),
    ]


def test_rows_read_with_gaps_beside_them_are_the_same_rows():
    whole = pd.DataFrame({"x": [1, 2], "t": [True, False], "s": ["u", "v"]})
    gaps = pd.DataFrame({"x": [1, 2, None], "t": [True, False, None], "s": ["u", "v", None]})
    assert (frame_hash(whole, 0) == frame_hash(gaps, 0)[:2]).all()


def test_hashes_are_uniform():
    h = frame_hash(pd.DataFrame({"x": np.arange(10_000)}), 0) / HASHES
    # Kolmogorov distance of 10,000 uniform numbers is below 1.95/100 with probability 0.999.
    assert np.abs(np.sort(h) - np.arange(10_000) / 10_000).max() < 0.0195


def test_distinct_targets_are_counted_as_far_as_they_are_few():
    few = looked(pd.DataFrame({"x": range(300), "y": ["u", "v", None] * 100}), piece_rows=11)
    assert few.target.table["count"].tolist() == [100, 100]
    assert few.target.missing == 100
    many = looked(pd.DataFrame({"x": range(300), "y": range(300)}), piece_rows=11)
    assert many.target.table["value"].tolist() == list(range(102))
    assert (many.target.least, many.target.greatest) == (0.0, 299.0)


def test_a_quarter_of_the_rows_is_tested_on_also_where_the_sketch_is_full():
    frame = pd.DataFrame({"x": range(4000), "y": range(4000)})
    assert held(looked(frame), 10_000) == 1000
    # 720 of 4,000 rows held: at most 500 of them are tested on.
    assert held(looked(frame, size=720), 720) == 500
    assert held(looked(frame, size=3600), 3600) == 1000


def held(summary: TableSummary, size: int) -> int:
    every = np.ones(len(summary.sample.hash), bool)
    return int(held_out(summary.sample, summary.known, size, [every]).sum())


def test_of_equal_rows_a_quarter_is_tested_on_and_the_rest_learned_from():
    frame = pd.DataFrame({"x": [0, 0, 1, 1] * 100, "y": ["u", "v", "u", "u"] * 100})
    found = parted(frame)
    assert (found.n_train, len(found.test)) == (300, 100)
    assert found.rows is not None
    blocks = [block for piece in found.rows.source.pieces() for block in piece.read()]
    weights = {}
    for block in blocks:
        for x, y, w in zip(block.X[:, 0], block.y[:, 0], block.w, strict=True):
            weights[float(x), float(y)] = weights.get((float(x), float(y)), 0.0) + float(w)
    assert sum(weights.values()) == pytest.approx(300, rel=1e-12)  # a sum of 400 shares
    for (x, y), weight in weights.items():
        all_of = int(((frame["x"] == x) & (frame["y"] == "uv"[int(y)])).sum())
        assert abs(weight - 0.75 * all_of) < 4 * (0.1875 * all_of) ** 0.5  # drawn one by one
        held = (found.test[:, 0] == x) & (found.y_test == y)
        assert held.sum() == pytest.approx(all_of - weight, abs=1e-9)


def test_classes_are_held_out_in_proportion_and_one_row_stays_on_either_side():
    frame = mixed().assign(y=["rare", "rare", *["common", "other"] * 199])
    found = parted(frame)
    assert np.bincount(found.y_test).tolist() == [50, 50, 1]
    assert np.bincount(found.y_train).tolist() == [149, 149, 1]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([1.0, np.inf, -np.inf, 2.0] * 5, "10 infinite values"),
        ([None] * 20, "missing in every row"),
        ([3.0] * 20, "is '3' in every row"),
        (pd.date_range("2024", periods=20), "holds datetime64 values"),
        ([f"t{i}" for i in range(150)], "more than 100 distinct values"),
        (["u", "v"] * 9 + ["w", "u"], "only 1 row of 'w'"),
        ([0.0, 0.5, 1e200] * 10, "reaches 1e+200"),
    ],
)
def test_targets_that_cannot_be_predicted_are_refused(column, words):
    with pytest.raises(TableError, match=words.replace("+", r"\+")):
        parted(pd.DataFrame({"x": range(len(column)), "y": column}), task="auto")


def test_missing_targets_are_left_out_or_refused():
    frame = mixed()
    frame.loc[::10, "y"] = None
    found = parted(frame)
    assert found.n_rows == 360
    assert "40 rows without a target left out" in found.target.remark
    with pytest.raises(TableError, match="missing in 40 of 400 rows"):
        parted(frame, missing_target="refuse")


def test_classes_have_their_counts_and_order():
    frame = mixed().assign(y=lambda t: np.where(t["a"] > 1, "big", "a small"))
    found = parted(frame)
    assert found.target.classes == ("a small", "big")
    assert found.fewest == (frame["a"] > 1).sum()
    assert "2 classes" in found.target.remark


def test_a_piece_without_targets_adds_no_zero():
    full = TargetValues.of(pd.Series(np.linspace(5.0, 9.0, 200)))
    none = TargetValues.of(pd.Series([np.nan, np.nan]))
    for both in (full.union(none), none.union(full)):
        assert (both.least, both.greatest, both.missing) == (5.0, 9.0, 2)
        assert both.examples().min() == 5.0
