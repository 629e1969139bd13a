"""Encoded columns to inputs with zero mean and covariance I, outliers pulled in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradfeat.maths.whitening import principal_whitening

Floats = NDArray[np.float64]

#: Values further than this from a column's median are pulled in, in units of its middle 99 %.
FAR = 5.0

#: The middle 99 % of N(0, 1) is so wide.
_MIDDLE = 5.15

#: Whitened rows longer than sqrt(q) by this are pulled in (N(0, I): |z| is sqrt(q) +- 0.7).
LONG = 3.0

#: Whitened inputs at most, and rows that there are at least for each.
MOST_INPUTS, ROWS_PER_INPUT = 100, 5


@dataclass(frozen=True)
class StandardInputs:
    """Rows as the statistics read them.

    Attributes
    ----------
    columns : array (n, d)
        Encoded columns, outliers pulled in, mean 0 and standard deviation 1.
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
    """Standardised columns with outliers pulled in, and the share of those in each.

    A column whose middle 99 % is one value stays as it is.
    """
    X = X / np.abs(X).max(axis=0)
    low, middle, high = np.quantile(X, [0.005, 0.5, 0.995], axis=0)
    reach = np.where(high > low, FAR * (high - low) / _MIDDLE, np.inf)
    near = np.clip(X, middle - reach, middle + reach)
    return _standardised(near), (near != X).mean(axis=0)


def _standardised(X: Floats) -> Floats:
    """In units of the largest deviation first, so that squares neither overflow nor vanish."""
    X = X - X.mean(axis=0)
    X = X / np.abs(X).max(axis=0)
    return X / X.std(axis=0)
