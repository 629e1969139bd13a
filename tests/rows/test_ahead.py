"""Reading ahead: bounded, errors come out as they are, no thread is left."""

from __future__ import annotations

import threading
import time

import pytest

from gradfeat.errors import EngineError
from gradfeat.rows.in_process import Ahead


def test_no_more_is_read_than_allowed():
    read = []

    def items():
        for i in range(20):
            read.append(i)
            yield i

    with Ahead(items(), 3) as ahead:
        for taken, i in enumerate(ahead, 1):
            time.sleep(0.002)
            assert i == taken - 1
            assert len(read) <= taken + 3
    assert len(read) == 20


def test_items_are_read_while_one_is_used():
    second = threading.Event()

    def items():
        yield 1
        second.set()
        yield 2

    with Ahead(items(), 1) as ahead:
        next(iter(ahead))
        assert second.wait(300)


def test_an_error_comes_out_after_the_items_before_it():
    error = OSError("gone")

    def items():
        yield 1
        raise error

    with Ahead(items(), 2) as ahead:
        taken = iter(ahead)
        assert next(taken) == 1
        with pytest.raises(OSError, match="gone") as raised:
            next(taken)
    assert raised.value is error


def test_leaving_early_closes_the_generator_and_ends_the_thread():
    before, closed = set(threading.enumerate()), []

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.append(True)

    with Ahead(items(), 2) as ahead:
        assert next(iter(ahead)) == 0
    assert closed == [True]
    assert set(threading.enumerate()) <= before


def test_nothing_ahead_is_refused():
    with pytest.raises(EngineError, match="prefetch is 0"):
        Ahead((i for i in range(3)), 0)
