"""Affine maps that put inputs and targets on a common scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Standardiser:
    """x -> (x - mean) / scale, column by column; a constant column keeps scale 1.

    Attributes
    ----------
    mean, scale : arrays (d,)
        Weighted mean and standard deviation.

    Examples
    --------
    >>> s = Standardiser.fit(np.array([[1.0], [3.0]]), np.ones(2))
    >>> s(np.array([[1.0], [3.0]])).ravel().tolist()
    [-1.0, 1.0]
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: NDArray[np.float64], w: NDArray[np.float64]) -> Standardiser:
        """From rows X (n, d) with weights w (n,), safe for columns of any magnitude."""
        size = np.abs(X).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        unit, p = X / size, w / w.sum()
        mean = p @ unit
        scale = np.sqrt(p @ (unit - mean) ** 2)
        constant = scale <= 1e-12
        scale = np.where(constant, 1.0, scale * size)
        return cls(np.where(constant, X[0], mean * size), scale)

    @classmethod
    def identity(cls, d: int) -> Standardiser:
        """Leaves d columns as they are."""
        return cls(np.zeros(d), np.ones(d))

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The two arrays by name (for saving)."""
        return {"mean": self.mean, "scale": self.scale}

    def __call__(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return (X - self.mean) / self.scale

    def inverse(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Back to the original scale."""
        return Z * self.scale + self.mean
