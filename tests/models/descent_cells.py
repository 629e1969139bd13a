"""Small stacked networks and rows that the tests of descent share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gradfeat.maths.activations import Activation
from gradfeat.maths.streams import stream
from gradfeat.models.descent.layers import Layers, Start, stack
from gradfeat.models.descent.loop import Descended, Source, descend
from gradfeat.models.descent.phases import Phase
from gradfeat.models.descent.trained import Batch, Trained
from gradfeat.models.losses import Loss

Theta = tuple[Tensor, Tensor, Tensor]


def networks(
    s: int = 3, m: int = 8, d: int = 4, c: int = 1, dtype: torch.dtype = torch.float64
) -> Layers:
    """`s` networks without any symmetry."""
    start = Start(0.7, 0.4, 0.6, antisymmetric=False)
    return stack([start.draw(m, d, c, seed, dtype=dtype) for seed in range(s)])


def rows(
    s: int = 3, n: int = 24, d: int = 4, c: int = 1, dtype: torch.dtype = torch.float64
) -> Batch:
    """Normal inputs, labels +-1 of a product, weights of which one in eight is zero."""
    X = torch.randn(s, n, d, generator=stream(1, "X"), dtype=torch.float64)
    y = torch.where(X[..., :c] * X[..., -1:] > 0, 1.0, -1.0).double()
    w = torch.rand(s, n, 1, generator=stream(1, "w"), dtype=torch.float64)
    w[:, ::8] = 0
    w = w / w.sum(1, keepdim=True)
    return Batch(X.to(dtype), y.to(dtype), w.to(dtype))


def always(found: Batch) -> Source:
    """The same rows at every step."""
    return lambda *_: found


def theta(at: Layers, i: int) -> Theta:
    """W, b, a of network `i`."""
    return at.W[i], at.b[i], at.a[i]


def written_out(at: Theta, X: Tensor, sigma: Activation) -> Tensor:
    """a^T sigma(W x + b)."""
    W, b, a = at
    return sigma(X @ W.T + b) @ a


def run(
    start: Layers,
    source: Source,
    phases: Sequence[Phase],
    loss: Loss,
    sigma: Activation,
    trained: Trained,
) -> list[Descended]:
    """Every step."""
    return list(descend(start, source, phases, loss, sigma, trained))
