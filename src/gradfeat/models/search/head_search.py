"""Which directions, kernel and penalty the last fit of an RFM should take, on held-out rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.blocks import Block
from ...maths.limits import deadline_passed, tell
from ...maths.linear_algebra import cholesky_
from ...rows.rows import in_memory
from ..kernel_ridge import KernelRidge
from ..solvers.base import Solver
from ..subspace_refit import MetricSpectrum, total_variance
from .kernel_space import PRODUCTS, kernel

#: What is tried, one axis at a time, in this order.
DIRECTIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
POWERS = (0.0, 0.25, 1.0)
MOST_CLIMBS, PLAIN = 3, (1.0, 2.0, 4.0, 8.0)
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
#: Heads that a search in another metric begins with.
KNOWN = 4
#: A head is given up where its loss is so many times that of the best, at so many rows or more.
HOPELESS, JUDGES = 1.25, 150
#: Losses may count as alike within this share of the best and this share of that of the mean.
ALIKE, NEGLIGIBLE = 0.005, 1e-4
#: Losses within this share of the best differ by rounding, on each row in the same way perhaps.
EQUAL = 1e-6
#: Kernels of the last fit, the smoothest first.
SMOOTHNESS = ("gaussian", "matern52", "matern32", "laplace")
#: Rougher than these, and the one that knows the columns: a product of kernels of one column each.
BY_COLUMN = PRODUCTS[0]
#: Smoother than these: ridge on the inputs.
LINEAR = "polynomial1"


@dataclass(frozen=True)
class Head:
    """The last fit: a kernel on B^T x, B = V_r diag(e^power) of total variance 1.

    `directions`: r; None is all.
    `power`: How far the eigenvalues of M weigh the directions.
    `bandwidth`: In standard deviations of the projected rows.
    """

    directions: int | None = None
    power: float = 0.5
    kernel: str = "matern32"
    bandwidth: float = 1.0
    alpha: float = 1e-3

    def named(self) -> dict[str, Any]:
        values = asdict(self)
        directions = values.pop("directions")
        return {"directions": directions, **{f"head_{k}": v for k, v in values.items()}}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and held-out rows, and the square root A of M that the training rows taught."""

    train: Block
    held: Block
    A: Tensor

    @cached_property
    def _spectrum(self) -> MetricSpectrum:
        return MetricSpectrum.of(self.A)

    def onto(self, directions: int | None, power: float) -> tuple[Tensor, Tensor]:
        """Training and held-out rows as a last fit sees them: B^T x, of total variance 1."""
        P = self._spectrum.onto(self.train.X, directions, power)
        Q = self._spectrum.onto(self.held.X, directions, power)
        variance = total_variance(P, self.train.w)
        return (P / variance**0.5, Q / variance**0.5) if variance > 0 else (P, Q)

    def first(self, rows: int) -> Split:
        """In float64, at most so many training and twice as many held-out rows.

        Any run of the rows is a fair sample of them.
        """
        train, held = self.train.at(slice(rows)), self.held.at(slice(2 * rows))
        return Split(train.double(), held.double(), self.A.double())


@dataclass(frozen=True, eq=False)
class HeadTrial:
    """A head, its held-out loss, and its predictions on each split."""

    head: Head
    loss: float
    predictions: tuple[Tensor, ...]


def held_out_loss(splits: Sequence[Split], predictions: Sequence[Tensor]) -> float:
    """Weighted mean squared error over the held-out rows of all splits, summed over outputs."""
    total = mass = 0.0
    for split, f in zip(splits, predictions, strict=True):
        total += float((split.held.w @ (f - split.held.y).square()).sum())
        mass += float(split.held.w.sum())
    return total / mass if math.isfinite(total) else math.inf


def row_errors(splits: Sequence[Split], predictions: Sequence[Tensor]) -> Float[Tensor, "n c"]:
    """Errors at the held-out rows of all splits, times the roots of their weights."""
    pairs = zip(splits, predictions, strict=True)
    return torch.cat([s.held.w[:, None].sqrt() * (f - s.held.y) for s, f in pairs])


class PenaltyPath:
    """Held-out predictions of a head at the penalties asked for, each solved once, from one matrix.

    None where the matrix is not numerically positive definite.
    """

    def __init__(self, split: Split, head: Head) -> None:
        train = split.train
        k, (P, Q) = kernel(head.kernel, head.bandwidth), split.onto(head.directions, head.power)
        self._across, self._offset = k(Q, P), (train.w @ train.y) / train.w.sum()
        self._K, self._y, self._w = k(P, P), train.y - self._offset, train.w
        self._found: dict[float, Tensor | None] = {}

    def __call__(self, alpha: float) -> Tensor | None:
        if alpha not in self._found:
            c = _penalised(self._K, self._y, self._w, alpha)
            self._found[alpha] = None if c is None else self._across @ c + self._offset
        return self._found[alpha]


