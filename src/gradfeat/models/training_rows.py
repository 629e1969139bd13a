"""What learners need of the rows they are fitted to: held in memory, or passed over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block, Statistic, collect
from ..maths.gram_ridge import GramRidge, gram_ridge, solve_gram
from ..maths.row_hash import row_hash
from ..maths.statistics.joint import Joint
from ..maths.statistics.leave_one_out import LeaveOneOut
from ..maths.statistics.mapped import OnMapped
from ..maths.statistics.moments import Moments, MomentState, RowMap
from ..maths.streams import stream
from ..rows.errors import SourceError
from ..rows.rows import Rows
from .head import RidgeHead

Result = TypeVar("Result")

#: Coefficients, intercepts, and the penalty used.
Head = tuple[Float[Tensor, "m c"], Float[Tensor, " c"], float]


@dataclass(frozen=True)
class Mapping:
    """Rows to features (or nothing), and the scratch that a mapped row takes."""

    map: RowMap | None = None
    row_bytes: int = 0


INPUTS = Mapping()


class TrainingRows(ABC):
    """Rows (x, y, w): statistics of them, ridge on features of them."""

    @property
    @abstractmethod
    def template(self) -> Block:
        """No row, of the right widths, type and device."""

    @abstractmethod
    def collect(self, statistic: Statistic[Any, Result], label: str) -> Result:
        """A statistic of all rows."""

    @abstractmethod
    def moments(self, label: str) -> MomentState:
        """Moments of inputs and targets."""

    @abstractmethod
    def ridge(self, features: Mapping, head: RidgeHead, seed: int, label: str) -> Head:
        """Ridge on features of the rows."""

    @abstractmethod
    def mapped(self, map: RowMap) -> TrainingRows:
        """The rows after a map that treats each row by itself (and may leave some out)."""

    @abstractmethod
    def halves(self, seed: int) -> tuple[TrainingRows, TrainingRows]:
        """Two random halves without a row in common."""


@final
@dataclass(frozen=True)
class InMemory(TrainingRows):
    """Rows held as one block: ridge by the singular values of the features themselves.

    Examples
    --------
    >>> X = torch.arange(4.0).double()[:, None]
    >>> rows = InMemory(Block(X, 2 * X, torch.ones(4).double()))
    >>> round(float(rows.ridge(INPUTS, RidgeHead(1e-9), 0, "")[0]), 6)
    2.0
    """

    block: Block

    @property
    def template(self) -> Block:
        """No row of the block."""
        return self.block.none

    def collect(self, statistic: Statistic[Any, Result], label: str) -> Result:
        """Here and now."""
        del label
        return collect(statistic, [self.block])

    def moments(self, label: str) -> MomentState:
        """Here and now."""
        del label
        return collect(Moments(), [self.block])

    def ridge(self, features: Mapping, head: RidgeHead, seed: int, label: str) -> Head:
        """By singular value decomposition of all features at once."""
        del label
        rows = self.block if features.map is None else features.map(self.block)
        return head.fit(rows.X, rows.y, rows.w, seed)

    def mapped(self, map: RowMap) -> InMemory:
        """The mapped block."""
        return InMemory(map(self.block))

    def halves(self, seed: int) -> tuple[InMemory, InMemory]:
        """By a random permutation."""
        X, y, w = self.block.X, self.block.y, self.block.w
        order = torch.randperm(len(X), generator=stream(seed, "fresh half"))
        one, two = order[: len(X) // 2], order[len(X) // 2 :]
        return InMemory(Block(X[one], y[one], w[one])), InMemory(Block(X[two], y[two], w[two]))


@dataclass(frozen=True)
class HashPart:
    """The rows whose hash, modulo `of`, is among `parts`: a random part of the distinct rows.

    Examples
    --------
    >>> X = torch.arange(100.0)[:, None]
    >>> one, two = (HashPart((part,), 2, 0)(Block(X, X, X[:, 0])).X for part in (0, 1))
    >>> sorted([*one[:, 0].tolist(), *two[:, 0].tolist()]) == X[:, 0].tolist(), 30 < len(one) < 70
    (True, True)
    """

    parts: tuple[int, ...]
    of: int
    seed: int

    def __call__(self, block: Block) -> Block:
        """The rows of the part; the others are left out."""
        h = row_hash(block.X, block.y, self.seed) % self.of
        kept = torch.isin(h, torch.tensor(self.parts)).nonzero().flatten().to(block.X.device)
        return Block(block.X[kept], block.y[kept], block.w[kept])


@final
@dataclass(frozen=True, eq=False)
class Streamed(TrainingRows):
    """Rows passed over: ridge from sums over the rows (normal equations).

    The penalty is chosen as `head` says: by GCV from the sums themselves; by leave-one-out in one
    more pass; by validation on a fifth of the rows, by their hash, in the same pass.
    """

    rows: Rows

    @property
    def template(self) -> Block:
        """Of the rows."""
        return self.rows.template

    def collect(self, statistic: Statistic[Any, Result], label: str) -> Result:
        """One pass."""
        return self.rows.collect(statistic, label)

    def moments(self, label: str) -> MomentState:
        """Those known, or one pass."""
        return self.rows.moments(label)

    def ridge(self, features: Mapping, head: RidgeHead, seed: int, label: str) -> Head:
        """By the normal equations."""
        if head.penalty is None and head.select == "validation":
            return self._validated(features, head, seed, label)
        if features == INPUTS:
            m = self.moments(label)
        else:
            m = self.collect(Moments(features.map, features.row_bytes), label)
        check_rows_came(m.weight)
        if head.penalty is not None or head.select == "gcv":
            return self._like(ridge_of(m, head))
        path = gram_ridge(m, intercept=head.intercept)
        return self._like(_solution(path, self._by_loo(path, features, label)))

    def _like(self, found: Head) -> Head:
        X = self.template.X
        return found[0].to(X), found[1].to(X), found[2]

    def _by_loo(self, path: GramRidge, features: Mapping, label: str) -> float:
        lams = tuple(sorted(path.grid(), reverse=True))
        loo = LeaveOneOut(path, lams, features.map, features.row_bytes)
        errors = self.collect(loo, f"{label}, left out")
        return lams[int(errors.nan_to_num(nan=torch.inf).argmin())]

    def _validated(self, features: Mapping, head: RidgeHead, seed: int, label: str) -> Head:
        moments = Moments(features.map, features.row_bytes)
        parts = (HashPart((0,), 5, seed), HashPart((1, 2, 3, 4), 5, seed))
        both = Joint(tuple(OnMapped(moments, part) for part in parts))
        held, kept = self.collect(both, label)
        every = moments.merge(deepcopy(kept), held)
        check_rows_came(every.weight)
        whole = gram_ridge(every, intercept=head.intercept)
        if not (held.weight > 0 and kept.weight > 0):  # too few rows to hold any out
            return self._like(_solution(whole, whole.best()))
        path = gram_ridge(kept, intercept=head.intercept)
        lam = min(sorted(path.grid(), reverse=True), key=lambda lam: _loss(path, lam, held))
        return self._like(_solution(whole, lam))

    def mapped(self, map: RowMap) -> Streamed:
        """One more map."""
        return Streamed(self.rows.mapped(map))

    def halves(self, seed: int) -> tuple[Streamed, Streamed]:
        """By the hash of the rows: equal rows fall into the same half."""
        return self.mapped(HashPart((0,), 2, seed)), self.mapped(HashPart((1,), 2, seed))


def check_rows_came(weight: Tensor) -> None:
    """Refuse sums over no row.

    Raises
    ------
    SourceError
        In one sentence.

    Examples
    --------
    >>> check_rows_came(torch.tensor(1.0))
    """
    if not weight > 0:
        raise SourceError(
            "no row has a positive weight (or none is in a random half of them): give more rows."
        )


def ridge_of(m: MomentState, head: RidgeHead) -> Head:
    """Ridge from the moments of features and targets alone: at a given penalty, or GCV's.

    Examples
    --------
    >>> from gradfeat.maths.blocks import Block, collect
    >>> F = torch.arange(4.0).double()[:, None]
    >>> m = collect(Moments(), [Block(F, 2 * F + 1, torch.ones(4).double())])
    >>> [round(float(part), 6) for part in ridge_of(m, RidgeHead(1e-9))[:2]]
    [2.0, 1.0]
    """
    lam = head.given(float(m.weight))
    if lam is not None and lam > 0:
        a = solve_gram(m, lam, intercept=head.intercept)
        offset = m.mean_y - m.mean_x @ a
        return a, offset if head.intercept else torch.zeros_like(offset), lam
    path = gram_ridge(m, intercept=head.intercept)
    return _solution(path, path.best() if lam is None else lam)


def _solution(path: GramRidge, lam: float) -> Head:
    a = path.coefficients(lam)
    return a, path.offset - path.means @ a, lam


def _loss(path: GramRidge, lam: float, held: MomentState) -> float:
    """Sum of w |y - b - a.F|^2 over rows of which the moments are known."""
    a = path.coefficients(lam)
    miss = held.mean_y - path.offset - (held.mean_x - path.means) @ a
    quadratic = held.yy - 2 * (a * held.xy).sum(0) + (a * (held.xx @ a)).sum(0)
    return float((quadratic + held.weight * miss.square()).sum())
