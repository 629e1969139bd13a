"""The passes that are planned are those that fits make, with the statistics that they take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gradfeat import GradientFeatureRegressor, KernelRegressor, RFMRegressor
from gradfeat.estimators.checks import placement
from gradfeat.estimators.network import LinearRegressor, RandomFeaturesRegressor
from gradfeat.estimators.training import first_pass, streamed_training
from gradfeat.maths.statistics.combined import Joint, OnMapped
from gradfeat.planning.job import Job
from gradfeat.planning.rehearsal import learner_of, rehearsed
from gradfeat.rows import InProcess, from_arrays

D, N, WIDTH = 4, 300, 16


@dataclass(frozen=True, kw_only=True)
class Counting(InProcess):
    """Keeps the labels and statistics of its passes."""

    seen: list[tuple[str, Any]] = field(default_factory=list)

    def state(self, statistic: Any, source: Any, label: str = "pass") -> Any:
        self.seen.append((label, statistic))
        return InProcess.state(self, statistic, source, label)


def made_of(statistic: Any) -> Any:
    """The kinds of a statistic, from the outermost to the innermost."""
    match statistic:
        case OnMapped(inner=inner):
            return ["on mapped", made_of(inner)]
        case Joint(parts=parts):
            return [made_of(part) for part in parts]
    return type(statistic).__name__


def fitted(model: Any, outputs: int = 1) -> list[tuple[str, Any]]:
    X = np.random.default_rng(0).standard_normal((N, D))
    Y = np.stack([X[:, 0] ** 2, X[:, 1]], axis=1)[:, :outputs]
    engine = Counting()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few rows
        model.fit(from_arrays(X, Y, piece_rows=100).on(engine))
    return engine.seen


CASES = [
    (LinearRegressor(penalty_by="gcv"), "linear", "gcv", 1),
    (LinearRegressor(penalty_by="loo"), "linear", "loo", 1),
    (RandomFeaturesRegressor(width=WIDTH, penalty_by="gcv"), "random-features", "gcv", 1),
    (RandomFeaturesRegressor(width=WIDTH, penalty_by="loo"), "random-features", "loo", 1),
    (GradientFeatureRegressor(width=WIDTH, penalty_by="gcv"), "gradient-features", "gcv", 1),
    (GradientFeatureRegressor(width=WIDTH, penalty_by="loo"), "gradient-features", "loo", 1),
    (
        GradientFeatureRegressor(width=WIDTH, penalty_by="loo", n_steps=3),
        "gradient-features",
        "loo",
        3,
    ),
    (KernelRegressor(), "kernel", "gcv", 1),
]


def passes(seen: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(label, made_of(statistic)) for label, statistic in seen]


def planned(job: Job) -> list[tuple[str, Any]]:
    """The passes of the learner that is planned with, on the rows of `fitted`."""
    X = np.random.default_rng(0).standard_normal((N, D))
    engine = Counting()
    rows = from_arrays(X, X[:, : job.outputs], piece_rows=100).on(engine)
    scaled = streamed_training(
        rows, first_pass(rows, 0, labelled=False), placement(None, "cpu", None), 0,
        standardise=True, codes=None,
    )  # fmt: skip
    learner_of(job).fit(scaled.rows)
    return passes(engine.seen)


#: Of several outputs one with each way of the penalty, and one of several steps.
EACH = [(*case, 1) for case in CASES] + [(*CASES[i], 2) for i in (1, 2, 6)]


@pytest.mark.parametrize(("model", "method", "by", "steps", "outputs"), EACH)
def test_planned_passes_are_those_of_a_fit(model, method, by, steps, outputs):
    fit = passes(fitted(model.set_params(search=None), outputs))
    job = Job(
        rows=N,
        columns=D,
        method=method,
        width=WIDTH,
        outputs=outputs,
        penalty_by=by,
        steps=steps,
        piece_rows=100,
    )
    assert planned(job) == fit
    assert list(rehearsed(job).labels) == [label for label, _ in fit]


@pytest.mark.parametrize("outputs", [1, 2])
def test_an_rfm_takes_no_pass_that_is_not_planned(outputs):
    """Those of a last fit on centres are planned; one on rows of the sample needs the first."""
    fit = passes(fitted(RFMRegressor(directions=2, search=None), outputs))
    job = Job(rows=N, columns=D, method="rfm", width=WIDTH, outputs=outputs, piece_rows=100)
    most = planned(job)
    assert [label for label, _ in most] == list(rehearsed(job).labels)
    assert [label for label, _ in most] == ["moments", "normal equations"]
    assert fit == most[:1]
