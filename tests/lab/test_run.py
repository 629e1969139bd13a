"""Runs: the table, what is kept, failures, batches, executors."""

# ruff: noqa: ARG001, ARG005

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from sweep_trials import (
    SLOW,
    dies,
    make,
    measured,
    measured_together,
    odd_fails,
    one_seed_fails,
    too_large,
    unbounded,
)

from gradfeat.lab import ExperimentError, Store, run
from gradfeat.lab.experiment import Point
from gradfeat.lab.sweep import spread, units_of


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("GRADFEAT_TEST_LOG", str(path))
    return path


def lines(log):
    return log.read_text().splitlines()


def test_the_table_has_the_requested_cells_in_order(tmp_path):
    file = tmp_path / "s.db"
    run(make(), store=file, n=[7, 1])
    table = run(make(), store=file, n=[2, 1], seeds=[3, 0])
    assert list(table.columns) == ["n", "noise", "kind", "seed", "value"]
    assert table[["n", "seed"]].to_numpy().tolist() == [[2, 3], [2, 0], [1, 3], [1, 0]]
    assert table["value"][0] == measured(2, seed=3)["value"]
    assert table.attrs == {
        "experiment": "test",
        "version": 1,
        "failures": [],
        "factors": ["n", "noise", "kind"],
    }


def test_arrays_come_back_as_they_were(tmp_path):
    table = run(make(), store=tmp_path / "s.db", arrays=True)
    for row in table.itertuples():
        np.testing.assert_array_equal(row.draws, measured(row.n, seed=row.seed)["draws"])


def test_what_is_there_is_not_computed_again(tmp_path, log):
    first = run(make(), store=tmp_path / "s.db", n=[1, 2])
    second = run(make(), store=tmp_path / "s.db", n=[1, 2, 3])
    assert sorted(lines(log)) == ["1 0", "1 1", "2 0", "2 1", "3 0", "3 1"]
    pd.testing.assert_frame_equal(second[:4], first)


def test_another_version_is_computed_anew(tmp_path, log):
    run(make(), store=tmp_path / "s.db")
    run(make(version=2), store=tmp_path / "s.db")
    assert len(lines(log)) == 12


def test_a_failure_is_kept_with_its_traceback_and_retried_on_request(tmp_path, log, monkeypatch):
    file = tmp_path / "s.db"
    table = run(make(odd_fails), store=file)
    assert table["n"].tolist() == [2, 2]
    failures = table.attrs["failures"]
    assert [(f["n"], f["seed"]) for f in failures] == [(1, 0), (1, 1), (3, 0), (3, 1)]
    assert failures[0]["error"].endswith("ArithmeticError: no odd 1")
    assert "in odd_fails" in failures[0]["error"]
    assert "work.py" not in failures[0]["error"]
    monkeypatch.setenv("GRADFEAT_TEST_MENDED", "yes")
    run(make(odd_fails), store=file)
    assert len(lines(log)) == 6
    mended = run(make(odd_fails), store=file, retry_failed=True)
    assert len(lines(log)) == 10
    assert mended["n"].tolist() == [1, 1, 2, 2, 3, 3]
    assert mended.attrs["failures"] == []


def test_a_cell_that_asks_for_more_memory_than_there_is_says_so():
    failures = run(make(too_large), n=2**50, seeds=1).attrs["failures"]
    assert failures[0]["error"].endswith("make the cell smaller or run fewer jobs.")
    assert "in too_large" in failures[0]["error"]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "the trial returned None: return a dict"),
        ({}, "the trial returned {}: return a dict"),
        ([1.0], "the trial returned a list: return a dict"),
        ({"loss": torch.zeros(1)}, "returned a torch.Tensor as 'loss'"),
        ({"loss": "low"}, "returned a builtins.str as 'loss'"),
        ({"n": 1.0}, "returned 'n' as a name: use text that is no setting"),
        ({1: 1.0}, "returned 1 as a name"),
        ({"a": np.array(["x"])}, "array 'a' has dtype <U1: return real numbers"),
        ({"a": np.zeros(2, complex)}, "array 'a' has dtype complex128"),
    ],
)
def test_a_wrong_result_is_a_failure_that_says_so(returned, words):
    table = run(make(lambda n, *, seed: returned), seeds=1)
    assert table.empty
    assert words in table.attrs["failures"][0]["error"]


