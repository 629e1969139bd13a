"""Encoded columns to inputs with zero mean and covariance I, far values pulled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradfeat.maths.whitening import principal_whitening

Floats = NDArray[np.float64]

#: Values further than this from a column's mean, in its standard deviations, are pulled in.
FAR = 5.0

#: Whitened rows longer than sqrt(q) by this are pulled in (N(0, I): |z| is sqrt(q) +- 0.7).
LONG = 3.0

#: Whitened inputs at most, and rows that there are at least for each.
MOST_INPUTS, ROWS_PER_INPUT = 100, 5

_ROUNDS = 5


@dataclass(frozen=True)
class StandardInputs:
    """Rows as the statistics read them.

    Attributes
    ----------
    columns : array (n, d)
        Encoded columns, far values pulled in, mean 0 and spread 1.
    whitened : Tensor (n, q)
        The same rows whitened, long ones pulled in.
    varying : int
        Directions that vary at all; q of them are kept.
    clipped : array (d,)
        Share of the values of each column that was pulled in.
    pulled : float
        Share of the rows that was pulled in.
    """

    columns: Floats
    whitened: Tensor
    varying: int
    clipped: Floats
    pulled: float


def standard_inputs(X: Floats) -> StandardInputs:
    """Standardise, clip and whiten encoded columns X (n, d), none of which is constant.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((200, 3)) @ np.diag([1.0, 10.0, 0.1])
    >>> found = standard_inputs(X)
    >>> Z = found.whitened
    >>> found.pulled, bool((Z.T @ Z / 200 - torch.eye(3)).abs().max() < 1e-12)
    (0.0, True)
    """
    columns, clipped = _clipped(X)
    rows = torch.as_tensor(columns)
    most = max(1, min(MOST_INPUTS, len(X) // ROWS_PER_INPUT))
    fit = principal_whitening(rows, most)
    Z = fit(rows)
    length, longest = Z.norm(dim=1), Z.shape[1] ** 0.5 + LONG
    Z = Z * (longest / length.clamp(min=longest))[:, None]
    pulled = float((length > longest).double().mean())
    return StandardInputs(columns, Z, fit.varying, clipped, pulled)


def _clipped(X: Floats) -> tuple[Floats, Floats]:
    """Standardised columns within `FAR`: in rounds, since far values inflate the spread."""
    out, clipped = _standardised(X), np.zeros(X.shape[1])
    for _ in range(_ROUNDS):
        far = np.abs(out) > FAR
        clipped = np.maximum(clipped, far.mean(axis=0))
        out = _standardised(np.clip(out, -FAR, FAR))
    return out, clipped


def _standardised(X: Floats) -> Floats:
    """In units of the largest value first, so that squares cannot overflow."""
    X = X / np.abs(X).max(axis=0)
    X = X - X.mean(axis=0)
    return X / X.std(axis=0)
