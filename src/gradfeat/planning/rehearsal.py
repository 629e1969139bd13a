"""A small rehearsal of a fit: the real learner on random rows, its passes watched and scaled."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..estimators.checks import placement
from ..estimators.training import first_pass, sample_rows, streamed_training
from ..maths.activations import Activation, ReLU, Tanh
from ..maths.blocks import Block
from ..maths.statistics.combined import Around
from ..models.base import Learner, Predictor
from ..models.gradient_step import GradientStep, Whitened
from ..models.head import RidgeHead
from ..models.kernel_ridge import KernelRidge
from ..models.kernels.radial import Laplace
from ..models.random_features import LinearRidge, RandomFeatures
from ..models.rfm import RFM
from ..models.solvers.nystrom_direct import CANDIDATES, NystromDirect
from ..models.subspace_refit import SubspaceRefit
from ..rows import from_arrays
from ..rows.engine import Engine, Tick, Work
from ..rows.tree import Folded, fold_segment
from ..rows.wire import dumps, pack, unpack
from .counting import Counter, Operations
from .job import Job
from .rates import PassRates

#: Rows of the first piece of a small rehearsal; the second has half as many.
ROWS = 64

#: Columns and features of small rehearsals: they determine polynomials of degree 3.
SHAPES = [(3, 4), (5, 4), (7, 4), (9, 4), (3, 8), (5, 8), (7, 8), (3, 12), (5, 12), (3, 16)]

#: Outputs of small rehearsals, where there is more than one.
OUTPUTS = (2, 3)

#: Degree of what is counted of a row, of bytes, and of the driver's products.
ROW_DEGREE, DRIVER_DEGREE = 2, 3

#: Spectra that the driver finds after a pass at most.
MOST_SPECTRA = 4


def learner_of(job: Job, activation: Activation | None = None) -> Learner[Predictor]:
    """What a fit of the job gives its rows to, at given settings.

    An RFM is without its rounds, and its last fit on centres: the most passes that it may take.
    """
    sigma = ReLU() if activation is None else activation
    head, nystrom = RidgeHead(select=job.penalty_by), NystromDirect(job.m or None)
    kernel = Laplace(job.columns**0.5)
    match job.method:
        case "linear":
            return LinearRidge(head)
        case "random-features":
            return RandomFeatures(job.m, sigma, head=head)
        case "gradient-features":
            bare = RidgeHead(select=job.penalty_by, intercept=False)
            step = GradientStep(job.m, sigma, n_steps=job.steps, linear="ridge", head=bare)
            return Whitened(step)
        case "rfm":
            return SubspaceRefit(RFM(kernel, 1.0, n_iter=0), KernelRidge(kernel, 1.0, nystrom))
    return KernelRidge(kernel, 1.0, nystrom)


@dataclass(frozen=True)
class PassSizes:
    """Numbers of a pass that are polynomials of columns and features, and the driver's after it."""

    #: Of a row; see :class:`gradfeat.planning.counting.Operations`. What is written was read too,
    #: so that it is touched twice.
    flops: float
    whole: float
    touched: float
    #: Bytes of a state as it is sent and in memory, and of the statistic as workers get it.
    packed: float
    held: float
    sent: float
    products: float  # multiplications and additions of the driver after the pass
    spectra: tuple[float, ...]  # sides of the symmetric matrices whose eigenvectors it finds then


@dataclass(frozen=True)
class RehearsedPass:
    """One pass over all rows."""

    label: str  # its name, as engines report it
    sizes: PassSizes  # at the size of the job
    draws: bool  # whether it draws the sample, which holds its state and stays on the processor


@dataclass
class _Watched:
    """A pass of one rehearsal."""

    label: str = ""
    statistic: Any = None
    pieces: list[Operations] = field(default_factory=list)
    packed: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    after: Operations = field(default_factory=Operations)
    seconds: PassRates | None = None

    def of_rows(self) -> tuple[float, ...]:
        """Counts of a row, bytes of a state of no rows and for each row that it keeps, and sent.

        A sum has the same size after any number of rows; a sample grows. The pieces have ROWS and
        ROWS / 2 rows.
        """
        (more, few), n = self.pieces, ROWS // 2
        row = more.less(few)
        packed, held = ((2 * b - a, (a - b) / n) for a, b in (self.packed, self.held))
        sent = float(len(dumps(self.statistic, "the statistic")))
        return row.flops / n, row.whole / n, 2 * row.touched / n, *packed, *held, sent

    def of_driver(self, other: _Watched) -> tuple[float, ...]:
        """Products without rows in the sample and for each; `other` had twice as many; spectra."""
        n = 1.5 * ROWS
        fixed, row = 2 * self.after.flops - other.after.flops, other.after.flops - self.after.flops
        sides = [*self.after.spectra, *[0] * (MOST_SPECTRA - len(self.after.spectra))]
        return float(fixed), row / n, *map(float, sides)


