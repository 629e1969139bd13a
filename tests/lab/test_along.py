"""A factor whose values are computed together: the numbers of one by one, and only what misses."""

# ruff: noqa: ARG005

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sweep_trials import make, make_stepped, stepped, stepped_together

from gradfeat.lab import ExperimentError, Store, run
from gradfeat.lab.work import Call, compute

ALONE = {"batch": None, "along": None}


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """The calls so far, each read once."""
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("GRADFEAT_TEST_LOG", str(path))

    def read(kind: str) -> list[str]:
        found = [line for line in path.read_text().splitlines() if line.startswith(kind)]
        path.write_text("")
        return found

    return read


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("trial", [stepped, None])
def test_the_table_is_that_of_one_by_one(tmp_path, jobs, trial):
    expected = run(make_stepped(**ALONE), arrays=True)
    table = run(make_stepped(trial), store=tmp_path / "s.db", jobs=jobs, arrays=True)
    pd.testing.assert_frame_equal(table.drop(columns="draws"), expected.drop(columns="draws"))
    for ours, theirs in zip(table["draws"], expected["draws"], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_call_takes_all_values_and_at_most_batch_size_seeds(calls):
    run(make_stepped(batch_size=2))
    etas = "[0.0, 1.0, 2.0]"
    expected = [f"batch {n} {etas} {seeds}" for seeds in ("[0, 1]", "[2]") for n in (3, 1)]
    assert calls("batch") == expected


def test_only_missing_pairs_are_asked_for(tmp_path, calls):
    file, grid = tmp_path / "s.db", {"n": 1, "eta": [0, 1, 2]}
    run(make_stepped(), store=file, n=1, eta=[1], seeds=[1])
    run(make_stepped(), store=file, n=1, eta=[0, 2], seeds=[3])
    calls("")
    seen = []
    table = run(make_stepped(), store=file, seeds=5, progress=seen.append, **grid)
    assert calls("batch") == [
        "batch 1 [0.0, 1.0, 2.0] [0, 2, 4]",
        "batch 1 [0.0, 2.0] [1]",
    ]
    assert (seen[0].done, seen[0].total, seen[0].cached) == (3, 15, 3)
    assert [p.done for p in seen] == [3, 4, 13, 15]
    assert seen[-1].seconds_left == 0.0
    pd.testing.assert_frame_equal(table, run(make_stepped(**ALONE), seeds=5, **grid))
    calls("")
    run(make_stepped(), store=file, seeds=5, **grid)
    assert calls("") == []


def test_one_missing_pair_goes_to_the_trial_or_to_a_batch_of_one(tmp_path, calls):
    file = tmp_path / "s.db"
    run(make_stepped(), store=file, n=1, eta=[0, 1], seeds=1)
    calls("")
    run(make_stepped(), store=file, n=1, eta=[0, 1, 2], seeds=1)
    assert calls("") == ["one 1 2 0"]
    run(make_stepped(None), store=file, n=1, eta=[0, 1, 2], seeds=1)
    calls("")
    run(make_stepped(None), store=file, n=1, eta=[0, 1, 2, 3], seeds=1)
    assert calls("batch") == ["batch 1 [3.0] [0]"]


@pytest.mark.parametrize("trial", [stepped, None])
def test_only_the_bad_value_of_a_batch_fails(trial, tmp_path):
    seen = []
    table = run(make_stepped(trial), store=tmp_path / "s.db", n=2, progress=seen.append)
    assert len(table) == 8
    failures = table.attrs["failures"]
    assert [(f["n"], f["eta"], f["seed"]) for f in failures] == [(2, 1.0, 1)]
    assert failures[0]["error"].endswith("ArithmeticError: no such step")
    assert (seen[-1].done, seen[-1].failed) == (9, 1)


@pytest.mark.slow
def test_only_the_value_that_kills_its_worker_fails():
    table = run(make_stepped(seeds=2), n=[3, 4], jobs=2)
    assert len(table) == 10
    failures = table.attrs["failures"]
    assert [(f["n"], f["eta"], f["seed"]) for f in failures] == [(4, 2.0, 0), (4, 2.0, 1)]
    assert "the worker process died twice at {'n': 4, 'eta': 2.0}" in failures[0]["error"]


def test_the_factor_may_stand_anywhere_in_the_cell(calls):
    def first(eta: float, n: int, *, seed: int) -> dict:
        return stepped(n, eta, seed=seed)

    def together(eta: list[float], n: int, *, seeds: list[int]) -> list[list[dict]]:
        return stepped_together(n, eta, seeds=seeds)

    table = run(make_stepped(first, together), seeds=1)
    assert calls("batch") == ["batch 3 [0.0, 1.0, 2.0] [0]", "batch 1 [0.0, 1.0, 2.0] [0]"]
    assert table["eta"].tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    assert table["value"].tolist() == [100.0, 300.0, 110.0, 310.0, 120.0, 320.0]


def test_the_seconds_of_a_call_are_shared_by_its_results(monkeypatch):
    clock = iter((10.0, 16.0))
    monkeypatch.setattr("gradfeat.lab.work.time.perf_counter", lambda: next(clock))
    call = Call(stepped, stepped_together, {"n": 1}, (0, 2), None, "eta", (0.0, 1.0, 2.0))
    assert [outcome.seconds for outcome in compute(call)] == [1.0] * 6


@pytest.mark.parametrize("annotation", ["list[float]", "Sequence[float]", list[float], "float"])
def test_values_have_the_type_of_one_where_there_is_no_trial(annotation):
    def batch(n: int, eta, *, seeds): ...

    batch.__annotations__["eta"] = annotation
    assert make_stepped(None, batch).factors["eta"].kind is float


def test_what_another_run_computes_is_left_to_it(tmp_path, calls):
    with Store.open(tmp_path / "s.db") as store:
        other = store.begin(make_stepped(), {})
        points = make_stepped().points("quick", 3, {"n": 1})
        theirs = [p for p in points if (p.cell["eta"], p.seed) in ((1.0, 0), (2.0, 2))]
        store.claim([p.key for p in theirs], other)
        seen = []

        def give_up(progress):
            seen.append(progress)
            if progress.done == 7:
                store.end(other)

        table = run(make_stepped(), store=store, n=1, progress=give_up)
    found = calls("batch")
    assert "batch 1 [0.0, 2.0] [0]" in found
    assert "batch 1 [0.0, 1.0] [2]" in found
    assert "batch 1 [0.0, 1.0, 2.0] [1]" in found
    assert len(table) == 9


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ([[{"value": 1.0}] * 2], "did not return a list of 1 results for a seed"),
        ([{"value": 1.0}], "return one result for each value of 'eta'"),
        ([], "the batch returned 0 results for 1 seeds"),
    ],
)
def test_a_wrong_number_of_results_is_a_failure_that_says_so(returned, words):
    call = Call(None, lambda n, eta, *, seeds: returned, {"n": 1}, (0,), None, "eta", (0.0,))
    (outcome,) = compute(call)
    assert words in str(outcome.error)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"along": "etas"}, "along is 'etas', which is no setting"),
        ({"batch": None}, "along is 'eta' and there is no batch: give one that takes its values"),
        ({"batch": lambda n, *, seeds: []}, "trial takes n, eta and batch takes n:"),
    ],
)
def test_an_experiment_that_does_not_fit_is_refused(options, words):
    with pytest.raises(ExperimentError) as caught:
        make_stepped(**options)
    assert words in str(caught.value)


def test_without_it_nothing_is_grouped(calls):
    run(make(stepped, grids={"quick": {"n": 1, "eta": [0, 1]}}, seeds=1))
    assert calls("") == ["one 1 1 0", "one 1 0 0"]
