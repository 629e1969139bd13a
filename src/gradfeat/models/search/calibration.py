"""Class codes, and probabilities from decision values, fitted on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from torch import Tensor

#: A logarithm whose exponential is 0.
_NEVER = -1e6


@dataclass(frozen=True)
class Calibration:
    """log p = log softmax(scale * f + shift)."""

    scale: float
    shift: tuple[float, ...]

    @classmethod
    def none(cls, K: int) -> Calibration:
        return cls(1.0, (0.0,) * K)

    def without(self, absent: NDArray[np.bool_]) -> Calibration:
        """With probability 0 of classes (K,) of which no row has a positive weight."""
        return Calibration(self.scale, tuple(np.where(absent, _NEVER, self.shift).tolist()))

    def __call__(self, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of decisions beyond floating-point numbers nan, which is refused row by row."""
        with np.errstate(over="ignore", invalid="ignore"):
            return log_softmax(self.scale * decisions + np.array(self.shift), axis=1)


def two_sided(decisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column per class: the single column f of two classes becomes (-f, f)."""
    return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions


def fit_calibration(
    decisions: NDArray[np.float64], labels: NDArray[np.int64], w: NDArray[np.float64]
) -> Calibration:
    """Scale s > 0 and shifts t (K,) of p = softmax(s f + t), by penalised maximum likelihood.

    Minimises -sum_i w_i log p_i + (log s - 1)^2 / 2 + |t|^2 / 2; the weak penalty (one
    observation's worth) keeps both finite when held-out classes are separated.

    `decisions`: Held-out decision values.

    Source: Platt 1999; Guo et al. 2017 (vector scaling with a common scale).
    """
    n, K = decisions.shape
    chosen = np.arange(n), labels
    hot = np.zeros((n, K))
    hot[chosen] = 1.0

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        s, t = np.exp(theta[0]), theta[1:]
        logits = s * decisions + t
        norm = logsumexp(logits, axis=1, keepdims=True)
        error = w[:, None] * (np.exp(logits - norm) - hot)
        slope = (error * decisions).sum() * s + theta[0] - 1
        value = -(w * (logits - norm)[chosen]).sum() + (theta[0] - 1) ** 2 / 2 + t @ t / 2
        return float(value), np.concatenate([[slope], error.sum(0) + t])

    start = np.concatenate([[1.0], np.zeros(K)])
    bounds = [(-10.0, 10.0)] + [(None, None)] * K
    theta = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(np.exp(theta[0])), tuple(theta[1:].tolist()))


def calibrated_loss(
    decisions: NDArray[np.float64], labels: NDArray[np.int64], w: NDArray[np.float64]
) -> tuple[float, float]:
    """Weighted mean of -log p of the labels, calibrated on these same rows, and the scale.

    Examples
    --------
    >>> f = np.zeros((4, 2))
    >>> round(calibrated_loss(f, np.array([0, 1, 0, 1]), np.ones(4))[0], 4)  # log 2
    0.6931
    """
    found = fit_calibration(decisions, labels, w)
    logp = found(decisions)[np.arange(len(labels)), labels]
    return float(-(w @ logp) / w.sum()), found.scale


def codes_of(y: Float[Tensor, "n c"]) -> tuple[Float[Tensor, "n c"], Float[Tensor, " c"]]:
    """+-1 codes, and what was subtracted from them to give y (a constant between -1 and 1)."""
    codes = torch.where(y > 0, 1.0, -1.0).to(y)
    return codes, (codes - y)[0]


def logit_share(c: int) -> float:
    """What decisions are of logits: half of the one of two classes, softmax(-f/2, f/2)_2."""
    return 0.5 if c == 1 else 1.0
