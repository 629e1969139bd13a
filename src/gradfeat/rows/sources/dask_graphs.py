"""Parts of Dask collections that can be computed anywhere, each with its own graph alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..errors import SourceError


def dask_module() -> ModuleType:
    """Dask, which is an optional dependency.

    Raises
    ------
    SourceError
        Where it is not installed.

    Examples
    --------
    >>> dask_module().__name__
    'dask'
    """
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
        """The result, computed in this thread; parts that a cluster holds are fetched from it.

        Raises
        ------
        SourceError
            Where a task fails, naming the part; MemoryError and OSError are raised as they are.
        """
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
    """Parts of a Dask collection in order, each with the tasks it depends on alone.

    Examples
    --------
    >>> import dask.array as da
    >>> [part.compute("block").tolist() for part in parts(da.arange(4, chunks=2))]
    [[0, 1], [2, 3]]
    """
    dask_module()
    from dask.core import flatten
    from dask.optimization import cull

    graph = dict(collection.__dask_graph__())
    for key in flatten(collection.__dask_keys__()):
        yield Part(cull(graph, [key])[0], key)


def token(collection: Any) -> str:
    """Text that changes with the graph of a collection.

    Examples
    --------
    >>> import dask.array as da
    >>> token(da.ones(3)) == token(da.ones(4))
    False
    """
    dask_module()
    from dask.tokenize import tokenize

    return tokenize(collection)
