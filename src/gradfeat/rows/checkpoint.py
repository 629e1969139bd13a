"""Passes kept on disk: one that was interrupted goes on from its last merged state.

The states of a pass are files with digests in a folder; a manifest, replaced whole, names them.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from safetensors.numpy import load, save

from ..errors import EngineError
from ..maths.blocks import Statistic
from ..maths.files import replace_file
from ..maths.unpacking import FOREIGN
from .source import Source
from .tree import Assembler, Node
from .wire import Packed, dumps, identity_of, pack, unpack

State = TypeVar("State")


@dataclass(frozen=True)
class Entry:
    """A node that was written; without digest where it has no rows, and so no file."""

    level: int
    index: int
    digest: str | None

    @property
    def file(self) -> str:
        return "total.safetensors" if self.level < 0 else f"{self.level}-{self.index}.safetensors"


@dataclass(frozen=True)
class Manifest:
    """What is kept of a pass: nodes of its first pieces, or the sum of all."""

    nodes: tuple[Entry, ...] = ()
    total: Entry | None = None

    def text(self) -> str:
        """As JSON, with a digest of its own."""
        body = json.dumps(asdict(self))
        return json.dumps({"digest": _digest(body.encode()), "body": body})

    @classmethod
    def of(cls, text: str) -> Manifest:
        """Inverse of :meth:`text`; one of `FOREIGN` where it is damaged."""
        outer = json.loads(text)
        if _digest(str(outer["body"]).encode()) != outer["digest"]:
            raise ValueError("other digest")
        body = json.loads(outer["body"])
        total = None if body["total"] is None else Entry(**body["total"])
        return cls(tuple(Entry(**entry) for entry in body["nodes"]), total)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"the checkpoint cannot be written to {str(folder)!r} ({error.strerror}): free or name "
            "another place; what was saved before is kept."
        ) from error


@contextlib.contextmanager
def _intact(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, *FOREIGN) as error:
        raise EngineError(
            f"the checkpoint {str(path)!r} is damaged or cannot be read: remove its folder to "
            "compute this pass again from the start."
        ) from error


def _check_layout(found: Packed, own: Packed) -> None:
    """States are float64 and whole numbers, as they were packed; their floats are numbers."""
    for name in found.keys() | own.keys():
        a, b = found[name], own[name]
        narrow = a.dtype.kind == "f" and a.dtype != np.float64
        if narrow or (a.dtype, a.shape) != (b.dtype, b.shape):
            raise ValueError(f"the array {name!r} is of another type or shape")
        if a.dtype.kind == "f" and np.isnan(a).any():
            raise ValueError(f"the array {name!r} holds what is no number")


def _read(path: Path) -> bytes:
    """The bytes of a file; a pipe would be waited for, a device have no end."""
    if not path.is_file():
        raise ValueError("no regular file")
    return path.read_bytes()


class Kept(Generic[State]):
    """A pass in its own folder: a file for each node, and a manifest that is replaced whole."""

    def __init__(self, statistic: Statistic[Any, State, Any], folder: Path, every: float) -> None:
        self._statistic, self._folder, self._every = statistic, folder, every
        with _written(folder):
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / "manifest.json"
        with _intact(path):
            self._manifest = Manifest.of(_read(path).decode()) if path.exists() else Manifest()
        self._saved_at = time.monotonic()

    def total(self) -> State | None:
        """State of all rows, where the pass was finished before."""
        entry = self._manifest.total
        return None if entry is None else self._state(entry)

    def nodes(self) -> tuple[Node[State], ...]:
        """Nodes of the first pieces, where the pass was begun before."""
        return tuple(Node(e.level, e.index, self._state(e)) for e in self._manifest.nodes)

    def _state(self, entry: Entry) -> State | None:
        if entry.digest is None:
            return None
        path = self._folder / entry.file
        with _intact(path):
            data = _read(path)
            if _digest(data) != entry.digest:
                raise ValueError("other digest")
            packed = load(data)
            state = unpack(self._statistic, packed)
            _check_layout(packed, pack(self._statistic, state))
            # Parts of one state that do not fit each other do not merge with themselves.
            twice = self._statistic.merge(*(unpack(self._statistic, packed) for _ in range(2)))
            if entry.level < 0:
                self._statistic.finish(twice)
            return state

    def keep(self, sums: Assembler[State]) -> None:
        """Save the nodes of the first pieces, when it is time to."""
        if time.monotonic() - self._saved_at >= self._every:
            self._save(sums.prefix)
            self._saved_at = time.monotonic()

    def rescue(self, sums: Assembler[State], error: BaseException) -> None:
        """Save unless states were being merged; when it fails, the error says that too."""
        if not sums.whole:
            return
        try:
            self._save(sums.prefix)
        except EngineError as failed:
            error.add_note(str(failed))

    def _save(self, nodes: tuple[Node[State], ...]) -> None:
        there = {(e.level, e.index): e for e in self._manifest.nodes}
        entries = [
            there.get((n.level, n.index)) or self._write(n.level, n.index, n.state) for n in nodes
        ]
        self._replace(Manifest(tuple(entries), None))

    def _write(self, level: int, index: int, state: State | None) -> Entry:
        """Write a state; it counts once a manifest names it."""
        if state is None:
            return Entry(level, index, None)
        data = save(pack(self._statistic, state))
        entry = Entry(level, index, _digest(data))
        with _written(self._folder):
            replace_file(self._folder / entry.file, data)
        return entry

    def _replace(self, manifest: Manifest) -> None:
        """Make it the manifest, and remove the files that it does not name."""
        if manifest == self._manifest:
            return
        with _written(self._folder):
            replace_file(self._folder / "manifest.json", manifest.text().encode())
        named = {entry.file for entry in (*manifest.nodes, manifest.total) if entry is not None}
        for path in self._folder.glob("*.safetensors"):
            if path.name not in named:
                with contextlib.suppress(OSError):  # takes space, and harms nobody
                    path.unlink()
        self._manifest = manifest

    def finish(self, total: State) -> None:
        """Save the state of all rows in the place of the nodes."""
        self._replace(Manifest((), self._write(-1, 0, total)))


@dataclass(frozen=True)
class Checkpoint:
    """A folder in which passes are kept, so that one that was interrupted goes on where it was.

    A pass goes on when it has the same source (its fingerprint), statistic and label, with any
    engine and any number of workers; a finished one is not computed again. Others are left alone.
    Functions and classes of one's own in a statistic or map count with their code, but not with
    what they call or read from their module: clear the folder when that has changed.
    Ctrl-C and errors save once more; a killed process loses at most `every` seconds of merged
    pieces, and what was in flight.

    `folder`: Made where it is missing.
    `every`: Seconds between two savings.

    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> from gradfeat.rows.in_process import InProcess
    >>> ticks = []
    >>> rows = from_arrays(np.ones((4, 1)), np.ones(4), piece_rows=2)
    >>> with TemporaryDirectory() as folder:
    ...     engine = InProcess(report=ticks.append, checkpoint=Checkpoint(folder))
    ...     _ = engine.state(Moments(), rows.source), engine.state(Moments(), rows.source)
    >>> [(tick.pieces, tick.rows) for tick in ticks]
    [(0, 0), (1, 2), (2, 4), (2, 0)]
    """

    folder: str | Path
    every: float = 10.0
    _opened: set[Path] = field(default_factory=set, init=False, repr=False, compare=False)

    def record(
        self, statistic: Statistic[Any, State, Any], source: Source[Any], label: str
    ) -> Kept[State]:
        """What is kept of this pass.

        Raises EngineError when the folder cannot be written, or what is in it is damaged.
        """
        named = (version("gradfeat"), label, source.fingerprint, repr(source.count))
        identity = blake2b(dumps(named, "the source") + identity_of(statistic, "the statistic"))
        folder = Path(self.folder) / f"pass-{identity.hexdigest()[:32]}"
        kept = Kept(statistic, folder, self.every)
        self._opened.add(folder)
        return kept

    def clear(self) -> None:
        self._remove(set(Path(self.folder).glob("pass-*")))

    def clear_opened(self) -> None:
        """Remove the passes that this object opened; the folder may be shared with others."""
        self._remove(self._opened)
        self._opened.clear()

    def _remove(self, passes: set[Path]) -> None:
        try:
            for folder in passes:
                if folder.exists():
                    shutil.rmtree(folder)
        except OSError as error:
            raise EngineError(
                f"the checkpoint {str(self.folder)!r} cannot be removed ({error.strerror}): remove "
                "it by hand."
            ) from error
        with contextlib.suppress(OSError):  # other things are in it, or it was never made
            Path(self.folder).rmdir()
