"""Parquet files as a table in pieces of whole row groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import pandas as pd
import pyarrow as pa

from ...errors import SourceError
from ...wording import checked_piece_rows, expanded_remark, first_and_more
from ..source import PIECE_ROWS, Piece
from .column_files import (
    ColumnFormat,
    Footer,
    ParquetFormat,
    RowGroup,
    common_schema,
    read_footers,
)
from .files import Paths, find_files
from .tables import Tables


class ParquetTables(Tables):
    """A Parquet file, folder, glob, list of them, or fsspec URL; footers are read once, here.

    Small row groups that follow each other, also over files, make one piece of at most
    `piece_rows` rows; a larger row group is one piece that is read in several chunks, so that
    memory stays bounded. Folders ``a=1/`` are columns, and so are fields of structs (``a.b``);
    files without rows are left out. A column stored as codes of categories is read as its values;
    where files hold a column in several types, it is read as one that holds all of them
    (:func:`~gradfeat.rows.sources.column_files.common_type`). A damaged page is certain to be
    noticed only where the file has page checksums (``write_page_checksum=True`` of pyarrow).
    """

    def __init__(
        self,
        path: Paths,
        columns: Sequence[str] | None = None,
        piece_rows: int = PIECE_ROWS,
        storage_options: Mapping[str, Any] | None = None,
        form: ColumnFormat | None = None,
    ) -> None:
        self.piece_rows, self.form = checked_piece_rows(piece_rows), form or ParquetFormat()
        files = find_files(path, storage_options)
        self.footers: Sequence[Footer] = read_footers(files, self.form)
        self.schema = common_schema(self.footers, columns)
        if not self.rows:
            raise SourceError(f"{self.name} has no rows: give a table with at least one row.")

    @property
    def name(self) -> str:
        return first_and_more(self.footers[0].file.name, len(self.footers))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def remarks(self) -> tuple[str, ...]:
        return expanded_remark([n for n in self.names if n in self.footers[0].structs])

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(n for n in self.names if all(n in f.categories for f in self.footers))

    @property
    def rows(self) -> int:
        return sum(sum(footer.groups) for footer in self.footers)

    @property
    def count(self) -> int:
        return sum(1 for _ in self._together())

    @property
    def fingerprint(self) -> str:
        files = [f"{footer.file.fingerprint} {footer.groups}" for footer in self.footers]
        return "\n".join([*files, str(self.schema), str(self.piece_rows)])

    def select(self, columns: Sequence[str]) -> ParquetTables:
        chosen = copy(self)
        chosen.schema = common_schema(self.footers, columns)
        return chosen

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        for groups in self._together():
            read = partial(_frames_of, groups, self.schema, self.piece_rows)
            yield Piece(_group_names(groups[0], groups[-1]), read)

    def _together(self) -> Iterator[list[RowGroup]]:
        """The row groups of each piece."""
        waiting: list[RowGroup] = []
        rows = 0
        for group in self._row_groups():
            if waiting and rows + group.rows > self.piece_rows:
                yield waiting
                waiting, rows = [], 0
            waiting.append(group)
            rows += group.rows
        if waiting:
            yield waiting

    def _row_groups(self) -> Iterator[RowGroup]:
        for footer in self.footers:
            before = 0
            for number, rows in enumerate(footer.groups):
                if rows:
                    keys, count = footer.keys, footer.count
                    yield RowGroup(footer.file, (number,), rows, before, keys, count, self.form)
                before += rows


def _frames_of(groups: Sequence[RowGroup], schema: pa.Schema, most: int) -> Iterator[pd.DataFrame]:
    """Consecutive row groups: one chunk together, or one large row group in several."""
    tables = (t for _, run in groupby(groups, lambda one: one.file) for t in _of(run, schema, most))
    if sum(group.rows for group in groups) <= most:
        tables = iter([pa.concat_tables(tables)])
    for table in tables:
        yield table.to_pandas(ignore_metadata=True)


def _of(groups: Iterable[RowGroup], schema: pa.Schema, most: int) -> Iterator[pa.Table]:
    """Row groups of one file in one reading; where it fails, one by one to name the damaged."""
    groups = [*groups]
    numbers, rows = tuple(g.numbers[0] for g in groups), sum(g.rows for g in groups)
    if len(groups) > 1:
        with suppress(SourceError):
            return iter([*replace(groups[0], numbers=numbers, rows=rows).tables(schema, most)])
    return (table for group in groups for table in group.tables(schema, most))


def _group_names(first: RowGroup, last: RowGroup) -> str:
    if first == last:
        return first.name
    if first.file == last.file:
        return f"'{first.file.name}', row groups {first.numbers[0]} to {last.numbers[0]}"
    return f"{first.name} to {last.name}"