def fit_head(split: Split, head: Head, solver: Solver) -> Float[Tensor, "h c"]:
    """Held-out predictions of a head fitted to the training rows by this solver."""
    train, held = split.train, split.held
    P, Q = split.onto(head.directions, head.power)
    learner = KernelRidge(kernel(head.kernel, head.bandwidth), head.alpha, solver)
    f = learner.fit(in_memory(P, train.y, train.w)).in_float64()
    return f(Q.double()).to(held.y)


def evaluate_head(
    splits: Sequence[Split], head: Head, alphas: Sequence[float], rival: HeadTrial | None = None
) -> HeadTrial:
    """The head with the best of these penalties that is reached downhill from its own.

    It is given up, as worth nothing, where it is hopelessly behind a rival on the first of several
    splits.
    """
    paths = [PenaltyPath(splits[0], head)]

    def trial(alpha: float) -> HeadTrial:
        found = [path(alpha) for path in paths]
        whole = tuple(f for f in found if f is not None)
        enough = len(whole) == len(paths)
        loss = held_out_loss(splits[: len(paths)], whole) if enough else math.inf
        return HeadTrial(replace(head, alpha=alpha), loss, whole if math.isfinite(loss) else ())

    best = _downhill(trial, alphas, head.alpha)
    if len(splits) == 1:
        return best
    if rival is not None and rival.predictions and len(splits[0].held.X) >= JUDGES:
        same = held_out_loss(splits[:1], rival.predictions[:1])
        if not best.loss <= HOPELESS * same:
            return HeadTrial(best.head, math.inf, ())
    paths += map(PenaltyPath, splits[1:], itertools.repeat(head))
    return _downhill(trial, alphas, best.head.alpha)


def _downhill(
    trial: Callable[[float], HeadTrial], alphas: Sequence[float], start: float
) -> HeadTrial:
    """The best trial, a step at a time from the last penalty that is no larger than the start."""
    place = max(sum(a <= start for a in alphas) - 1, 0)
    best = trial(alphas[place])
    while not best.predictions and place + 1 < len(alphas):
        place += 1
        best = trial(alphas[place])
    for step in (1, -1):
        at = place + step
        while 0 <= at < len(alphas) and (other := trial(alphas[at])).loss < best.loss:
            best, at = other, at + step
        if at != place + step:
            break
    return best


