"""Sweeps on a Dask cluster: the same bits, lost workers, lost schedulers, files of one's own."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor

import pandas as pd
import pytest
from sweep_trials import SLOW, dies, make, make_stepped, measured, measured_together, odd_fails

from gradfeat.errors import EngineError
from gradfeat.lab import ExperimentError, Store, run
from gradfeat.lab.loading import experiment as loaded
from gradfeat.rows import dask_executor
from gradfeat.rows.dask_client import local_cluster, quiet
from gradfeat.rows.dask_executor import DaskExecutor

distributed = pytest.importorskip("distributed")

SCHEDULER = """
import asyncio
from distributed import Scheduler, Worker
async def main():
    async with Scheduler(port=0, dashboard=False, host="127.0.0.1") as scheduler:
        async with Worker(scheduler.address, nthreads=1, dashboard=False):
            print(scheduler.address, flush=True)
            await asyncio.sleep(60)
asyncio.run(main())
"""

USES = """
import functools
from helps_own import Doubled
from gradfeat.lab import Experiment

FACTOR = 3
READS = []

@functools.lru_cache
def data():
    READS.append(1)
    return FACTOR

def trial(n: int, *, seed: int):
    return {"value": Doubled(n * data()).value + seed, "reads": len(READS)}

EXPERIMENT = Experiment("own", "Does it travel?", trial, {"quick": {"n": range(6)}}, seeds=2)
"""
HELPS = """
class Doubled:
    def __init__(self, n):
        self.value = 2 * n
"""


#: Each starts clusters; `gradfeat run --dask local` is among the quick tests of the program.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local_cluster(2) as client:
        yield client


@pytest.mark.parametrize(
    "experiment", [make(measured), make(None, batch=measured_together, batch_size=2), SLOW]
)
def test_same_bits_as_here(client, experiment):
    expected = run(experiment, arrays=True)
    found = run(experiment, executor=DaskExecutor(client), arrays=True)
    for name in expected:
        assert all(map(_same, expected[name], found[name]))


def _same(one, other):
    return one.tobytes() == other.tobytes() if name_of(one) == "ndarray" else one == other


def name_of(value):
    return type(value).__name__


def test_errors_are_failures_and_values_along_a_factor_come_together(client):
    table = run(make(odd_fails), executor=DaskExecutor(client))
    assert table["n"].tolist() == [2, 2]
    assert {failure["n"] for failure in table.attrs["failures"]} == {1, 3}
    stepped = make_stepped(grids={"quick": {"n": [1, 3], "eta": [0, 1]}})
    pd.testing.assert_frame_equal(run(stepped, executor=DaskExecutor(client)), run(stepped))


def test_a_cell_that_kills_its_workers_fails_and_the_others_do_not(client):
    experiment = make(dies, grids={"quick": {"n": [1, 2, 3, 4]}}, seeds=1)
    table = run(experiment, executor=DaskExecutor(client))
    assert table["n"].tolist() == [1, 2, 4]
    assert table["threads"].tolist() == [1, 1, 1]
    (failure,) = table.attrs["failures"]
    assert failure["n"] == 3
    assert "worker process died" in failure["error"]


def test_an_executor_says_who_died_and_serves_again(client):
    executor = DaskExecutor(client)
    with pytest.raises(BrokenExecutor):
        executor.submit(_die).result(60)
    assert executor.submit(abs, -2).result(60) == 2
    executor.close()
    assert executor.submit(abs, -3).result(60) == 3
    executor.shutdown()
    assert all(thread.name != "gradfeat-workers" for thread in threading.enumerate())


def _die():
    import os

    os._exit(9)


def test_a_killed_worker_costs_time_only(client):
    killed = []

    def progress(at):
        if at.done == 10 and not killed:
            killed.append(next(iter(client.nthreads())))
            client.run(_die, workers=killed, nanny=False, wait=False, on_error="ignore")

    table = run(SLOW, executor=DaskExecutor(client), progress=progress)
    assert killed
    pd.testing.assert_frame_equal(table, run(SLOW))


def test_files_of_ones_own_reach_the_workers_with_those_beside_them(client, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "uses_own.py").write_text(USES)
    (tmp_path / "helps_own.py").write_text(HELPS)
    try:
        table = run(loaded(str(tmp_path / "uses_own.py")), executor=DaskExecutor(client))
    finally:
        for name in ("uses_own", "helps_own"):
            sys.modules.pop(name, None)
    assert table["value"].tolist() == [6 * n + seed for n in range(6) for seed in range(2)]
    assert set(table["reads"]) == {1}  # a worker that has a function keeps what it cached


def test_what_cannot_be_sent_is_one_sentence(client):
    lock = threading.Lock()

    def locked(n: int, *, seed: int):
        with lock:
            return {"value": n + seed}

    with pytest.raises(ExperimentError, match=r"^a trial cannot be sent to the workers"):
        run(make(locked), executor=DaskExecutor(client))
    with pytest.raises(EngineError, match="take no keywords"):
        DaskExecutor(client).submit(int, "2", base=3)


def test_another_version_on_a_worker_is_refused(client, monkeypatch):
    monkeypatch.setattr(dask_executor, "version", lambda _: "0.0")
    with pytest.raises(ExperimentError, match=r"^a worker of the cluster has gradfeat .* and 0\.0"):
        run(make(measured), executor=DaskExecutor(client))


def test_a_killed_scheduler_is_one_sentence_and_what_is_finished_is_kept(tmp_path):
    command = [sys.executable, "-c", SCHEDULER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()

        def progress(at):
            if at.done >= 10:
                process.kill()

        start = time.monotonic()
        with quiet(), distributed.Client(address, set_as_default=False) as client:
            from sweep_trials import slow

            away = make(slow, grids={"quick": {"n": range(20)}}, seeds=3)
            with pytest.raises(ExperimentError, match=r"scheduler is gone .* finished is kept"):
                run(
                    away,
                    store=tmp_path / "s.db",
                    executor=DaskExecutor(client),
                    progress=progress,
                )
        assert time.monotonic() - start < 600  # it does not hang
    with Store.open(tmp_path / "s.db") as store:
        assert 10 <= len(store.table(SLOW)) < 60
        assert store._rows("SELECT count(*) FROM leases") == [(0,)]
    pd.testing.assert_frame_equal(run(SLOW, store=tmp_path / "s.db"), run(SLOW))


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(dask_executor, "RECOUNT", 0.1)
    with (  # of its own: that of the module must keep its workers, in whatever order tests run
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ExperimentError, match="no worker for 1 seconds: what was finished is kept"),
    ):
        run(make(measured), executor=DaskExecutor(client, patience=1.0))
