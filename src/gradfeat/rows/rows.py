"""Rows (x, y, w): held in memory as one block, or streamed from a source by an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import bdtrik
from torch import Tensor

from ..errors import SourceError
from ..maths.blocks import Block, Statistic, collect
from ..maths.statistics.combined import Chain, Joint, OnMapped
from ..maths.statistics.moments import Affine, Moments, MomentState, RowMap
from ..maths.statistics.sample import row_hash
from ..maths.statistics.value_counts import CountState, ValueCounts
from ..maths.streams import with_bits
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

    def over(self, unit: Tensor, y_unit: Tensor) -> Rows:
        """Inputs and targets over these units (d,), (c,); the same rows where all are 1."""
        if bool((unit == 1).all() and (y_unit == 1).all()):
            return self
        zero = torch.zeros_like
        return self.mapped(Affine(zero(unit), 1 / unit, zero(y_unit), y_unit))

    def knowing(self, moments: MomentState) -> Rows:
        """The same rows, whose finished moments are these."""
        return replace(self, known=moments, none=self.template)

    def with_sample(self, sample: Block) -> Rows:
        """The same rows, of which a random sample was drawn."""
        return replace(self, sample=sample)

    def moments(self, label: str = "moments") -> MomentState:
        """Moments of the rows: those known, else by a pass."""
        return self.collect(Moments(), label) if self.known is None else self.known

    def copies(self, seed: int, label: str) -> CountState:
        """How often rows of each content come, by :class:`RowHashes`, before any map."""
        statistic = OnMapped(ValueCounts(COUNTED - 1), RowHashes(seed))
        return self.engine.state(statistic, self.source, f"{label}, copies of rows")

    def in_parts(
        self, statistic: Statistic[Block, Any, Result], parts: Sequence[RowMap], label: str
    ) -> list[Result]:
        """The statistic of each part, in one pass: rows are told apart as they come.

        What maps make of them differs in rounding, by which pieces their moments are of.
        """
        each = tuple(OnMapped(statistic, Chain((part, *self.maps))) for part in parts)
        return replace(self, maps=()).collect(Joint(each), label)

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


#: Of how many distinct rows copies are counted; of others all copies are in one part.
COUNTED = 2**17


@dataclass(frozen=True)
class RowHashes:
    """Hashes of rows, as targets that floating-point numbers tell apart."""

    seed: int

    def __call__(self, block: Block) -> Block:
        h = row_hash(block.X, block.y, self.seed) >> 10
        return Block(block.X[:, :0].cpu(), h.double()[:, None], (block.w > 0).double().cpu())


@dataclass(frozen=True, eq=False)
class HashPart:
    """A random fifth of the rows (`held`), or all others, by their hashes.

    Copies of a row are drawn one by one, as rows in memory are: where rows of few contents were
    drawn as contents, the part would hold all rows of some inputs. As copies are interchangeable,
    each weighs its share of those that were drawn: a binomial number, the quantile that the hash
    says. So the part is the same however the rows are cut into blocks.

    `hashes`, `drawn` (k,): of contents that are counted, and the shares of their copies.
    """

    held: bool
    seed: int
    hashes: Tensor
    drawn: Tensor

    @classmethod
    def both(cls, copies: CountState, seed: int) -> tuple[HashPart, HashPart]:
        """The fifth and the rest, of rows whose :class:`RowHashes` were counted."""
        count = copies.weights.numpy()
        drawn = torch.from_numpy(np.ceil(bdtrik(_uniform(copies.values), count, 0.2)) / count)
        return cls(True, seed, copies.values, drawn), cls(False, seed, copies.values, drawn)

    def __call__(self, block: Block) -> Block:
        h = RowHashes(self.seed)(block).y[:, 0].contiguous()
        place = torch.searchsorted(self.hashes, h).clamp(max=len(self.hashes) - 1)
        alone = torch.from_numpy(_uniform(h) > 0.8).double()
        share = torch.where(self.hashes[place] == h, self.drawn[place], alone)
        share = (share if self.held else 1 - share).to(block.w)
        kept = (share > 0).nonzero()[:, 0]
        some = block.at(kept)
        return Block(some.X, some.y, some.w * share[kept])


def _uniform(hashes: Tensor) -> NDArray[np.float64]:
    """Numbers from 0 to 1 that tell nothing of the order of the hashes."""
    h = hashes.numpy().astype(np.uint64)
    bits = with_bits(h, np.full_like(h, 1)) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) / 2.0**53


def _with_affine(maps: tuple[RowMap, ...], map: Affine) -> tuple[RowMap, ...]:
    """One more affine map; two in a row are one."""
    match maps[-1] if maps else None:
        case Affine() as last:
            return (*maps[:-1], last.then(map))
    return (*maps, map)
