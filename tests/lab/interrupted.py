"""Ctrl-C at any place where the interpreter lets one in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType


def each_interrupt(action: Callable[[], object]) -> Iterator[None]:
    """Do `action` again and again, interrupted one place later each time, until it is finished.

    The places are those at which CPython looks for signals: where a function begins, and after
    a call of C; an action of a few places is none, and fails. Yields after each interrupt.
    """
    place = 0
    while True:
        place += 1
        if not _interrupted(action, place):
            break
        yield
    assert place > 20


def _interrupted(action: Callable[[], object], place: int) -> bool:
    count = 0

    def interrupt(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        del frame, arg
        count += event in ("call", "c_return")
        if count == place:
            sys.setprofile(None)
            raise KeyboardInterrupt

    try:
        sys.setprofile(interrupt)
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False
