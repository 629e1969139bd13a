"""First layers as they are drawn, before any training."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ..maths.streams import stream

RowLaw = Literal["gaussian", "sphere"]


def draw(X: Tensor, seed: int, name: str, *shape: int) -> Tensor:
    """Standard normal numbers of X's type from the stream `name`, drawn on the CPU in float64."""
    z = torch.randn(*shape, generator=stream(seed, name), dtype=torch.float64)
    return z.to(device=X.device, dtype=X.dtype)


def draw_first_layer(X: Tensor, width: int, rows: RowLaw, seed: int) -> Tensor:
    """W0 (width, d): rows N(0, I/d), or uniform on the unit sphere."""
    d = X.shape[1]
    W = draw(X, seed, "W0", width, d)
    return W / d**0.5 if rows == "gaussian" else W / W.norm(dim=1, keepdim=True)
