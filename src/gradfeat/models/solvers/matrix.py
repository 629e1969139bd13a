"""The symmetric matrix A = S K S + alpha I of a system, as products within a memory limit."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.memory import allowed_bytes, refuse_beyond
from ...maths.streams import stream
from .base import Meter, System
from .tiles import Tiles, tile_scratch

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
