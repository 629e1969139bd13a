"""Memory: what will not fit is refused, with its bytes, before work starts; blocks of rows."""

from __future__ import annotations

import psutil

#: Bytes of scratch that one block of rows may use unless the caller says otherwise.
BLOCK_BYTES = 256 * 2**20


def available_memory() -> int:
    """Bytes of physical memory that are free now, on the machine the call runs on."""
    return psutil.virtual_memory().available


def readable(n_bytes: float) -> str:
    """`n_bytes` in the largest unit that keeps it above one: 12.5 TB."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.3g} {unit}"


def allowed_bytes(limit: int | None) -> int:
    """`limit`, or 80 % of the memory that is free now where it is None."""
    return int(0.8 * available_memory()) if limit is None else limit


def refuse_beyond(needed: int, limit: int | None, what: str, instead: str) -> None:
    """Refuse, before allocating, what needs more than `limit` bytes (None: 80 % of what is free).

    `instead` ends the sentence: what to use in its place.
    """
    allowed = allowed_bytes(limit)
    if needed > allowed:
        raise MemoryError(
            f"{what} needs {readable(needed)} and {readable(allowed)} are allowed: {instead}."
        )


def rows_per_block(bytes_per_row: int, limit: int) -> int:
    """How many rows fit in `limit` bytes, at least one."""
    return max(1, limit // max(1, bytes_per_row))


def row_blocks(n: int, bytes_per_row: int, limit: int = BLOCK_BYTES) -> list[slice]:
    """Consecutive slices of `n` rows, each within `limit` bytes of scratch."""
    return slices(n, rows_per_block(bytes_per_row, limit))


def slices(n: int, step: int) -> list[slice]:
    """Consecutive slices of `n` rows, at most `step` of them each."""
    starts = range(0, n, step)
    return [*map(slice, starts, (*starts[1:], n))]
