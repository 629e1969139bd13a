"""Simulations that the theory of one gradient step is held against: plain linear algebra."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import special

from gradfeat.maths.activations import Activation, CentredReLU, Erf, ReLU, Tanh, UserActivation

RELU_MEAN = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Sigma:
    """An activation of the library beside NumPy functions for its values and slope."""

    activation: Activation
    values: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


def _wave(z: torch.Tensor) -> torch.Tensor:
    return torch.sin(z) - torch.cos(z) + math.exp(-0.5)


SIGMAS = {
    "relu": Sigma(ReLU(), lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
    "centred relu": Sigma(
        CentredReLU(), lambda z: np.maximum(z, 0) - RELU_MEAN, lambda z: (z > 0) * 1.0
    ),
    "tanh": Sigma(Tanh(), np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "erf": Sigma(Erf(), special.erf, lambda z: 2 / math.sqrt(math.pi) * np.exp(-(z**2))),
    "wave": Sigma(
        UserActivation(_wave),
        lambda z: np.sin(z) - np.cos(z) + math.exp(-0.5),
        lambda z: np.cos(z) + np.sin(z),
    ),
}


def on_sphere(rng: np.random.Generator, rows: int, d: int) -> np.ndarray:
    """Uniform unit rows (rows, d)."""
    W = rng.standard_normal((rows, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def target(coefficients: Sequence[float], z: np.ndarray) -> np.ndarray:
    """sum_k c_k He_k(z)."""
    return np.polynomial.hermite_e.hermeval(z, coefficients)


def dual(F: np.ndarray, lam: float) -> np.ndarray:
    """lam (F F^T/n + lam I)^{-1}: what the ridge fit of training targets leaves."""
    n = len(F)
    return lam * np.linalg.inv(F @ F.T / n + lam * np.eye(n))


def ridge(
    F: np.ndarray, Y: np.ndarray, lam: float, test: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Rows loss, training error, E (wanted - f)^2 of each column of Y: (3, c)."""
    n, N = F.shape
    a = np.linalg.solve(F.T @ F + n * lam * np.eye(N), F.T @ Y)
    error = np.square(Y - F @ a).mean(0)
    return np.array(
        [error + lam * np.square(a).sum(0), error, np.square(wanted - test @ a).mean(0)]
    )


def gradient(
    sigma: Sigma, X: np.ndarray, W: np.ndarray, a: np.ndarray, residual: np.ndarray
) -> np.ndarray:
    """G = (1/n) [(a r^T) o sigma'(W X^T)] X, minus the slope of the mean squared error over 2."""
    return (np.outer(a, residual) * sigma.slope(W @ X.T)) @ X / len(X)


def z_score(draws: np.ndarray, expected: np.ndarray | float, bias: float = 0.0) -> np.ndarray:
    """|mean over the first axis - expected|, less an allowance, in standard errors."""
    error = draws.std(0, ddof=1) / math.sqrt(len(draws))
    away = np.abs(draws.mean(0) - expected) - bias * np.abs(expected)
    return np.maximum(away, 0.0) / error
