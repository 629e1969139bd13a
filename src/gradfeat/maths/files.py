"""What is written is placed whole or not at all, and only where nothing or a file was."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

from ..errors import TableError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def place(path: str | os.PathLike[str]) -> Path:
    """Where a file at `path` is placed: links are followed, to nothing or to a regular file."""
    if not os.fspath(path):
        raise FileNotFoundError(errno.ENOENT, "the name is empty")
    final = Path(os.path.realpath(path))
    try:
        mode = final.stat().st_mode
    except FileNotFoundError:
        return final
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "no file")
        raise FileExistsError(errno.EEXIST, f"it is {kind}, and only a regular file is replaced")
    return final


def with_link(path: str | os.PathLike[str]) -> str:
    """The path, and where what was written is, if it is a link."""
    return f"{path} (a link to {os.path.realpath(path)})" if os.path.islink(path) else str(path)


def write_and_flush(path: Path, data: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    with path.open("xb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file beside `path`, which takes its place at the end of a block that went well.

    Mode, and where the system allows it owner and extended attributes, are those of the old file.
    """
    final = place(path)
    temporary = final.with_name(f".gradfeat-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        _like_the_old(final, temporary)
        os.replace(temporary, final)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    with replacing(path) as handle:
        handle.write(data)


def replace_files(folder: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write all of `files` (name to content) into a folder, or none of them.

    The folder is made if need be. All are written beside their places before the first of them is
    placed, and where one cannot be placed, those before it are put back.
    """
    with _beside(folder, files) as places:
        for new, data in zip(places, files.values(), strict=True):
            write_and_flush(new, data)
        _place_all(places)


@contextlib.contextmanager
def _beside(
    folder: str | os.PathLike[str], names: Iterable[str], trial: bool = False
) -> Iterator[dict[Path, Path]]:
    """Paths of new files beside those of a folder that they are to become.

    Folders that were made for it go again after an error, and after a `trial`.
    """
    final = Path(os.path.realpath(folder))
    made = [path for path in (final, *final.parents) if not os.path.exists(path)]
    kept = False
    try:
        final.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".gradfeat-", dir=final) as beside:
            yield {Path(beside, name): place(final / name) for name in names}
        kept = not trial
    finally:
        for path in made if not kept else ():
            with contextlib.suppress(OSError):
                path.rmdir()


def _place_all(places: Mapping[Path, Path]) -> None:
    """Move each new file to its place; where one fails, put back what was there before."""
    with contextlib.ExitStack() as undo:
        for new, final in places.items():
            kept = new.with_name(f"{new.name}.before")
            if final.exists():
                _second_name(final, kept)
                _like_the_old(final, new)
                undo.callback(os.replace, kept, final)
            else:
                undo.callback(final.unlink, missing_ok=True)
            os.replace(new, final)
        undo.pop_all()


def _second_name(path: Path, name: Path) -> None:
    """The same file under another name; a copy where the file system knows no second names."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copy2(path, name)
        _like_the_old(path, name)


def _like_the_old(old: Path, new: Path) -> None:
    """Mode, owner and extended attributes (labels, access lists) of the old file, if there is one.

    What the system does not allow stays as it is; attributes come last, as access lists do in mode.
    """
    with contextlib.suppress(OSError):
        before, now = old.stat(), new.stat()
        if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
            with contextlib.suppress(OSError):
                os.chown(new, before.st_uid, before.st_gid)
        new.chmod(stat.S_IMODE(before.st_mode))
        for name in os.listxattr(old) if sys.platform == "linux" else ():
            with contextlib.suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))


#: What the system says where it has no room for more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def refused(place: str | os.PathLike[str], error: type[Exception] = TableError) -> Iterator[None]:
    """Where the system does not let the block write to `place`, an `error` of one sentence."""
    try:
        yield
    except OSError as cause:
        full = "free the disk, or " if cause.errno in _FULL else ""
        absent = cause.errno == errno.ENOENT and not Path(place).parent.is_dir()
        first = f"make the folder '{Path(place).parent}', or " if absent else full
        raise error(
            f"'{os.fspath(place)}' cannot be written ({cause.strerror or cause}): what was there "
            f"is unchanged; {first}give another place."
        ) from cause


def _refuse_stream(path: str | os.PathLike[str]) -> None:
    if os.fspath(path) == "-":
        raise TableError(
            "'-' is the standard output, to which this is not written: give the path of a file."
        )


def check_file(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a file that could not be written."""
    _refuse_stream(path)
    with refused(path), TemporaryFile(prefix=".gradfeat-", dir=place(path).parent):
        pass


def check_folder(folder: str | os.PathLike[str], names: Iterable[str] = ()) -> None:
    """Refuse, before any work, a folder to which files of these names could not be written."""
    _refuse_stream(folder)
    final = Path(os.path.realpath(folder))
    nearest = next(path for path in (final, *final.parents) if os.path.exists(path))
    if not nearest.is_dir():
        raise TableError(f"'{nearest}' is a file: give a folder, which is made if need be.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise TableError(f"The folder '{nearest}' may not be written to: give another one.")
    with refused(folder), _beside(folder, names, trial=True):
        pass
