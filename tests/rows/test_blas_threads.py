"""Blocks of one thread that overlap; processors that this process may use."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from gradfeat.maths import limits
from gradfeat.maths.limits import one_thread, quickest_threads
from gradfeat.rows.in_process import Threads
from gradfeat.rows.on_workers import Pool


def blas():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def three():
    """Three threads for all that is outside."""
    before = torch.get_num_threads()
    with threadpool_limits(3):
        torch.set_num_threads(3)
        yield
        torch.set_num_threads(before)


@pytest.mark.usefixtures("three")
def test_a_block_in_another_thread_keeps_its_one_thread():
    assert blas() == {3}
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_thread():
            inside.set()
            leave.wait(10)
            return blas(), torch.get_num_threads()

    with ThreadPoolExecutor(1) as executor:
        with one_thread():
            held = executor.submit(other)
            assert inside.wait(10)
            assert blas() == {1}
        assert torch.get_num_threads() == 3  # of this thread, which has left
        assert blas() == {1}
        leave.set()
        assert held.result() == ({1}, 1)
        after = executor.submit(lambda: blas())
        assert after.result() == {3}
    assert blas() == {3}
    with ThreadPoolExecutor(1) as executor:  # a new thread
        assert executor.submit(torch.get_num_threads).result() == 3


@pytest.mark.usefixtures("three")
def test_blocks_within_blocks_and_errors():
    def fail():
        with one_thread():
            with one_thread():
                pass
            assert (blas(), torch.get_num_threads()) == ({1}, 1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (blas(), torch.get_num_threads()) == ({3}, 3)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(("seconds", "taken"), [(2.0, 1), (0.5, 3)])
def test_several_threads_are_taken_where_they_are_quicker(monkeypatch, seconds, taken):
    found = {1: 1.0, 3: seconds}
    monkeypatch.setattr(limits, "_taken", lambda: found[torch.get_num_threads()])
    with quickest_threads():
        assert torch.get_num_threads() == taken
    assert torch.get_num_threads() == 3


def test_where_there_is_one_thread_none_is_timed(monkeypatch):
    """Products for a tenth of a second at every fit, of which one half was compared with itself."""
    monkeypatch.setattr(limits, "_taken", lambda: pytest.fail("timed"))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    with quickest_threads():
        assert blas() == {1}


def test_engines_take_the_processors_that_this_process_is_bound_to(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 7, 9}, raising=False)
    assert (Threads().n, Pool().jobs) == (3, 3)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert (Threads().n, Pool().jobs) == (5, 5)
