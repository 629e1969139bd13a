"""Machines of leaves: the function, its gradient, its file, and rows that do no harm."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from contracts import (
    check_agop_in_tiny_blocks,
    check_batches_equal_all_rows,
    check_fit_repeats_and_leaves_global_state,
    check_gradient_is_the_derivative,
    check_saved_description_restores,
    close,
    data,
)
from gradfeat.maths.blocks import Block
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern
from gradfeat.models.local_machines import LocalMachines, LocalRidge, gathered, leave_one_out
from gradfeat.models.partition import cut_rows
from gradfeat.models.rfm import RFM
from gradfeat.models.solvers.direct import Direct
from gradfeat.rows import from_arrays
from gradfeat.rows.rows import in_memory


def table(n: int = 40) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows = data(n)
    return rows.X, rows.y, rows.w


SMALL = LocalRidge(Matern(1.5, 2.5), 0.1, one_machine=15, leaf_rows=8, fewest=4, penalties=(1.0,))


@pytest.fixture(scope="module")
def fitted() -> LocalMachines:
    X, y, w = table()
    f = SMALL.fit(in_memory(X, y, w))
    assert f.spec()["type"] == "LocalMachines"
    return f  # type: ignore[return-value]


@pytest.mark.parametrize(
    "check",
    [
        check_gradient_is_the_derivative,
        check_agop_in_tiny_blocks,
        check_batches_equal_all_rows,
        check_saved_description_restores,
    ],
)
def test_contracts_of_predictors(check, fitted: LocalMachines):
    check(fitted)


def test_a_fit_repeats():
    check_fit_repeats_and_leaves_global_state(SMALL)


def test_rows_that_stream_have_leaves_as_those_in_memory():
    X, y, _ = table(60)
    rows = from_arrays(X.numpy(), y.numpy())
    f = SMALL.fit(rows)
    sample = gathered(rows, 0).sample
    assert sample is not None
    g = SMALL.fit(in_memory(sample.X, sample.y, sample.w))
    assert f.spec()["type"] == "LocalMachines"
    assert sorted(sample.y.flatten().tolist()) == sorted(y.flatten().tolist())
    close(f(X), g(X))


@pytest.mark.parametrize("leaves", [1, 2, 3, 7])
def test_shares_of_leaves_add_to_one_and_their_rows_have_them(leaves: int):
    X = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)).double()
    tree, rows = cut_rows(X, torch.ones(200).double(), leaves, overlap=0.2)
    total, slope = torch.zeros(200).double(), torch.zeros(200, 3).double()
    for part in tree.parts(X):
        assert sorted(part.rows.tolist()) == sorted(rows[part.leaf].tolist())
        total[part.rows] += part.share
        slope[part.rows] += part.slope
    assert tree.leaves == len(rows) == leaves
    close(total, torch.ones_like(total))
    # Slopes are up to 1 / half-width, of which the least here is some .05.
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-12)


def test_leaves_share_the_weights():
    """A row of weight 2 and the row twice lead to the same tree."""
    X = torch.randn(60, 2, generator=torch.Generator().manual_seed(1)).double()
    w = (torch.arange(60) % 3 + 1).double()
    one, _ = cut_rows(X, w, 4, overlap=0.2)
    other, _ = cut_rows(X.repeat_interleave(w.long(), 0), torch.ones(int(w.sum())), 4, overlap=0.2)
    close(one.thresholds, other.thresholds)
    close(one.directions, other.directions)


@pytest.mark.parametrize("distinct", [1, 2])
def test_equal_rows_are_never_parted(distinct: int):
    X = (torch.arange(50) % distinct).double()[:, None]
    _, rows = cut_rows(X, torch.ones(50).double(), 8, overlap=0.1)
    assert [len(leaf) for leaf in rows] == [50 // distinct] * distinct


def test_leave_one_out_is_refitting_without_the_row():
    X, y, w = table(12)
    k, errors = Gaussian(1.5), []
    for i in range(12):
        others = [j for j in range(12) if j != i]
        A = k(X[others], X[others])
        A.diagonal().add_(0.3 / w[others])
        f = k(X[i : i + 1], X[others]) @ torch.linalg.solve(A, y[others])
        errors.append((f - y[i]).square().sum())
    close(leave_one_out(k, Block(X, y, w), 0.3), torch.stack(errors))


def test_few_rows_are_kernel_ridge():
    X, y, w = table()
    close(
        LocalRidge(Laplace(2.0), 0.1).fit(in_memory(X, y, w))(X),
        KernelRidge(Laplace(2.0), 0.1, Direct()).fit(in_memory(X, y, w))(X),
    )


def _noise(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(3)
    return torch.randn(n, 3, generator=g).double(), torch.randn(n, 1, generator=g).double()


def test_of_noise_there_are_no_leaves():
    learner = LocalRidge(Laplace(2.0), 10.0, one_machine=100, leaf_rows=100, fewest=20)
    assert learner.fit(in_memory(*_noise(400))).spec()["type"] == "KernelMachine"


def test_no_cliff_where_one_machine_ends():
    """At the limit, a row beyond it and with the first leaf's rows the error does not rise.

    Of the 400 rows beyond 300 a leaf makes the error at least a fifth less; a row beyond changes
    nothing but which rows they are: 15 % are several times the standard deviation over seeds.
    """
    X, _ = _noise(2000)
    y, learner = (
        (2 * X[:, :1]).sin() + X[:, 1:2].abs(),
        LocalRidge(Laplace(3.0), 1e-3, one_machine=300, leaf_rows=300, fewest=20),
    )
    errors = [
        float((learner.fit(in_memory(X[:n], y[:n]))(X[1000:]) - y[1000:]).square().mean())
        for n in (299, 300, 301, 700, 1000)
    ]
    assert all(more < 1.15 * fewer for fewer, more in pairwise(errors))
    assert errors[3] < 0.8 * errors[2]
    assert errors[4] < errors[3]


def test_memory_makes_leaves_smaller():
    X = torch.zeros(50_000, 2)
    assert LocalRidge(Laplace(1.0), 1e-3).leaves(X) == 10
    assert LocalRidge(Laplace(1.0), 1e-3, memory_limit=50 * 2**20).leaves(X) > 20


def test_updates_of_an_rfm_see_more_and_more_rows():
    X, y, _ = table(64)
    seen: list[int] = []

    class Noted(Laplace):
        def own_gradient(self, X, c, tiles):
            seen.append(len(X))
            return super().own_gradient(X, c, tiles)

    list(
        RFM(Noted(3.0), 0.1, n_iter=4, metric_rows=40, first_metric_rows=8).metrics(in_memory(X, y))
    )
    assert seen == [8, 10, 20, 40]
