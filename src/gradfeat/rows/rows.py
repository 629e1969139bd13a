"""Rows (x, y, w): held in memory as one block, or streamed from a source by an engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..errors import SourceError
from ..maths.blocks import Block, Statistic, collect
from ..maths.statistics.combined import Chain, OnMapped
from ..maths.statistics.moments import Affine, Moments, MomentState, RowMap
from ..maths.statistics.sample import row_hash
from ..maths.streams import copies_apart, with_bits
from .engine import Engine
from .in_process import Threads
from .source import Columns, Piece, held_piece
from .sources.numeric import NumericSource, digest, numbered

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows (x, y, w) of a source, which an engine streams: what learners are fitted to.

    Rows that are held in memory as one block (:func:`in_memory`) are rows too: maps and statistics
    are computed on the block at once.

    `engine`: What computes; threads of this process unless told otherwise.
    `maps`: What is done to every block after it is read.
    `held`: All rows, maps applied, where they are held in memory.
    `known`: Finished moments of the rows, where a pass has given them: they need no other one.
    `sample`: A random sample of the rows, maps applied, where one was drawn.
    `none`: A block of no row after the maps, where one was seen.

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
    held: Block | None = None
    known: MomentState | None = None
    sample: Block | None = None
    none: Block | None = None

    @property
    def columns(self) -> Columns:
        return self.source.columns

    @property
    def named(self) -> bool:
        """Whether the inputs have names of their own."""
        names = self.columns.inputs
        return names != tuple(f"x{i}" for i in range(len(names)))

    def on(self, engine: Engine) -> Rows:
        """The same rows, streamed by another engine (also where they are held in memory)."""
        return replace(self, engine=engine, held=None)

    def mapped(self, map: RowMap) -> Rows:
        """The rows after one more map, which must treat each row by itself (or leave it out)."""
        if self.held is not None:
            return of_block(map(self.held))
        sample = None if self.sample is None else map(self.sample)
        match map:
            case Affine():
                known = None if self.known is None else map.moments(self.known)
                maps = _with_affine(self.maps, map)
            case _:
                known, maps = None, (*self.maps, map)
        return replace(self, maps=maps, known=known, sample=sample, none=map(self.template))

    def knowing(self, moments: MomentState) -> Rows:
        """The same rows, whose finished moments are these."""
        return replace(self, known=moments, none=self.template)

    def with_sample(self, sample: Block) -> Rows:
        """The same rows, of which a random sample was drawn."""
        return replace(self, sample=sample)

    def moments(self, label: str = "moments") -> MomentState:
        """Moments of the rows: those known, else by a pass."""
        return self.collect(Moments(), label) if self.known is None else self.known

    def collect(self, statistic: Statistic[Any, Any, Result], label: str = "pass") -> Result:
        """The statistic of all rows, in one pass.

        Raises SourceError when rows cannot be read, or there are none; EngineError when workers or
        the cluster fail.
        """
        if self.held is not None:
            return collect(statistic, [self.held])
        over: Statistic[Any, Any, Result] = statistic
        if self.maps:
            over = OnMapped(statistic, Chain(self.maps))
        return over.finish(self.engine.state(over, self.source, label))

    @cached_property
    def template(self) -> Block:
        """No row: a block of the right widths, type and device.

        Raises SourceError when there is no block to see them from.
        """
        if self.none is not None:
            return self.none
        if self.held is not None:
            return self.held.none
        for piece in self.source.pieces():
            for block in piece.read():
                return Chain(self.maps)(block.none)
        raise SourceError("there are no rows: give a source with at least one row.")

    def block(self, method: str) -> Block:
        """All rows as one block, for a method that needs them at once.

        Raises ValueError where the rows are streamed.
        """
        if self.held is None:
            raise ValueError(
                f"{method} needs its rows in memory: give arrays, or fit a linear model, random "
                "features, gradient features, a kernel machine or an RFM of squared loss to rows "
                "that are streamed."
            )
        return self.held


def in_memory(X: Tensor, y: Tensor, w: Tensor | None = None) -> Rows:
    """Rows that are held in memory: inputs (n, d), targets (n, c), weights (n,) (left out: 1).

    >>> X = torch.arange(4.0)[:, None]
    >>> float(in_memory(X, 2 * X).moments().mean_y)
    3.0
    """
    weights = torch.ones(len(X), dtype=X.dtype, device=X.device) if w is None else w
    return of_block(Block(X, y, weights))


def of_block(block: Block) -> Rows:
    """:func:`in_memory` of a block."""
    return Rows(BlockSource(block), held=block)


@dataclass(frozen=True, eq=False)
class BlockSource(NumericSource):
    """One block of rows in memory, as it is."""

    in_memory = True

    block: Block

    @property
    def columns(self) -> Columns:
        return numbered(self.block.X.shape[1], self.block.y.shape[1])

    @property
    def count(self) -> int:
        return 1

    @property
    def fingerprint(self) -> str:
        """A digest of the contents: takes about a second a gigabyte."""
        return f"block {digest([self.block.X, self.block.y, self.block.w])}"

    def pieces(self) -> Iterator[Piece[Block]]:
        yield held_piece([self.block])


@dataclass(frozen=True)
class HashPart:
    """The rows whose hash, modulo `of`, is among `parts`: a random part of them.

    Copies of a row are drawn one by one, as rows in memory are: where rows of few contents were
    drawn as contents, the part would hold all rows of some inputs. The hash is therefore of the
    row, of the number of the copy in its block, and of the whole block.
    """

    parts: tuple[int, ...]
    of: int
    seed: int

    def __call__(self, block: Block) -> Block:
        h = copies_apart(row_hash(block.X, block.y, self.seed).numpy()).astype(np.uint64)
        h = with_bits(h, np.full_like(h, h.sum()))
        kept = np.isin(h % np.uint64(self.of), self.parts).nonzero()[0]
        return block.at(torch.from_numpy(kept).to(block.X.device))


def _with_affine(maps: tuple[RowMap, ...], map: Affine) -> tuple[RowMap, ...]:
    """One more affine map; two in a row are one."""
    match maps[-1] if maps else None:
        case Affine() as last:
            return (*maps[:-1], last.then(map))
    return (*maps, map)
