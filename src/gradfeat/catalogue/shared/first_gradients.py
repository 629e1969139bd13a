"""The first gradient of Algorithm 1 on rows, as experiments measure it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.tasks.base import Sample


def gradient_on(rows: Sample, W: Tensor, a: Tensor, bias: float) -> np.ndarray:
    """grad_W of the mean squared error at f = 0, on the rows less their own affine part."""
    import torch

    from gradfeat.maths.activations import ReLU
    from gradfeat.maths.blocks import Block, collect
    from gradfeat.maths.statistics.first_layer_gradient import FirstLayerGradient
    from gradfeat.models.head import affine_part
    from gradfeat.rows.rows import in_memory

    X, y = rows.X, rows.y
    ones = torch.ones_like(y[:, 0])
    alpha, beta = affine_part(in_memory(X, y, ones), "moment")
    residual = y - alpha - X @ beta
    W, a = W.to(X), a.to(X)
    gradient = FirstLayerGradient(W, W.new_full((len(W),), bias), a, ReLU())
    sums = collect(gradient, [Block(X, residual, ones)])
    return (-2 * sums.WT.T / sums.weight).cpu().numpy()