class HeadSearch:
    """Best head over directions, kernels, bandwidths, powers and penalties, one axis at a time.

    The penalty is searched with each; the numbers of directions near the best once more at the
    end. Of heads that the best does not beat by more than one standard error of the paired
    differences, nor by more than half a percent of its loss, the simplest is taken: the smoothest
    kernel, then the fewest directions, then the largest bandwidth. (Held-out rows say little of
    what lies beyond the training rows; smooth fits go on there, others bend back to the mean.)

    Source: Breiman, Friedman, Olshen & Stone 1984, section 3.4.3 (the one-standard-error rule).

    `splits`: Where heads are fitted and compared.
    `directions`: Numbers of directions, increasing, None (all) last.

    `tried`: Every head so far.
    """

    def __init__(
        self, splits: Sequence[Split], directions: Sequence[int | None], alphas: Sequence[float]
    ) -> None:
        self.splits, self.directions, self.alphas = splits, directions, alphas
        self.tried: list[HeadTrial] = []

    def run(self, known: Sequence[Head] = ()) -> HeadTrial:
        """The trial of the head chosen; `known` are good ones in another metric, to begin with."""
        for head in known:
            if head.directions in self.directions:
                self._try(head)
        if not self.tried:
            start = Head(self.directions[-1])
            self._try(start)
            self._fewer(len(self.directions) - 1)
            for name in reversed(SMOOTHNESS):
                if name != start.kernel:
                    self._try(replace(self._best.head, kernel=name))
            self._of_the_columns()
        self._climb(2.0)
        self._climb(0.5)
        for power in POWERS:
            self._try(replace(self._best.head, power=power))
        self._fewer(self.directions.index(self._best.head.directions) + 2)
        self._smoother()
        return self.simplest()

    def leading(self) -> list[Head]:
        """The best heads tried, the best first."""
        good = sorted((t for t in self.tried if t.predictions), key=lambda trial: trial.loss)
        return [trial.head for trial in good[:KNOWN]]

    def _of_the_columns(self) -> None:
        """Ridge; the product over columns, whose distance sums d of them: a longer bandwidth."""
        if self.directions[-1] is None:
            wide = len(self.splits[0].A) ** 0.5
            self._try(Head(None, 0.0, LINEAR))
            self._try(Head(None, kernel=BY_COLUMN, bandwidth=wide))

    def plain(self) -> None:
        """Try the kernel that a search begins with at several bandwidths."""
        for bandwidth in PLAIN:
            self._try(Head(self.directions[-1], bandwidth=bandwidth))

    def around(self, head: Head) -> HeadTrial:
        """The trial chosen among this head, kernels a step smoother or rougher, and penalties."""
        for name in _neighbours(head.kernel):
            self._try(replace(head, kernel=name))
        return self.simplest()

    @property
    def _best(self) -> HeadTrial:
        return min(self.tried, key=lambda trial: trial.loss)

    def _try(self, head: Head) -> None:
        if not self.tried or not deadline_passed():
            tell(f"last fit {len(self.tried) + 1}")
            best = self._best if self.tried else None
            self.tried.append(evaluate_head(self.splits, head, self.alphas, best))

    def _climb(self, factor: float) -> None:
        """Bandwidths times a factor for as long as that helps."""
        for _ in range(MOST_CLIMBS):
            head = self._best.head
            self._try(replace(head, bandwidth=factor * head.bandwidth))
            if self.tried[-1] is not self._best:
                break

    def _fewer(self, most: int) -> None:
        """The first `most` numbers of directions with what else was found, the largest first.

        Until one is hopelessly too small: of fewer still more would be missing.
        """
        head = self._best.head
        for r in reversed(self.directions[:most]):
            if r != head.directions:
                self._try(replace(head, directions=r, alpha=self._best.head.alpha))
                few = self._best.head.directions in self.directions[self.directions.index(r) + 1 :]
                if few and not self.tried[-1].loss <= HOPELESS * self._best.loss:
                    break

    def _smoother(self) -> None:
        """Smoother kernels with what else was found, also twice as wide."""
        head = self._best.head
        smoother = SMOOTHNESS.index(head.kernel) if head.kernel in SMOOTHNESS else 0
        for name in SMOOTHNESS[:smoother]:
            for factor in (1.0, 2.0):
                self._try(replace(head, kernel=name, bandwidth=factor * head.bandwidth))

    def simplest(self) -> HeadTrial:
        """Of the trials not worse than the best by more than chance: few directions, smooth."""
        best, order = self._best, list(self.directions)
        rough = (LINEAR, *SMOOTHNESS, BY_COLUMN)  # the smoothest first
        if not best.predictions:
            return best
        errors = self._errors(best)
        mean = held_out_loss(self.splits, [s.held.y.mean(0) for s in self.splits])
        bound = best.loss + ALIKE * best.loss + NEGLIGIBLE * mean
        close = [trial for trial in self.tried if trial.loss <= bound]

        def by_chance(trial: HeadTrial) -> bool:
            spread = (self._errors(trial) - errors).std() / len(errors) ** 0.5
            return trial.loss - best.loss <= float(spread) + EQUAL * best.loss

        return min(
            filter(by_chance, close),
            key=lambda t: (
                rough.index(t.head.kernel),
                order.index(t.head.directions),
                -t.head.bandwidth,
                t.loss,
            ),
        )

    def _errors(self, trial: HeadTrial) -> Float[Tensor, " n"]:
        """Weighted squared error of each held-out row."""
        return row_errors(self.splits, trial.predictions).square().sum(1)


def _neighbours(name: str) -> tuple[str, ...]:
    """A kernel and those a step smoother and rougher, of the same distance."""
    if name not in SMOOTHNESS:
        return (name,)
    at = SMOOTHNESS.index(name)
    return SMOOTHNESS[max(0, at - 1) : at + 2]


def candidate_directions(asked: int | str | None, d: int, learnt: bool) -> Sequence[int | None]:
    """Numbers of directions to try: that asked for, or those worth it among d, "all" last.

    Only all where M is not learnt.

    Examples
    --------
    >>> candidate_directions("auto", 5, True), candidate_directions("auto", 5, False)
    ([1, 2, 3, 4, None], [None])
    """
    if asked == "auto":
        return [*(r for r in DIRECTIONS if r < d and learnt), None]
    return [int(str(asked))]


def is_learnt(A: Tensor) -> bool:
    """Whether A differs from the identity that it began as."""
    return A.ndim == 2 or bool((A != 1).any())


def _penalised(
    K: Float[Tensor, "n n"], y: Float[Tensor, "n c"], w: Float[Tensor, " n"], alpha: float
) -> Float[Tensor, "n c"] | None:
    """c of (K + alpha W^{-1}) c = y, or None where the matrix is not numerically positive definite.

    (One eigendecomposition of K would serve all penalties, and takes as long as 10 to 16
    factorisations, of which a search needs three to five.)
    """
    A = K.clone()
    A.diagonal().add_(alpha / w)
    solve = cholesky_(A)
    return None if solve is None else solve(y)
