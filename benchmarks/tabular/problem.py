"""What a method is given, what it must return, and the squared error that searches compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test rows; classes are 0, 1, ..."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    classes: bool

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    def save(self, path: Path) -> None:
        classes = np.array(self.classes)
        np.savez(path, X=self.X, y=self.y, X_test=self.X_test, y_test=self.y_test, classes=classes)

    @staticmethod
    def load(path: Path) -> Problem:
        with np.load(path) as f:
            return Problem(f["X"], f["y"], f["X_test"], f["y_test"], bool(f["classes"]))

    def held_out(self) -> Problem:
        """Return the training rows alone, a fifth of them in the place of the test rows."""
        from sklearn.model_selection import train_test_split

        stratify = self.y if self.classes else None
        X, X_val, y, y_val = train_test_split(
            self.X, self.y, test_size=0.2, random_state=0, stratify=stratify
        )
        return replace(self, X=X, y=y, X_test=X_val, y_test=y_val)


class Fitted(Protocol):
    """A fitted method: values, or probabilities (n, c) where the targets are classes."""

    def __call__(self, X: Array, /) -> Array: ...


def one_hot(y: Array, n_classes: int) -> Array:
    """Return (n, c) zeros and ones."""
    return np.eye(n_classes)[y]


def squared_error(problem: Problem, outputs: Array) -> float:
    """Mean squared error of values, Brier score of probabilities, on the test rows."""
    y = one_hot(problem.y_test, outputs.shape[1]) if problem.classes else problem.y_test
    return float(np.mean((y - outputs) ** 2))


def probabilities(outputs: Array) -> Array:
    """Outputs of a least-squares fit to one-hot targets, cut to [0, 1] and made to sum to one."""
    cut = np.clip(outputs, 1e-3, 1.0)
    return cut / cut.sum(axis=1, keepdims=True)
