"""Memory-mapped ``.npy`` files as a source of blocks."""

# Apart: one format a file, as those beside it.

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch

from ...errors import SourceError
from ...maths.blocks import Block
from ...wording import checked_piece_rows, ranges
from ..source import PIECE_ROWS, Columns, Piece
from .files import FoundFile, find_files
from .numeric import (
    NumericSource,
    as_tensor,
    checked_block,
    checked_dtype,
    checked_shapes,
    numbered,
)


def _mapped(file: FoundFile) -> np.ndarray:
    try:
        return np.load(file.path, mmap_mode="r", allow_pickle=False)
    except PermissionError as error:
        raise SourceError(f"'{file.name}' cannot be read: check its permissions.") from error
    except (ValueError, EOFError, OSError) as error:
        raise SourceError(
            f"'{file.name}' is not a whole .npy file of numbers: write it again with numpy.save."
        ) from error


class NpyRows(NumericSource):
    """Rows of ``.npy`` files that are mapped, not loaded; pieces are paths and ranges."""

    def __init__(
        self,
        X: str | os.PathLike[str],
        y: str | os.PathLike[str],
        w: str | os.PathLike[str] | None = None,
        piece_rows: int = PIECE_ROWS,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self.files = tuple(_file(path) for path in (X, y, w) if path is not None)
        self.piece_rows, self.dtype = checked_piece_rows(piece_rows), checked_dtype(dtype)
        mapped = [_mapped(file) for file in self.files]
        for file, values in zip(self.files, mapped, strict=True):
            as_tensor(values[:1] if values.ndim else values, f"'{file.name}'", dtype)
        shapes: list[tuple[int, ...]] = [values.shape for values in mapped]
        checked_shapes(shapes[0], shapes[1], shapes[2] if w is not None else None)
        if not shapes[0][0]:
            raise SourceError(f"'{self.files[0].name}' has no rows: give at least one.")
        self.length, self.inputs = shapes[0]
        self.targets = 1 if len(shapes[1]) == 1 else shapes[1][1]

    @property
    def columns(self) -> Columns:
        return numbered(self.inputs, self.targets)

    @property
    def count(self) -> int:
        return len(ranges(self.length, self.piece_rows))

    @property
    def fingerprint(self) -> str:
        files = [file.fingerprint for file in self.files]
        return "\n".join([*files, f"{self.piece_rows} {self.dtype}"])

    def pieces(self) -> Iterator[Piece[Block]]:
        for rows, words in ranges(self.length, self.piece_rows):
            name = f"'{self.files[0].name}', {words}"
            yield Piece(name, partial(_read, self.files, rows, self.dtype, name))


def _read(
    files: Sequence[FoundFile], rows: slice, dtype: torch.dtype, name: str
) -> Iterator[Block]:
    """Some rows of the files of inputs, targets and perhaps weights."""
    for file in files:
        file.refuse_changed()
    X, y, *w = (np.array(_mapped(file)[rows]) for file in files)
    yield checked_block(X, y, w[0] if w else None, dtype, name)


def _file(path: str | os.PathLike[str]) -> FoundFile:
    found = list(find_files(path))
    if len(found) > 1:
        raise SourceError(f"'{os.fspath(path)}' is {len(found)} files: give one .npy file.")
    return found[0]
