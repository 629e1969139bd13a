"""The two abstract types of the layer: predictors are values, learners are specifications."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.gradients import agop
from ..maths.limits import BLOCK_BYTES, row_blocks
from ..rows.rows import Rows


class Predictor(ABC):
    """A fitted function x -> R^c with its input gradient. Holds tensors, is never mutated."""

    @abstractmethod
    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Outputs at the rows of X."""

    @abstractmethod
    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        """Gradient of each output with respect to the input, at each row."""

    @abstractmethod
    def scratch_per_row(self) -> int:
        """Bytes of temporary memory that :meth:`gradient` needs for one row."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """All numbers that define the function, by name (for saving)."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """JSON-able description of everything else (for saving)."""

    def agop(
        self,
        X: Float[Tensor, "n d"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        centre: bool = False,
        block_bytes: int = BLOCK_BYTES,
    ) -> Float[Tensor, "d d"]:
        """The average of grad f grad f^T over the rows of X, summed over outputs."""
        memory = {"bytes_per_row": self.scratch_per_row(), "block_bytes": block_bytes}
        return agop(self.gradient, X, weights=weights, centre=centre, **memory)


PredictorT_co = TypeVar("PredictorT_co", bound=Predictor, covariant=True)


class Learner(ABC, Generic[PredictorT_co]):
    """A frozen specification of how to fit: hyper-parameters only, comparable and printable."""

    @abstractmethod
    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[PredictorT_co]:
        """Fitted predictors after each stage of the method, the final one last.

        Randomness only from streams named under `seed`. Stop iterating to stop early.

        `rows`: Held in memory (:func:`gradfeat.rows.in_memory`) or streamed.
        `seed`: Of every random draw.
        """

    @abstractmethod
    def fit(self, rows: Rows, *, seed: int = 0) -> PredictorT_co:
        """The final predictor of :meth:`fit_path`."""


class OneStage(Learner[PredictorT_co]):
    """A learner whose only stage is the fit."""

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[PredictorT_co]:
        yield self.fit(rows, seed=seed)


class Staged(Learner[PredictorT_co]):
    """A learner of several stages, of which `fit` is the last."""

    def fit(self, rows: Rows, *, seed: int = 0) -> PredictorT_co:
        *_, last = self.fit_path(rows, seed=seed)
        return last


@runtime_checkable
class OwnTiles(Protocol):
    """k(X, X) by tiles (i, j): rows `rows[i]` with rows `rows[j]`; the caller changes none."""

    rows: list[slice]

    def __call__(self, i: int, j: int) -> Float[Tensor, "a b"]:
        """Tile (i, j)."""
        ...


#: (Some rows of X, memory or None) -> theirs of k(X, Z), perhaps in that memory: of twice as many
#: entries.
KernelRows = Callable[[slice, Tensor | None], Tensor]


class Kernel(ABC):
    """A positive semi-definite function k(x, z), with the gradient of its expansions."""

    @property
    @abstractmethod
    def scratch(self) -> int:
        """Matrices of the size of its result that a call or a gradient holds at once."""

    @abstractmethod
    def __call__(self, X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        """Kernel matrix; ``Z is X`` gives an exactly symmetric matrix."""

    @abstractmethod
    def between(self, X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"]) -> KernelRows:
        """k(X, Z) for some rows after others; what X or Z decides alone is computed once."""

    @abstractmethod
    def rounded(self, X: Float[Tensor, "n d"]) -> tuple[Kernel, Float[Tensor, "n d"]]:
        """A kernel that is faster as it rounds inputs, and these rows rounded; or all as it is."""

    @abstractmethod
    def diagonal(self, X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """k(x_i, x_i), without the matrix."""

    @abstractmethod
    def gradient(
        self, X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"], c: Float[Tensor, "m c"]
    ) -> Float[Tensor, "n c d"]:
        """Gradient at x_i of sum_j c_j k(x_i, z_j), for each output."""

    @abstractmethod
    def own_gradient(
        self, X: Float[Tensor, "n d"], c: Float[Tensor, "n c"], tiles: OwnTiles
    ) -> Float[Tensor, "n c d"]:
        """:meth:`gradient` at the points of the expansion, with the tiles of k(X, X) at hand."""

    @abstractmethod
    def spec(self) -> Mapping[str, Any]:
        """JSON-able description, restored by ``restore.kernel_from_spec``."""


class BlockKernel(Kernel):
    """A kernel whose gradient has no use for its tiles: row blocks, computed anew."""

    def between(self, X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"]) -> KernelRows:
        return lambda rows, _: self(X[rows], Z)

    def rounded(self, X: Float[Tensor, "n d"]) -> tuple[Kernel, Float[Tensor, "n d"]]:
        return self, X

    def own_gradient(
        self, X: Float[Tensor, "n d"], c: Float[Tensor, "n c"], tiles: OwnTiles
    ) -> Float[Tensor, "n c d"]:
        del tiles
        return block_gradient(self, X, X, c)


def block_gradient(
    k: Kernel, X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"], c: Float[Tensor, "m c"]
) -> Float[Tensor, "n c d"]:
    """:meth:`Kernel.gradient`, row block by row block within a bounded scratch."""
    per_row = (k.scratch * len(Z) + 3 * c.shape[1] * X.shape[1]) * X.element_size()
    return torch.cat([k.gradient(X[rows], Z, c) for rows in row_blocks(len(X), per_row)])
