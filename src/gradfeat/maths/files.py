"""A file is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_and_flush(path: Path, data: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside `path` (a link is followed), then move over it; no temporary file is left.

    Raises
    ------
    OSError
        Where the system refuses; the old file stays as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     replace_file(Path(folder) / "a", b"new")
    ...     (Path(folder) / "a").read_bytes()
    b'new'
    """
    final = Path(os.path.realpath(path))
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        write_and_flush(temporary, data)
        os.replace(temporary, final)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
