"""A kernel matrix as tiles that stay in cache: evaluated when needed, kept while they fit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache, partial

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import unwritten
from ...maths.limits import allowed_bytes, refuse_beyond, slices
from ...maths.streams import stream
from ..base import Kernel
from .base import Meter, System

#: Rows and columns of a tile: on a CPU of .6 MB, as memory of larger ones goes back to the system
#: after each, which clears it anew (up to half of the time); a GPU wants large ones.
CPU_SIDE = {torch.float32: 384, torch.float64: 256}
GPU_SIDE = 8192
#: Entries of a wide tile, whose memory is taken once for all, in those of a square one on a CPU;
#: its columns, in sides of a square of so many, at most.
LARGER, WIDTH = 3.0, 4
#: Row tiles of which what they decide alone is computed at once.
BLOCK = 16
#: Rows of a tile are a multiple of this: BLAS treats a rest in another way.
EVEN = 16
#: Entries of a piece of memory that holds kept tiles.
PIECE = 2**24


def tile_side(X: Tensor) -> int:
    """Rows of a tile for data of this type, on this device."""
    return CPU_SIDE.get(X.dtype, 384) if X.device.type == "cpu" else GPU_SIDE


def tile_shape(X: Tensor, m: int) -> tuple[int, int]:
    """Rows and columns of a tile of k(X, Z), Z of m points: larger than a square one, and wide.

    Products with few rows read a wide tile up to twice as fast, and there are fewer of them. The
    tiles of a row are equally wide.
    """
    side = tile_side(X)
    side = int(side * LARGER**0.5) if X.device.type == "cpu" else side
    parts = -(-m // (WIDTH * side))
    width = min(m, -(-m // (parts * EVEN)) * EVEN)
    height = side * side // width
    return max(1, height - height % EVEN if height > EVEN else height), width


def tile_scratch(kernel: Kernel, X: Tensor) -> int:
    return kernel.scratch * tile_side(X) ** 2 * X.element_size()


def own_tiles(system: System) -> Tiles:
    """k(X, X) of a system by tiles, those that a solver kept among them."""
    return Tiles(system.kernel, system.X, system.X, Meter(len(system.X)), 0, system.kept)


class Tiles:
    """k(X, Z) by tiles (i, j). ``Z is X`` makes tile (j, i) the transpose of (i, j), bit for bit.

    `meter`: Counts evaluations, and the bytes of the tiles kept.
    `budget`: Bytes of tiles that may be kept for the next time.
    `kept`: Tiles kept before, of the same matrix by the same tiles; new ones are added.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Tensor,
        Z: Tensor,
        meter: Meter,
        budget: int,
        kept: dict[tuple[int, int], Tensor] | None = None,
    ) -> None:
        self.kernel, self.meter, self.budget = kernel, meter, budget
        self.symmetric = X is Z
        side = tile_side(X)
        height, width = (side, side) if self.symmetric else tile_shape(X, len(Z))
        self.rows, self.columns = slices(len(X), height), slices(len(Z), width)
        self._whole, self._X = X, [X[rows] for rows in self.rows]
        self._Z = self._X if self.symmetric else [Z[rows] for rows in self.columns]
        self._kept = {} if kept is None else kept
        self._arena = Arena(min(PIECE, len(X) * len(Z)))

    def __call__(self, i: int, j: int) -> Float[Tensor, "a b"]:
        """Tile (i, j); the caller must not change it."""
        if self.symmetric and j < i:
            return self(j, i).T
        tile = self._kept.get((i, j))
        return self._keep(i, j, self.kernel(self._X[i], self._Z[j])) if tile is None else tile

    def _keep(self, i: int, j: int, tile: Tensor) -> Float[Tensor, "a b"]:
        """A tile that was evaluated, kept where there is room."""
        self.meter.evaluated(tile.numel())
        size = tile.numel() * tile.element_size()
        if size <= self.budget:
            self.budget -= size
            self.meter.bytes += size
            tile = self._kept[i, j] = self._arena.keep(tile)
        return tile

    def _in_turn(self) -> Iterator[tuple[tuple[int, int], Float[Tensor, "a b"]]]:
        """One tile after the other, of which each may take the memory of the one before."""
        if not self.symmetric:
            return self._in_blocks()
        pairs = [(i, j) for j in range(len(self.columns)) for i in range(j + 1)]
        return zip(pairs, itertools.starmap(self, pairs), strict=True)

    def _in_blocks(self) -> Iterator[tuple[tuple[int, int], Float[Tensor, "a b"]]]:
        """What the columns of a tile decide alone is computed once for several blocks of rows."""
        largest = len(self._X[0]) * len(self._Z[0])
        room = None if self._whole.requires_grad else self._whole.new_empty(2 * largest)
        blocks = [range(len(self.rows))[i : i + BLOCK] for i in range(0, len(self.rows), BLOCK)]
        for j, numbers in itertools.product(range(len(self.columns)), blocks):
            start = self.rows[numbers[0]].start
            X = self._whole[start : self.rows[numbers[-1]].stop]
            values = cache(partial(self.kernel.between, X, self._Z[j]))
            for i in numbers:
                rows = slice(self.rows[i].start - start, self.rows[i].stop - start)
                tile = self._kept.get((i, j))
                yield (i, j), self._keep(i, j, values()(rows, room)) if tile is None else tile

    def fill_(self, out: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """Write the whole matrix into `out`; a symmetric one is evaluated by half."""
        for (i, j), tile in self._in_turn():
            out[self.rows[i], self.columns[j]] = tile
            if self.symmetric and j > i:
                out[self.columns[j], self.rows[i]] = tile.T
        return out

    # Products go over V^T: BLAS is up to eight times faster on few rows than on few columns.

    def times(self, V: Float[Tensor, "m c"]) -> Float[Tensor, "n c"]:
        """k(X, Z) V; a symmetric matrix is read and evaluated by half."""
        given, out = V.T.contiguous(), V.new_zeros(V.shape[1], self.rows[-1].stop)
        for (i, j), tile in self._in_turn():
            rows, columns = self.rows[i], self.columns[j]
            out[:, rows].addmm_(given[:, columns], tile.T)
            if self.symmetric and j > i:
                out[:, columns].addmm_(given[:, rows], tile)
        self.meter.multiplied(len(V) * out.shape[1])
        return out.T.contiguous()

    def row_times(self, i: int, given: Float[Tensor, "c m"]) -> tuple[list[Tensor], Tensor]:
        """Tiles of block row i, and its product with V, given and returned transposed."""
        tiles = [self(i, j) for j in range(len(self.columns))]
        out = given.new_zeros(len(given), len(tiles[0]))
        for tile, columns in zip(tiles, self.columns, strict=True):
            out.addmm_(given[:, columns], tile.T)
        self.meter.multiplied(out.shape[1] * given.shape[1])
        return tiles, out

    def sandwich(
        self, c: Float[Tensor, "m c"], middle: Callable[[slice, Tensor], Tensor]
    ) -> Float[Tensor, "m c"]:
        """sum over blocks of rows b of k(Z, X_b) middle(b, k(X_b, Z) c), in the type of c.

        Products are in the type of the tiles, sums over blocks of rows in that of c.
        """
        out, given = torch.zeros_like(c.T), c.T.to(self._X[0].dtype).contiguous()
        for i, rows in enumerate(self.rows):
            tiles, total = self.row_times(i, given)
            pull = middle(rows, total.T.to(c.dtype)).T.to(given.dtype).contiguous()
            for tile, columns in zip(tiles, self.columns, strict=True):
                out[:, columns] += pull @ tile
        self.meter.multiplied(self.rows[-1].stop * len(c))
        return out.T.contiguous()


#: n x c vectors in float64 that an iteration and its measurement hold at once.
VECTORS = 10
#: Rows from which a residual is estimated: to a tenth of its norm, about.
RESIDUAL_ROWS = 256


def vector_bytes(system: System) -> int:
    """Bytes of the vectors of an iteration, and of a float64 copy of float32 points."""
    wide = 8 * system.X.numel() * (1 + (system.X.element_size() < 8))
    return 8 * VECTORS * system.y.numel() + wide


def least_bytes(system: System, reserved: int = 0) -> int:
    """Bytes of an iteration that keeps no tile, and `reserved`."""
    return reserved + vector_bytes(system) + 3 * tile_scratch(system.kernel, system.X)


def residual_rows(n: int, seed: int) -> Tensor:
    return torch.randperm(n, generator=stream(seed, "residual rows"))[:RESIDUAL_ROWS]


class Operator:
    """V -> (S K S + alpha I) V, and residuals in float64.

    `memory_limit`: Bytes allowed; what the vectors and `reserved` leave keeps tiles for the next
        product.
    `reserved`: Bytes that the algorithm takes beside.
    `what, instead`: For the refusal.
    """

    def __init__(
        self,
        system: System,
        memory_limit: int | None,
        meter: Meter,
        *,
        what: str,
        instead: str = "raise memory_limit",
        reserved: int = 0,
    ) -> None:
        X = system.X
        least = least_bytes(system, reserved)
        refuse_beyond(least, memory_limit, f"{what} on {len(X):,} rows", instead)
        meter.bytes += least
        self.system, self.meter, self.dtype = system, meter, X.dtype
        budget = allowed_bytes(memory_limit) - least
        self.tiles = Tiles(system.kernel, X, X, meter, budget, system.kept)
        self._S = system.root_weights

    @property
    def Z(self) -> Tensor:
        return self.system.X

    @property
    def right_side(self) -> Float[Tensor, "n c"]:
        """S y in float64: the residual at zero."""
        return self._scaled(self.system.y.double())

    def coefficients(self, b: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        return self._scaled(b)

    def _scaled(self, V: Tensor) -> Tensor:
        return V if self._S is None else self._S.to(V.dtype) * V

    def __call__(self, V: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        return self._apply(self.tiles, V)

    def _apply(self, tiles: Tiles, V: Tensor) -> Tensor:
        return self._scaled(tiles.times(self._scaled(V))).add_(V, alpha=self.system.alpha)

    def block_row(self, i: int, V: Float[Tensor, "n c"], head: int) -> tuple[Tensor, ...]:
        """Of block row i of A: its first `head` columns, its diagonal block, its product with V."""
        rows, given = self.tiles.rows[i], self._scaled(V).T.contiguous()
        V_rows = V[rows]
        first, total = [V.new_zeros(len(V_rows), 0)], V.new_zeros(V.shape[1], len(V_rows))
        own = self.tiles(i, i)
        for j, columns in enumerate(self.tiles.columns):
            tile = own if i == j else self.tiles(i, j)
            total.addmm_(given[:, columns], tile.T)
            if columns.start < head:
                first.append(tile)
        self.meter.multiplied(len(V_rows) * len(V))
        image = total.T if self._S is None else self._S[rows].to(V) * total.T
        start = self._part(rows, slice(0, head), torch.cat(first, 1)[:, :head])
        return start, self._part(rows, rows, own), image + self.system.alpha * V_rows

    def _part(self, rows: slice, columns: slice, K: Float[Tensor, "a b"]) -> Tensor:
        """Rows and columns of A from those of K."""
        S = self._S
        out = K.clone() if S is None else S[rows].to(K) * K * S[columns].T.to(K)
        out.diagonal(rows.start - columns.start).add_(self.system.alpha)
        return out

    def residual(self, b: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """S y - A b in float64; kernels of float32 points are evaluated in float64."""
        X = self.system.X
        tiles = self.tiles
        if X.element_size() < 8:
            wide = X.double()
            tiles = Tiles(self.system.kernel, wide, wide, self.meter, 0)
        return self.right_side - self._apply(tiles, b)

    def residual_at(self, b: Float[Tensor, "n c"], rows: Tensor) -> Float[Tensor, "r c"]:
        X, c = self.system.X.double(), self.coefficients(b)
        total = Tiles(self.system.kernel, X[rows], X, self.meter, 0).times(c)
        if self._S is not None:
            total = self._S[rows] * total
        return self.right_side[rows] - total - self.system.alpha * b[rows]


class Arena:
    """Room for copies of many small matrices, taken from few parts of memory of `entries` numbers.

    A larger matrix gets a part of its own.
    """

    def __init__(self, entries: int = 2**24) -> None:
        self._entries = entries
        self._part = torch.empty(0)

    def keep(self, A: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        size = A.numel()
        if size > len(self._part) or self._part.dtype != A.dtype:
            self._part = unwritten(1, max(size, self._entries), A)[0]
        room, self._part = self._part[:size], self._part[size:]
        return room.view(A.shape).copy_(A)
