"""Machines on fewer centres and in float32: what may change, and where nothing does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gradfeat.maths.blocks import Block
from gradfeat.models import fewer_centres
from gradfeat.models.base import Kernel
from gradfeat.models.fewer_centres import CHANGE, PivotFit, between, quickened
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern
from gradfeat.models.predictors import KernelMachine
from gradfeat.models.rfm import RFM
from gradfeat.models.search.rounds import Rounds, search_rounds
from gradfeat.models.search.search import FAST
from gradfeat.models.solvers.base import Meter
from gradfeat.rows.rows import of_block


def table(n: int, noise: float, d: int = 2) -> Block:
    g = torch.Generator().manual_seed(0)
    X = torch.randn(n, d, generator=g)
    y = (2 * X[:, :1]).sin() + X[:, 1:2].abs() + noise * torch.randn(n, 1, generator=g)
    return Block(X, y, torch.ones(n))


def ridge(kernel, alpha: float, rows: Block) -> KernelMachine:
    return KernelRidge(kernel, alpha).fit(of_block(rows))


@pytest.fixture(scope="module")
def smooth() -> tuple[KernelMachine, Block]:
    rows = table(1200, 0.3)
    return ridge(Matern(1.0, 2.5), 0.1, rows), rows


def test_a_smooth_kernel_has_fewer_centres_and_float32(smooth):
    f, rows = smooth
    g, X = quickened(f, rows), table(3000, 0.3).X[1200:].double()
    assert len(g.Z) < 300
    assert g.Z.dtype == torch.float32
    residual = float((rows.y - f(rows.X)).square().mean().sqrt())
    # Certified at made inputs: at drawn ones the tails are a few percent more.
    assert float((g(X) - f.in_float64()(X)).square().mean().sqrt()) < 1.2 * CHANGE * residual


@pytest.mark.parametrize(("bandwidth", "tried"), [(3.0, [100]), (1.0, [100, 400])])
def test_more_pivots_are_tried_where_a_quarter_leaves_too_much(
    bandwidth: float, tried: list[int], monkeypatch: pytest.MonkeyPatch
):
    asked, factor = [], fewer_centres.low_rank

    def counted(k: Kernel, X: Tensor, S: None, most: int, seed: int, meter: Meter):
        asked.append(most)
        return factor(k, X, S, most, seed, meter)

    monkeypatch.setattr(fewer_centres, "low_rank", counted)
    rows = table(1200, 0.3)
    assert len(quickened(ridge(Matern(bandwidth, 2.5), 0.1, rows), rows).Z) < 1200
    assert asked == tried


def test_rows_in_float64_have_sums_in_float64(smooth):
    f, rows = smooth
    g = quickened(f.in_float64(), rows.double())
    assert g.Z.dtype == torch.float64
    assert len(g.Z) < 300


def test_memory_keeps_the_centres(smooth):
    f, rows = smooth
    assert len(quickened(f, rows, memory_limit=10**6).Z) == 1200


def test_a_rough_kernel_keeps_its_centres():
    rows = table(1100, 0.3, d=6)
    assert len(quickened(ridge(Laplace(2.0), 0.1, rows), rows).Z) == 1100


def test_without_noise_float32_is_refused():
    rows = table(300, 0.0)
    f = ridge(Gaussian(0.5), 1e-6, rows.double())
    g = quickened(f, rows)
    assert g.Z.dtype == torch.float64
    assert torch.equal(g.c, f.c)


def test_every_number_of_pivots_is_least_squares():
    rows = table(80, 0.0).double()
    fit = PivotFit.of(Laplace(1.0), rows.X, rows.y, 20, seed=0)
    for q in (3, 11, 20):
        K = Laplace(1.0)(rows.X, rows.X[fit.chosen[:q]])
        c = torch.linalg.lstsq(K, rows.y).solution
        # The jitter, 1e-10, times the condition of the normal equations.
        torch.testing.assert_close(K @ fit.coefficients(q), K @ c, rtol=0, atol=1e-6)
        left = (rows.y - K @ c).square().mean()
        assert float(fit.left[q - 1]) == pytest.approx(float(left), rel=1e-5)


def test_inputs_between_rows_are_on_the_way_to_the_nearest():
    X = torch.tensor([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]]).double()
    made = between(X, X, 0)
    assert float(made[:, 1].abs().max()) == 0.0
    assert not bool((made == X).all(1).any())


def test_rounds_in_float64_leave_a_metric_in_the_type_of_the_rows():
    """Coefficients of 1e6 cancel in float32, so the machine of a round is one in float64."""
    rows = table(300, 1.0)
    start = Rounds("gaussian", 3.0, 1e-6, False, 1.0, 1)

    def make(rounds: Rounds) -> RFM:
        return RFM(Gaussian(rounds.bandwidth), rounds.alpha, n_iter=rounds.n_iter)

    assert next(iter(make(start).fit_path(of_block(rows)))).A.dtype == torch.float64
    for one in search_rounds(make, start, {}, rows, 0, FAST)[0].rounds:
        assert all(split.A.dtype == torch.float32 for split in one.splits)


def test_a_sum_in_float32_does_not_depend_on_the_rows_beside_it():
    g = torch.Generator().manual_seed(0)
    for m in (100, 1500):
        Z, c = torch.randn(m, 3, generator=g), 100 * torch.randn(m, 1, generator=g)
        f = KernelMachine(Matern(1.0, 1.5), Z, c, torch.zeros(1), torch.ones(3))
        X = torch.randn(300, 3, generator=g)
        assert torch.equal(f(X), torch.cat([f(X[:1]), f(X[1:50]), f(X[50:])]))
    assert f(X[:0]).shape == (0, 1)
