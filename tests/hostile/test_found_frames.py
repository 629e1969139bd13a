"""Data frames of types and numbers that a table of a file never has: a right result, no warning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import Ridge

from gradfeat import TableModel, compare, importances
from gradfeat.errors import TableError
from gradfeat.table.leaks import _part
from gradfeat.table.screening import _without_unit
from gradfeat.table.sums import about_sums

N = 60
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, N)).astype(np.float32).astype(float)
FRAME = pd.DataFrame({"a": A, "b": B, "y": 2 * A - B})


def r2(frame: pd.DataFrame) -> float:
    """Of a line, which is exact; warnings are errors."""
    return float(compare(frame, "y", methods=["linear"], time=1).table["R2"].iloc[0])


@pytest.mark.parametrize("kind", [">f8", ">f4", "longdouble", "float32"])
def test_numbers_of_other_types_are_the_same_numbers(kind):
    assert r2(FRAME.astype({"a": kind, "b": kind})) == pytest.approx(r2(FRAME), abs=1e-12)


@pytest.mark.parametrize(
    "odd",
    [
        {"a": A / np.abs(A).max() * 1.7e308},
        {"a": A.astype(np.float32) * np.float32(1e37)},
        {"y": FRAME["y"] * 1e-310},
        {"y": FRAME["y"].astype(np.float32) * np.float32(1e37)},
    ],
    ids=["1e308", "largest float32", "1e-310", "target of float32"],
)
def test_numbers_near_both_ends_have_no_warning(odd):
    assert np.isfinite(r2(FRAME.assign(**odd)))


def test_remarks_on_numbers_near_both_ends_have_no_warning():
    far, small = pd.Series(np.tile([1.7e308, -1.7e308, 1.0, 2.0], 15)), FRAME["y"] * 1e-310
    _without_unit(far + pd.Series(A))
    assert _part(pd.Series(A), small.to_numpy(), 0.99) == ""
    single = {"a": pd.Series(A.astype(np.float32)), "b": pd.Series(B.astype(np.float32))}
    assert "'y' = " in about_sums(single, A + B, "y")[0]


def test_integers_beyond_the_largest_float_are_infinite_targets():
    frame = FRAME.assign(y=[10**400 + k for k in range(N)])
    with pytest.raises(TableError, match="'y' has 60 infinite values"):
        compare(frame, "y", methods=["linear"], time=1)


def test_half_a_surrogate_pair_is_a_character_like_others():
    frame = FRAME.assign(k=pd.Series(["\ud800", "x"] * (N // 2), dtype=object))
    y = FRAME["a"] + (frame["k"] == "x")
    model = TableModel(Ridge(alpha=1e-6)).fit(frame.drop(columns="y"), y)
    assert model.score(frame.drop(columns="y"), y) > 0.99
    assert importances(model, frame.drop(columns="y"), y)["column"].iloc[0] in ("a", "k")


def test_a_type_that_arrow_does_not_read_is_named():
    frame = pl.DataFrame({"a": A, "y": A}).with_columns((pl.col("a") * 100).cast(pl.Int128))
    with pytest.raises(TableError, match="which Arrow does not read"):
        compare(frame, "y")
