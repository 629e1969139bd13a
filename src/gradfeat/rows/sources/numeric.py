"""Sources of blocks: numbers of any origin as checked tensors."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import SourceError
from ...maths.blocks import Block
from ...wording import counted, ranges
from ..source import Columns, Piece, Source

#: What a source of numbers accepts.
Numbers = np.ndarray | Tensor

_FLOATS = (torch.float32, torch.float64)


class NumericSource(Source[Block]):
    """Inputs, targets and weights in pieces; its chunks are blocks of one float type."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """Names of the inputs and targets."""


def numbered(inputs: int, targets: int) -> Columns:
    """Names of columns that have none."""
    y = ("y",) if targets == 1 else tuple(f"y{i}" for i in range(targets))
    return Columns(tuple(f"x{i}" for i in range(inputs)), y)


def checked_dtype(dtype: torch.dtype) -> torch.dtype:
    if dtype not in _FLOATS:
        raise SourceError(f"dtype is {dtype}: give torch.float64 or torch.float32.")
    return dtype


def as_tensor(numbers: Numbers, what: str, dtype: torch.dtype) -> Tensor:
    """A tensor of float type `dtype` on the device of `numbers`."""
    match numbers:
        case Tensor():
            real, tensor = not numbers.is_complex(), numbers.detach()
        case _:
            real = numbers.dtype.kind in "biuf"
            target = np.float32 if dtype == torch.float32 else np.float64
            rows = np.ascontiguousarray(numbers, target) if real else None
            tensor = None if rows is None else torch.from_numpy(np.require(rows, None, ["W"]))
    if tensor is None or not real:
        raise SourceError(
            f"{what} is of type {numbers.dtype}: give real numbers (encode text and dates)."
        )
    return tensor.to(dtype).contiguous()


def checked_shapes(X: Sequence[int], y: Sequence[int], w: Sequence[int] | None) -> None:
    """Refuse shapes that do not go together: X (n, d), y (n,) or (n, c), w (n,) or None."""
    X, y = tuple(X), tuple(y)
    if len(X) != 2 or not X[1]:
        raise SourceError(f"X has shape {X}: give rows and columns (n, d), at least one column.")
    if len(y) not in (1, 2) or (len(y) == 2 and not y[1]):
        raise SourceError(f"y has shape {y}: give one target (n,) or several (n, c).")
    if w is not None and len(w) != 1:
        raise SourceError(f"w has shape {tuple(w)}: give one weight a row, (n,).")
    if y[0] != X[0]:
        raise SourceError(f"X has {X[0]:,} rows and y has {y[0]:,}: give as many of both.")
    if w is not None and w[0] != X[0]:
        raise SourceError(f"X has {X[0]:,} rows and w has {w[0]:,}: give as many of both.")


def checked_block(
    inputs: Numbers, targets: Numbers, w: Numbers | None, dtype: torch.dtype, where: str
) -> Block:
    """The rows as a block of float type `dtype`: y (n,) as one column, weights left out 1."""
    X, y = as_tensor(inputs, "X", dtype), as_tensor(targets, "y", dtype)
    y = y[:, None] if y.ndim == 1 else y
    ones = torch.ones(len(X), dtype=dtype, device=X.device)
    weights = ones if w is None else as_tensor(w, "w", dtype)
    for what, values in (("X", X), ("y", y), ("w", weights)):
        if not all_finite(values):
            bad = int((~values.isfinite()).sum())
            raise SourceError(
                f"{where}: {what} has {counted(bad, 'value')} missing or infinite: fill them, or "
                "drop those rows."
            )
    if w is not None and bool((weights < 0).any()):
        raise SourceError(f"{where}: w has negative weights: give weights of 0 or more.")
    return Block(X, y, weights)


def all_finite(values: Tensor) -> bool:
    """Whether no value is missing or infinite; one sum says so of most data."""
    return bool(values.sum().isfinite()) or bool(values.isfinite().all())


def digest(arrays: Iterable[Numbers]) -> str:
    """A short text of the contents of arrays in memory (about a second a gigabyte)."""
    summed = hashlib.blake2b(digest_size=16)
    for array in arrays:
        match array:
            case Tensor():
                held = array.detach().cpu().numpy()
            case _:
                held = array
        summed.update(f"{held.dtype} {held.shape}".encode())
        for rows, _ in ranges(len(held), 2**16):
            summed.update(np.ascontiguousarray(held[rows]).data)
    return summed.hexdigest()


def array_piece(
    X: Numbers, y: Numbers, w: Numbers | None, dtype: torch.dtype, name: str
) -> Piece[Block]:
    """Rows of arrays in memory, converted and checked when read."""
    return Piece(name, partial(_one_block, X, y, w, dtype, name))


def _one_block(*rows: Any) -> Iterator[Block]:
    yield checked_block(*rows)
