"""Solves of many rows: Nystrom centres in one pass, what Adaptive chooses, float32 at its end."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import close
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.rfm import RFM
from gradfeat.models.solvers.base import System
from gradfeat.models.solvers.direct import Adaptive, Direct
from gradfeat.models.solvers.nystrom_direct import NystromDirect
from gradfeat.rows.rows import in_memory


def rows(n: int, d: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(seed)).double()
    return X, torch.cat([X[:, :1].sin(), X[:, 1:2].square()], 1)


def test_all_points_as_centres_are_kernel_ridge():
    """The jitter of T, 10 roundings, times the condition of the whitened equations, n / alpha."""
    X, y = rows(150)
    f = KernelRidge(Laplace(2.0), 1e-2, NystromDirect(centres=150)).fit(in_memory(X, y))
    close(f(X), KernelRidge(Laplace(2.0), 1e-2).fit(in_memory(X, y))(X), 1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_normal_equations_hold(weighted):
    """K_mn W (y - K_nm c) = alpha K_mm c, to the jitter of T."""
    X, y = rows(300)
    w = torch.rand(300, generator=torch.Generator().manual_seed(1)).double() if weighted else None
    k = Laplace(2.0)
    one = NystromDirect(centres=40).solve(System(k, X, y, 1e-2, w))
    K, Z = k(X, one.Z), one.Z
    residual = y - K @ one.c
    left = K.T @ (residual if w is None else w[:, None] * residual)
    assert len(Z) == 40
    assert one.index is not None
    assert torch.equal(X[one.index], Z)
    close(left, 1e-2 * k(Z, Z) @ one.c, 1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_smooth_kernel_keeps_its_digits(dtype):
    """A Gaussian kernel on a line has few functions above rounding: few centres, a good fit."""
    X, _ = rows(2000, 1)
    y = (2 * X).sin()
    f = KernelRidge(Gaussian(1.0), 1e-3, NystromDirect()).fit(in_memory(X.to(dtype), y.to(dtype)))
    assert len(f.Z) < 40
    # What is left is the penalty's bias and the rounding of the coefficients, 1e-4 in float32.
    assert float((f(X.to(dtype)) - y).norm() / y.norm()) < 2e-3


def test_memory_decides_the_number_of_centres():
    X, y = rows(3000)
    system = System(Laplace(2.0), X.float(), y.float(), 1e-2)
    least = NystromDirect().bytes(system, 50)
    assert NystromDirect(memory_limit=least).count(system) == 50
    assert NystromDirect(memory_limit=10**10).count(system) == 547
    assert NystromDirect(centres=20).count(system) == 20
    with pytest.raises(MemoryError, match="Nystrom with 10 centres on 3,000 rows needs"):
        NystromDirect(memory_limit=1000).solve(system)


def test_the_seed_draws_the_centres_and_watch_sees_the_end():
    X, y = rows(300)
    system = System(Laplace(2.0), X, y, 1e-2)
    seen: list[tuple[int, int]] = []

    def watch(progress, Z, c):
        seen.append((progress.iteration, len(Z) - len(c)))
        return False

    one = [NystromDirect(centres=20).solve(system, seed=s, watch=watch).Z for s in (0, 0, 1)]
    assert torch.equal(one[0], one[1])
    assert not torch.equal(one[0], one[2])
    assert seen == [(1, 0)] * 3


def test_adaptive_takes_centres_beyond_most_rows():
    X, y = rows(300)
    system = System(Laplace(2.0), X, y, 1e-2)
    assert Adaptive(most=300).solve(system).index is None
    some = Adaptive(most=299).solve(system)
    assert some.index is not None
    assert torch.equal(some.c, NystromDirect().solve(system).c)


def test_a_metric_learnt_from_some_rows_is_used_on_all():
    X, y = rows(400)
    rfm = RFM(Laplace(3.0), 1e-2, n_iter=2)
    f = replace(rfm, metric_rows=100).fit(in_memory(X, y))
    assert len(f.Z) == 400
    close(replace(rfm, metric_rows=400).fit(in_memory(X, y))(X), rfm.fit(in_memory(X, y))(X))
    *_, A = replace(rfm, metric_rows=100).metrics(in_memory(X, y))
    assert torch.equal(f.A, A)
    assert float((f.A - rfm.fit(in_memory(X, y)).A).abs().max()) > 1e-3
    # The last round is kernel ridge on all rows in that metric.
    close(f(X), KernelRidge(Laplace(3.0), 1e-2).fit(in_memory(X @ A, y))(X @ A))


@pytest.mark.parametrize("solver", [Adaptive(), Adaptive(few=100)])
@pytest.mark.parametrize(
    ("kernel", "alpha"),
    [(Laplace(1e4), 1e-3), (Laplace(1e5), 1e-5), (Gaussian(30.0), 1e-5), (Gaussian(100.0), 1e-4)],
)
def test_float32_with_no_digits_left_is_solved_as_float64(solver, kernel, alpha):
    """Condition numbers of 1e6 to 1e8: fits agree to the tolerance of the residual, 1e-3."""
    X, y = rows(1500, 50)
    X, narrow = X.float().double(), y.float()
    exact = Direct().solve(System(kernel, X, narrow.double(), alpha))
    found = solver.solve(System(kernel, X.float(), narrow, alpha))
    assert found.converged
    K = kernel(X, X)
    # |K (c - c*)| <= |r|, estimated from 256 of 1,500 rows: within a factor of two.
    assert float((K @ (found.c - exact.c)).norm() / y.norm()) < 2e-3
