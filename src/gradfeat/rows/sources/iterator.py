"""A function that gives a new iterator of rows at each pass, as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar
from uuid import uuid4

import pandas as pd
import torch

from ...maths.blocks import Block
from ..errors import SourceError
from ..source import Columns, Piece, held_piece
from .numeric import Numbers, NumericSource, array_piece, checked_dtype, checked_shapes, numbered
from .tables import Tables, selected
from .words import refuse_unknown

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
