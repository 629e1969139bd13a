"""Rows by what they are in, ready to be passed over."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from .rows import Rows
from .sources import open as sources
from .sources.numeric import NumericSource

P = ParamSpec("P")


def _rows(make: Callable[P, NumericSource]) -> Callable[P, Rows]:
    """The same function of the same parameters, giving Rows over the source that it makes."""

    @wraps(make)
    def opened(*args: P.args, **kwargs: P.kwargs) -> Rows:
        return Rows(make(*args, **kwargs))

    return opened


from_arrays = _rows(sources.from_arrays)
from_npy = _rows(sources.from_npy)
from_parquet = _rows(sources.from_parquet)
from_csv = _rows(sources.from_csv)
from_frames = _rows(sources.from_frames)
from_dask = _rows(sources.from_dask)
from_iterator = _rows(sources.from_iterator)
