"""Who is alive: a run holds a lock on a small file, which the system drops when it dies."""

from __future__ import annotations

import contextlib
import json
import os
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path

import psutil

#: Open lock files of this process.
_OPEN: set[int] = set()


def _let_go() -> None:
    """In a forked child: close its copies, which would keep the locks when the parent dies."""
    for descriptor in _OPEN:
        os.close(descriptor)
    _OPEN.clear()


if os.name == "posix":
    os.register_at_fork(after_in_child=_let_go)


class Presence(ABC):
    """Runs that are under way on a store."""

    @abstractmethod
    def enter(self, run: int) -> None:
        """Announce a run."""

    @abstractmethod
    def leave(self, run: int) -> None:
        """Take a run away; one that is away already is no error."""

    @abstractmethod
    def alive(self, run: int) -> bool:
        """Whether the run was announced, and neither left nor died."""


class MemoryPresence(Presence):
    """Of a store in memory: all its runs live in this process."""

    def __init__(self) -> None:
        self._runs: set[int] = set()

    def enter(self, run: int) -> None:
        self._runs.add(run)

    def leave(self, run: int) -> None:
        self._runs.discard(run)

    def alive(self, run: int) -> bool:
        return run in self._runs


class FilePresence(Presence):
    """Of a store file: an flock on ``<store>.run-<number>`` beside it.

    The lock belongs to the open file, so threads of one process exclude each other too, and the
    system releases it at the latest when the process dies, however it dies. A file is locked
    before it gets its name, so a file found unlocked is one of a dead run.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._held: dict[int, int] = {}

    def enter(self, run: int) -> None:
        """Create the locked file of a run, and remove those of dead ones."""
        import fcntl

        self._clean()
        temporary = _file(self._store, f"{run}.{os.getpid()}.new")
        descriptor = os.open(temporary, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.replace(temporary, _file(self._store, run))
        self._held[run] = descriptor
        _OPEN.add(descriptor)

    def leave(self, run: int) -> None:
        descriptor = self._held.pop(run, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                _file(self._store, run).unlink()
            _OPEN.discard(descriptor)
            os.close(descriptor)

    def alive(self, run: int) -> bool:
        return run in self._held or _locked(_file(self._store, run))

    def _clean(self) -> None:
        for path in self._store.parent.iterdir():
            ours = path.name.startswith(f"{self._store.name}.run-") and path.suffix != ".new"
            if ours and not _locked(path):
                with contextlib.suppress(OSError):
                    path.unlink()


class ProcessPresence(Presence):
    """Where the system has no such locks: a file with the number and the start of the process."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def enter(self, run: int) -> None:
        own = psutil.Process()
        _file(self._store, run).write_text(json.dumps([own.pid, own.create_time()]), "utf-8")

    def leave(self, run: int) -> None:
        _file(self._store, run).unlink(missing_ok=True)

    def alive(self, run: int) -> bool:
        try:
            number, start = json.loads(_file(self._store, run).read_text("utf-8"))
            return psutil.Process(number).create_time() == start
        except (FileNotFoundError, ValueError, psutil.Error):
            return False


def presence_of(store: Path) -> Presence:
    """By locks where the system has them (Linux, macOS), else by the processes that run."""
    return FilePresence(store) if find_spec("fcntl") else ProcessPresence(store)


def _file(store: Path, run: int | str) -> Path:
    return store.with_name(f"{store.name}.run-{run}")


def _locked(path: Path) -> bool:
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # also by those who only read
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
