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

BASE = RFM(Laplace(3.0), 0.1, n_iter=2)


def test_no_update_is_kernel_ridge():
    one = data()
    f = replace(BASE, n_iter=0).fit(one.X, one.y, weights=one.w)
    close(f(one.X), KernelRidge(Laplace(3.0), 0.1).fit(one.X, one.y, weights=one.w)(one.X))


@pytest.mark.parametrize("centre", [False, True])
def test_metric_is_the_normalised_agop_of_the_machine_before(centre):
    one = data()
    path = [*replace(BASE, centre_gradients=centre).fit_path(one.X, one.y, weights=one.w)]
    for before, after in pairwise(path):
        G = before.agop(one.X, weights=one.w, centre=centre)
        close(after.M, 4 * G / G.trace(), 1e-8)


def test_predictions_turn_with_the_inputs():
    one = data()
    Q = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(2)).double())[0]
    close(BASE.fit(one.X @ Q, one.y)(one.X @ Q), BASE.fit(one.X, one.y)(one.X), 1e-6)


def test_diagonal_metric_changes_at_every_iteration():
    one = data()
    path = [*replace(BASE, n_iter=3, diagonal=True).fit_path(one.X, one.y)]
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
    changed = replace(BASE, **option).fit(one.X, one.y)(one.X)
    assert float((changed - BASE.fit(one.X, one.y)(one.X)).abs().max()) > 1e-4


def test_what_does_not_fit_is_refused():
    X, y = torch.zeros(1, 94).expand(1_250_000, 94), torch.zeros(1, 1).expand(1_250_000, 1)
    with pytest.raises(MemoryError, match=r"18\.8 TB"):
        BASE.fit(X, y)
