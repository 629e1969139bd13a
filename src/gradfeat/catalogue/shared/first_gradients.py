"""The first gradient of Algorithm 1 on rows, as experiments measure it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradfeat.lab import lazy

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.tasks.base import Sample


def gradient_on(rows: Sample, W: Tensor, a: Tensor, bias: float) -> np.ndarray:
    """grad_W of the mean squared error at f = 0, on the rows less their own affine part."""
    import torch

    X, y = rows.X, rows.y
    ones = torch.ones_like(y[:, 0])
    alpha, beta = lazy.affine_part(lazy.in_memory(X, y, ones), "moment")
    residual = y - alpha - X @ beta
    W, a = W.to(X), a.to(X)
    gradient = lazy.FirstLayerGradient(W, W.new_full((len(W),), bias), a, lazy.ReLU())
    sums = lazy.collect(gradient, [lazy.Block(X, residual, ones)])
    return (-2 * sums.WT.T / sums.weight).cpu().numpy()
