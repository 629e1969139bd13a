"""Recursive feature machines: reductions, invariance, and every option."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from contracts import close, data
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Laplace
from gradfeat.models.rfm import RFM
from gradfeat.models.solvers.direct import Adaptive, Direct
from gradfeat.models.solvers.nystrom import Nystrom
from gradfeat.rows.rows import in_memory

BASE = RFM(Laplace(3.0), 0.1, n_iter=2)


def test_no_update_is_kernel_ridge():
    one = data()
    f = replace(BASE, n_iter=0).fit(in_memory(one.X, one.y, one.w))
    close(f(one.X), KernelRidge(Laplace(3.0), 0.1).fit(in_memory(one.X, one.y, one.w))(one.X))


@pytest.mark.parametrize("centre", [False, True])
def test_metric_is_the_normalised_agop_of_the_machine_before(centre):
    one = data()
    path = [*replace(BASE, centre_gradients=centre).fit_path(in_memory(one.X, one.y, one.w))]
    for before, after in pairwise(path):
        G = before.agop(one.X, weights=one.w, centre=centre)
        close(after.M, 4 * G / G.trace(), 1e-8)


def test_predictions_turn_with_the_inputs():
    one = data()
    Q = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(2)).double())[0]
    close(
        BASE.fit(in_memory(one.X @ Q, one.y))(one.X @ Q),
        BASE.fit(in_memory(one.X, one.y))(one.X),
        1e-6,
    )


def test_diagonal_metric_changes_at_every_iteration():
    one = data()
    path = [*replace(BASE, n_iter=3, diagonal=True).fit_path(in_memory(one.X, one.y))]
    for before, after in pairwise(path):
        assert float((after.M - before.M).abs().max()) > 1e-3
        assert torch.equal(after.M, torch.diag(after.M.diagonal()))


@pytest.mark.parametrize(
    "option",
    [
        {"alpha": 0.2},
        {"n_iter": 3},
        {"diagonal": True},
        {"agop_power": 0.5},
        {"agop_power": 0.25},
        {"centre_gradients": True},
        {"normalisation": "max"},
        {"agop_rows": 20},
        {"kernel": Laplace(2.0)},
    ],
)
def test_every_option_changes_the_fit(option):
    one = data()
    changed = replace(BASE, **option).fit(in_memory(one.X, one.y))(one.X)
    assert float((changed - BASE.fit(in_memory(one.X, one.y))(one.X)).abs().max()) > 1e-4


def large() -> tuple[torch.Tensor, torch.Tensor]:
    """Two directions of eight, 900 rows in float32: several tiles."""
    X = torch.randn(900, 8, generator=torch.Generator().manual_seed(1))
    return X, (X[:, :1] * X[:, 1:2]).sin()


def test_iterated_rounds_agree_with_factorised_ones():
    X, y = large()
    base = RFM(Laplace(5.0), 1e-2, n_iter=3, solver=Adaptive(1e-3, few=100))
    exact = replace(base, solver=Direct(), rough=None).fit(in_memory(X.double(), y.double()))
    for rough, tolerance in ((None, 1e-3), (Adaptive(1e-2, few=100), 1e-2)):
        f = replace(base, rough=rough).fit(in_memory(X, y))
        fit, expected = f(X).double(), exact(X.double())
        # |error of the last round| <= tolerance |y|, those before move M by as much each.
        assert float((fit - expected).norm() / y.norm()) < 4 * tolerance
        assert float((f.M.double() - exact.M).norm() / exact.M.norm()) < 4 * tolerance


def test_nystrom_centres_make_a_smaller_machine_of_the_same_metric():
    X, y = large()
    base = RFM(Laplace(5.0), 1e-2, n_iter=3)
    few = Nystrom(centres=300)
    f, g = replace(base, solver=few, rough=few).fit(in_memory(X, y)), base.fit(in_memory(X, y))
    assert len(f.c) == 300
    directions = [torch.linalg.eigh(one.M)[1][:, -2:] for one in (f, g)]
    # Cosine of the largest angle between both planes: 0.97 for the relevant ones, 0.3 at random.
    assert float(torch.linalg.svdvals(directions[0].T @ directions[1])[-1]) > 0.95


def test_a_float32_matrix_without_digits_left_is_solved():
    """Laplace in float32, penalty at rounding: residuals in float64 tell, and correct."""
    X, y = large()
    f = RFM(Laplace(500.0), 1e-6, n_iter=0).fit(in_memory(X, y))
    g = RFM(Laplace(500.0), 1e-6, n_iter=0).fit(in_memory(X.double(), y.double()))
    assert float((f(X).double() - g(X.double())).norm() / y.norm()) < 2e-3


def test_what_does_not_fit_is_refused():
    one = data()
    tight = Adaptive(memory_limit=1000)
    with pytest.raises(MemoryError, match=r"needs [\d.]+ MB and 1 kB are allowed"):
        replace(BASE, solver=tight, rough=None).fit(in_memory(one.X, one.y))
