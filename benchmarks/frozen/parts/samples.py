"""The tables that are fitted: made up, or scikit-learn's; always the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine


@dataclass(frozen=True)
class Data:
    """Rows of a fit, weights, and rows to predict."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    new: np.ndarray


def _shuffled(X: np.ndarray, y: np.ndarray, n: int) -> Data:
    rng = np.random.default_rng(7)
    order = rng.permutation(len(X))
    w = rng.integers(1, 4, n).astype(float)
    return Data(X[order[:n]], y[order[:n]], w, X[order[n : n + 100]])


def diabetes() -> Data:
    """A quantity: 300 rows x 10, and 100 to predict."""
    X, y = load_diabetes(return_X_y=True)
    return _shuffled(X, y, 300)


def wine() -> Data:
    """Three classes with names: 130 rows x 13, and 48 to predict."""
    X, y = load_wine(return_X_y=True)
    return _shuffled(X, np.array(["red", "white", "rose"], dtype=object)[y], 130)


def made(n: int = 500, d: int = 6) -> Data:
    """y = x_0 x_1 + sin x_2 + 0.1 noise, inputs of several scales."""
    rng = np.random.default_rng(11)
    Z = rng.standard_normal((n + 100, d))
    y = Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + 0.1 * rng.standard_normal(n + 100)
    X = Z * np.linspace(0.5, 20.0, d) + np.arange(d)
    w = rng.integers(1, 4, n).astype(float)
    return Data(X[:n], y[:n], w, X[n:])


def labels(y: np.ndarray, classes: int = 2) -> np.ndarray:
    """Names of the quantiles of y."""
    codes = pd.qcut(y, classes, labels=False)
    return np.array([f"class {code}" for code in codes], dtype=object)


def mixed(n: int = 420, seed: int = 0) -> pd.DataFrame:
    """Numbers with gaps, levels, dates, truth values, many names, and y = a^2 + b + 0.1 noise."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.normal(size=(3, n))
    frame = pd.DataFrame({"a": a, "b": b, "whole": rng.integers(0, 50, n)})
    frame["kind"] = rng.choice(np.array(["p", "q", "r", None], dtype=object), n)
    frame["name"] = [f"name {k}" for k in rng.integers(0, 90, n)]
    frame["when"] = pd.date_range("2024-01-01", periods=n, freq="7h").astype(str)
    frame["flag"] = rng.random(n) < 0.3
    frame["y"] = a**2 + b + 0.1 * noise
    frame.loc[frame.index[::9], "b"] = None
    return frame


def mixed_classes(n: int = 420, seed: int = 0) -> pd.DataFrame:
    """The same columns; y names three classes."""
    frame = mixed(n, seed)
    return frame.assign(y=labels(frame["y"].to_numpy(), 3))


def written(frame: pd.DataFrame, path: Path) -> Path:
    """`frame` as CSV."""
    frame.to_csv(path, index=False)
    return path
