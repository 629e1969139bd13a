"""Passes over rows that need not fit in memory: sources of blocks, and engines that sum them.

Rows are opened by what they are in (``from_parquet``, ``from_csv``, ``from_npy``, ``from_arrays``,
``from_frames``, ``from_dask``, ``from_iterator``) and given to an estimator in place of X. An
engine (``InProcess``, ``Threads``, ``Pool``, ``DaskEngine``, ``Devices``, or ``ExecutorEngine`` for
any other `concurrent.futures.Executor`) is chosen by ``rows.on(engine)``; all of them take a
``report=`` of how far a pass is and a ``checkpoint=`` to go on after an interruption.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..errors import EngineError, SourceError
    from .checkpoint import Checkpoint
    from .in_process import InProcess, Threads
    from .on_workers import DaskEngine, Devices, ExecutorEngine, Pool
    from .rows import Rows, in_memory
    from .sources.open import (
        from_arrays,
        from_csv,
        from_dask,
        from_frames,
        from_iterator,
        from_npy,
        from_parquet,
    )

__all__ = [
    "Checkpoint",
    "DaskEngine",
    "Devices",
    "EngineError",
    "ExecutorEngine",
    "InProcess",
    "Pool",
    "Rows",
    "SourceError",
    "Threads",
    "from_arrays",
    "from_csv",
    "from_dask",
    "from_frames",
    "from_iterator",
    "from_npy",
    "from_parquet",
    "in_memory",
]

#: Modules of what does not open rows.
_MODULES = {
    "Checkpoint": ".checkpoint",
    "DaskEngine": ".on_workers",
    "Devices": ".on_workers",
    "EngineError": "..errors",
    "ExecutorEngine": ".on_workers",
    "InProcess": ".in_process",
    "Pool": ".on_workers",
    "Rows": ".rows",
    "SourceError": "..errors",
    "in_memory": ".rows",
    "Threads": ".in_process",
}


def __getattr__(name: str) -> Any:
    """Import at first use: files, data frames and clusters are only needed by those who ask."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, ".sources.open"), __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
