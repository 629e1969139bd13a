"""Rows fewer than columns: what is computed in their span is what all columns give."""

from __future__ import annotations

import pytest
import torch

from contracts import close
from gradfeat.maths.blocks import Block, collect
from gradfeat.maths.gradients import Thin, Whole, mean_outer_products, outer_products
from gradfeat.maths.linear_algebra import completed
from gradfeat.maths.statistics.moments import Moments, ThinWhitening, whitening, whitening_of
from gradfeat.models.gradient_step import GradientStep, Whitened
from gradfeat.models.head import RidgeHead
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.generalised_laplace import GeneralisedLaplace
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.rfm import RFM
from gradfeat.models.subspace_refit import SubspaceRefit
from gradfeat.rows.rows import in_memory

HEAD = RidgeHead(0.5)


def wide(n: int = 12, d: int = 20, c: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(3)
    X = torch.randn(n, d, generator=g).double()
    return X, torch.stack([X[:, 0] ** 2 + X[:, 1], X[:, 0] * X[:, 2]], 1)[:, :c]


def doubled(X, y):
    """The same rows twice, at half the weight: more rows than columns."""
    half = torch.full((2 * len(X),), 0.5).double()
    return in_memory(torch.cat([X, X]), torch.cat([y, y]), half)


@pytest.mark.parametrize(
    "learner",
    [
        GradientStep(16, n_steps=3, head=HEAD, linear="none"),
        GradientStep(16, n_steps=2, head=HEAD),
        GradientStep(16, n_steps=2, update="gradient", head=HEAD),
        GradientStep(16, n_steps=0, head=HEAD),
        Whitened(GradientStep(16, n_steps=2, head=HEAD), shrinkage=0.3),
        Whitened(GradientStep(16, n_steps=0, head=HEAD), shrinkage=0.3),
        RFM(Laplace(4.0), 0.1, n_iter=3),
        RFM(Laplace(4.0), 0.1, n_iter=3, diagonal=True),
        RFM(Gaussian(4.0), 0.1, n_iter=2, agop_power=0.5, normalisation="max"),
        RFM(GeneralisedLaplace(6.0, p=1.0), 0.1, n_iter=2, centre_gradients=True),
        *(
            SubspaceRefit(RFM(Laplace(4.0), 0.1, n_iter=2), KernelRidge(Gaussian(1.0), 0.1), r, 0.5)
            for r in (3, None)
        ),
    ],
)
def test_a_thin_fit_is_the_whole_one(learner):
    X, y = wide()
    new = torch.randn(30, X.shape[1], generator=torch.Generator().manual_seed(4)).double()
    # W of later steps is drawn through a root of the AGOP: its null space costs half the digits.
    for thin, whole in zip(
        learner.fit_path(in_memory(X, y)), learner.fit_path(doubled(X, y)), strict=True
    ):
        close(thin(new), whole(new), 1e-6)
        close(thin.gradient(new), whole.gradient(new), 1e-6)


def test_a_thin_whitening_is_the_whole_one():
    X, y = wide()
    w = torch.arange(1.0, 13.0).double()
    mean, P = whitening(collect(Moments(), [Block(X, y, w)]))
    thin = whitening_of(Block(X, y, w))
    assert isinstance(thin, ThinWhitening)
    close(thin(X), (X - mean) @ P, 1e-10)
    close(thin.turned(torch.eye(20).double()), P, 1e-10)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_factor_tells_what_the_matrix_does(outputs):
    X, _ = wide()
    J = torch.randn(12, outputs, 60, generator=torch.Generator().manual_seed(2)).double()
    w, places = torch.arange(1.0, 13.0).double(), X.new_zeros(12, 60)
    places[:, 0] = torch.arange(12.0).double()
    thin = mean_outer_products(lambda rows: J[rows[:, 0].long()], places, w, outputs, 0)
    whole = Whole(torch.einsum("n,ncd,nce->de", w / w.sum(), J, J))
    assert isinstance(thin, Thin)
    close(thin.matrix(), whole.matrix())
    close(thin.diagonal(), whole.diagonal())
    (values, V), (all_values, all_V) = thin.spectrum(), whole.spectrum()
    close(values, all_values)
    k = 12 * outputs
    close(V, all_V[:, :k], 1e-8)
    close(outer_products(thin.tensors()).matrix(), thin.matrix())


def test_orthonormal_columns_are_completed():
    V = torch.linalg.qr(torch.randn(6, 2, generator=torch.Generator().manual_seed(0)).double())[0]
    whole = completed(V, 6)
    close(whole[:, :2], V)
    close(whole.T @ whole, torch.eye(6).double())
    assert torch.equal(completed(V, 1), V[:, :1])
