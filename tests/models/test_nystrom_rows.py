"""Kernel machines on rows that are passed over: the same as in memory, in any pieces and order."""

from __future__ import annotations

import pickle
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from contracts import KERNELS, close
from gradfeat.errors import SourceError
from gradfeat.maths.blocks import Block, Statistic, collect
from gradfeat.maths.statistics.gradient_sums import GradientOuterProducts
from gradfeat.maths.statistics.moments import Moments, inputs_only
from gradfeat.maths.statistics.sample import RowSample
from gradfeat.models.base import Learner
from gradfeat.models.kernel_logistic import KernelLogistic
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.nystrom_rows import (
    ExpansionGradient,
    NystromFeatures,
    centres_of,
    row_bytes,
    sampled,
)
from gradfeat.models.predictors import KernelMachine
from gradfeat.models.rfm import RFM
from gradfeat.models.solvers.base import Solver
from gradfeat.models.solvers.conjugate_gradients import ConjugateGradients
from gradfeat.models.solvers.direct import Adaptive, Direct
from gradfeat.models.solvers.eigenpro import EigenPro
from gradfeat.models.solvers.nystrom import Nystrom
from gradfeat.models.solvers.nystrom_cg import NystromCG
from gradfeat.models.solvers.nystrom_direct import NystromDirect
from gradfeat.models.solvers.richardson import Richardson
from gradfeat.models.subspace_refit import SubspaceRefit
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.engine import Work
from gradfeat.rows.in_process import InProcess, Threads
from gradfeat.rows.rows import Rows, in_memory
from gradfeat.rows.sources.tables import ArrayRows
from gradfeat.rows.tree import Folded
from gradfeat.rows.wire import dumps, loads

#: Sums of n rows and solves with K_mm and Phi^T Phi + alpha I in float64: 2e-16 times conditions
#: of 1e4 or less for these kernels (smooth ones get what is said there).
ROUNDING = 1e-10
RIDGE = KernelRidge(Laplace(2.0), 1e-2, NystromDirect(30))
ROUNDS = RFM(Laplace(4.0), 1e-2, n_iter=2, solver=NystromDirect(60))


def data(n: int = 300, d: int = 5, c: int = 1, seed: int = 0) -> Block:
    """A target of the direction (1, 1, 0, ...), weights between 1/2 and 3/2."""
    gen = torch.Generator().manual_seed(seed)
    X = torch.randn(n, d, generator=gen).double()
    u = (X[:, :1] + X[:, 1:2]) / 2**0.5
    y = torch.cat([torch.sin((k + 1.5) * u) + 0.1 * X[:, 2:3] for k in range(c)], 1) + 3.0
    return Block(X, y, 0.5 + torch.rand(n, generator=gen).double())


