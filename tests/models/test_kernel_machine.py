"""Closed-form gradients of kernel machines against automatic differentiation."""

from __future__ import annotations

import math

import pytest
import torch

from contracts import RADIAL, close, data
from gradfeat.maths.gradients import agop, autodiff_gradient
from gradfeat.models.predictors import KernelMachine

#: The kernels as functions of r / bandwidth, written out of place so that autograd can follow.
PROFILES = [
    lambda r: torch.exp(-r),
    lambda r: torch.exp(-r.square() / 2),
    lambda r: torch.exp(-r),
    lambda r: (1 + math.sqrt(3) * r) * torch.exp(-math.sqrt(3) * r),
    lambda r: (1 + math.sqrt(5) * r + 5 / 3 * r.square()) * torch.exp(-math.sqrt(5) * r),
]
METRICS = [
    torch.tensor([0.5, 2.0, 0.0, 1.0]).double(),
    (lambda B: B @ B.T / 4)(torch.randn(4, 4, generator=torch.Generator().manual_seed(1)).double()),
]


@pytest.mark.parametrize("A", METRICS, ids=["diagonal", "full"])
@pytest.mark.parametrize(("kernel", "profile"), list(zip(RADIAL, PROFILES, strict=True)))
def test_values_gradients_and_agop(kernel, profile, A):
    one = data()
    f = KernelMachine(kernel, one.X, one.y, one.y[0], A)
    full = torch.diag(A) if A.ndim == 1 else A
    X = data(9).X + 0.123

    def reference(X):
        u = (X[:, None] - one.X) @ full
        return profile(u.norm(dim=2) / kernel.bandwidth) @ one.y + one.y[0]

    close(f(X), reference(X))
    close(f.gradient(X), autodiff_gradient(reference, X))
    close(f.agop(X), agop(lambda X: autodiff_gradient(reference, X), X))
    close(f.M, full @ full)


def test_agop_stays_within_its_block():
    g = torch.Generator().manual_seed(0)
    Z, c = torch.randn(300, 20, generator=g).double(), torch.randn(300, 10, generator=g).double()
    f = KernelMachine(RADIAL[0], Z, c, c[0], torch.ones(20).double())
    rows = []

    def counting(X):
        rows.append(len(X))
        return f.gradient(X)

    limit = 10 * f.scratch_per_row()
    agop(counting, Z, bytes_per_row=f.scratch_per_row(), block_bytes=limit)
    assert max(rows) == 10
    # The kernel row, its slopes and the (10 x 20) result of one row are within the declared size.
    assert f.scratch_per_row() >= 8 * (2 * 300 + 10 * 20)
