"""Packed states in a folder: a file each with its digest, and a manifest that names them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from safetensors.numpy import load, save

from ..maths.files import replace_file
from .errors import EngineError
from .wire import Packed


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
        """Inverse of :meth:`text`; ValueError, KeyError or TypeError where it is damaged."""
        outer = json.loads(text)
        if _digest(str(outer["body"]).encode()) != outer["digest"]:
            raise ValueError("other digest")
        body = json.loads(outer["body"])
        total = None if body["total"] is None else Entry(**body["total"])
        return cls(tuple(Entry(**entry) for entry in body["nodes"]), total)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True)
class States:
    """The folder of one pass."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> States:
        with _written(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    def manifest(self) -> Manifest:
        path = self.folder / "manifest.json"
        with _intact(path):
            return Manifest.of(path.read_text("utf-8")) if path.exists() else Manifest()

    def load(self, entry: Entry) -> Packed | None:
        if entry.digest is None:
            return None
        path = self.folder / entry.file
        with _intact(path):
            data = path.read_bytes()
            if _digest(data) != entry.digest:
                raise ValueError("other digest")
            return load(data)

    def save(self, level: int, index: int, packed: Packed | None) -> Entry:
        """Write a state; it counts once a manifest names it."""
        if packed is None:
            return Entry(level, index, None)
        data = save(packed)
        entry = Entry(level, index, _digest(data))
        with _written(self.folder):
            replace_file(self.folder / entry.file, data)
        return entry

    def replace(self, manifest: Manifest) -> None:
        """Make it the manifest, and remove the files that it does not name."""
        with _written(self.folder):
            replace_file(self.folder / "manifest.json", manifest.text().encode())
        named = {entry.file for entry in (*manifest.nodes, manifest.total) if entry is not None}
        for path in self.folder.glob("*.safetensors"):
            if path.name not in named:
                with contextlib.suppress(OSError):  # takes space, and harms nobody
                    path.unlink()


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
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"the checkpoint {str(path)!r} is damaged or cannot be read: remove its folder to "
            "compute this pass again from the start."
        ) from error
