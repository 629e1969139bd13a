"""Write a file whole or not at all, and not over what is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from gradfeat.errors import TableError
from gradfeat.maths.files import replace_file, replace_files
from gradfeat.rows.sources.files import find_files


def write_atomic(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    The content goes to a temporary file in the same folder, is flushed to the disk, and takes
    the place of `path` in one step. Text is written as UTF-8. A link is followed.
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
    """Write all of `files` (name to content) into `folder`, made if need be, or none of them."""
    data = {n: c.encode() if isinstance(c, str) else c for n, c in files.items()}
    try:
        replace_files(folder, data)
    except OSError as error:
        raise TableError(
            f"Cannot write to the folder '{folder}' ({error.strerror or error}): what was there "
            "is unchanged; free the disk or choose another folder with --out."
        ) from error


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a folder that could not be written to."""
    final = Path(os.path.realpath(folder))
    nearest = next(path for path in (final, *final.parents) if os.path.exists(path))
    if not nearest.is_dir():
        raise TableError(f"'{nearest}' is a file: give a folder, which is made if need be.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise TableError(f"The folder '{nearest}' may not be written to: give another one.")


def check_outputs(outs: Iterable[Path], data: str, *others: Path) -> None:
    """Refuse, before any work, to write over what is read."""
    inputs = [*(Path(file.path) for file in find_files(data)), *others]
    for out in outs:
        if any(_same(out, one) for one in inputs):
            raise TableError(
                f"The file '{out}' is read by this command, so it is not written to: give another "
                "place with --out."
            )


def check_output(out: Path, data: str, *others: Path) -> None:
    """:func:`check_outputs` of one file, which is not to become one of those that are read."""
    check_outputs([out], data, *others)
    if _within(out, Path(data)):
        raise TableError(
            f"The file '{out}' lies in the folder that is read, and would be one of its files the "
            "next time: give a file elsewhere with --out."
        )


def _same(one: Path, other: Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _within(out: Path, folder: Path) -> bool:
    return folder.is_dir() and Path(os.path.realpath(out)).is_relative_to(folder.resolve())
