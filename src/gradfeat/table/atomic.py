"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from gradfeat.maths.files import replace_file, write_and_flush
from gradfeat.table.errors import TableError


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
    try:
        replace_file(path, data)
    except OSError as error:
        raise TableError(
            f"Cannot write '{path}' ({error.strerror or error}): nothing was changed there; "
            "free the disk or choose another folder."
        ) from error


def write_folder(folder: str | os.PathLike[str], files: Mapping[str, bytes | str]) -> None:
    """Write all of `files` (name to content) into `folder`, or none of them.

    The folder is made if need be. Everything is written and flushed beside the old files before
    the first of them is replaced.

    Raises
    ------
    TableError
        Where the system refuses; the old files stay as they were.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_folder(Path(folder) / "out", {"a.txt": "one", "b.txt": "two"})
    ...     sorted(path.name for path in (Path(folder) / "out").iterdir())
    ['a.txt', 'b.txt']
    """
    final = Path(os.path.realpath(folder))
    new = [path for path in (final, *final.parents) if not path.exists()]
    try:
        final.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".gradfeat-", dir=final) as beside:
            for name, content in files.items():
                data = content.encode() if isinstance(content, str) else content
                write_and_flush(Path(beside, name), data)
            for name in files:
                os.replace(Path(beside, name), os.path.realpath(final / name))
    except OSError as error:
        _remove_empty(new)
        raise TableError(
            f"Cannot write to the folder '{folder}' ({error.strerror or error}): what was there "
            "is unchanged; free the disk or choose another folder with --out."
        ) from error


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a folder that could not be written to.

    Raises
    ------
    TableError
        Where it, or the nearest folder above it that exists, is a file or may not be written to.
    """
    final = Path(os.path.realpath(folder))
    nearest = next(path for path in (final, *final.parents) if path.exists())
    if not nearest.is_dir():
        raise TableError(f"'{nearest}' is a file: give a folder, which is made if need be.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise TableError(f"The folder '{nearest}' may not be written to: give another one.")
