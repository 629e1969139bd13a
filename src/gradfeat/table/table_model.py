"""A fitted estimator together with the encoding of its table, as one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.estimators.container import Contents, ModelFileError, as_bytes, read, write
from gradfeat.estimators.persistence import contents_of, estimator_from
from gradfeat.estimators.state import under_prefix, with_prefix
from gradfeat.table.encode import TableEncoder

KIND = "TableModel"


@dataclass(frozen=True, eq=False)
class TableModel:
    """Predicts a column of a table from its other columns.

    Attributes
    ----------
    encoder : TableEncoder
        From the table to numbers.
    estimator : fitted gradfeat estimator
        From numbers to the target, or to class codes.
    target : str
        Name of the target column.
    classes : tuple of str
        Labels of the class codes; empty for regression.
    about : mapping
        What `gradfeat show` prints: method, scores, rows, seed.
    """

    encoder: TableEncoder
    estimator: Any
    target: str
    classes: tuple[str, ...]
    about: Mapping[str, Any]

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Predictions for the rows of `frame`, in order; classes also with probabilities.

        Rows of a file are read for it by ``read_table(path, model.encoder.cells)``.

        Raises
        ------
        TableError
            When the columns are not those of the training table.
        """
        return self.predicted(self.encoder.transform(frame))

    def predicted(self, X: NDArray[np.float64]) -> pd.DataFrame:
        """:meth:`predict` of encoded rows (n, d)."""
        name = f"predicted_{self.target}"
        if not self.classes:
            return pd.DataFrame({name: self.estimator.predict(X)})
        P = probabilities(self.estimator, X, len(self.classes))
        labels = np.array(self.classes, dtype=object)[P.argmax(axis=1)]
        columns = {f"probability_{label}": P[:, k] for k, label in enumerate(self.classes)}
        return pd.DataFrame({name: labels, **columns})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file, completely or not at all.

        Raises
        ------
        ModelFileError
            When the file cannot be written.
        """
        write(path, self._contents())

    def to_bytes(self) -> bytes:
        return as_bytes(self._contents())

    def _contents(self) -> Contents:
        inner = contents_of(self.estimator)
        encoder = np.frombuffer(self.encoder.to_bytes(), dtype=np.uint8)
        state = {
            "estimator": {"kind": inner.kind, "state": inner.state},
            "target": self.target,
            "classes": list(self.classes),
            "about": dict(self.about),
        }
        arrays = {"encoder": encoder, **with_prefix("estimator", inner.arrays)}
        return Contents(KIND, state, arrays)


def probabilities(estimator: Any, X: NDArray[np.float64], K: int) -> NDArray[np.float64]:
    """Probabilities (n, K) of all class codes; zero for those absent from the training rows."""
    P = np.zeros((len(X), K))
    if len(X):
        P[:, np.asarray(estimator.classes_, dtype=int)] = estimator.predict_proba(X)
    return P


def load_table_model(path: str | os.PathLike[str]) -> TableModel:
    """Read what :meth:`TableModel.save` wrote.

    Raises
    ------
    ModelFileError
        One sentence for a file that is missing, damaged, changed, newer, or another kind.
    """
    contents = read(path)
    if contents.kind != KIND:
        raise ModelFileError(
            f"{path} holds a bare {contents.kind} without its table encoding: load it in Python "
            "with gradfeat.load, or give a model that `gradfeat fit` wrote."
        )
    state = contents.state
    inner = Contents(
        state["estimator"]["kind"],
        state["estimator"]["state"],
        under_prefix("estimator", contents.arrays),
    )
    return TableModel(
        TableEncoder.from_bytes(contents.arrays["encoder"].tobytes()),
        estimator_from(inner, path),
        state["target"],
        tuple(state["classes"]),
        state["about"],
    )
