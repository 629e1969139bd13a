"""The time asked is shared out by a clock of the test's own; methods stop within their share."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat import GradientFeatureClassifier, RFMClassifier
from gradfeat.maths.limits import Deadline, within
from gradfeat.models.gradient_step import FEWEST_DRAWS, first_gradient_test
from gradfeat.rows.engine import Tick
from gradfeat.table import budgets, compare, fitting
from gradfeat.table.budgets import TREES, boosting_size, rows_within
from gradfeat.table.compare import in_turn
from gradfeat.table.fitting import NO_TIME, MethodTime, fit_method
from gradfeat.table.methods import METHODS, validation_folds
from gradfeat.table.prepared import prepare
from gradfeat.table.request import MOST_RESERVED, Request, Steps
from reports.diagnosis_factory import noise

NAMES = ("linear", "kernel", "rfm")
CHOSEN = [m for m in METHODS if m.name in NAMES]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).standard_normal((120, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] ** 2 + X[:, 1])
    request = Request("t.csv", "y", seconds=100.0, methods=NAMES)
    from gradfeat.rows.sources.tables import FrameTables

    return prepare(FrameTables(frame, len(frame)), request, None), request


@pytest.fixture
def given(monkeypatch, table):
    """Seconds that each method was given, where each takes `takes`; None where none was left."""

    def run(takes: float, seconds: float = 100.0, small: int = 0) -> list[float | None]:
        clock, given = Clock(), []
        monkeypatch.setattr(Steps, "page_begins", lambda self, *_: self.deadline.before(10.0))
        monkeypatch.setattr(compare, "SMALL", small)
        request = replace(table[1], seconds=seconds)
        steps = Steps(deadline=Deadline.after(seconds, clock))
        for _, time_ in in_turn(CHOSEN, table[0], request, steps):
            given.append(None if time_ is None else time_.deadline.left)
            clock.now += takes if time_ else 0.0
        return given

    return run


def test_what_a_method_leaves_goes_to_those_that_follow(given):
    seconds = given(takes=1.0)
    shares = [m.share for m in CHOSEN]
    assert seconds[0] == pytest.approx(80.0 * shares[0] / sum(shares))
    assert seconds[2] == pytest.approx(78.0)


def test_a_method_for_which_nothing_is_left_is_not_fitted_and_says_so(given, table):
    assert given(takes=50.0)[2] is None
    assert fit_method(CHOSEN[0], *table, None).result.error == NO_TIME


def test_the_first_method_is_fitted_whatever_is_left(given):
    assert given(takes=9.0, seconds=5.0) == [0.0, None, None]


def test_small_tables_have_every_method_whatever_is_left(given):
    assert given(takes=9.0, seconds=5.0, small=10**6) == [0.0, 0.0, 0.0]


def test_a_linear_model_has_all_rows_where_nothing_is_left(monkeypatch, table):
    monkeypatch.setattr(fitting, "FOLDED", 10)
    monkeypatch.setattr(budgets, "FEWEST_ROWS", 10)
    found = fit_method(CHOSEN[0], *table, MethodTime(Deadline.after(0.0), 0.0))
    assert found.result.rows_used == found.result.rows_there > 10


def test_a_reserve_is_kept_for_the_page():
    """More for many columns, and where other work slows this down; not most of the time."""
    steps, slowed = Steps(deadline=Deadline(100.0)), Steps(deadline=Deadline(100.0))
    slowed.start, slowed.processor = slowed.start - 30.0, slowed.processor - 10.0
    ends = [s.page_begins(60.0, n).end for s in (steps, slowed) for n in (10, 2500)]
    assert ends[0] > ends[1] > ends[3] >= 100.0 - 60.0 * MOST_RESERVED - 1e-9
    assert ends[0] > ends[2]


@pytest.mark.parametrize("make", [GradientFeatureClassifier, RFMClassifier])
def test_a_search_stops_within_its_first_trial(make):
    """With no time at all there is a fit, of one fold and one stage, that predicts."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), np.arange(60) % 2
    X[:, 0] += 3 * y
    options = {"n_steps": None, "whiten": None} if make is GradientFeatureClassifier else {}
    said: list[str] = []
    with within(Deadline.after(0.0), said.append):
        model = make(**options).fit(X, y)
    assert model.score(X, y) > 0.8
    if make is GradientFeatureClassifier:
        assert model.settings_["n_steps"] == 1
    else:
        assert model.settings_["n_iter"] > 0


