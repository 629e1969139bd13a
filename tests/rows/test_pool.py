"""Workers that are killed, and things that cannot be sent."""

from __future__ import annotations

import os
import signal

import pytest
import torch
from engine_rows import Deadly, OneMarker, Pieces, Slow, drawn, reads, with_piece

from gradfeat.errors import EngineError
from gradfeat.maths.blocks import Block
from gradfeat.maths.statistics.moments import Moments
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.on_workers import Pool


@pytest.fixture(scope="module")
def pool():
    with Pool(1) as pool:
        yield pool


def agree(one, other):
    names = ("weight", "mean_x", "xy", "yy")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_killed_worker_costs_its_segments_and_nothing_is_counted_twice(pool, tmp_path):
    log = tmp_path / "log"
    (tmp_path / "kill-1").touch()
    found = pool.state(Moments(), with_piece(drawn(40, log), 17, Deadly))
    assert agree(found, InProcess().state(Moments(), drawn(40)))
    assert not list(tmp_path.glob("kill-*"))
    assert set(reads(log)) == set(range(40))
    assert len(reads(log)) <= 40 + 2 * 2  # at most two segments of two pieces were in flight


@pytest.mark.slow
def test_a_segment_that_kills_again_and_again_is_named(pool, tmp_path):
    for i in range(9):
        (tmp_path / f"kill-{i}").touch()

    source = with_piece(drawn(4, tmp_path / "log"), 2, OneMarker)
    with pytest.raises(EngineError, match=r"died 3 times while they summed piece 2: look there"):
        pool.state(Moments(), source)
    assert len(list(tmp_path.glob("kill-*"))) == 9 - 3
    assert agree(pool.state(Moments(), drawn(4)), InProcess().state(Moments(), drawn(4)))


def test_rows_in_memory_are_sent(pool):
    drawn_rows = drawn(6)
    sent = pool.state(Moments(), Pieces(drawn_rows.listed, sendable=False))
    assert agree(sent, InProcess().state(Moments(), drawn_rows))


def test_pieces_in_memory_are_read_here(pool, tmp_path):
    log = tmp_path / "log"
    (tmp_path / "kill-1").touch()
    source = Pieces(drawn(6, log).listed, sendable=False)
    pool.state(Moments(), source)
    assert reads(log) == list(range(6))  # in order, so by one process


def test_what_cannot_be_sent_is_refused(pool):
    def local(block: Block) -> Block:
        return block

    with pytest.raises(EngineError, match=r"^the statistic cannot be sent or kept"):
        pool.state(Moments(local), drawn(3))


@pytest.mark.slow
def test_an_interrupted_pass_ends_the_workers():
    def report(tick):
        if tick.pieces:
            raise KeyboardInterrupt

    stopped = Pool(1, report=report)
    with pytest.raises(KeyboardInterrupt):
        stopped.state(Moments(), Pieces(tuple(Slow(i) for i in range(100))))
    assert stopped._started == []


@pytest.mark.slow
def test_a_worker_killed_from_outside_is_replaced():
    left = [signal.SIGKILL]

    def report(tick):
        if tick.pieces and left:
            (pid,) = hurt._started[0]._pool._processes
            os.kill(pid, left.pop())

    with Pool(1, report=report) as hurt:
        found = hurt.state(Moments(), Pieces(tuple(Slow(i) for i in range(20))))
    assert not left
    assert agree(found, InProcess().state(Moments(), drawn(20)))
