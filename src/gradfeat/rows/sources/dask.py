"""Dask DataFrames and arrays: one piece a partition, each with its own graph alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import pandas as pd
import torch

from ...errors import SourceError
from ...maths.blocks import Block
from ...wording import refuse_repeated, refuse_unknown
from ..source import Columns, Piece
from .numeric import NumericSource, checked_block, checked_dtype, checked_shapes, numbered
from .tables import Tables


def dask_module() -> ModuleType:
    """Dask, which is an optional dependency."""
    try:
        import dask
        import dask.array
        import dask.dataframe
    except ImportError as error:
        raise SourceError(
            "Dask is not installed: install it with `pip install 'gradfeat[dask]'`."
        ) from error
    return dask


@dataclass(frozen=True)
class Part:
    """One partition or block: the tasks that it takes, and which of them is the result."""

    graph: Mapping[Any, Any]
    key: Any

    def compute(self, name: str) -> Any:
        """The result, computed in this thread; parts that a cluster holds are fetched from it."""
        dask = dask_module()
        try:
            return dask.get(_fetched(self.graph), self.key)
        except (SourceError, MemoryError, OSError):  # not the graph: memory, files, connections
            raise
        except Exception as error:
            raise SourceError(
                f"{name} cannot be computed ({type(error).__name__}: {error}): mend the graph."
            ) from error


def _fetched(graph: Mapping[Any, Any]) -> dict[Any, Any]:
    """The graph with results in the place of futures of a cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return dict(graph)
    return {key: _result(node, distributed) for key, node in graph.items()}


def _result(node: Any, distributed: Any) -> Any:
    match node:
        case distributed.Future():
            return node.result() if node.client else _from_worker(node, distributed)
        case _:
            return node


def _from_worker(future: Any, distributed: Any) -> Any:
    """What a future stands for, asked for inside a task: another task brings it here."""
    with distributed.worker_client() as client:
        return client.submit(_same, future, pure=False).result()


def _same(result: Any) -> Any:
    return result


def parts(collection: Any) -> Iterator[Part]:
    """Parts of a Dask collection in order, each with the tasks it depends on alone."""
    dask_module()
    from dask.core import flatten
    from dask.optimization import cull

    graph = dict(collection.__dask_graph__())
    for key in flatten(collection.__dask_keys__()):
        yield Part(cull(graph, [key])[0], key)


def token(collection: Any) -> str:
    """Text that changes with the graph of a collection."""
    dask_module()
    from dask.tokenize import tokenize

    return tokenize(collection)


class DaskTables(Tables):
    """Partitions of a Dask DataFrame; each is computed where its piece is read.

    A partition should fit in a worker's memory several times. Where one depends on all others (a
    shuffle), ``persist()`` first, or the shuffle is computed again for every piece.
    """

    def __init__(self, frame: Any) -> None:
        dask = dask_module()
        match frame:
            case dask.dataframe.DataFrame():
                self.frame = frame
            case _:
                raise SourceError(
                    f"a {type(frame).__name__} came where a Dask DataFrame is wanted: give one, "
                    "for example from dask.dataframe.read_parquet."
                )
        refuse_repeated(self.name, self.names)

    @property
    def name(self) -> str:
        return "the Dask DataFrame"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @property
    def count(self) -> int:
        return self.frame.npartitions

    @property
    def fingerprint(self) -> str:
        return f"dask {token(self.frame)}"

    def select(self, columns: Sequence[str]) -> DaskTables:
        refuse_unknown(self.name, columns, self.names)
        return DaskTables(self.frame[list(columns)])

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        for number, part in enumerate(parts(self.frame.optimize())):
            name = f"partition {number} of the Dask DataFrame"
            yield Piece(name, partial(_computed, [part], name))


def _computed(parts: Sequence[Part], name: str) -> Iterator[Any]:
    return (part.compute(name) for part in parts)


class DaskArrayRows(NumericSource):
    """Dask arrays in chunks of rows; each is computed where its piece is read.

    Columns are put into one chunk, and y and w into the row chunks of X. Numbers of rows may be
    unknown (nan), with as many chunks in each array.
    """

    def __init__(self, X: Any, y: Any, w: Any = None, dtype: torch.dtype = torch.float64) -> None:
        for what, array in (("X", X), ("y", y), *([] if w is None else [("w", w)])):
            _refuse_other(what, array)
        _checked_shapes(X, y, w)
        self.dtype = checked_dtype(dtype)
        self.X = X.rechunk({1: -1})
        self.y = _aligned(y, self.X, "y")
        self.w = None if w is None else _aligned(w, self.X, "w")

    @property
    def columns(self) -> Columns:
        return numbered(self.X.shape[1], 1 if self.y.ndim == 1 else self.y.shape[1])

    @property
    def count(self) -> int:
        return self.X.numblocks[0]

    @property
    def fingerprint(self) -> str:
        return f"dask {token([self.X, self.y, self.w])} {self.dtype}"

    def pieces(self) -> Iterator[Piece[Block]]:
        arrays = [parts(array) for array in (self.X, self.y, self.w) if array is not None]
        for number, each in enumerate(zip(*arrays, strict=True)):
            name = f"row chunk {number} of the Dask arrays"
            yield Piece(name, partial(_block, each, self.dtype, name))


def _block(parts: Sequence[Part], dtype: torch.dtype, name: str) -> Iterator[Block]:
    """One row chunk of each array: inputs, targets and perhaps weights."""
    X, y, *weights = _computed(parts, name)
    w = weights[0] if weights else None
    checked_shapes(X.shape, y.shape, None if w is None else w.shape)
    yield checked_block(X, y, w, dtype, name)


def _refuse_other(what: str, array: Any) -> None:
    dask = dask_module()
    match array:
        case dask.array.Array():
            return
        case _:
            raise SourceError(
                f"{what} is a {type(array).__name__} where a Dask Array is wanted: wrap it with "
                "dask.array.from_array, or name a target= of a Dask DataFrame."
            )


def _checked_shapes(X: Any, y: Any, w: Any) -> None:
    """As for arrays in memory; rows that are not known pass."""
    arrays = [array for array in (X, y, w) if array is not None]
    shapes = [array.shape for array in arrays]
    if any(math.isnan(n) for shape in shapes for n in shape[:1]):
        shapes = [(0, *shape[1:]) if shape else shape for shape in shapes]
    checked_shapes(shapes[0], shapes[1], None if w is None else shapes[2])


def _aligned(array: Any, X: Any, what: str) -> Any:
    """In the row chunks of X."""
    array = array if array.ndim == 1 else array.rechunk({1: -1})
    if math.isnan(array.shape[0]) or math.isnan(X.shape[0]):
        if array.numblocks[0] != X.numblocks[0]:
            raise SourceError(
                f"X has {X.numblocks[0]} row chunks and {what} has {array.numblocks[0]}, of "
                "unknown lengths: call compute_chunk_sizes() on both."
            )
        return array
    return array.rechunk({0: X.chunks[0]})
