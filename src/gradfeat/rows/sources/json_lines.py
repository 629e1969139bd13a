"""JSON lines, and lists of objects: one object a row, whose names are the columns.

Absent names are missing values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import SourceError
from ...wording import expanded_remark, first_and_more, in_another_case, listing
from ..source import PIECE_ROWS
from .files import Paths, find_files
from .records import line_ends, not_blank
from .tables import of_64_bits
from .text import Layout, TextFile, TextTables, open_text, records
from .text_options import TextOptions, marks


class _RepeatedName(ValueError):
    pass


@dataclass(frozen=True)
class JsonLayout(Layout):
    """The columns of JSON lines; each value has the type that JSON gives it."""

    #: Whether the objects are the elements of one list, with line ends where they like.
    listed: bool = False
    #: Names whose values are objects: each name in these is a column, such as ``a.b``.
    objects: frozenset[str] = frozenset()
    #: Columns that no object has: missing in every row.
    absent: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        apart = tuple(f"{name}." for name in self.objects)
        said = [*expanded_remark([name for name in self.names if name.startswith(apart)])]
        alike = in_another_case(self.names)
        if alike:
            said.append(f"columns differ in case alone: {listing(alike)}")
        if self.absent:
            said.append(f"no object has {listing(self.absent)}, taken as missing in all rows")
        return tuple(said)

    def record_ends(self, data: bytes) -> tuple[np.ndarray, int | None]:
        """Every line end: JSON writes those in text as ``\\n``. Of a list the ends of objects."""
        return (_object_ends(data), None) if self.listed else line_ends(data)

    def end_of_rows(self, tail: bytes, name: str) -> int:
        """All of it; a list has to be closed, and a line end behind it ends no record."""
        if self.listed and tail.strip() and not tail.rstrip().endswith(b"]"):
            raise SourceError(
                f"'{name}' is cut short: its JSON list is never closed; fetch or write it again."
            )
        return len(tail.rstrip() if self.listed else tail)

    def row_ends(self, data: bytes, ends: np.ndarray) -> np.ndarray:
        """Those of lines that are not blank; of a list all but what closes it."""
        if not self.listed:
            return not_blank(data, ends)
        starts = np.concatenate([[0], ends[:-1]]).astype(int).tolist()
        each = zip(starts, ends, strict=True)
        return ends[[bool(_element(data[a:b])) for a, b in each]] if len(ends) else ends

    def frame(self, data: bytes, name: str, line: int) -> pd.DataFrame:
        """The objects, one a row; they were checked when the names were found."""
        records = json.loads(self.as_list(data))
        if self.objects:
            where = f"'{name}', from line {line:,}"
            records = [_expanded(record, self.objects, where) for record in records]
        frame = pd.DataFrame(records, columns=list(self.selected))
        wide = {str(n): of_64_bits(column) for n, column in frame.items() if column.dtype == object}
        return frame.assign(**wide) if wide else frame

    def as_list(self, data: bytes) -> bytes:
        """Records as one JSON list, which is read in one go."""
        return _whole(b"[%b]" % (_element(data) if self.listed else b",".join(_lines(data))))

    def objects_of(self, data: bytes, name: str, line: int) -> list[dict[str, Any]]:
        """All records, in one go where no name can occur twice, else one by one."""
        try:
            found = json.loads(self.as_list(data))
        except (ValueError, RecursionError):
            found = None
        full = all(type(record) is dict for record in found or ())
        rows = sum(1 for _ in _lines(data)) if found and not self.listed else len(found or ())
        if found and full and len(found) == rows and data.count(b'":') == sum(map(len, found)):
            return found
        each = [_object(f"'{name}', line {n:,}", text) for n, text in self._texts(data, line)]
        if found is None:
            raise SourceError(f"'{name}', from line {line:,}: a comma is missing between objects.")
        return each

    def _texts(self, data: bytes, line: int) -> Iterator[tuple[int, bytes]]:
        """Each record and the line that it begins on."""
        start = 0
        for end in [*self.record_ends(data)[0].tolist(), len(data)]:
            text = data[start:end]
            if _element(text) if self.listed else text.strip():
                begins = len(text) - len(text.lstrip(b"\r\n, \t"))
                yield line + data.count(b"\n", 0, start + begins), _whole(_element(text) or text)
            start = end


class JsonTables(TextTables):
    """Objects in pieces; a column of which they say nothing may be missing."""

    layout: JsonLayout

    def with_absent(self, names: Sequence[str]) -> JsonTables:
        layout = self.layout
        absent = tuple(name for name in names if name not in layout.names)
        more = replace(
            layout,
            names=(*layout.names, *absent),
            selected=(*layout.selected, *absent),
            absent=absent,
        )
        return self._with(more)


def json_tables(
    path: Paths,
    columns: Sequence[str] | None = None,
    piece_rows: int = PIECE_ROWS,
    storage_options: Mapping[str, Any] | None = None,
    encoding: str | None = None,
) -> JsonTables:
    """JSON lines, or lists of objects: a file, folder, glob, list, or fsspec URL, packed too.

    All of it is read once here, for the names of the columns. Objects in cells are columns of their
    own, ``a.b`` for the value of b in the object a; what they hold in turn stays as it is.
    """
    found = find_files(path, storage_options)
    files, listed = [], []
    for file in found:
        text, sample = open_text(file, TextOptions(encoding=encoding))
        start = marks(sample)
        opens = re.match(rb"\s*\[", sample[start:])
        listed.append(opens is not None)
        line = 1 + (opens[0].count(b"\n") if opens else 0)
        files.append(replace(text, body=start + (opens.end() if opens else 0), line=line))
    if len(set(listed)) > 1:
        raise SourceError(
            f"of the files of '{found[0].name}' some are JSON lines and others lists of objects: "
            "write them in one way."
        )
    names, objects = _names(files, JsonLayout((), (), listed=listed[0]))
    where = first_and_more(found[0].name, len(found))
    if not names:
        raise SourceError(f"{where} has no rows: give a table with at least one row.")
    layout = JsonLayout(names, names, objects=objects, listed=listed[0])
    if columns is not None:
        layout = layout.select(columns, where)
    return JsonTables(files, layout, piece_rows)


def _names(files: Sequence[TextFile], layout: JsonLayout) -> tuple[tuple[str, ...], frozenset[str]]:
    """All columns, and the names of those objects that are taken apart."""
    names: dict[str, None] = {}
    objects: set[str] = set()
    rows = 0
    for file in files:
        for span, data in records(file, layout, PIECE_ROWS):
            found = layout.objects_of(data, file.file.name, span.line)
            rows += len(found)
            if rows == len(found) == 1:
                _refuse_columns(found[0], file.file.name)
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


#: Half a pair of surrogates, and escapes that stay.
_HALF = rb"\\u[dD][89a-fA-F][\da-fA-F]{2}"
_ESCAPES = re.compile(rb"(\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?!%b)\\.)|%b" % (_HALF, _HALF))


def _whole(data: bytes) -> bytes:
    r"""JSON in which half an emoji, as of a text that was cut within it, is the sign for none.

    >>> _whole(rb"\uD83D \uD83D\uDE00 \\uD83D")
    b'\\ufffd \\uD83D\\uDE00 \\\\uD83D'
    """
    return _ESCAPES.sub(lambda m: m[1] or rb"\ufffd", data) if re.search(_HALF, data) else data


def _lines(data: bytes) -> Iterator[bytes]:
    """Those that are not blank, without a comma at their ends."""
    return (text.rstrip(b", \t\r") for text in data.split(b"\n") if text.strip())


def _element(data: bytes) -> bytes:
    """Elements of a list without what stands before, behind and after the last of them."""
    text = data.strip(b" \t\r\n,")
    return text if text.endswith(b"}") else text.removesuffix(b"]").rstrip(b" \t\r\n,")


def _object_ends(data: bytes) -> np.ndarray:
    """Offsets after each object that is in no other one."""
    if b"\\" in data:
        data = re.sub(rb"\\.", b"__", data, flags=re.DOTALL)
    values = np.frombuffer(data, np.uint8)
    marks = np.flatnonzero(np.isin(values, list(b'"{}')))
    kinds = values[marks]
    outside = np.cumsum(kinds == ord('"')) % 2 == 0
    depth = np.cumsum(np.where(outside, (kinds == ord("{")) * 1 - (kinds == ord("}")), 0))
    return marks[outside & (kinds == ord("}")) & (depth == 0)] + 1


def _refuse_columns(record: dict[str, Any], name: str) -> None:
    """Refuse a single object that holds a whole table, by columns or as a list of rows."""
    for key, value in record.items():
        rows = type(value) is list and len(value) > len(record)
        if rows and all(type(one) is dict for one in value):
            raise SourceError(
                f"'{name}' is one JSON object whose {key!r} holds the rows: write that list alone, "
                f"as jq .{key} does."
            )
    nested = [type(value) in (dict, list) and len(value) > 1 for value in record.values()]
    if nested and (all(nested) or {"columns", "data"} <= record.keys()):
        raise SourceError(
            f"'{name}' is one JSON object with a whole table in it: write a list of rows, as "
            'pandas\'s to_json(orient="records") does, [{"a": 1, "b": "x"}, ...].'
        )


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
        '{"a": 1, "b": "x"} on each line, or a list of such objects.'
    )


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        raise _RepeatedName(repr(next(key for key in names if names.count(key) > 1)))
    return record
