"""Calls in flight: what is lost with a worker flies again, alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial

import pytest
from engine_rows import Deadly, drawn, with_piece

from gradfeat.errors import EngineError
from gradfeat.maths.statistics.moments import Moments
from gradfeat.rows.on_workers import ExecutorEngine
from gradfeat.rows.workers import Flight, Here, interrupts_held


class Mortal(Here):
    """Four calls at a time, of which those of a culprit take all others with them."""

    def __init__(self):
        self.calls, self.restarts = Counter(), 0
        self.open: list[Future] = []

    @property
    def in_flight(self):
        return 4

    def start(self, item):
        self.calls[item] += 1
        future = Future()
        self.open.append(future)
        if item == "culprit":
            for one in self.open:
                if not one.done():
                    one.set_exception(BrokenExecutor())
        elif self.restarts:
            for one in self.open:
                if not one.done():
                    one.set_result(item)
        return future

    def restart(self):
        self.restarts += 1
        self.open = []


@pytest.mark.parametrize("deaths", [2, 3])
def test_the_culprit_is_told_from_its_neighbours(deaths):
    workers = Mortal()
    flight = Flight(workers, workers.start, deaths)
    for item in ("a", "b", "culprit"):
        flight.start(item)
    found = []
    while flight.busy:
        found.extend(flight.finished())
    assert sorted(item for item, _ in found) == ["a", "b", "culprit"]
    broken = [item for item, future in found if future.exception() is not None]
    assert broken == ["culprit"]
    assert workers.calls == {"a": 2, "b": 2, "culprit": deaths}


def test_what_is_lost_may_come_apart():
    workers = Mortal()
    parts = partial(map, lambda one: (one,))
    flight = Flight(workers, lambda item: workers.start(item[-1]), 2, parts)
    flight.start(("b", "culprit"))
    found = []
    while flight.busy:
        found.extend(flight.finished())
    assert [item for item, _ in found] == [("b",), ("culprit",)]


@pytest.mark.slow
def test_an_executor_of_someone_else_that_broke_down_is_one_sentence(tmp_path):
    (tmp_path / "kill-1").touch()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        engine = ExecutorEngine(executor, 1)
        with pytest.raises(EngineError, match="the executor given broke down"):
            engine.state(Moments(), with_piece(drawn(6, tmp_path / "log"), 2, Deadly))


def test_ctrl_c_that_another_thread_gets_waits_until_a_process_is_started():
    """The kernel gives a signal to any thread that does not hold it back."""
    done, inside = threading.Event(), False
    other = threading.Thread(target=done.wait, daemon=True)
    other.start()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # the handler would run here
            inside = True
        inside = False
    done.set()
    other.join()
    assert inside
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