def over(one: Block, pieces: int = 3) -> Rows:
    """Passed over in so many pieces."""
    size = -(-len(one.X) // pieces)
    return Rows(ArrayRows(one.X, one.y, one.w, piece_rows=size, dtype=one.X.dtype))


def memory(learner: Learner[KernelMachine], one: Block, seed: int = 0) -> KernelMachine:
    return learner.fit(in_memory(one.X, one.y, one.w), seed=seed)


def ordered(one: Block, order: Tensor) -> Block:
    return Block(one.X[order], one.y[order], one.w[order])


def by_hash(one: Block) -> Block:
    """All rows, in the order of a sample."""
    return collect(RowSample(len(one.X), 0), [one])


@pytest.mark.parametrize("c", [1, 3])
def test_equals_the_fit_in_memory_with_the_same_centres(c):
    """A sample of all rows in their order draws the centres that the solver draws in memory."""
    one = data(c=c)
    inside, passed = memory(RIDGE, one), RIDGE.fit(over(one).with_sample(one))
    assert torch.equal(passed.Z, inside.Z)
    close(passed.c, inside.c, ROUNDING)
    close(passed.offset, inside.offset, ROUNDING)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_passes(kernel):
    """Smooth kernels lose digits: jitter at rounding leaves a condition of 1e14 for K_mm."""
    one = data(120, 3)
    learner = KernelRidge(kernel, 1e-1, NystromDirect(20))
    inside, passed = memory(learner, one), learner.fit(over(one).with_sample(one))
    close(passed(one.X), inside(one.X), 1e-7)


def test_all_rows_as_centres_are_kernel_ridge():
    one = data(80)
    exact = memory(replace(RIDGE, solver=Direct()), one)
    passed = replace(RIDGE, solver=NystromDirect(80)).fit(over(one))
    assert len(passed.Z) == 80
    # The jitter of 2e-15 of the diagonal, over the least eigenvalue (1e-2) of K_mm and of alpha.
    close(passed(one.X), exact(one.X), ROUNDING)


def test_the_fit_is_optimal_among_the_centres():
    """Phi^T W (y - f) = alpha theta, in the coefficients: K_mn W (y - f) = alpha K_mm c."""
    one = data(c=2)
    f = RIDGE.fit(over(one))
    k, w = f.kernel, one.w[:, None]
    left = k(f.Z, one.X) @ (w * (one.y - f(one.X)))
    close(left, RIDGE.alpha * k(f.Z, f.Z) @ f.c, 1e-8)  # sums of 300 terms that cancel
    close(f.offset, (one.w @ one.y) / one.w.sum(), 1e-14)


@pytest.mark.parametrize("learner", [RIDGE, ROUNDS], ids=["ridge", "rfm"])
def test_pieces_order_and_engine_do_not_matter(learner):
    """Centres are the same rows; sums in another order differ by rounding times condition."""
    one = data()
    shuffled = ordered(one, torch.randperm(300, generator=torch.Generator().manual_seed(1)))
    base = learner.fit(over(one, 1), seed=3)
    ways = [over(one, 3), over(one, 7), over(shuffled, 7), over(one, 7).on(Threads(2))]
    for rows in ways:
        f = learner.fit(rows, seed=3)
        assert torch.equal(f.Z, base.Z)
        close(f.c, base.c, 1e-9)
        close(f.A, base.A, 1e-9)
        close(f(one.X), base(one.X), ROUNDING)


def test_weights_are_repeated_rows():
    one = data(100)
    times = torch.randint(1, 4, (100,), generator=torch.Generator().manual_seed(2))
    weighted = Block(one.X, one.y, times.double())
    repeated = ordered(one, torch.repeat_interleave(torch.arange(100), times))
    repeated = Block(repeated.X, repeated.y, torch.ones(len(repeated.X)).double())
    for learner in (RIDGE, replace(ROUNDS, solver=NystromDirect(40))):
        f, g = learner.fit(over(weighted)), learner.fit(over(repeated))
        assert torch.equal(f.Z, g.Z)
        close(f(one.X), g(one.X), ROUNDING)


def test_rows_of_weight_zero_are_left_out():
    one = data(100)
    w = (torch.arange(100) % 3 > 0).double()
    f = RIDGE.fit(over(Block(one.X, one.y, w)))
    close(f(one.X), RIDGE.fit(over(ordered(Block(one.X, one.y, w), w.nonzero()[:, 0])))(one.X))
    with pytest.raises(SourceError, match="no row has a positive weight"):
        RIDGE.fit(over(Block(one.X, one.y, 0 * w)))


def test_float32_rows_are_summed_in_float64():
    one = data()
    few = Block(one.X.float(), one.y.float(), one.w.float())
    f = RIDGE.fit(over(few))
    assert {t.dtype for t in f.tensors().values()} == {torch.float32}
    wide = Block(few.X.double(), few.y.double(), few.w.double())
    g = RIDGE.fit(over(wide))
    # Float32 rounding of inputs, coefficients and predictions: 1e-7 times sums of 30 terms.
    close(f(few.X).double(), g(wide.X), 1e-4)
    a, b = (RIDGE.fit(over(few, pieces)) for pieces in (1, 7))
    close(a.c, b.c, 2e-7)  # the sums differ in float64 alone, and are rounded at the end


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"centre_gradients": True},
        {"diagonal": True, "agop_power": 0.5},
        {"kernel": Gaussian(3.0)},
    ],
    ids=str,
)
def test_rfm_equals_the_rounds_in_memory_with_the_same_centres(options):
    """A sample of all rows in their order, and as many centres: every round draws the same."""
    one = data(c=2)
    learner = replace(ROUNDS, rough=None, **options)
    inside, passed = memory(learner, one), learner.fit(over(one).with_sample(one))
    assert torch.equal(passed.Z, inside.Z)
    close(passed.M, inside.M, 1e-9)
    close(passed(one.X), inside(one.X), 1e-9)


def test_gradients_of_few_rows_are_those_of_the_first_of_the_sample():
    one = data()
    sample = by_hash(one)
    learner = replace(ROUNDS, n_iter=1, agop_rows=40)
    before = replace(learner, n_iter=0).fit(over(one).with_sample(sample))
    G = before.agop(sample.X[:40], weights=sample.w[:40])
    close(learner.fit(over(one).with_sample(sample)).M, 5 * G / G.trace(), ROUNDING)


