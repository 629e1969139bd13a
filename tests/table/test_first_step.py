"""What a first gradient step finds, in the columns of a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gradfeat.estimators import InducedNetworkRegressor
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.compare import compare
from gradfeat.table.interpret import described
from gradfeat.table.request import Request, Steps
from gradfeat.table.results import FirstStep, FitReport


def report(frame: pd.DataFrame, time_column: str | None = None) -> FitReport:
    """Of the induced network and a linear model, briefly."""
    names = ("linear", "induced-network")
    request = Request("table.csv", "y", methods=names, seconds=1.0, time_column=time_column)
    return compare(FrameTables(frame), request, Steps()).report


def found_in(frame: pd.DataFrame) -> FirstStep:
    step = report(frame).first_step
    assert step is not None
    return step


def table(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """y = relu(a) beside a column of noise and a category."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n))
    kind = rng.choice(["p", "q", "r"], n)
    return pd.DataFrame({"a": a, "b": b, "kind": kind, "y": np.maximum(a, 0)})


def test_the_column_that_matters_leads_and_masses_have_intervals():
    step = found_in(table())
    assert step.columns == ("a", "b", "kind")
    assert step.folded.shape == (3, len(step.mass))
    assert step.folded[0, 0] > 0.95
    np.testing.assert_allclose((step.folded**2).sum(axis=0), 1.0, atol=1e-12)
    for mass in step.mass:
        assert step.p <= mass.estimate
        assert mass.low < mass.estimate < mass.high
    assert step.rows == 450  # three quarters train
    assert step.method == "induced-network"


def test_noise_has_none():
    frame = table()
    step = found_in(frame.assign(y=np.random.default_rng(7).permutation(frame["y"])))
    assert (step.mass, step.parts) == ((), ())
    assert step.folded.shape == (3, 0)
    assert step.short == 1.0


@pytest.mark.parametrize(
    ("signs", "part"), [([-1, 1], "both"), ([1, 1], "few"), ([-1, -1], "most")]
)
def test_the_rows_that_neurons_fire_on_are_told(signs, part):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    model = InducedNetworkRegressor(neurons=400, search=None).fit(X, np.maximum(X[:, 0], 0))
    found = replace(model.gradient_features_, signs=np.array(signs))
    assert described("m", found, ("a", "b", "c"), ("a", "b", "c")).parts == (part,)


def test_a_comparison_without_the_method_says_nothing():
    request = Request("table.csv", "y", methods=("linear",), seconds=1.0)
    assert compare(FrameTables(table(80)), request, Steps()).report.first_step is None


N = 40
ODD = {
    "one column": {"a": np.arange(N) / N, "y": (np.arange(N) / N) ** 2},
    "few rows": {"a": [1.0, 2.0, 4.0, 3.0], "b": [0.0, 1.0, 1.0, 0.0], "y": [1.5, 2.0, 7.0, 3.0]},
    "many classes": {"a": np.arange(N) % 7.0, "y": [f"k{i // 2}" for i in range(N)]},
    "text alone": {"s": [f"word{i % 5} of text {i}" for i in range(N)], "y": np.arange(N) % 5.0},
    "constant columns": {"a": np.ones(N), "b": np.arange(N) % 3.0, "y": np.arange(N) % 3.0 + 0.5},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tables(name):
    done = report(pd.DataFrame(ODD[name]))
    errors = [m.error for m in done.methods if m.name == "induced-network"]
    assert errors == [""]
    step = done.first_step
    assert step is not None
    assert step.folded.shape == (len(step.columns), len(step.mass))
    assert np.isfinite(step.folded).all()


def test_a_target_that_varies_in_test_rows_alone_has_none():
    frame = pd.DataFrame({"a": np.arange(N) % 7.0, "t": np.arange(N), "y": [2.0] * 30 + [2.5] * 10})
    step = report(frame, time_column="t").first_step
    assert step is not None
    assert step.mass == ()
