"""JSON lines: one object a line, whose names are the columns; absent names are missing values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import SourceError
from ..source import PIECE_ROWS
from .files import Paths, find_files
from .records import line_ends
from .text import BOM, Layout, TextFile, TextTables, open_text, records
from .words import expanded_remark, first_and_more


class _RepeatedName(ValueError):
    pass


@dataclass(frozen=True)
class JsonLayout(Layout):
    """The columns of JSON lines; each value has the type that JSON gives it."""

    #: Names whose values are objects: each name in these is a column, such as ``a.b``.
    objects: frozenset[str] = frozenset()

    @property
    def remarks(self) -> tuple[str, ...]:
        apart = tuple(f"{name}." for name in self.objects)
        return expanded_remark([name for name in self.names if name.startswith(apart)])

    def record_ends(self, data: bytes) -> tuple[np.ndarray, int | None]:
        """Every line end: JSON writes those in text as ``\\n``."""
        return line_ends(data)

    def frame(self, data: bytes, name: str, line: int) -> pd.DataFrame:
        """The objects, one a row; they were checked when the names were found."""
        records = json.loads(_list(data))
        if self.objects:
            where = f"'{name}', from line {line:,}"
            records = [_expanded(record, self.objects, where) for record in records]
        return pd.DataFrame(records, columns=list(self.selected))


def json_tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
    encoding: str | None = None,
) -> TextTables:
    """JSON lines: a file, folder, glob, list, or fsspec URL, gz too.

    All of it is read once here, for the names of the columns. Objects in cells are columns of their
    own, ``a.b`` for the value of b in the object a; what they hold in turn stays as it is.
    """
    found = find_files(path, storage_options)
    files = []
    for file in found:
        text, sample = open_text(file, encoding)
        files.append(replace(text, body=len(BOM) if sample.startswith(BOM) else 0))
    names, objects = _names(files)
    where = first_and_more(found[0].name, len(found))
    if not names:
        raise SourceError(f"{where} has no rows: give a table with at least one row.")
    layout = JsonLayout(names, names, objects)
    if columns is not None:
        layout = layout.select(columns, where)
    return TextTables(files, layout, piece_rows)


def _names(files: Sequence[TextFile]) -> tuple[tuple[str, ...], frozenset[str]]:
    """All columns, and the names of those objects that are taken apart."""
    names: dict[str, None] = {}
    objects: set[str] = set()
    for file in files:
        for span, data in records(file, JsonLayout((), ()), PIECE_ROWS):
            found = _objects(data, file.file.name, span.line)
            if data.count(b"{") > len(found):
                objects |= {n for record in found for n, v in record.items() if type(v) is dict}
            for record in found:
                if objects & record.keys():
                    record = _expanded(record, objects, f"'{file.file.name}'")
                if record.keys() - names.keys():
                    names.update(dict.fromkeys(record))
    return tuple(name for name in names if name not in objects), frozenset(objects)


def _expanded(record: dict[str, Any], objects: Set[str], where: str) -> dict[str, Any]:
    """The record with the values of objects as its own: ``a.b``."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        match value:
            case {**inner}:
                flat.update({f"{name}.{key}": one for key, one in inner.items()})
            case None if name in objects:
                pass
            case _ if name in objects:
                raise SourceError(
                    f"{where}: column {name!r} holds objects in some rows and {value!r} in "
                    "another: write it in one way."
                )
            case _:
                flat[name] = value
    return flat


def _list(data: bytes) -> bytes:
    """Lines as one JSON list, which is read in one go."""
    return b"[%b]" % b",".join(text for text in data.split(b"\n") if text.strip())


def _objects(data: bytes, name: str, line: int) -> list[dict[str, Any]]:
    """All objects, in one go where no name can occur twice, else line by line."""
    lines = [(number, text) for number, text in enumerate(data.split(b"\n"), line) if text.strip()]
    try:
        found = json.loads(_list(data))
    except (ValueError, RecursionError):
        found = []
    plain = len(found) == len(lines) and all(type(record) is dict for record in found)
    if plain and data.count(b'":') == sum(map(len, found)):
        return found
    return [_object(f"'{name}', line {number:,}", text) for number, text in lines]


def _object(where: str, text: bytes) -> dict[str, Any]:
    try:
        record = json.loads(text, object_pairs_hook=_distinct)
    except _RepeatedName as error:
        raise SourceError(
            f"{where} names the column {error} twice: give each column its own name."
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{where} is not UTF-8 text: convert the file with iconv.") from error
    except (ValueError, RecursionError) as error:
        raise _no_object(where) from error
    match record:
        case {**fields}:
            return fields
    raise _no_object(where)


def _no_object(where: str) -> SourceError:
    return SourceError(
        f"{where} is not a JSON object: give JSON lines, that is one object such as "
        '{"a": 1, "b": "x"} on each line.'
    )


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        raise _RepeatedName(repr(next(key for key in names if names.count(key) > 1)))
    return record