@final
@dataclass(frozen=True, kw_only=True)
class Recorder(Engine):
    """Sums in this thread, and keeps what each pass computed and held."""

    passes: list[_Watched] = field(default_factory=list)  # one entry for each pass, in order
    driver: Operations = field(default_factory=Operations)  # what is computed between passes
    timed: bool = False  # whether states are timed instead of counted

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        self.leave()
        seen = _Watched(statistic=work.statistic)
        self.passes.append(seen)
        watching = _Timed if self.timed else _Counted
        for segment in work.segments(0):
            yield fold_segment(watching(work.statistic, seen), segment)
        self.driver.clear()

    def leave(self) -> None:
        """What the driver computed since the last pass was for that pass."""
        if self.passes:
            self.passes[-1].after = self.driver.copy()


@dataclass(frozen=True)
class _Watching(Around[Any, Any]):
    """`inner`, whose updates are watched."""

    seen: _Watched

    def init(self, block: Block) -> Any:
        return self.inner.init(block)


@final
@dataclass(frozen=True)
class _Counted(_Watching):
    """Counts what every block takes, and the bytes of the state after it."""

    def update(self, state: Any, block: Block) -> Any:
        with Counter(count := Operations()):
            state = self.inner.update(state, block)
        self.seen.pieces.append(count)
        self.seen.packed.append(sum(a.nbytes for a in pack(self.inner, state).values()))
        self.seen.held.append(len(dumps(state, "a state")))
        return state


@final
@dataclass(frozen=True)
class _Timed(_Watching):
    """Times a block of each pass; it is added twice, to see what beginning takes."""

    def update(self, state: Any, block: Block) -> Any:
        inner = self.inner
        state, once = _took(lambda: inner.update(state, block))
        if self.seen.seconds is not None:
            return state
        begun = inner.update(inner.init(block), block)
        other, again = _took(lambda: inner.update(begun, block))
        packed, packing = _took(lambda: pack(inner, other))
        third, unpacking = _took(lambda: unpack(inner, packed))
        _, merging = _took(lambda: inner.merge(other, third))
        beginning = max(0.0, once - again)
        self.seen.seconds = PassRates(again / len(block.X), beginning, merging, packing, unpacking)
        return state


