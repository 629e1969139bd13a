"""Opening the SQLite file of a store, and what SQLite complains of in sentences.

The file is in WAL mode with ``synchronous=NORMAL``: a commit costs no wait for the disk, and
survives the death of the process. When the whole machine loses power the last commits may be
missing, never a part of one; they are computed again.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gradfeat.errors import StoreError

#: "gfst" in ASCII, at a fixed place of the file's header.
APPLICATION_ID = 0x67667374
SCHEMA_VERSION = 1
#: Begins a transaction, as the first statement in ``with connection``, which ends it. Its end is
#: written in C: no instruction of ours is left at which Ctrl-C finds one that nobody ends.
BEGIN = "BEGIN IMMEDIATE"
#: How long a statement waits for another process, in seconds.
PATIENCE = 30.0
#: Pages of 4 KiB that collect beside the file before they are moved into it, with a wait for disk.
CHECKPOINT_PAGES = 4000
#: Memory for pages: holds the index of keys of some hundred thousand results.
CACHE_KIB = 32_000

SCHEMA = """
CREATE TABLE provenance (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, experiment TEXT NOT NULL, version INTEGER NOT NULL,
    selection TEXT NOT NULL, provenance INTEGER NOT NULL, started TEXT NOT NULL, finished TEXT);
CREATE TABLE results (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, experiment TEXT NOT NULL,
    version INTEGER NOT NULL, cell TEXT NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')), metrics TEXT NOT NULL, error TEXT,
    seconds REAL NOT NULL, finished TEXT NOT NULL, device TEXT NOT NULL, run INTEGER NOT NULL);
CREATE INDEX results_by_experiment ON results (experiment, version, status);
CREATE INDEX results_by_cell ON results (experiment, version, cell, seed);
CREATE TABLE arrays (
    key TEXT NOT NULL, name TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (key, name)) WITHOUT ROWID;
CREATE TABLE leases (key TEXT PRIMARY KEY, run INTEGER NOT NULL) WITHOUT ROWID;
"""

SENTENCES = {
    sqlite3.SQLITE_NOTADB: "is not an SQLite file: give another path, or move that file away.",
    sqlite3.SQLITE_CORRUPT: "is damaged: move it away and start a new store, or restore a copy.",
    sqlite3.SQLITE_FULL: "is on a full disk: free space and run again; what was finished is kept.",
    sqlite3.SQLITE_READONLY: "cannot be written to: allow writing to it and its folder.",
    sqlite3.SQLITE_PERM: "cannot be written to: allow writing to it and its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: allow reading and writing it and its folder.",
    sqlite3.SQLITE_BUSY: "is locked by another program for long: close that, or try again later.",
    sqlite3.SQLITE_LOCKED: "is locked by another program for long: close that, or try again later.",
    sqlite3.SQLITE_IOERR: "gave a disk error: check the disk and its free space, then run again.",
}


def _sentence(path: str, error: sqlite3.Error | OSError) -> str:
    match error:
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"store {path!r} {SENTENCES[sqlite3.SQLITE_FULL]}"
        case OSError() if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return f"store {path!r} {SENTENCES[sqlite3.SQLITE_READONLY]}"
        case sqlite3.Error():
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            other = f"gave an SQLite error ({error}): check the file."
            return f"store {path!r} {SENTENCES.get(code, other)}"
        case _:
            return f"store {path!r} cannot be used ({error}): check the path."


@contextlib.contextmanager
def in_sentences(path: str) -> Iterator[None]:
    """Turn what SQLite and the system raise about a store into one sentence."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(_sentence(path, error)) from error


def patiently(action: Callable[[], None]) -> None:
    """Try again while the file is locked: SQLite itself does not wait to change to WAL mode."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode & 0xFF
            if code != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def connect(address: str, uri: bool = False) -> sqlite3.Connection:
    """Open a connection without implicit transactions, shared by the threads of a store."""
    return sqlite3.connect(
        address, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=uri
    )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def is_blank(connection: sqlite3.Connection) -> bool:
    """Whether there is no table; anything else must be a store of ours."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def check_ours(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a database of another program, or of a newer version of this one."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreError(f"store {path!r} is a database of another program: give another path.")
    version = _pragma(connection, "user_version")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"store {path!r} has format {version} of a newer gradfeat, and this one reads up to "
            f"{SCHEMA_VERSION}: update gradfeat, or give another path."
        )


def create(connection: sqlite3.Connection) -> None:
    """Create the tables in one transaction, unless another process was first."""
    with connection:
        connection.execute(BEGIN)
        if is_blank(connection):
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def open_for_writing(path: Path | None) -> sqlite3.Connection:
    """Open or create a store; a file that is not ours is left as it is."""
    shown = ":memory:" if path is None else str(path)
    with in_sentences(shown), _or_closed(connect(shown)) as connection:
        if not is_blank(connection):
            check_ours(connection, shown)
        patiently(lambda: _begin(connection))
        check_ours(connection, shown)
    return connection


@contextlib.contextmanager
def _or_closed(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """The connection, closed where an error leaves the block."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _begin(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    create(connection)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a store without writing to it, also where the file and its folder are read-only."""
    shown = str(path)
    if not path.is_file():
        raise StoreError(f"store {shown!r} does not exist: check the path, or run something first.")
    with in_sentences(shown), _or_closed(_readable(path)) as connection:
        check_ours(connection, shown)
    return connection


def _readable(path: Path) -> sqlite3.Connection:
    """Read-only; immutable where SQLite may not put its files beside it."""
    address = path.resolve().as_uri()
    try:
        with _or_closed(connect(f"{address}?mode=ro", uri=True)) as connection:
            is_blank(connection)
        return connection
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    return connect(f"{address}?immutable=1", uri=True)
