"""Rows of a source, as an engine passes over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from ..maths.blocks import Block, Statistic
from ..maths.statistics.affine import Affine
from ..maths.statistics.mapped import Chain, OnMapped
from ..maths.statistics.moments import Moments, MomentState, RowMap
from .engine import Engine
from .errors import SourceError
from .source import Columns
from .sources.numeric import NumericSource
from .threads import Threads

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows (x, y, w) that are passed over instead of held: what estimators take in place of X.

    Attributes
    ----------
    source : NumericSource
        Where they come from.
    engine : Engine
        What computes; threads of this process unless told otherwise.
    maps : tuple of callables (Block) -> Block
        What is done to every block after it is read.
    known : MomentState, optional
        Finished moments of the rows, where a pass has given them: they need no other one.
    none : Block, optional
        A block of no row after the maps, where one was seen.

    Examples
    --------
    >>> import numpy as np
    >>> from gradfeat.maths.statistics.moments import Moments
    >>> from gradfeat.rows import from_arrays
    >>> rows = from_arrays(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> rows.collect(Moments()).mean_x.tolist()
    [2.0, 3.0]
    """

    source: NumericSource
    engine: Engine = field(default_factory=Threads)
    maps: tuple[RowMap, ...] = ()
    known: MomentState | None = None
    none: Block | None = None

    @property
    def columns(self) -> Columns:
        """Names of inputs and targets."""
        return self.source.columns

    @property
    def named(self) -> bool:
        """Whether the inputs have names of their own."""
        names = self.columns.inputs
        return names != tuple(f"x{i}" for i in range(len(names)))

    def on(self, engine: Engine) -> Rows:
        """The same rows, passed over by another engine."""
        return replace(self, engine=engine)

    def mapped(self, map: RowMap) -> Rows:
        """The rows after one more map, which must treat each row by itself."""
        match map:
            case Affine():
                known = None if self.known is None else map.moments(self.known)
                maps = _with_affine(self.maps, map)
            case _:
                known, maps = None, (*self.maps, map)
        return replace(self, maps=maps, known=known, none=map(self.template))

    def knowing(self, moments: MomentState) -> Rows:
        """The same rows, whose finished moments are these."""
        return replace(self, known=moments, none=self.template)

    def moments(self, label: str = "moments") -> MomentState:
        """Moments of the rows: those known, else by a pass."""
        return self.collect(Moments(), label) if self.known is None else self.known

    def collect(self, statistic: Statistic[Any, Result], label: str = "pass") -> Result:
        """The statistic of all rows, in one pass.

        Raises
        ------
        SourceError
            When rows cannot be read, or there are none.
        EngineError
            When workers or the cluster fail.
        """
        over: Statistic[Any, Result] = statistic
        if self.maps:
            over = OnMapped(statistic, Chain(self.maps))
        return over.finish(self.engine.state(over, self.source, label))

    @cached_property
    def template(self) -> Block:
        """No row: a block of the right widths and types.

        Raises
        ------
        SourceError
            When there is no block to see them from.
        """
        if self.none is not None:
            return self.none
        for piece in self.source.pieces():
            for block in piece.read():
                return Chain(self.maps)(block.none)
        raise SourceError("there are no rows: give a source with at least one row.")


def _with_affine(maps: tuple[RowMap, ...], map: Affine) -> tuple[RowMap, ...]:
    """One more affine map; two in a row are one."""
    match maps[-1] if maps else None:
        case Affine() as last:
            return (*maps[:-1], last.then(map))
    return (*maps, map)
