"""The store: every finished result in one SQLite file, committed at once, with what made it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import sqlite3
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.errors import StoreError
from gradfeat.lab import tables
from gradfeat.lab.database import BEGIN, in_sentences, open_for_reading, open_for_writing
from gradfeat.lab.experiment import Experiment, Point
from gradfeat.lab.outcomes import Outcome
from gradfeat.lab.presence import MemoryPresence, Presence, presence_of
from gradfeat.maths.unpacking import json_object

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Count:
    """What a store has of a version of an experiment; `last` is the time of its last result."""

    experiment: str
    version: int
    done: int
    failed: int
    seconds: float
    last: str
    running: int


@dataclass(frozen=True)
class Claimed:
    """Of some keys: those to compute now, those that another run computes, those settled."""

    mine: list[str]
    others: list[str]
    done: list[str]
    failed: list[str]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Store:
    """Results of experiments, a row for each cell and seed.

    One process or thread runs a sweep and touches the store; workers only compute. Several sweeps
    may share a file: each takes a lease on what it computes, and leases of dead runs fall to
    others.

    >>> with Store.open(None) as store:
    ...     store.status()
    []
    """

    def __init__(self, connection: sqlite3.Connection, shown: str, presence: Presence) -> None:
        self._connection = connection
        self._shown = shown
        self._presence = presence
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, readonly: bool = False) -> Store:
        """Open a store, and create it where there is no file unless `readonly`.

        None as a path keeps the results in memory, until the store is closed. `readonly` never
        writes, and works on a read-only file.

        Raises StoreError for a folder, a file of something else or of a newer version, no
        permission, no such file.
        """
        if path is None:
            return cls(open_for_writing(None), ":memory:", MemoryPresence())
        place = Path(path)
        if place.is_dir():
            raise StoreError(f"store {str(place)!r} is a folder: give the path of a file.")
        if os.path.exists(place) and not os.path.isfile(place):
            raise StoreError(f"store {str(place)!r} is no regular file: give the path of a file.")
        if not readonly and not place.absolute().parent.is_dir():
            raise StoreError(f"store {str(place)!r} is in no folder that exists: create it first.")
        connection = open_for_reading(place) if readonly else open_for_writing(place)
        return cls(connection, str(place), presence_of(place.resolve()))

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, in_sentences(self._shown):
            return self._connection.execute(sql, values).fetchall()

    # What a sweep does

    def begin(self, experiment: Experiment, selection: Mapping[str, Any]) -> int:
        """Enter a run of `experiment` with what was asked for; its number."""
        number = self._entered(experiment, selection)
        with in_sentences(self._shown):
            self._presence.enter(number)
        return number

    def note(self, experiment: Experiment, selection: Mapping[str, Any]) -> None:
        """Remember what was asked for last, of a run that had nothing to compute, if possible."""
        if self.last_selection(experiment) != json.loads(json.dumps(selection)):
            with contextlib.suppress(StoreError):
                self._entered(experiment, selection, finished=_now())

    def _entered(
        self, experiment: Experiment, selection: Mapping[str, Any], finished: str | None = None
    ) -> int:
        facts = json.dumps(provenance(), sort_keys=True)
        with self._lock, in_sentences(self._shown), self._connection as db:
            db.execute(BEGIN)
            db.execute("INSERT OR IGNORE INTO provenance (facts) VALUES (?)", (facts,))
            row = db.execute("SELECT id FROM provenance WHERE facts = ?", (facts,)).fetchone()
            what = (experiment.name, experiment.version, json.dumps(selection), row[0])
            run = db.execute(
                "INSERT INTO runs (experiment, version, selection, provenance, started, finished)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (*what, _now(), finished),
            ).lastrowid
        return int(run or 0)

    def end(self, run: int) -> None:
        """Release what a run holds; what cannot be written now falls to the next run anyway."""
        self._presence.leave(run)
        with (
            contextlib.suppress(StoreError),
            self._lock,
            in_sentences(self._shown),
            self._connection as db,
        ):
            db.execute(BEGIN)
            db.execute("DELETE FROM leases WHERE run = ?", (run,))
            db.execute("UPDATE runs SET finished = ? WHERE id = ?", (_now(), run))

    def last_row(self) -> int:
        return self._rows("SELECT coalesce(max(id), 0) FROM results")[0][0]

    def claim(self, keys: Sequence[str], run: int, retry_up_to: int = 0) -> Claimed:
        """Take a lease on those keys that are neither finished nor computed by a live run.

        Failures up to the row `retry_up_to` are to be computed again.
        """
        claimed = Claimed([], [], [], [])
        with self._lock, in_sentences(self._shown), self._connection as db:
            db.execute(BEGIN)
            for key in keys:
                self._claim_one(db, key, run, retry_up_to, claimed)
        return claimed

    def _claim_one(
        self, db: sqlite3.Connection, key: str, run: int, retry_up_to: int, claimed: Claimed
    ) -> None:
        row = db.execute("SELECT id, status FROM results WHERE key = ?", (key,)).fetchone()
        if row and (row[1] == "done" or row[0] > retry_up_to):
            (claimed.done if row[1] == "done" else claimed.failed).append(key)
            return
        lease = db.execute("SELECT run FROM leases WHERE key = ?", (key,)).fetchone()
        if lease and lease[0] != run and self._presence.alive(lease[0]):
            claimed.others.append(key)
            return
        db.execute("INSERT OR REPLACE INTO leases (key, run) VALUES (?, ?)", (key, run))
        claimed.mine.append(key)

    def save(
        self,
        experiment: Experiment,
        run: int,
        results: Sequence[tuple[Point, Outcome]],
        device: str = "cpu",
    ) -> None:
        """Commit results with their arrays in one transaction, and drop their leases.

        Results of the same cells by an earlier text of the trial go.
        """
        name, version, now = experiment.name, experiment.version, _now()
        with self._lock, in_sentences(self._shown), self._connection as db:
            db.execute(BEGIN)
            for point, outcome in results:
                status = "done" if outcome.error is None else "failed"
                same = (name, version, json.dumps(point.cell), point.seed, point.key)
                db.execute(tables.DROP_THEIR_ARRAYS, same)
                db.execute(tables.DROP_OTHER_TEXTS, same)
                db.execute(
                    "INSERT OR REPLACE INTO results (key, experiment, version, cell, seed, status,"
                    " metrics, error, seconds, finished, device, run)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(point.key, name, version, json.dumps(point.cell), point.seed, status),
                        *(outcome.metrics, outcome.error, outcome.seconds, now, device, run),
                    ),
                )
                db.executemany(
                    "INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?, ?)",
                    [
                        (point.key, a.name, a.dtype, json.dumps(a.shape), a.blob)
                        for a in outcome.arrays
                    ],
                )
                db.execute("DELETE FROM leases WHERE key = ?", (point.key,))

    def statuses(self, keys: Sequence[str]) -> dict[str, str]:
        """Of those of the keys that have a result, whether it is "done" or "failed"."""
        return dict(self._rows(tables.STATUS_OF_KEYS, json.dumps(list(keys))))

    def outdated(self, experiment: Experiment, points: Sequence[Point]) -> int:
        """Of how many points the store has results of another text of the trial alone."""
        there = self.statuses([point.key for point in points])
        return sum(
            bool(
                self._rows(
                    tables.OTHER_TEXTS,
                    *(experiment.name, experiment.version, json.dumps(point.cell), point.seed),
                    point.key,
                )
            )
            for point in points
            if point.key not in there
        )

    # What a reader asks

    def table(
        self, experiment: Experiment | str, keys: Sequence[str] | None = None, arrays: bool = False
    ) -> pd.DataFrame:
        """The finished results, a row each: factors, ``seed``, metrics, then arrays.

        Of an experiment its current version; of a name the newest that is stored. Only the `keys`,
        in their order; left out: all results, ordered by cell and seed. `arrays` adds a column of
        NumPy arrays for each name.
        """
        name, version = self._identity(experiment)
        if keys is None:
            rows = self._rows(tables.DONE_OF_EXPERIMENT, name, version)
        else:
            rows = tables.in_order(self._rows(tables.DONE_OF_KEYS, json.dumps(list(keys))), keys)
        packed = self._packed([row[0] for row in rows]) if arrays else {}
        table = tables.table_of(rows, packed, tables.factors_of(experiment, rows))
        table = table if keys is not None else tables.by_cell(table)
        table.attrs.update(experiment=name, version=version)
        return table

    def _identity(self, experiment: Experiment | str) -> tuple[str, int]:
        match experiment:
            case Experiment():
                return experiment.name, experiment.version
            case _:
                sql = "SELECT coalesce(max(version), 1) FROM results WHERE experiment = ?"
                return experiment, self._rows(sql, experiment)[0][0]

    def _packed(self, keys: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        return tables.unpacked(self._rows(tables.ARRAYS_OF_KEYS, json.dumps(list(keys))))

    def arrays(self, key: str) -> dict[str, np.ndarray]:
        return self._packed([key]).get(key, {})

    def failures(
        self, experiment: Experiment | str, keys: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """The failed results: factors, ``seed``, ``error`` (a traceback), ``finished``.

        Only the `keys`, in their order; left out: all, as they came.
        """
        name, version = self._identity(experiment)
        rows = self._rows(tables.FAILED_OF_EXPERIMENT, name, version)
        rows = rows if keys is None else tables.in_order(rows, keys)
        return tables.failures_of(rows, tables.factors_of(experiment, rows))

    def status(self) -> list[Count]:
        """What is stored of each experiment and version."""
        running = self._running()
        rows = self._rows(tables.STATUS)
        with tables.intact("what is stored of an experiment"):
            return [Count(*tables.count_of(row), running.get(row[:2], 0)) for row in rows]

    def _running(self) -> dict[tuple[str, int], int]:
        counts: dict[tuple[str, int], int] = {}
        for name, version, run, number in self._rows(tables.LEASES):
            if self._presence.alive(run):
                counts[name, version] = counts.get((name, version), 0) + number
        return counts

    def last_selection(self, experiment: Experiment | str) -> dict[str, Any] | None:
        """What the newest run of the experiment was asked for; None where there is none."""
        name, version = self._identity(experiment)
        sql = "SELECT selection FROM runs WHERE experiment = ? AND version = ? ORDER BY id DESC"
        rows = self._rows(sql + " LIMIT 1", name, version)
        return tables.selection_of(rows[0][0]) if rows else None

    def provenance(self, key: str) -> dict[str, Any] | None:
        """Versions, revision and machine of one result, with its device and times."""
        rows = self._rows(tables.PROVENANCE_OF_KEY, key)
        if not rows:
            return None
        facts, device, seconds, finished = rows[0]
        with tables.intact(f"where the result {key} comes from"):
            known = json_object(facts)
        return {**known, "device": device, "seconds": seconds, "finished": finished}


#: Whose versions are kept with results.
_PACKAGES = ("gradfeat", "torch", "numpy", "scipy", "pandas", "scikit-learn")


def _version(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """What git says of the folder of this package; None without git or checkout."""
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def revision() -> str | None:
    """The git revision of the source, "-dirty" behind it where files differ.

    None where the package is not run from a checkout that tracks it.
    """
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "..")
    return commit and commit + ("-dirty" if changed else "")


@functools.cache
def provenance() -> dict[str, str | int | None]:
    """Versions of packages and Python, source revision, platform; read once a process."""
    return {
        **{package: _version(package) for package in _PACKAGES},
        "python": platform.python_version(),
        "revision": revision(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
    }
