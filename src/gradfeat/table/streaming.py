"""Whether a table streams or is held: asked for, of many files, or too large."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gradfeat.maths.memory import available_memory, readable
from gradfeat.rows.sources.open import PARQUET_ENDINGS

#: Rows beyond which a table streams, and the share of the free memory that it may take.
MOST_ROWS, MOST_SHARE = 1_000_000, 0.25

#: Bytes in memory for each byte of text, and of zipped text.
TEXT, ZIPPED = 2, 10


def why_streamed(path: str, asked: bool | None = None) -> str:
    """Why the rows stream, in words; empty where the table is held in memory.

    Parameters
    ----------
    path : str
        A file, folder, glob or URL.
    asked : bool, optional
        What was asked for.

    Examples
    --------
    >>> why_streamed("s3://store/rows/"), why_streamed("a.csv", asked=False)
    ('it is a URL', '')
    """
    if asked is False:
        return ""
    return "as asked" if asked else _many(path) or _large(path)


def _many(path: str) -> str:
    if "://" in path:
        return "it is a URL"
    if Path(path).is_dir():
        return "it is a folder"
    return "it is a pattern of names" if glob.has_magic(path) and not Path(path).exists() else ""


def _large(path: str) -> str:
    file = Path(path)
    if not file.is_file():
        return ""
    rows, size = _parquet(file) if file.suffix.lower() in PARQUET_ENDINGS else _text(file)
    if rows > MOST_ROWS:
        return f"it has more than {MOST_ROWS:,} rows"
    if size > MOST_SHARE * available_memory():
        return f"it takes about {readable(size)} in memory, more than a quarter of what is free"
    return ""


def _parquet(file: Path) -> tuple[int, int]:
    """Rows, and bytes once decoded; none of a file that cannot be read, which is refused later."""
    try:
        about = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return 0, 0
    sizes = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    return about.num_rows, sum(sizes)


def _text(file: Path) -> tuple[int, int]:
    size = file.stat().st_size
    if file.suffix == ".gz":
        return 0, ZIPPED * size
    rows = 0
    for lines in _lines(file) if size > MOST_ROWS else ():
        rows += lines
        if rows > MOST_ROWS:
            break
    return rows, TEXT * size


def _lines(file: Path) -> Iterator[int]:
    """Ends of lines, some megabytes at a time."""
    with file.open("rb") as handle:
        while data := handle.read(2**22):
            yield data.count(b"\n")
