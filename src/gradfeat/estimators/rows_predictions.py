"""Predictions of a fitted estimator as functions of tensors, for passes over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from ..models.base import Predictor
from ..models.search.calibration import Calibration, two_sided
from ..rows.rows import Rows
from .scaling import Standardiser


@dataclass(frozen=True, eq=False)
class RowPredictions:
    """Outputs (n, c) in the units of the targets at rows in the units of the inputs."""

    predictor: Predictor
    inputs: Standardiser
    outputs: Standardiser
    dtype: torch.dtype
    device: torch.device

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Predictions, in the float type of X."""
        mean, scale, y_mean, y_scale = (
            torch.as_tensor(values, device=self.device)
            for s in (self.inputs, self.outputs)
            for values in (s.mean, s.scale)
        )
        Z = ((X.to(self.device, torch.float64) - mean) / scale).to(self.dtype)
        return (self.predictor(Z).double() * y_scale + y_mean).to(X)


@dataclass(frozen=True, eq=False)
class RowProbabilities:
    """Log-probabilities (n, K) of the classes at rows, and which class a label is."""

    outputs: RowPredictions
    calibration: Calibration
    classes: NDArray[Any]

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n K"]:
        """Calibrated log-probabilities, on the CPU."""
        out = self.outputs(X).double().cpu().numpy()
        if len(self.classes) == 1:
            return torch.zeros(len(out), 1, dtype=torch.float64)
        return torch.from_numpy(self.calibration(two_sided(out)))

    def labels(self) -> Float[Tensor, " K"]:
        """The classes as numbers, as rows have them."""
        return torch.as_tensor(self.classes.astype(float))


def check_rows(rows: Rows, names: list[str], d: int, named: bool) -> None:
    """Refuse rows with other columns than those of the fit.

    Raises
    ------
    ValueError
        In one sentence.
    """
    found = list(rows.columns.inputs)
    if len(found) != d:
        raise ValueError(
            f"the rows have {len(found)} inputs and the estimator was fitted on {d}: open them "
            "with the inputs of the fit."
        )
    if named and rows.named and found != names:
        other = next(a for a, b in zip(found, names, strict=True) if a != b)
        raise ValueError(
            f"the rows' input {other!r} is not where the fit had it: open them with inputs={names}."
        )
