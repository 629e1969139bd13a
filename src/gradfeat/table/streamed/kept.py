"""Data frames as numbers, to send and to keep."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from jaxtyping import UInt8
from torch import Tensor


def to_numbers(frame: pd.DataFrame) -> UInt8[Tensor, " b"]:
    """The bytes of a frame in Arrow's format.

    Examples
    --------
    >>> from_numbers(to_numbers(pd.DataFrame({"x": ["a", None]})))["x"].isna().tolist()
    [False, True]
    """
    table = pa.Table.from_pandas(frame, preserve_index=False)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return torch.from_numpy(np.frombuffer(out.getvalue(), dtype=np.uint8).copy())


def from_numbers(numbers: UInt8[Tensor, " b"]) -> pd.DataFrame:
    """Inverse of :func:`to_numbers`."""
    return pa.ipc.open_stream(pa.py_buffer(numbers.numpy().tobytes())).read_all().to_pandas()
