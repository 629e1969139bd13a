"""A function that gives a new iterator of rows at each pass, as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar
from uuid import uuid4

import pandas as pd
import torch

from ..errors import SourceError
from ..source import Columns, Listed
from .numeric import BlockPiece, Numbers, NumericSource, checked_dtype, checked_shapes, numbered
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
        """One pass.

        Raises
        ------
        SourceError
            Where the factory gives a used iterator, or another number of items than before.
        """
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

    Parameters
    ----------
    factory : callable () -> iterable
        Called at each pass; items hold arrays (n, d), (n,) or (n, c), and (n,).
    dtype : torch.dtype
        float64 or float32, of the blocks.
    fingerprint : str
        Text that changes when the rows do; left out: checkpoints hold for this object alone.

    Raises
    ------
    SourceError
        Where the factory is an iterator itself, gives a used one, or gives no rows.

    Examples
    --------
    >>> import numpy as np
    >>> source = IteratorRows(lambda: ((np.ones((2, 1)), np.ones(2)) for _ in range(3)))
    >>> [len(block.X) for piece in source.pieces() for block in piece.read()]
    [2, 2, 2]
    """

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
        """x0, x1, ... and y."""
        return numbered(self.inputs, self.targets)

    @property
    def rows(self) -> None:
        return None

    @property
    def count(self) -> None:
        return None

    @property
    def fingerprint(self) -> str:
        """As given, or of this object."""
        return f"iterator {self.given} {self.dtype}"

    @property
    def parallel(self) -> bool:
        """No: rows would have to be sent."""
        return False

    def pieces(self) -> Iterator[BlockPiece]:
        """One for each item.

        Raises
        ------
        SourceError
            For an item that is not two or three arrays like those of the first.
        """
        for number, item in enumerate(self.passes.all()):
            X, y, w = _arrays(item, number)
            targets = 1 if y.ndim == 1 else y.shape[1]
            if (X.shape[1], targets) != (self.inputs, self.targets):
                raise SourceError(
                    f"item {number} has {X.shape[1]} inputs and y of shape {tuple(y.shape)} where "
                    f"the first has {self.inputs} and {self.targets}: give the same columns."
                )
            yield BlockPiece(X, y, w, self.dtype, f"item {number}")


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
    checked_shapes(tuple(X.shape), tuple(y.shape), None if w is None else tuple(w.shape))
    return X, y, w


class IteratorTables(Tables):
    """Data frames of an iterator, each one piece.

    Parameters
    ----------
    factory : callable () -> iterable of DataFrame
        Called at each pass.
    columns : sequence of str, optional
        Columns to use; left out: all of the first frame.
    fingerprint : str
        Text that changes when the rows do; left out: checkpoints hold for this object alone.

    Raises
    ------
    SourceError
        As :class:`IteratorRows`.

    Examples
    --------
    >>> table = IteratorTables(lambda: (pd.DataFrame({"x": [i]}) for i in range(2)))
    >>> [frame.x.tolist() for piece in table.pieces() for frame in piece.read()]
    [[0], [1]]
    """

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
        """The columns that are used."""
        return self._names

    @property
    def rows(self) -> None:
        return None

    @property
    def count(self) -> None:
        return None

    @property
    def fingerprint(self) -> str:
        """As given, or of this object."""
        return f"iterator {self.given} {self._names}"

    @property
    def parallel(self) -> bool:
        """No: rows would have to be sent."""
        return False

    def select(self, columns: Sequence[str]) -> IteratorTables:
        """The same rows with these columns alone."""
        refuse_unknown(self.name, columns, self._names)
        return IteratorTables(self.passes.factory, columns, self.given)

    def pieces(self) -> Iterator[Listed[pd.DataFrame]]:
        for number, item in enumerate(self.passes.all()):
            frame = _frame(item, number)
            refuse_unknown(f"data frame {number} of the iterator", self._names, frame.columns)
            yield Listed((selected(frame, self._names),), f"data frame {number} of the iterator")


def _frame(item: Any, number: int) -> pd.DataFrame:
    match item:
        case pd.DataFrame():
            return item
        case _:
            raise SourceError(
                f"item {number} of the iterator is a {type(item).__name__}: give data frames where "
                "a target is named, or pairs (X, y) without one."
            )
