"""A target that is learned as its logarithm: said, scored and predicted in its own units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from gradfeat import KernelClassifier, LinearRegressor, TableModel
from gradfeat.errors import TableError
from gradfeat.interface.compare import compare
from gradfeat.interface.diagnose import diagnose
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.prepared import prepare
from gradfeat.table.request import Request
from gradfeat.table.saved import load, save
from gradfeat.table.screening import about_tails
from gradfeat.table.target import TargetScale, target_scale


def lognormal(n: int = 300, noise: float = 0.1) -> pd.DataFrame:
    """T19: y = exp(3 x + noise)."""
    x, w, e = np.random.default_rng(0).normal(size=(3, n))
    return pd.DataFrame({"x": x, "w": w, "y": np.exp(3 * x + noise * e)})


@pytest.fixture(scope="module")
def found():
    options = {"methods": ["linear"], "time": 1.0}
    plain = compare(lognormal(), "y", **options)
    return plain, compare(lognormal(), "y", target_transform="log", **options)


def r2(found) -> float:
    return found.results.methods[0].scores["R2"].estimate


def test_a_heavy_tail_is_remarked_on_and_right_on_the_scale_of_logarithms(found):
    plain, logs = found
    assert any("target_transform='log' learns its logarithm" in r for r in plain.remarks)
    assert r2(plain) < 0.3
    # noise of .1 in the logarithm is one of 10 %, of a target that spans seven decades
    assert r2(logs) > 0.95
    said = " ".join(logs.remarks)
    assert "fitted to log(y), and predict the median of 'y'" in said
    assert "target_transform" not in said


def test_the_saved_model_predicts_in_the_units_of_the_target(found, tmp_path):
    _, logs = found
    save(logs.best, tmp_path / "m")
    frame = lognormal()
    predicted = load(tmp_path / "m").predict(frame)
    assert np.abs(np.log(predicted / frame["y"])).mean() < 0.2


def test_intervals_are_made_on_the_scale_of_the_fit(found):
    """80 % of 4,000 new rows or more, and at most 1 in 76 more (75 held-out rows).

    The share that an interval holds varies with the held-out rows like a Beta(61, 15), whose
    quantiles of 1e-4 are .61 and .93; binomial counts of 4,000 rows add .02.
    """
    model = found[1].best
    x, w, e = np.random.default_rng(5).normal(size=(3, 4000))
    frame = pd.DataFrame({"x": x, "w": w})
    said, y = model.predictions(frame, interval=80), np.exp(3 * x + 0.1 * e)
    low, middle, high = (said[name] for name in ("low_y", "predicted_y", "high_y"))
    assert 0.59 < ((low <= y) & (y <= high)).mean() < 0.95
    assert (low > 0).all()
    # as far above as below on the scale of logarithms: the same factor in every row
    np.testing.assert_allclose(high / middle, middle / low, rtol=1e-9)
    np.testing.assert_allclose(high / middle, (high / middle)[0], rtol=1e-9)


def test_rows_that_stream_are_learned_on_the_same_scale():
    request = Request("t", "y", target_transform="log")
    held = prepare(FrameTables(lognormal(), 50), request)
    streamed = prepare(FrameTables(lognormal(), 50), request, InProcess())
    assert held.target.scale == streamed.target.scale == TargetScale(0.0)
    assert streamed.rows is not None
    blocks = [block for piece in streamed.rows.source.pieces() for block in piece.read()]
    y = np.concatenate([block.y[:, 0].numpy() for block in blocks])
    np.testing.assert_allclose(np.sort(y), np.sort(held.y_train), rtol=1e-12)
    np.testing.assert_array_equal(held.y_test, streamed.y_test)
    assert held.remarks == streamed.remarks


def test_zeros_are_learned_as_the_logarithm_of_one_more():
    scale = target_scale("log", "y", 0.0, False)
    y = np.array([0.0, 1.0, 50.0])
    np.testing.assert_allclose(scale.learned(y), np.log1p(y))
    np.testing.assert_allclose(scale.back(scale.learned(y)), y, atol=1e-12)
    assert scale.back(np.array([-0.2, -5.0, 0.0])).tolist() == [0.0, 0.0, 0.0]  # none is below
    assert "log(1 + y)" in scale.in_words("y")
    assert np.isfinite(scale.back(np.array([1e6])) ** 2).all()


@pytest.mark.parametrize(
    ("least", "classes", "words"), [(-1.0, False, "goes down to -1"), (0.0, True, "holds classes")]
)
def test_what_has_no_logarithm_is_refused(least, classes, words):
    with pytest.raises(TableError, match=words):
        target_scale("log", "y", least, classes)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.random.default_rng(1).poisson(3, 500), False),
        (np.random.default_rng(1).normal(50, 5, 500), False),
        (np.exp(2 * np.random.default_rng(1).normal(size=500)).round(), True),
        (np.exp(2 * np.random.default_rng(1).normal(size=500)), True),
        (-np.exp(2 * np.random.default_rng(1).normal(size=500)), False),
    ],
    ids=["poisson", "normal", "counts", "lognormal", "negative"],
)
def test_only_tails_that_logarithms_cure_are_remarked_on(y, said):
    remarks = [r for r in about_tails("y", y.astype(float)) if "--target-transform log" in r]
    assert bool(remarks) == said
    assert all(("whole numbers" in r) == bool((y % 1 == 0).all()) for r in remarks)


def test_a_diagnosis_of_a_heavy_tail_says_so_and_looks_at_the_logarithm_where_asked():
    plain = diagnose(lognormal(), "y", time=1.0)
    assert any("target_transform='log' learns its logarithm" in r for r in plain.remarks)
    logs = diagnose(lognormal(), "y", time=1.0, target_transform="log")
    assert "All that is said here is of log(y)." in logs.remarks
    assert not any("target_transform" in r for r in logs.remarks)
    linear = logs.shares.set_index("part").loc["linear", "estimate"]
    # the noise of .1 leaves .001 of a variance of 9; with 150 rows a fit of 2 columns loses as much
    assert linear > 0.98
    assert logs.results.exponent == 1


def test_a_clone_of_a_compared_model_learns_as_it_did():
    """It learned y itself, and took -999 as a number."""
    every = np.arange(300)
    frame = lognormal().assign(z=np.where(every % 7 == 0, -999.0, every % 3))
    how = {"missing": "-999", "target_transform": "log"}
    best = compare(frame, "y", methods=["linear"], time=5, **how).best
    X, y = frame.drop(columns="y"), frame["y"]
    again = clone(best).fit(X, y)
    assert again.scale == best.scale == TargetScale(0.0)
    assert again.encoder.missing == best.encoder.missing == ("-999",)
    assert float(again.predict(X).min()) > 0
    assert cross_val_score(clone(best), X, y, cv=3).min() > 0.5
    model = TableModel(LinearRegressor(), target_transform="log", missing="-999").fit(X, y)
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target_transform": "sqrt"}, "target_transform is 'sqrt': give one of 'none', 'log'."),
        ({"dates": "foo"}, "dates is 'foo'"),
        ({"target_transform": "log"}, "goes down to -3: learn it as it is"),
    ],
)
def test_what_a_table_model_cannot_learn_is_a_sentence(given, words):
    frame = pd.DataFrame({"a": np.arange(20.0)})
    with pytest.raises(ValueError, match=words):
        TableModel(LinearRegressor(), **given).fit(frame, frame["a"] - 3)


def test_decisions_of_classes_are_the_estimators_own():
    frame, r = lognormal(), np.random.default_rng(0)
    y = np.where(frame["x"] + 0.1 * r.standard_normal(len(frame)) > 0, "up", "down")
    model = TableModel(KernelClassifier(search=None)).fit(frame, y)
    assert ((model.decision_function(frame) > 0) == (model.predict(frame) == "up")).all()
    assert not hasattr(TableModel(LinearRegressor()), "decision_function")


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ([1e12], "'y' has values far from all others (the farthest 1,000,000,000,000, median "),
        ([-9000.0], "(the farthest −9,000, median "),
        ([8.0], ""),
    ],
)
def test_single_values_far_from_all_others_are_named(last, said):
    """A typing error decides R2, to either side."""
    y = np.append(np.random.default_rng(0).normal(5.0, 1.0, 399), last)
    remarks = " ".join(about_tails("y", y))
    assert (said in remarks) if said else (remarks == "")


def test_tails_to_both_sides_are_told():
    rng = np.random.default_rng(0)
    assert "few rows decide R2" in " ".join(about_tails("y", rng.standard_cauchy(400)))
    assert about_tails("y", rng.standard_t(5, 4_000)) == []


def test_a_far_value_among_the_test_rows_is_named_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "y": rng.normal(size=80)})
    for row in range(0, 80, 16):
        spoilt = frame.assign(y=frame["y"].where(frame.index != row, 1e9))
        found = prepare(FrameTables(spoilt, 80), Request("t", "y"))
        assert "the farthest 1,000,000,000" in " ".join(found.remarks)
