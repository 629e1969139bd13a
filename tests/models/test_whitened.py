"""Whitening: nothing on white data, and the covariance no longer matters."""

from __future__ import annotations

import torch

from contracts import STEP, close, data
from gradfeat.models.gradient_step import Whitened
from gradfeat.rows.rows import in_memory


def test_white_data_give_the_inner_fit():
    one = data()
    X = one.X - one.X.mean(0)
    X = X @ torch.linalg.inv(torch.linalg.cholesky(X.T @ X / len(X))).T
    close(
        Whitened(STEP, shrinkage=0.0).fit(in_memory(X, one.y))(X),
        STEP.fit(in_memory(X, one.y))(X),
        1e-8,
    )


def test_shrinkage_changes_the_fit():
    one = data()
    X = one.X * torch.tensor([1.0, 5.0, 0.2, 1.0])
    fits = [Whitened(STEP, shrinkage=s).fit(in_memory(X, one.y))(X) for s in (None, 0.5)]
    assert float((fits[0] - fits[1]).abs().max()) > 1e-4