def _took(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its processor seconds in this thread."""
    start = time.thread_time()
    return call(), time.thread_time() - start


def _run(job: Job, rows: int, activation: Activation, *, timed: bool) -> list[_Watched]:
    """Fit the job's learner to `rows` random rows and half as many."""
    rng, n = np.random.default_rng(0), rows + rows // 2
    X, Y = rng.standard_normal((n, job.columns)), rng.standard_normal((n, job.outputs))
    passes: list[_Watched] = []

    def named(tick: Tick) -> None:
        if tick.rows:  # the first report of a pass comes before its first piece
            passes[-1].label = tick.label

    driver = Operations()
    # Watching takes time of its own: where seconds are wanted, nothing is counted.
    with nullcontext() if timed else Counter(driver):
        engine = Recorder(passes=passes, driver=driver, timed=timed, report=named)
        opened = from_arrays(X, Y, piece_rows=rows).on(engine)
        found = first_pass(opened, 0, labelled=False)
        where = placement(None, "cpu", None)
        scaled = streamed_training(opened, found, where, 0, standardise=True, codes=None)
        learner_of(job, activation).fit(scaled.rows)
        engine.leave()
    return passes


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The passes of a method, and their sizes at any number of rows, columns and features."""

    labels: tuple[str, ...]  # of the passes, as engines report them
    #: Coefficients of the monomials of d, m and c: of what is counted of a row and of bytes; of the
    #: driver's products after the pass and of the sides of its spectra.
    rows: NDArray[np.float64]
    driver: NDArray[np.float64]
    spectra: tuple[int, ...]  # how many there are after each pass

    def at(self, job: Job) -> tuple[PassSizes, ...]:
        """PassSizes of each pass."""
        size = [(job.columns, job.m, job.outputs)]
        rows = np.tensordot(_monomials(size, ROW_DEGREE)[0], self.rows, 1)
        driver = np.tensordot(_monomials(size, DRIVER_DEGREE)[0], self.driver, 1)
        return tuple(_sizes(job, *one) for one in zip(rows, driver, self.spectra, strict=True))

    def passes(self, job: Job) -> tuple[RehearsedPass, ...]:
        pairs = enumerate(zip(self.labels, self.at(job), strict=True))
        return tuple(RehearsedPass(label, size, draws=k == 0) for k, (label, size) in pairs)


def rehearsed(job: Job) -> Rehearsal:
    """Rehearse a fit at a few small sizes, and find its sizes by interpolation.

    Operations of a row and bytes of states are polynomials of degree 2 of columns and features
    (degree 3 for the driver), linear in outputs: interpolated, they are those of any size.

    >>> rehearsed(Job(rows=100, columns=5, width=4)).labels
    ('moments', 'gradient', 'normal equations')
    """
    outputs = OUTPUTS if job.outputs > 1 else (1,)
    small = replace(job, rows=4 * ROWS, width=None, columns=1, outputs=outputs[0], workers=1)
    return _rehearsed(replace(small, threads=1, piece_rows=ROWS, float_bytes=8))


@cache
def _rehearsed(job: Job) -> Rehearsal:
    """Of a job of any size: the same for all of its method."""
    shapes = SHAPES if job.m else [(d, 0) for d, m in SHAPES if m == SHAPES[0][1]]
    tried = [(*s, c) for s, c in product(shapes, OUTPUTS if job.outputs > 1 else (1,))]
    runs, twice = (
        [_run(job.sized(*size), rows, Tanh(), timed=False) for size in tried]
        for rows in (ROWS, 2 * ROWS)
    )
    pairs = [list(zip(few, more, strict=True)) for few, more in zip(runs, twice, strict=True)]
    rows = np.array([[one.of_rows() for one in run] for run in runs])
    driver = np.array([[one.of_driver(more) for one, more in pair] for pair in pairs])
    return Rehearsal(
        tuple(one.label for one in runs[0]),
        _fitted(_monomials(tried, ROW_DEGREE), rows),
        _fitted(_monomials(tried, DRIVER_DEGREE), driver),
        tuple(len(one.after.spectra) for one in runs[0]),
    )


def timed(job: Job, rows: int) -> tuple[PassRates, ...]:
    """Seconds of each pass at the job's own size, by one rehearsal with pieces of `rows` rows."""
    passes = _run(job, max(rows, job.m, ROWS), ReLU(), timed=True)
    return tuple(one.seconds for one in passes if one.seconds is not None)


def _sizes(job: Job, rows: NDArray[np.float64], driver: NDArray[np.float64], n: int) -> PassSizes:
    """The sample has all rows of a small table; centres are chosen among its first rows."""
    flops, whole, touched, packed, packed_row, held, held_row, sent = rows.tolist()
    products, products_row, *sides = driver[: 2 + n].round(3).tolist()
    kept, candidates = min(job.rows, sample_rows(job.columns)), min(job.rows, CANDIDATES)
    return PassSizes(
        max(0.0, flops),
        max(0.0, whole),
        max(0.0, touched),
        packed + kept * packed_row,
        held + kept * held_row,
        sent,
        max(0.0, products + candidates * products_row),
        tuple(sides),
    )


def _fitted(powers: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    flat: Any = np.linalg.lstsq(powers, values.reshape(len(values), -1), rcond=None)[0]
    return flat.reshape(-1, *values.shape[1:])


def _monomials(sizes: list[tuple[int, int, int]], degree: int) -> NDArray[np.float64]:
    """d^i m^j, i + j <= degree, times 1 and c; one row a size."""
    d, m, c = np.array(sizes, dtype=np.float64).T
    found = [d**i * m**j for i in range(degree + 1) for j in range(degree + 1 - i)]
    return np.stack([*found, *(c * one for one in found)], axis=1)
