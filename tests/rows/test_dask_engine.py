"""Passes on a Dask cluster: the same bits, lost workers, lost schedulers."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch
from engine_rows import Bad, Deadly, Late, OneMarker, Pieces, Slow, drawn, reads, with_piece

from gradfeat.errors import EngineError, SourceError
from gradfeat.maths.activations import ReLU
from gradfeat.maths.blocks import Block
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient
from gradfeat.maths.statistics.moments import Moments
from gradfeat.rows import dask_client, dask_executor
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.on_workers import DaskEngine

distributed = pytest.importorskip("distributed")

W = torch.tensor([[1.0, -0.5, 0.2], [0.3, 0.1, -0.7]], dtype=torch.float64)
SCHEDULER = """
import asyncio, sys, time
from distributed import Scheduler, Worker
async def main():
    async with Scheduler(port=0, dashboard=False, host="127.0.0.1") as scheduler:
        async with Worker(scheduler.address, nthreads=1, dashboard=False):
            print(scheduler.address, flush=True)
            await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as client:
        yield client


@pytest.mark.usefixtures("client")
def test_nobody_else_can_reach_the_cluster():
    """A scheduler has no password, so it listens to this machine alone."""
    listening = [
        connection.laddr.ip
        for process in [*psutil.Process().children(recursive=True), psutil.Process()]
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}


def numbers(statistic, state):
    return [values.clone() for values in vars(statistic.finish(state)).values()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("statistic", [Moments(), FirstLayerGradient(W, W[:, 0], W[:, :1], ReLU())])
@pytest.mark.parametrize("count", [1, 75])
def test_same_bits_as_in_process(client, statistic, count):
    expected = numbers(statistic, InProcess().state(statistic, drawn(count)))
    ticks = []
    found = DaskEngine(client, report=ticks.append).state(statistic, drawn(count))
    assert same(numbers(statistic, found), expected)
    assert (ticks[-1].pieces, ticks[-1].rows) == (count, 13 * count)


def test_an_error_of_a_task_is_not_taken_for_a_slow_arrival(client):
    with pytest.raises(TimeoutError, match="the store is slow"):
        DaskEngine(client).state(Moments(), with_piece(drawn(5), 3, Late))


def test_rows_in_memory_are_sent_to_an_address(client):
    expected = numbers(Moments(), InProcess().state(Moments(), drawn(5)))
    source = Pieces(drawn(5).listed, sendable=False)
    found = DaskEngine(client.scheduler.address).state(Moments(), source)
    assert same(numbers(Moments(), found), expected)


def test_the_scheduler_forgets_what_has_come(client):
    most = []

    def report(tick):
        del tick
        most.append(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

    source = Pieces(tuple(Slow(i, rows=2) for i in range(40)), known=False)  # one piece a segment
    DaskEngine(client, report=report).state(Moments(), source)
    # at most four segments, the statistic, and some that are being forgotten
    assert 0 < max(most) <= 4 * 7 + 1


def test_a_killed_worker_costs_its_segments_and_nothing_is_counted_twice(client, tmp_path):
    log = tmp_path / "log"
    (tmp_path / "kill-1").touch()
    found = DaskEngine(client).state(Moments(), with_piece(drawn(40, log), 17, Deadly))
    expected = InProcess().state(Moments(), drawn(40))
    assert same(numbers(Moments(), found), numbers(Moments(), expected))
    assert not list(tmp_path.glob("kill-*"))
    assert set(reads(log)) == set(range(40))


@pytest.mark.slow
def test_a_segment_that_kills_again_and_again_is_named(client, tmp_path, monkeypatch):
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    for i in range(9):
        (tmp_path / f"kill-{i}").touch()
    source = with_piece(drawn(4, tmp_path / "log"), 2, OneMarker)
    with pytest.raises(EngineError, match="died 3 times while they summed piece 2: look there"):
        DaskEngine(client).state(Moments(), source)


def test_errors_of_pieces_come_out_as_they_are(client):
    with pytest.raises(SourceError, match=r"^piece 3 is damaged: write it again\.$"):
        DaskEngine(client).state(Moments(), with_piece(drawn(9), 3, Bad))


def test_what_cannot_be_sent_is_refused(client):
    def local(block: Block) -> Block:
        return block

    with pytest.raises(EngineError, match=r"^the statistic cannot be sent or kept"):
        DaskEngine(client).state(Moments(local), drawn(3))


@pytest.mark.slow
def test_a_killed_scheduler_is_one_sentence_and_the_checkpoint_goes_on(client, tmp_path):
    command = [sys.executable, "-c", SCHEDULER]
    here = Path(__file__).parent
    with subprocess.Popen(
        command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()

        def report(tick):
            if tick.pieces >= 12:
                process.kill()

        log = tmp_path / "log"
        source = Pieces(tuple(Slow(i, log) for i in range(32)), known=False)
        kept = Checkpoint(tmp_path / "kept")
        start = time.monotonic()
        with pytest.raises(EngineError, match="scheduler is gone or was restarted: what was"):
            DaskEngine(address, report=report, checkpoint=kept).state(Moments(), source)
        assert time.monotonic() - start < 600  # it does not hang
    log.unlink()
    found = DaskEngine(client, checkpoint=kept).state(Moments(), source)
    expected = InProcess().state(Moments(), drawn(32))
    assert same(numbers(Moments(), found), numbers(Moments(), expected))
    assert 8 <= min(reads(log)) <= 16  # groups of four; one of them may still be on its way


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(dask_executor, "RECOUNT", 0.1)
    with (  # of its own: that of the module must keep its workers, in whatever order tests run
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(EngineError, match="no worker for 1 seconds: what was finished is kept"),
    ):
        DaskEngine(client, patience=1.0).state(Moments(), drawn(3))


def test_no_scheduler_and_no_dask_are_one_sentence_each(monkeypatch):
    monkeypatch.setattr(dask_client, "ANSWER", 0.3)
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        DaskEngine("tcp://127.0.0.1:9").state(Moments(), drawn(3))
    with pytest.raises(EngineError, match="no Dask scheduler answers at 'nonsense'"):
        DaskEngine("nonsense").state(Moments(), drawn(3))
    for address in ("tls://127.0.0.1:9", "ucx://127.0.0.1:9", "localhost", "inproc://1", ""):
        with pytest.raises(EngineError, match=f"no Dask scheduler answers at '{address}'"):
            DaskEngine(address).state(Moments(), drawn(3))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=rf"answers at '{at}' \(silence\)"):
            DaskEngine(at).state(Moments(), drawn(3))
    with pytest.raises(EngineError, match="0 workers"), local_cluster(0):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"run `pip install 'gradfeat\[dask\]'`"):
        DaskEngine("tcp://127.0.0.1:9").state(Moments(), drawn(3))
