"""The search of the last fit: what it finds, what it must not see, and its rule of choice."""

from __future__ import annotations

import math

import pytest
import torch

from gradfeat.estimators.training import spread
from gradfeat.maths.blocks import Block
from gradfeat.models.search.head_search import (
    ALPHAS,
    SMOOTHNESS,
    Head,
    HeadSearch,
    HeadTrial,
    Split,
    evaluate_head,
    fit_head,
    held_out_loss,
)
from gradfeat.models.search.rfm_space import rougher
from gradfeat.models.search.rounds import Round
from gradfeat.models.solvers.direct import Direct


def block(n: int, seed: int, noise: float = 0.0) -> Block:
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 6, generator=g).double()
    y = (1.5 * X[:, :1]).sin() + noise * torch.randn(n, 1, generator=g).double()
    return Block(X, y, torch.ones(n).double())


def split(noise: float = 0.0) -> Split:
    """M knows that the first input is all that matters, nearly."""
    A = torch.diag(torch.tensor([1.0, 0.05, 0.04, 0.03, 0.02, 0.01]).double())
    return Split(block(150, 0, noise), block(150, 1, noise), A)


def run(one: Split, directions=(1, 2, 4, None)):
    return HeadSearch([one], list(directions), ALPHAS).run()


def test_one_direction_is_found_and_fitted():
    found = run(split())
    assert found.head.directions == 1
    # The target's variance is 0.45; a kernel on all six inputs leaves a few percent of it.
    assert found.loss < 1e-4


def test_the_loss_is_that_of_the_same_head_fitted_by_a_solver():
    one = split(0.3)
    found = run(one)
    again = fit_head(one, found.head, Direct())
    assert held_out_loss([one], [again]) == pytest.approx(found.loss, rel=1e-6)
    torch.testing.assert_close(again, found.predictions[0], rtol=1e-6, atol=1e-8)


def test_noise_raises_the_penalty():
    assert run(split(0.5)).head.alpha > run(split()).head.alpha


def test_held_out_targets_do_not_enter_the_predictions():
    one = split(0.3)
    other = Split(one.train, Block(one.held.X, -one.held.y, one.held.w), one.A)
    head = Head(2)
    first, second = (evaluate_head([s], head, [1e-2]) for s in (one, other))
    assert torch.equal(first.predictions[0], second.predictions[0])
    assert first.loss != second.loss


@pytest.mark.parametrize("start", [1e-6, 1e-3, 10.0])
def test_penalties_are_tried_downhill_from_the_heads_own(start: float):
    one = split(0.3)
    every = [evaluate_head([one], Head(2, alpha=a), [a]).loss for a in ALPHAS]
    found = evaluate_head([one], Head(2, alpha=start), ALPHAS)
    assert found.loss == min(every)
    assert found.head.alpha == ALPHAS[every.index(min(every))]


def test_a_head_that_is_hopeless_on_the_first_split_sees_no_other():
    splits = [split(), split(0.3)]
    good = HeadTrial(Head(1), 0.0, tuple(one.held.y for one in splits))
    poor = Head(None, kernel="laplace")
    assert evaluate_head(splits, poor, ALPHAS).loss < math.inf
    given_up = evaluate_head(splits, poor, ALPHAS, good)
    assert given_up.loss == math.inf
    assert given_up.predictions == ()
    found = evaluate_head(splits, Head(1), ALPHAS)
    assert evaluate_head(splits, Head(1), ALPHAS, found).loss == found.loss


def test_too_few_directions_end_the_scan():
    """Two inputs count: with one a fit is hopeless, and with less there is none."""
    A = torch.ones(6).double()
    one = split()
    both = [Block(b.X, b.y + b.X[:, 1:2].cos(), b.w) for b in (one.train, one.held)]
    A[2:] = 0.01
    search = HeadSearch([Split(*both, A)], [1, 2, 4, None], ALPHAS)
    found = search.run()
    assert found.head.directions == 2
    scanned = [t.head.directions for t in search.tried[:4]]
    assert scanned == [None, 4, 2, 1]
    again = HeadSearch(search.splits, [1, 2, 4, None], ALPHAS)
    assert again.run(search.leading()).loss <= 1.01 * found.loss
    assert len(again.tried) < len(search.tried)
    # A metric that nothing was learnt for has no number of directions to choose.
    assert HeadSearch(search.splits, [None], ALPHAS).run([Head(2)]).head.directions is None


def trial(one: Split, head: Head, spread: float, seed: int) -> HeadTrial:
    """A head whose held-out errors are +-spread, each with a sign of its own."""
    signs = torch.randint(0, 2, one.held.y.shape, generator=torch.Generator().manual_seed(seed))
    f = one.held.y + spread * (1 + 0.1 * signs)
    return HeadTrial(head, held_out_loss([one], [f]), (f,))