def test_a_test_of_the_first_gradient_ends_with_fewer_draws():
    X = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)).double()
    with within(Deadline.after(0.0)):
        found = first_gradient_test(X, X[:, :1])
    assert found.linear_p == pytest.approx(1 / (1 + FEWEST_DRAWS))
    assert found.informative


def test_rows_follow_the_rate_that_is_measured(monkeypatch):
    now = iter(np.arange(100.0))
    monkeypatch.setattr(budgets.time, "perf_counter", lambda: float(next(now)))
    # 2 x 200 x 100^2 operations took a second.
    assert rows_within(1000.0, 1e5, 100) == 40_000
    assert rows_within(1.0, 1e9, 100) == budgets.FEWEST_ROWS


def test_few_trees_take_longer_steps_and_are_told(monkeypatch):
    X = np.random.default_rng(0).standard_normal((400, 2))
    monkeypatch.setattr(budgets, "boosting_size", lambda *_: (10, False))
    (boosting,) = (method for method in METHODS if method.name == "boosting")
    given = SimpleNamespace(classification=False, seconds=0.0, columns=2, rows=400, seed=0)
    fit = boosting.make(given).fit(X, X[:, 0])
    assert boosting.settings(fit) == {
        "learning_rate": 0.4,
        "rounds": "10, all that its time allowed",
    }
    assert fit.score(X, X[:, 0]) > -0.05  # at 0.1 a tenth of the variance and more is left


def test_trees_follow_the_time_of_a_few(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(budgets.time, "perf_counter", clock)

    def fit(X, trees):
        del X
        clock.now += 1.0 + 0.1 * trees

    assert boosting_size(1e4, 3, 100, fit) == (TREES[-1], True)
    trees, searched = boosting_size(20.0, 3, 100, fit)
    assert not searched
    assert 2 * (1.0 + 0.1 * trees) <= 20.0
    assert boosting_size(0.0, 3, 100, fit) == (TREES[0], False)


def test_trees_of_many_rows_follow_a_line_through_two_sizes(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(budgets.time, "perf_counter", clock)

    def fit(X, trees):
        clock.now += trees * (0.01 + 1e-6 * len(X))

    # A tree of 10,000 rows takes .02 s, twice what one of none does and no ten times one of 1,000.
    assert boosting_size(2 * 0.02 * 85, 3, 10_000, fit) == (80, False)
    assert boosting_size(1e4, 3, 10_000, fit) == (TREES[-1], True)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("seconds", [0.0, 1e4])
def test_boosting_fits_a_class_of_two_rows(seconds, monkeypatch):
    monkeypatch.setattr(budgets, "boosting_size", lambda s, *_: (40, s > 0))
    y = np.repeat([0, 1, 2], [60, 38, 2])
    X = np.random.default_rng(0).standard_normal((100, 2)) + 3 * y[:, None]
    (boosting,) = (method for method in METHODS if method.name == "boosting")
    folds = validation_folds(y, classification=True)
    given = {"classification": True, "seconds": seconds, "columns": 2, "rows": 100, "seed": 0}
    fit = boosting.make(SimpleNamespace(**given, fewest=2, outputs=3, folds=folds)).fit(X, y)
    assert fit.score(X, y) > -0.5
    assert "all that its time" not in boosting.settings(fit)["rounds"] or seconds == 0


def test_words_of_a_step_come_between_its_passes():
    told = []
    steps = Steps(lambda *words: told.append(words))
    steps.begin("Kernel ridge", 0.5)
    steps.tell("setting 2")
    steps(Tick("moments", 1, 2, 0.0, 10))
    assert told[1] == ("Kernel ridge", 0.5, "setting 2")


def test_a_diagnosis_ends_its_searches_in_time(monkeypatch):
    from gradfeat.interface.diagnose import diagnose
    from gradfeat.maths.limits import deadline_passed

    seen: list[bool] = []

    def diagnosed(*_):
        seen.append(deadline_passed())
        return noise()

    monkeypatch.setattr("gradfeat.table.diagnose._diagnosed", diagnosed)
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 2)), columns=["a", "y"])
    clock = Clock()
    for seconds in (100.0, 0.0):
        diagnose(frame, "y", time=100.0, deadline=Deadline.after(seconds, clock))
    assert seen == [False, True]
