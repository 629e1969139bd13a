"""Kernel ridge: stationarity, scikit-learn, refusal."""

from __future__ import annotations

import pytest
import torch
from sklearn.kernel_ridge import KernelRidge as Reference

from contracts import KERNELS, close, data
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian
from gradfeat.models.solvers.conjugate_gradients import ConjugateGradients
from gradfeat.models.solvers.direct import Direct
from gradfeat.models.solvers.nystrom import Nystrom
from gradfeat.rows.rows import in_memory


@pytest.mark.parametrize("kernel", KERNELS)
def test_stationarity(kernel):
    one = data()
    f = KernelRidge(kernel, 0.3).fit(in_memory(one.X, one.y, one.w))
    mean = one.w @ one.y / one.w.sum()
    close((kernel(one.X, one.X) + 0.3 * torch.diag(1 / one.w)) @ f.c, one.y - mean)


def test_agrees_with_scikit_learn():
    one = data()
    f = KernelRidge(Gaussian(1.5), 0.3).fit(in_memory(one.X, one.y))
    other = Reference(alpha=0.3, kernel="rbf", gamma=1 / (2 * 1.5**2))  # pyright: ignore
    other.fit(one.X.numpy(), (one.y - one.y.mean(0)).numpy())
    X = data(9).X + 0.1
    close(f(X), torch.from_numpy(other.predict(X.numpy())) + one.y.mean(0))


@pytest.mark.parametrize("limit", [None, 10**9])
def test_what_does_not_fit_is_refused_before_allocating(limit):
    X, y = torch.zeros(1, 94).expand(1_250_000, 94), torch.zeros(1, 1).expand(1_250_000, 1)
    with pytest.raises(MemoryError, match=r"6\.25 TB.*Nystrom.*random features"):
        KernelRidge(Gaussian(1.0), 1.0, Direct(memory_limit=limit)).fit(in_memory(X, y))


def test_alpha_and_bandwidth_change_the_fit():
    one = data()
    fits = [
        KernelRidge(Gaussian(s), alpha).fit(in_memory(one.X, one.y))(one.X)
        for s, alpha in ((1.0, 0.1), (2.0, 0.1), (1.0, 0.2))
    ]
    assert not torch.allclose(fits[0], fits[1])
    assert not torch.allclose(fits[0], fits[2])


def test_the_solver_is_used_and_a_tolerance_not_reached_is_told():
    one = data()
    f = KernelRidge(Gaussian(1.5), 0.3, Nystrom(centres=9)).fit(in_memory(one.X, one.y))
    assert f.Z.shape == (9, 4)
    short = KernelRidge(Gaussian(1.5), 0.3, ConjugateGradients(max_iter=2))
    with pytest.warns(UserWarning, match=r"residual is .* after 2 iterations .*: raise max_iter"):
        short.fit(in_memory(one.X, one.y))