def test_numbers_that_are_not_finite_survive():
    table = run(make(unbounded, grids={"quick": {"n": range(3)}}, seeds=1))
    np.testing.assert_array_equal(table["a"], [np.nan, np.inf, -np.inf])
    assert table[["b", "c", "d"]].to_numpy().tolist() == [[1.5, 2, 1]] * 3


def test_batches_group_the_missing_seeds_of_a_cell(tmp_path, log):
    options = {"batch": measured_together, "batch_size": 3, "seeds": 5}
    run(make(**options), store=tmp_path / "s.db", n=1, seeds=[1])
    log.write_text("")
    table = run(make(**options), store=tmp_path / "s.db", n=[1, 2])
    batches = [line for line in lines(log) if line.startswith("batch")]
    assert batches == ["batch 2 [0, 1, 2]", "batch 1 [0, 2, 3]", "batch 2 [3, 4]"]
    pd.testing.assert_frame_equal(table, run(make(seeds=5), n=[1, 2]))


def test_only_the_bad_seed_of_a_batch_fails():
    table = run(make(None, batch=one_seed_fails, seeds=4), n=2)
    assert table["seed"].tolist() == [0, 2, 3]
    assert [f["seed"] for f in table.attrs["failures"]] == [1]


def test_progress_counts_to_the_end(tmp_path):
    seen = []
    run(make(odd_fails), store=tmp_path / "s.db", progress=seen.append)
    assert (seen[0].done, seen[0].failed, seen[0].cached) == (0, 0, 0)
    assert [p.done for p in seen] == list(range(7))
    assert (seen[-1].failed, seen[-1].total, seen[-1].seconds_left) == (4, 6, 0.0)
    seen.clear()
    run(make(odd_fails), store=tmp_path / "s.db", progress=seen.append)
    assert [(p.done, p.failed, p.cached) for p in seen] == [(6, 4, 6)]


def test_what_is_left_is_told_by_cells_of_all_sizes():
    points = [Point({"n": n}, seed, f"{n} {seed}") for n in range(1, 33) for seed in range(4)]
    spent = np.cumsum([unit[0].cell["n"] ** 3 for unit in spread(units_of(points, 1))])
    told = spent / np.arange(1, len(points) + 1) * len(points) / spent[-1]
    assert told.min() > 0.8  # in the order of the grid the first forty results tell 3 %
    assert told[8:].max() < 1.3


def test_processes_give_the_same_table(tmp_path):
    serial = run(make(), arrays=True)
    pooled = run(make(), jobs=2, store=tmp_path / "s.db", arrays=True)
    assert serial.drop(columns="draws").equals(pooled.drop(columns="draws"))
    for ours, theirs in zip(serial["draws"], pooled["draws"], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_trial_that_kills_its_worker_fails_alone(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    table = run(make(dies, grids={"quick": {"n": range(5)}}, seeds=1), jobs=2)
    assert table["n"].tolist() == [0, 1, 2, 4]
    assert table["threads"].tolist() == [1] * 4  # whatever the environment asks for
    assert [f["n"] for f in table.attrs["failures"]] == [3]
    assert "the worker process died twice at {'n': 3}" in table.attrs["failures"][0]["error"]


def test_a_trial_that_cannot_travel_is_refused():
    with pytest.raises(ExperimentError, match="cannot be sent to worker processes"):
        run(make(lambda n, *, seed: {"a": 1}), jobs=2)


def test_an_executor_of_the_caller_is_used_and_left_open():
    with ThreadPoolExecutor(3) as mine:
        table = run(make(), executor=mine)
        assert mine.submit(abs, -1).result() == 1
    pd.testing.assert_frame_equal(table, run(make()))


def test_two_runs_in_threads_share_a_file_without_double_work(tmp_path, log):
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(run, SLOW, store=tmp_path / "s.db") for _ in range(2)]
        first, second = [future.result() for future in futures]
    pd.testing.assert_frame_equal(first, second)
    assert len(first) == 60
    assert len(lines(log)) == len(set(lines(log))) == 60


def test_global_state_is_left_alone():
    threads, state = torch.get_num_threads(), np.random.get_state()[1].copy()
    run(make())
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_the_device_reaches_trials_that_take_it():
    def trial(n: int, *, seed: int, device: str) -> dict:
        return {"meta": float(device == "meta")}

    with Store.open(None) as store:
        assert run(make(trial), store=store, device="meta")["meta"].tolist() == [1.0] * 6
        assert store.last_selection("test") == {
            "scale": "quick",
            "seeds": None,
            "device": "meta",
            "overrides": {},
        }
