"""Scales of columns, and fitted functions in the units of a table instead of standardised ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from ..maths.limits import rows_per_block
from ..maths.statistics.moments import CONSTANT, standard_deviations
from ..models.base import Predictor
from ..models.search.calibration import Calibration, two_sided
from .checks import Floats, Placement

#: Sizes of columns whose squares are plain; others are summed in a unit, a power of 2.
PLAIN_SIZES = (1e-145, 1e145)

#: Bytes of the rows that are predicted at once: standardised ones take as much again, or twice.
AT_ONCE = 2**24


@dataclass(frozen=True, eq=False)
class Standardiser:
    """x -> (x - mean) / scale, column by column; a constant column keeps scale 1.

    `mean, scale`: Weighted mean and standard deviation (of a target that is turned, less than 0).
    """

    mean: Floats
    scale: Floats

    @classmethod
    def fit(cls, X: Floats, w: Floats) -> Standardiser:
        """From rows X (n, d) with weights w (n,), safe for columns of any magnitude."""
        size = np.abs(X).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        unit, p = X / size, w / w.sum()
        mean = p @ unit
        scale = np.sqrt(p @ (unit - mean) ** 2)
        constant = (scale <= CONSTANT) | (scale * size == 0)  # below the smallest number
        scale = np.where(constant, 1.0, scale * size)
        return cls(np.where(constant, X[0], mean * size), scale)

    @classmethod
    def of_moments(cls, mean: Tensor, variance: Tensor, unit: Tensor) -> Standardiser:
        """From moments of columns in these units."""
        scale = standard_deviations(mean, variance) * unit
        return cls((mean * unit).numpy(), torch.where(scale > 0, scale, 1.0).numpy())

    @classmethod
    def identity(cls, d: int) -> Standardiser:
        return cls(np.zeros(d), np.ones(d))

    def arrays(self) -> dict[str, Floats]:
        return {"mean": self.mean, "scale": self.scale}

    def tensors(self, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
        return torch.as_tensor(self.mean, device=device), torch.as_tensor(self.scale, device=device)

    def __call__(self, X: Floats) -> Floats:
        return (X - self.mean) / self.scale

    def inverse(self, Z: Floats) -> Floats:
        return Z * self.scale + self.mean


def units(values: Tensor, free: bool) -> Tensor:
    """Powers of 2 (d,) near the sizes of columns (n, d) beyond PLAIN_SIZES where any is free."""
    size = values.double().abs().amax(0)
    extreme = (size > 0) & ((size < PLAIN_SIZES[0]) | (size > PLAIN_SIZES[1]))
    power = torch.frexp(torch.where(extreme & free, size, 1.0))[1].clamp(-1000, 1000) - 1
    return torch.ldexp(torch.ones_like(size), power)


class TableFunction(ABC):
    """What a fitted estimator says of rows in the units of the table, with its gradient."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many functions :meth:`gradient` differentiates."""

    @abstractmethod
    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Predictions, or log-probabilities of classes."""

    @abstractmethod
    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        """In the units of inputs and outputs, float64 on the CPU."""


@dataclass(frozen=True, eq=False)
class ScaledPredictor(TableFunction):
    """Outputs (n, c) in the units of the targets at rows in the units of the inputs.

    With f the predictor, of standardised inputs z, dy_c/dx_j is df_c/dz_j times
    scale(y_c)/scale(x_j).
    """

    predictor: Predictor
    inputs: Standardiser
    targets: Standardiser
    where: Placement

    @property
    def outputs(self) -> int:
        return len(self.targets.scale)

    def standardised(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The rows as the predictor takes them."""
        mean, scale = self.inputs.tensors(self.where.device)
        Z = (X.to(self.where.device, torch.float64) - mean) / scale
        return Z.to(self.where.dtype).contiguous()

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Predictions, in the float type and on the device of X, some rows at a time."""
        mean, scale = self.targets.tensors(self.where.device)
        found: list[Tensor] = []
        for part in X.split(rows_per_block(X.shape[1] * X.element_size(), AT_ONCE)):
            found.append(self.predictor(self.standardised(part)).double())
        return (torch.cat(found) * scale + mean).to(X)

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        J = self.predictor.gradient(self.standardised(X)).double().cpu()
        return J * (self.targets.tensors()[1][:, None] / self.inputs.tensors()[1])


@dataclass(frozen=True, eq=False)
class ClassProbabilities(TableFunction):
    """Log-probabilities (n, K) of the classes at rows, and which class a label is.

    p = softmax(s f + t), dp_k = s p_k (df_k - sum_l p_l df_l).
    """

    decisions: ScaledPredictor
    calibration: Calibration
    classes: NDArray[np.generic]

    @property
    def outputs(self) -> int:
        """One a class; of two classes the second, which the first one mirrors."""
        return max(1, len(self.classes) - (len(self.classes) == 2))

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n K"]:
        """Calibrated log-probabilities, on the CPU."""
        out = self.decisions(X).double().cpu().numpy()
        if len(self.classes) == 1:
            return torch.zeros(len(out), 1, dtype=torch.float64)
        return torch.from_numpy(self.calibration(two_sided(out)))

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        J = self.decisions.gradient(X).numpy()
        if len(self.classes) == 1:
            return torch.zeros_like(torch.from_numpy(J[:, :1]))
        p = np.exp(self(X).numpy())[:, :, None]
        slopes = two_sided(J)
        slopes = self.calibration.scale * p * (slopes - (p * slopes).sum(axis=1, keepdims=True))
        return torch.from_numpy(slopes[:, 1:] if len(self.classes) == 2 else slopes)

    def labels(self) -> Float[Tensor, " K"]:
        """The classes as numbers, as rows have them."""
        return torch.as_tensor(self.classes.astype(float))
