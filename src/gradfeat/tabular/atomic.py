"""Write a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gradfeat.tabular.errors import TableError


def write_atomic(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    The content goes to a temporary file in the same folder, is flushed to the disk, and takes
    the place of `path` in one step. Text is written as UTF-8. A link is followed.

    Raises
    ------
    TableError
        Where the system refuses (full disk, read-only or missing folder). The temporary file is
        removed and the old file stays as it was.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder) / "report.html", "<p>done</p>")
    ...     (Path(folder) / "report.html").read_text()
    '<p>done</p>'
    """
    data = content.encode() if isinstance(content, str) else content
    final = Path(os.path.realpath(path))
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write_and_flush(temporary, data)
        os.replace(temporary, final)
    except OSError as error:
        raise TableError(
            f"Cannot write '{path}' ({error.strerror or error}): nothing was changed there; "
            "free the disk or choose another folder."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _write_and_flush(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
