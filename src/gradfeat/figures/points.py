"""Points for scatters and curves: finite ones, not too many, and their means in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradfeat.drawing.style import MAX_POINTS


def drawn_rows(*arrays: np.ndarray) -> np.ndarray:
    """Indices of the rows to draw: finite in every array, at most `MAX_POINTS`, always the same.

    A fixed permutation, not a stride: rows in time order would alias with a stride.
    """
    finite = np.flatnonzero(np.all([np.isfinite(a) for a in arrays], axis=0))
    if len(finite) <= MAX_POINTS:
        return finite
    return np.sort(np.random.default_rng(0).permutation(finite)[:MAX_POINTS])


def points_drawn(*arrays: np.ndarray) -> str:
    """``Each dot is a test row (3,000 of 20,000 drawn).``"""
    shown, total = len(drawn_rows(*arrays)), len(arrays[0])
    if shown == total:
        return "Each dot is a test row."
    return f"Each dot is a test row ({shown:,} of {total:,} drawn)."


def most_of(shown: int, total: int, noun: str) -> str:
    """`` (the 7 most frequent classes of 12)``, and nothing where all are shown."""
    return f" (the {shown} {noun} of {total})" if total > shown else ""


def inner_limits(values: np.ndarray) -> tuple[float, float]:
    """Limits that a few far points cannot stretch: the central 99.6 %, with room."""
    low, high = np.quantile(values, [0.002, 0.998])
    size = max(abs(low), abs(high))  # next to which a range may be rounding alone
    room = 0.05 * (high - low if high - low > 1e-9 * size else size) or 0.5
    return low - room, high + room


@dataclass(frozen=True)
class Bins:
    """Averages in bins of equally many points: `low`, `high` hold 95 % for the mean,
    `q10`, `q90` hold the middle 80 % of the points."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    q10: np.ndarray
    q90: np.ndarray
    counts: np.ndarray


def bin_labels(x: np.ndarray) -> np.ndarray:
    """Bin of each point: quantile bins of about 40 points, 4 to 24 of them; ties stay together."""
    n_bins = int(np.clip(len(x) // 40, 4, 24))
    inner = np.unique(np.quantile(x, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.unique(np.searchsorted(inner, x, side="right"), return_inverse=True)[1]


def binned(x: np.ndarray, y: np.ndarray) -> Bins:
    """Mean of y with its normal 95 % interval, and the 10 and 90 % quantiles, in bins of x."""
    labels = bin_labels(x)
    groups = [labels == b for b in range(labels.max() + 1)]
    counts = np.array([g.sum() for g in groups])
    mean = np.array([y[g].mean() for g in groups])
    half = 1.96 * np.array([y[g].std(ddof=min(g.sum() - 1, 1)) for g in groups]) / counts**0.5
    q10, q90 = np.array([np.quantile(y[g], [0.1, 0.9]) for g in groups]).T
    middle = np.array([np.median(x[g]) for g in groups])
    return Bins(middle, mean, mean - half, mean + half, q10, q90, counts)


def wilson(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Wilson's 95 % interval of a share seen in n rows."""
    z2 = 1.96**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = 1.96 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return centre - half, centre + half


def explained(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    """R2 = 1 - sum (y - p)^2 / sum (y - mean y)^2; nan for a constant y."""
    total = float(((y_true - y_true.mean()) ** 2).sum())
    return 1 - float(((y_true - y_pred) ** 2).sum()) / total if total > 0 else float("nan")


def class_codes(y: np.ndarray, classes: tuple[str, ...]) -> np.ndarray:
    """`y`, checked to hold positions in `classes`."""
    codes = np.asarray(y)
    if not len(codes):
        return codes.astype(int)
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= len(classes):
        raise ValueError(
            f"Classes were given as {codes.dtype} values, the first {codes[0]}; all must be "
            f"integers from 0 to {len(classes) - 1}, positions in `classes`."
        )
    return codes
