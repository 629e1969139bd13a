"""Tries in a child of this process, which may be killed or kept short of disk and memory."""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from hostile.attempt import LONGEST, Ran, attempt


def in_child(*words: object, first: Callable[[], None] = lambda: None, kill: float = 0.0) -> Ran:
    """Run a command in a fork, after `first`; kill it after so many seconds (code -9)."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            os.close(read)
            first()
            ran = attempt(*words)
            with os.fdopen(write, "wb") as out:
                out.write(pickle.dumps(ran))
        finally:
            os._exit(0)
    os.close(write)
    if kill:
        time.sleep(kill)
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:  # on a busy machine it leads no group yet
            os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as said:
        hangs = not select.select([said], [], [], 2 * LONGEST)[0]  # no signal ends compiled code
        if hangs:
            os.kill(child, signal.SIGKILL)
        data = said.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else Ran(124 if hangs else -9, "", "")


def short_of_disk(size: int) -> Callable[[], None]:
    """No file grows beyond so many bytes: the system refuses, as a full disk does."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def short_of_memory(more: int) -> Callable[[], None]:
    """The process may take so many bytes more than it has."""

    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return limit
