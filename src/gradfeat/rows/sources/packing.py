"""How the text of a file is packed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import BinaryIO, final

from .text_options import FOUND, TextOptions


class Packing(ABC):
    """How the text of a file is packed."""

    @abstractmethod
    def inside(self, path: str) -> str:
        """The name of the text in the file at `path`."""

    @abstractmethod
    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        """The text as a stream, which goes on reading `raw`."""

    @property
    def told(self) -> TextOptions:
        """How the text is written, where that is known."""
        return FOUND

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is not read, in sentences."""
        return ()


@final
@dataclass(frozen=True)
class Plain(Packing):
    """Text that nothing packs: its file is read as it is."""

    def inside(self, path: str) -> str:
        return path

    def unpacked(self, raw: BinaryIO, name: str) -> BinaryIO:
        del name
        return raw
