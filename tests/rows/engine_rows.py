"""Sources for the tests of engines, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from gradfeat.errors import SourceError
from gradfeat.maths.blocks import Block
from gradfeat.maths.streams import stream
from gradfeat.rows.source import Piece, Source


@dataclass(frozen=True)
class Drawn:
    """Reads two blocks drawn from the number of a piece; leaves a line in a file when it does."""

    number: int
    log: Path | None = None
    rows: int = 9

    @property
    def piece(self) -> Piece[Block]:
        return Piece(f"piece {self.number}", self.read)

    def read(self) -> Iterator[Block]:
        if self.log is not None:
            with self.log.open("a") as handle:
                handle.write(f"{self.number}\n")
        gen = stream(self.number, "rows")
        for rows in (self.rows, self.rows // 2):
            X = torch.randn(rows, 3, generator=gen, dtype=torch.float64) * 10.0 ** (
                self.number % 12
            )
            yield Block(X, X[:, :1] + 1, torch.ones(rows, dtype=torch.float64))


@dataclass(frozen=True)
class Deadly(Drawn):
    """Kills the process that reads it, as often as there are files `kill-*` to remove."""

    def read(self) -> Iterator[Block]:
        assert self.log is not None
        for marker in self.log.parent.glob("kill-*"):
            marker.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read()


@dataclass(frozen=True)
class Late(Drawn):
    """Is not read in time."""

    def read(self) -> Iterator[Block]:
        raise TimeoutError("the store is slow")


@dataclass(frozen=True)
class Bad(Drawn):
    """Cannot be read."""

    def read(self) -> Iterator[Block]:
        raise SourceError(f"{self.piece.name} is damaged: write it again.")


@dataclass(frozen=True)
class Slow(Drawn):
    """Takes its time."""

    def read(self) -> Iterator[Block]:
        time.sleep(0.05)
        return super().read()


@dataclass(frozen=True)
class Empty(Drawn):
    """No rows: a block without any, or no block."""

    def read(self) -> Iterator[Block]:
        if self.number % 2:
            yield Block(torch.ones(0, 3).double(), torch.ones(0, 1).double(), torch.ones(0))


@dataclass(frozen=True)
class Pieces(Source[Block]):
    """Listed pieces."""

    listed: tuple[Drawn, ...]
    print: str = "the same"
    sendable: bool = True
    known: bool = True
    taken: list[int] = field(default_factory=list)

    def pieces(self) -> Iterator[Piece[Block]]:
        for piece in self.listed:
            self.taken.append(piece.number)
            yield piece.piece

    @property
    def count(self) -> int | None:
        return len(self.listed) if self.known else None

    @property
    def fingerprint(self) -> str:
        return self.print

    @property
    def parallel(self) -> bool:
        return self.sendable


def drawn(count: int, log: Path | None = None) -> Pieces:
    """So many pieces, the last ones far larger in value than the first."""
    return Pieces(tuple(Drawn(i, log) for i in range(count)))


def with_piece(source: Pieces, number: int, kind: type[Drawn]) -> Pieces:
    """The source with one of its pieces of another kind."""
    listed = list(source.listed)
    listed[number] = kind(number, listed[number].log)
    return Pieces(tuple(listed), source.print, source.sendable)


def reads(log: Path) -> list[int]:
    """Pieces that were read, in order."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


class OneMarker(Deadly):
    """Kills the process that reads it, once for each marker."""

    def read(self):
        assert self.log is not None
        next(iter(sorted(self.log.parent.glob("kill-*")))).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
        return super().read()
