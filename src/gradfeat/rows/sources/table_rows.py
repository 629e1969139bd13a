"""Numeric columns of a table as a source of blocks, and what a function gives at each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast
from uuid import uuid4

import numpy as np
import pandas as pd
import torch
from pandas.api.types import infer_dtype
from torch import Tensor

from ...errors import SourceError
from ...maths.blocks import Block
from ...wording import counted, listing, refuse_repeated, refuse_unknown
from ..source import Columns, Piece, held_piece
from .numeric import (
    Numbers,
    NumericSource,
    all_finite,
    array_piece,
    checked_dtype,
    checked_shapes,
    numbered,
)
from .tables import Convert, OverTables, Tables, selected

#: What to do with rows whose target is missing.
Missing = Literal["refuse", "drop"]

_PLAIN = {np.dtype(kind) for kind in "bhilqBHILQefd"}
_WORDS = {
    **dict.fromkeys(("string", "empty"), "text"),
    **dict.fromkeys(("datetime64", "datetime", "date"), "dates"),
    "categorical": "categories",
    "complex": "complex numbers",
}
_NUMBERS = {"decimal", "boolean", "integer", "floating", "mixed-integer-float", "empty"}


@dataclass(frozen=True)
class NumericColumns:
    """Which columns of a table are inputs, targets and weights, and what may be missing."""

    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None
    missing: Missing
    dtype: torch.dtype

    @property
    def all(self) -> list[str]:
        names = [*self.inputs, *self.targets, *([] if self.weight is None else [self.weight])]
        return list(dict.fromkeys(names))

    def block(self, frame: pd.DataFrame, where: str) -> Block:
        """The rows of a frame, those without target left out where asked."""
        y = numbers_of(frame, self.targets, where, self.dtype)
        absent = y.isnan().any(1)
        if bool(absent.any()):
            self._refuse_missing(y, where)
            frame, y = frame.loc[~absent.numpy()], y[~absent]
        self._refuse_infinite(y, self.targets, "target", where)
        X = numbers_of(frame, self.inputs, where, self.dtype)
        self._refuse_infinite(X, self.inputs, "input", where)
        return Block(X, y, self._weights(frame, where))

    def blocks(self, frame: pd.DataFrame, where: str) -> Iterator[Block]:
        """:meth:`block`, as sources over tables give it."""
        yield self.block(frame, where)

    def _refuse_missing(self, y: Tensor, where: str) -> None:
        if self.missing == "drop":
            return
        name, bad = _worst(self.targets, y.isnan())
        raise SourceError(
            f"{where}: target {name!r} is missing in {counted(bad, 'row')}: fill it, or drop such "
            "rows with missing='drop'."
        )

    def _refuse_infinite(self, values: Tensor, names: Sequence[str], what: str, where: str) -> None:
        if all_finite(values):
            return
        name, bad = _worst(names, ~values.isfinite())
        raise SourceError(
            f"{where}: {what} {name!r} has {counted(bad, 'value')} missing or infinite: fill them, "
            "or leave the column out with inputs=..."
        )

    def _weights(self, frame: pd.DataFrame, where: str) -> Tensor:
        if self.weight is None:
            return torch.ones(len(frame), dtype=self.dtype)
        w = numbers_of(frame, [self.weight], where, self.dtype)[:, 0]
        bad = int((~(w.isfinite() & (w >= 0))).sum())
        if bad:
            raise SourceError(
                f"{where}: weight {self.weight!r} has {counted(bad, 'value')} missing, infinite or "
                "negative: give weights of 0 or more."
            )
        return w


def _worst(names: Sequence[str], bad: Tensor) -> tuple[str, int]:
    """The first column with bad values, and how many it has."""
    number = int(bad.any(0).int().argmax())
    return names[number], int(bad[:, number].sum())


def numbers_of(frame: pd.DataFrame, names: Sequence[str], where: str, dtype: torch.dtype) -> Tensor:
    """Columns as a tensor (n, len(names)) that owns its memory; NaN where values are missing."""
    target = np.float32 if dtype == torch.float32 else np.float64
    values = np.empty((len(frame), len(names)), target)
    for number, name in enumerate(names):
        values[:, number] = _floats(cast(pd.Series, frame[name]), where)
    return torch.from_numpy(values)


def _floats(column: pd.Series, where: str) -> np.ndarray:
    if column.dtype in _PLAIN:
        return column.to_numpy()
    _refuse_other(column, where)
    if column.dtype == object:
        column = column.map(float, na_action="ignore")
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _refuse_other(column: pd.Series, where: str) -> None:
    content = infer_dtype(column, skipna=True)
    if column.dtype == object and content in _NUMBERS:
        return
    if column.dtype != "category" and column.dtype.kind in "biuf":
        return
    what = _WORDS.get(content, content)
    raise SourceError(
        f"{where}: column {column.name!r} holds {what}: encode it as numbers, or leave it out with "
        "inputs=..."
    )


class TableRows(OverTables):
    """Numeric columns of a table: numbers and truth values, as they are.

    Inputs that are left out are all other columns; `missing` says what to do with rows without a
    target.
    """

    def __init__(
        self,
        tables: Tables,
        targets: str | Sequence[str],
        inputs: Sequence[str] | None = None,
        weight: str | None = None,
        missing: Missing = "refuse",
        dtype: torch.dtype = torch.float64,
    ) -> None:
        if missing not in ("refuse", "drop"):
            raise SourceError(f"missing is {missing!r}: give 'refuse' or 'drop'.")
        match targets:
            case str():
                wanted: tuple[str, ...] = (targets,)
            case _:
                wanted = tuple(targets)
        other = {*wanted, weight}
        chosen = tuple(n for n in tables.names if n not in other) if inputs is None else (*inputs,)
        self.numeric = NumericColumns(chosen, wanted, weight, missing, checked_dtype(dtype))
        self._refuse_roles(tables)
        self.tables = tables.select(self.numeric.all)

    def _refuse_roles(self, tables: Tables) -> None:
        columns = self.numeric
        if not (columns.targets and columns.inputs):
            lacking = "input" if columns.targets else "target"
            raise SourceError(f"{tables.name} is left without {lacking}: name at least one column.")
        both = [n for n in columns.inputs if n in {*columns.targets, columns.weight}]
        if both:
            raise SourceError(
                f"{listing(both)} would be an input and a target or weight: give each column one "
                "part."
            )
        refuse_repeated("the selection", [*columns.inputs, *columns.targets])
        refuse_unknown(tables.name, columns.all, tables.names)

    @property
    def columns(self) -> Columns:
        return Columns(self.numeric.inputs, self.numeric.targets)

    @property
    def fingerprint(self) -> str:
        return f"{self.tables.fingerprint}\n{self.numeric}"

    @property
    def convert(self) -> Convert:
        return self.numeric.blocks


Item = TypeVar("Item")

_ADVICE = "give a function that makes a new iterator each time, such as `lambda: iter(batches)`"


class Passes(Generic[Item]):
    """Iterators of a factory, one a pass; refuses one that has been used before."""

    def __init__(self, factory: Callable[[], Iterable[Item]]) -> None:
        if not callable(factory):
            raise SourceError(
                f"the rows are a {type(factory).__name__}, which can be read only once: {_ADVICE}."
            )
        self.factory = factory
        self.last: Iterator[Item] | None = None
        self.items: int | None = None

    def first(self) -> Item:
        """The first item of a pass that goes no further."""
        return next(self.all())

    def all(self) -> Iterator[Item]:
        iterator = iter(self.factory())
        if iterator is self.last:
            raise SourceError(
                f"the factory gave the same iterator again, which is used up: {_ADVICE}."
            )
        self.last = iterator
        number = 0
        for number, item in enumerate(iterator, 1):  # noqa: B007
            yield item
        self._count(number)

    def _count(self, items: int) -> None:
        if self.items not in (None, items):
            raise SourceError(
                f"the factory gave {items} items where the pass before gave {self.items}: "
                f"{_ADVICE}."
            )
        if not items:
            raise SourceError("the factory gave no items: give at least one block of rows.")
        self.items = items


class IteratorRows(NumericSource):
    """Items (X, y) or (X, y, w) of an iterator, each one piece.

    The `fingerprint` is text that changes when the rows do; left out: checkpoints hold for this
    object alone.
    """

    in_memory = True

    def __init__(
        self,
        factory: Callable[[], Iterable[tuple[Numbers, ...]]],
        dtype: torch.dtype = torch.float64,
        fingerprint: str = "",
    ) -> None:
        self.passes = Passes(factory)
        self.dtype = checked_dtype(dtype)
        self.given = fingerprint or uuid4().hex
        first = _arrays(self.passes.first(), 0)
        self.inputs = first[0].shape[1]
        self.targets = 1 if first[1].ndim == 1 else first[1].shape[1]

    @property
    def columns(self) -> Columns:
        return numbered(self.inputs, self.targets)

    @property
    def fingerprint(self) -> str:
        return f"iterator {self.given} {self.dtype}"

    def pieces(self) -> Iterator[Piece[Block]]:
        for number, item in enumerate(self.passes.all()):
            X, y, w = _arrays(item, number)
            targets = 1 if y.ndim == 1 else y.shape[1]
            if (X.shape[1], targets) != (self.inputs, self.targets):
                raise SourceError(
                    f"item {number} has {X.shape[1]} inputs and y of shape {tuple(y.shape)} where "
                    f"the first has {self.inputs} and {self.targets}: give the same columns."
                )
            yield array_piece(X, y, w, self.dtype, f"item {number}")


def _arrays(item: Any, number: int) -> tuple[Numbers, Numbers, Numbers | None]:
    match item:
        case (X, y):
            w = None
        case (X, y, w):
            pass
        case _:
            raise SourceError(
                f"item {number} of the iterator is a {type(item).__name__}: give pairs (X, y), "
                "triples (X, y, w), or data frames with the name of a target."
            )
    checked_shapes(X.shape, y.shape, None if w is None else w.shape)
    return X, y, w


class IteratorTables(Tables):
    """Data frames of an iterator, each one piece; for the fingerprint see :class:`IteratorRows`."""

    in_memory = True

    def __init__(
        self,
        factory: Callable[[], Iterable[pd.DataFrame]],
        columns: Sequence[str] | None = None,
        fingerprint: str = "",
    ) -> None:
        self.passes = Passes(factory)
        self.given = fingerprint or uuid4().hex
        known = tuple(_frame(self.passes.first(), 0).columns)
        self._names = known if columns is None else tuple(columns)
        refuse_unknown(self.name, self._names, known)

    @property
    def name(self) -> str:
        return "the iterator of data frames"

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def fingerprint(self) -> str:
        return f"iterator {self.given} {self._names}"

    def select(self, columns: Sequence[str]) -> IteratorTables:
        refuse_unknown(self.name, columns, self._names)
        return IteratorTables(self.passes.factory, columns, self.given)

    def pieces(self) -> Iterator[Piece[pd.DataFrame]]:
        for number, item in enumerate(self.passes.all()):
            frame = _frame(item, number)
            name = f"data frame {number} of the iterator"
            refuse_unknown(name, self._names, frame.columns)
            yield held_piece((selected(frame, self._names),), name)


def _frame(item: Any, number: int) -> pd.DataFrame:
    match item:
        case pd.DataFrame():
            return item
        case _:
            raise SourceError(
                f"item {number} of the iterator is a {type(item).__name__}: give data frames where "
                "a target is named, or pairs (X, y) without one."
            )