def test_rfm_finds_the_direction():
    one = data(2000, 8)
    f = replace(ROUNDS, n_iter=4, solver=NystromDirect(200)).fit(over(one, 7))
    top = torch.linalg.eigh(f.M).eigenvectors[:, -1]
    assert float((top[0] + top[1]).abs() / 2**0.5) > 0.95
    # In all eight inputs the same centres miss more of the target than in its direction.
    plain = KernelRidge(Laplace(4.0), 1e-2, NystromDirect(200)).fit(over(one, 7))
    new = data(500, 8, seed=9)
    errors = [float((g(new.X) - new.y).square().mean()) for g in (f, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_no_update_is_kernel_ridge():
    one = data()
    f = replace(ROUNDS, n_iter=0).fit(over(one))
    ridge = KernelRidge(ROUNDS.kernel, ROUNDS.alpha, ROUNDS.solver).fit(over(one))
    assert torch.equal(f.c, ridge.c)


def test_rounds_on_few_rows_are_those_in_memory_and_the_last_fit_takes_all():
    one = data()
    sample = by_hash(one)
    learner = replace(ROUNDS, metric_rows=50)
    f = learner.fit(over(one).with_sample(sample))
    *_, A = replace(ROUNDS).metrics(in_memory(sample.X[:50], sample.y[:50], sample.w[:50]))
    assert torch.equal(f.A, A)
    assert len(f.Z) == 60
    assert torch.equal(learner.fit(over(one)).A, A)  # the sample in a pass is the same


def test_the_number_of_centres_follows_the_rule_of_the_rows():
    """10 sqrt(n) of the rows, not of the sample; and a limit of memory cuts it."""
    one = data(400)
    fit = KernelRidge(Laplace(2.0), 1e-2, NystromDirect()).fit
    assert len(fit(over(one).with_sample(by_hash(one))).Z) == 200
    assert len(fit(over(one)).Z) == 200
    assert len(fit(over(one).with_sample(ordered(one, torch.arange(50)))).Z) == 50
    # 5 squares and those of 3 pieces, 50 x 50; three columns of 400 candidates; 64 MB of features.
    least = 50 * (8 * 8 * 50 + 3 * 400 * 8) + 64 * 2**20 + 16 * 400
    limited = replace(RIDGE, solver=NystromDirect(200, memory_limit=least))
    assert len(limited.fit(over(one)).Z) == 50
    with pytest.raises(MemoryError, match="Nystrom with 10 centres on streamed rows needs"):
        replace(RIDGE, solver=NystromDirect(memory_limit=1000)).fit(over(one))


def test_the_seed_draws_the_centres():
    one = data()
    assert not torch.equal(RIDGE.fit(over(one)).Z, RIDGE.fit(over(one), seed=1).Z)


@pytest.mark.parametrize(
    ("solver", "centres"),
    [
        (NystromDirect(7, 10**9), NystromDirect(7, 10**9)),
        (Nystrom(7, memory_limit=10**9), NystromDirect(7, 10**9)),
        (Adaptive(memory_limit=10**9), NystromDirect(None, 10**9)),
    ],
)
def test_solvers_that_have_centres(solver: Solver, centres: NystromDirect):
    assert centres_of(solver) == centres


@pytest.mark.parametrize(
    "solver", [Direct(), ConjugateGradients(), NystromCG(), EigenPro(), Richardson()]
)
def test_solvers_of_the_whole_matrix_are_refused(solver):
    rows = over(data(20))
    for learner in (
        replace(RIDGE, solver=solver),
        replace(ROUNDS, solver=solver),
        replace(ROUNDS, rough=solver),
    ):
        with pytest.raises(ValueError, match=f"{type(solver).__name__} needs all n x n .*centres="):
            learner.fit(rows)


def test_rounds_in_memory_may_use_any_solver_and_rough_centres_count():
    one = data()
    exact = replace(ROUNDS, metric_rows=50, rough=Direct()).fit(over(one))
    assert len(exact.Z) == 60
    few = replace(ROUNDS, rough=NystromDirect(10)).fit(over(one))
    assert float((few.M - ROUNDS.fit(over(one)).M).abs().max()) > 1e-4
    assert len(few.Z) == 60


def test_a_negative_penalty_is_refused():
    with pytest.raises(ValueError, match=r"alpha is -1\.0: give a number that is not negative"):
        replace(RIDGE, alpha=-1.0).fit(over(data(20)))


HEAD = KernelRidge(Gaussian(0.5), 1e-2, NystromDirect(40))
INSIDE = SubspaceRefit(replace(ROUNDS, rough=None), HEAD, directions=2)


def test_the_fit_inside_the_directions_equals_that_in_memory():
    one = data()
    inside = INSIDE.fit(in_memory(one.X, one.y, one.w))
    passed = INSIDE.fit(over(one).with_sample(one))
    sign = (passed.B * inside.B).sum(0).sign()
    close(passed.B, inside.B * sign, 1e-8)
    # The Gaussian in two directions leaves a condition of 1e10 or so for K_mm.
    close(passed(one.X), inside(one.X), 1e-6)
    P = one.X @ passed.B
    p = one.w / one.w.sum()
    assert float((p @ (P - p @ P) ** 2).sum()) == pytest.approx(1.0, rel=1e-12)


def test_the_fit_inside_does_not_depend_on_pieces():
    one = data()
    fits = [INSIDE.fit(over(one, pieces)) for pieces in (1, 7)]
    close(fits[0](one.X), fits[1](one.X), 1e-7)


def test_a_finished_fit_is_taken_from_its_checkpoint(tmp_path):
    """Every pass asks for the same statistic again: centres and factors are the same bits."""
    one, read = data(), []
    engine = InProcess(report=lambda tick: read.append(tick.rows), checkpoint=Checkpoint(tmp_path))
    first = INSIDE.fit(over(one).on(engine))
    assert max(read) == 300
    read.clear()
    again = INSIDE.fit(over(one).on(engine))
    assert len(read) == 7  # sample, two rounds of two, spread, last fit
    assert max(read) == 0
    assert torch.equal(first(one.X), again(one.X))


class Sent(InProcess):
    """As if the statistic went to another process."""

    def folds(self, work: Work) -> Generator[Folded[Any], None, None]:
        sent = loads(dumps(work.statistic, "the statistic"), "the statistic")
        return super().folds(replace(work, statistic=sent))


@pytest.mark.parametrize(
    "learner", [RIDGE, ROUNDS, replace(ROUNDS, diagonal=True), INSIDE], ids=str
)
def test_other_processes_give_the_same_bits(learner):
    """Tensors are sent in the order of rows; in another one products round in another way."""
    one = data(1500, 8, c=2)
    here, there = learner.fit(over(one)), learner.fit(over(one).on(Sent()))
    for name, values in here.tensors().items():
        assert torch.equal(values, there.tensors()[name])


def test_a_head_that_needs_its_rows_is_refused():
    with pytest.raises(ValueError, match="kernel logistic regression needs its rows in memory"):
        replace(INSIDE, head=KernelLogistic(ROUNDS.kernel, 0.1)).fit(over(data(20)))


def test_statistics_of_the_passes_survive_plain_pickle():
    one = data(40)
    A = torch.eye(5).double()
    features = NystromFeatures(Laplace(2.0), one.X[:6], torch.eye(6).double(), A)
    features(one)  # what is kept for a device does not travel
    gradient = ExpansionGradient(Laplace(2.0), one.X[:6], one.y[:6], A)
    passes: list[Statistic[Any, Any, Any]] = [
        Moments(features),
        GradientOuterProducts(gradient, 100),
    ]
    for statistic in passes:
        sent = pickle.loads(pickle.dumps(statistic))
        for name, values in statistic.pack(statistic.update(statistic.init(one), one)).items():
            assert torch.equal(sent.pack(sent.update(sent.init(one), one))[name], values)
    onto = inputs_only(one.X[0], one.X[:5, :2], one.y.shape[1])
    assert torch.equal(pickle.loads(pickle.dumps(onto))(one).X, onto(one).X)
    assert len(pickle.dumps(features)) < 2 * 8 * (36 + 30 + 25) + 2000


def test_features_are_those_of_the_metric():
    """phi(x).phi(z) = k(A x, A z) where z is a centre."""
    one = data(40)
    f = sampled(over(one)).ridge(
        Laplace(2.0), 1e-2, NystromDirect(40), torch.diag(torch.arange(5.0).double()), "fit"
    )
    close(
        f(one.X),
        KernelRidge(Laplace(2.0), 1e-2).fit(in_memory(one.X * torch.arange(5.0), one.y, one.w))(
            one.X * torch.arange(5.0)
        ),
        ROUNDING,
    )


def test_chunks_have_rows_enough_for_products_and_few_enough_for_memory():
    limit = 4 * 2**20
    assert limit // row_bytes(8) == limit // 8
    assert limit // row_bytes(7 * 8 * 2000) == 256
    assert limit // row_bytes(2**20) == 64
    assert limit // row_bytes(2**30) == 1
