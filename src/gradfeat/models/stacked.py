"""A weighted mean of fitted functions, its weights by their predictions of held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import nnls
from torch import Tensor

from ..rows.rows import Rows
from .base import Learner, OneStage, Predictor


@final
@dataclass(frozen=True, eq=False)
class Stacked(Predictor):
    """f(x) = sum_l weights_l f_l(x)."""

    parts: tuple[Predictor, ...]
    weights: Float[Tensor, " k"]

    def scratch_per_row(self) -> int:
        """One part after the other."""
        return max(f.scratch_per_row() for f in self.parts)

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return self._mean([f(X) for f in self.parts])

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        return self._mean([f.gradient(X) for f in self.parts])

    def _mean(self, values: list[Tensor]) -> Tensor:
        return torch.einsum("l,l...->...", self.weights.to(values[0]), torch.stack(values))

    def tensors(self) -> dict[str, Tensor]:
        named = {f"{i}.{k}": t for i, f in enumerate(self.parts) for k, t in f.tensors().items()}
        return {"weights": self.weights, **named}

    def spec(self) -> dict[str, Any]:
        return {"type": "Stacked", "parts": [f.spec() for f in self.parts]}


@final
@dataclass(frozen=True)
class Stack(OneStage[Stacked]):
    """Each learner fitted to all rows; the weighted mean of what they return.

    Source: Wolpert 1992; Breiman 1996 (Stacked regressions).
    """

    learners: tuple[Learner[Predictor], ...]
    weights: tuple[float, ...]

    def fit(self, rows: Rows, *, seed: int = 0) -> Stacked:
        parts = tuple(map(methodcaller("fit", rows, seed=seed), self.learners))
        return Stacked(parts, rows.template.X.new_tensor(self.weights).double())


def stacking_weights(
    errors: Float[Tensor, "n k"], most: int, least: float = 0.0
) -> Float[Tensor, " k"]:
    """argmin |E v|^2 over v >= 0, sum v = 1, with at most so many above 0, none below `least`.

    The smallest is left out, one at a time, and the others found anew.

    `errors`: Of each predictor at held-out rows, times the root of their weights.

    >>> E = torch.tensor([[1.0, -1.0, 5.0], [1.0, -1.0, 4.0]]).double()
    >>> stacking_weights(E, most=2).round(decimals=6).tolist()
    [0.5, 0.5, 0.0]
    """
    E = errors.double().cpu().numpy()
    v, kept = np.zeros(E.shape[1]), np.arange(E.shape[1])
    size = float(np.sqrt(np.square(E).mean())) or 1.0
    while True:
        # |E v|^2 + (1 - sum v)^2 has its minimum along the same v, times a number.
        A = np.vstack([E[:, kept] / size, np.ones((1, len(kept)))])
        found, _ = nnls(A, np.append(np.zeros(len(E)), 1.0))
        found /= found.sum()
        enough = (found > 0).sum() <= most and found[found > 0].min() >= least
        if enough or len(kept) == 1:
            v[kept] = found
            return torch.as_tensor(v).to(errors)
        kept = kept[found > found[found > 0].min()]