def test_of_heads_that_chance_may_order_the_smoothest_of_fewest_directions_is_taken():
    one = split()
    search = HeadSearch([one], [1, 2, None], ALPHAS)
    best = trial(one, Head(None, kernel="laplace"), 1.0, 0)
    # Errors of 1 to 1.1 squared: a standard error of .012 in the difference of two heads.
    alike = [
        trial(one, Head(2, kernel="laplace"), 1.001, 1),
        trial(one, Head(1, kernel="laplace"), 1.001, 1),
        trial(one, Head(2, kernel="gaussian"), 1.001, 1),
        trial(one, Head(2, kernel="gaussian", bandwidth=2.0), 1.001, 1),
    ]
    # Too much worse; and a little worse on every row, which is no chance.
    worse = trial(one, Head(1, kernel="gaussian", bandwidth=8.0), 1.1, 1)
    surely = trial(one, Head(1, kernel="gaussian", bandwidth=8.0), 1.002, 0)
    search.tried += [best, worse, surely]
    assert search.simplest() is best
    for number, head in enumerate(alike):
        search.tried.append(head)
        assert search.simplest() is alike[number]


def test_a_tie_goes_to_the_simplest():
    one = split()
    search = HeadSearch([one], [1, None], ALPHAS)
    search.tried += [trial(one, Head(r), 1.0, 0) for r in (None, 1)]
    assert search.simplest().head.directions == 1


def test_more_directions_are_taken_where_they_help():
    blind = torch.diag(torch.tensor([0.1, 1.0, 0.01, 0.01, 0.01, 0.01]).double())
    one = split()
    assert (
        run(Split(one.train, one.held, torch.diag(torch.eye(6).double()[0]))).head.directions == 1
    )
    assert run(Split(one.train, one.held, blind)).head.directions != 1


def test_a_penalty_that_cannot_be_factorised_is_passed_over():
    one = split()
    narrow = Split(
        *(Block(b.X.float(), b.y.float(), b.w.float()) for b in (one.train, one.held)),
        one.A.float(),
    )
    trial = evaluate_head([narrow], Head(1, kernel="gaussian", bandwidth=8.0), [0.0, 1e-2])
    assert trial.head.alpha == 1e-2


@pytest.mark.parametrize("n", [10, 97, 1000])
def test_every_run_of_rows_is_a_fair_sample_of_the_targets(n):
    y = torch.randn(n, 1, generator=torch.Generator().manual_seed(n)).double().numpy() ** 3
    order = spread(y, 3)
    assert sorted(order.tolist()) == list(range(n))
    ranks = y[order, 0].argsort().argsort()
    held = ranks[: n // 3]
    # Low discrepancy: the share of ranks below any level is within 2 log(n)/len of the level.
    counted = [abs((held < level * n).mean() - level) for level in (0.1, 0.5, 0.9)]
    assert max(counted) < 2.0 / len(held) * max(1.0, n**0.25)


def steps(n: int, seed: int) -> Block:
    """A sum of steps, one for each of three columns: rough, and of the columns as they are."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 6, generator=g).double()
    return Block(X, X[:, :3].sign().sum(1, keepdim=True), torch.ones(n).double())


def test_steps_of_single_columns_take_the_kernel_of_single_columns():
    one = Split(steps(200, 0), steps(200, 1), torch.ones(6).double())
    found = run(one, [None])
    assert found.head.kernel == "laplace-l1"
    radial = [
        evaluate_head([one], Head(None, kernel=name, bandwidth=factor), ALPHAS).loss
        for name in SMOOTHNESS
        for factor in (0.5, 1.0, 2.0, 4.0)
    ]
    # Kernels that see only distances leave a quarter more.
    assert found.loss < 0.8 * min(radial)


def test_a_given_number_of_directions_leaves_the_columns():
    one = Split(steps(100, 0), steps(100, 1), torch.diag(torch.ones(6)).double())
    search = HeadSearch([one], [2], ALPHAS)
    search.run()
    assert all(trial.head.kernel != "laplace-l1" for trial in search.tried)


def test_the_kernel_of_single_columns_has_no_neighbours():
    one = Split(steps(60, 0), steps(60, 1), torch.ones(6).double())
    search = HeadSearch([one], [None], ALPHAS)
    search.around(Head(None, kernel="laplace-l1", bandwidth=2.0))
    assert [trial.head.kernel for trial in search.tried] == ["laplace-l1"]


@pytest.mark.parametrize(
    ("target", "rows", "expected"),
    [
        (torch.abs, 3000, "matern52"),
        (torch.abs, 400, "gaussian"),
        (torch.square, 3000, "gaussian"),
    ],
)
def test_a_gaussian_gives_way_to_a_rougher_kernel_that_many_rows_favour(target, rows, expected):
    """Its error on |x| stops falling with rows; 300 of them, as a search has, do not show that."""
    g = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 2, generator=g).double()
    y = target(X[:, :1]) + 0.05 * torch.randn(rows, 1, generator=g).double()
    data = Block(X, y, torch.ones(rows).double())
    one = Split(data.at(slice(150, 300)), data.at(slice(150)), torch.ones(2).double())
    smooth = evaluate_head([one], Head(None, 0.0, "gaussian", 1.0), ALPHAS)
    last = Round([one], list(smooth.predictions), smooth.loss)
    assert rougher(last, smooth, data, None).head.kernel == expected


def test_losses_that_differ_by_rounding_are_a_tie():
    """On each row one is a little larger, by what no held-out row can tell."""
    one = split()
    search = HeadSearch([one], [1, None], ALPHAS)
    search.tried += [trial(one, Head(r), loss, 0) for r, loss in ((None, 1.0), (1, 1 + 1e-9))]
    assert search.simplest().head.directions == 1
