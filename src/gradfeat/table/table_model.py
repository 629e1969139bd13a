"""A fitted estimator together with the encoding of its table, as one file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray

from gradfeat.estimators.container import Contents, ModelFileError, as_bytes, write
from gradfeat.estimators.persistence import CLASSES, estimator_from
from gradfeat.rows.sources.text_options import FOUND, TextOptions
from gradfeat.table.conformal import bound, interval_columns, set_column
from gradfeat.table.encode import TableEncoder
from gradfeat.table.read import read_table
from gradfeat.table.target_scale import AS_IS, TargetScale
from gradfeat.table.trusted import packed, unpacked

KIND = "TableModel"

#: What a file calls an estimator that is scikit-learn's own.
SKLEARN = "scikit-learn"


@dataclass(frozen=True, eq=False)
class TableModel:
    """Predicts a column of a table from its other columns.

    Attributes
    ----------
    encoder : TableEncoder
        From the table to numbers.
    estimator : fitted estimator
        From numbers to the target, or to class codes; gradfeat's or scikit-learn's.
    target : str
        Name of the target column.
    classes : tuple of str
        Labels of the class codes; empty for regression.
    about : mapping
        What `gradfeat show` prints: method, scores, rows, seed.
    held : array (m,)
        Scores of held-out rows, rising, for intervals (:mod:`gradfeat.table.conformal`).
    scale : TargetScale
        On which a quantity was learned: predictions are in the units of the target.
    """

    encoder: TableEncoder
    estimator: Any
    target: str
    classes: tuple[str, ...]
    about: Mapping[str, Any]
    held: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    scale: TargetScale = AS_IS

    @property
    def own(self) -> bool:
        """Whether the estimator is gradfeat's, with an AGOP and directions."""
        return type(self.estimator) in CLASSES

    def read(self, path: str | os.PathLike[str], text: TextOptions | None = None) -> pd.DataFrame:
        """The rows of a file, with cells read as those of the training rows were.

        Parameters
        ----------
        path : path
            A file.
        text : TextOptions, optional
            How it is written; left out: what :meth:`text` knows.

        Raises
        ------
        SourceError
            Where there is no such file or it cannot be read as a table.
        """
        return read_table(path, self.encoder.cells, text or self.text())

    def predict(self, frame: pd.DataFrame, interval: float | None = None) -> pd.DataFrame:
        """Predictions for the rows of `frame`, in order; classes also with probabilities.

        Parameters
        ----------
        frame : pandas.DataFrame
            Of a file: ``model.read(path)``.
        interval : float, optional
            Per cent of new rows whose target lies between ``low_TARGET`` and ``high_TARGET``, or
            in ``set_TARGET`` (a JSON list of classes).

        Raises
        ------
        TableError
            When the columns are not those of the training table, or for an interval that the
            held-out rows of the fit are too few for.
        """
        return self.predicted(self.encoder.transform(frame), interval)

    def predicted(self, X: NDArray[np.float64], interval: float | None = None) -> pd.DataFrame:
        """:meth:`predict` of encoded rows (n, d)."""
        score = None if interval is None else bound(self.held, interval)
        name, further = f"predicted_{self.target}", {}
        if not self.classes:
            f = np.asarray(self.estimator.predict(X)) if len(X) else np.zeros(0)
            f = self.scale.back(f)
            further = {} if score is None else interval_columns(self.target, f, score)
            return pd.DataFrame({name: f, **further})
        P = probabilities(self.estimator, X, len(self.classes))
        labels = np.array(self.classes, dtype=object)[P.argmax(axis=1)]
        columns = {f"probability_{label}": P[:, k] for k, label in enumerate(self.classes)}
        if score is not None:
            further = set_column(self.target, P, self.classes, score)
        return pd.DataFrame({name: labels, **columns, **further})

    def text(self, asked: TextOptions = FOUND, *more: str) -> TextOptions:
        """What is known of the text of a table for this model: what is asked, and as it was fitted.

        Parameters
        ----------
        asked : TextOptions
            What a person says of it.
        *more : str
            Names of further columns that will be asked for.
        """
        like = TextOptions.kept(self.about.get("text", {}))
        return replace(asked, wanted=(*self.encoder.columns_, *more), like=like)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one file, completely or not at all.

        Raises
        ------
        ModelFileError
            When the file cannot be written, or the estimator cannot be saved.
        """
        write(path, self.to_contents())

    def to_bytes(self) -> bytes:
        return as_bytes(self.to_contents())

    def to_contents(self) -> Contents:
        """Encoder, estimator, labels and scores, for saving: see :func:`gradfeat.save`."""
        state: dict[str, Any] = {"target": self.target, "classes": list(self.classes)}
        state["about"] = dict(self.about)
        inner = self.estimator.to_contents() if self.own else _sklearn_contents(self.estimator)
        state["shift"] = self.scale.shift
        whole = Contents(KIND, state, {"held": self.held})
        return whole.including(encoder=self.encoder.to_contents(), estimator=inner)

    @staticmethod
    def from_contents(contents: Contents) -> TableModel:
        """The model that `to_contents` described.

        Raises
        ------
        ModelFileError
            Where a part is missing or cannot be read, or names a foreign type.
        """
        try:
            encoder, inner = contents.part("encoder"), contents.part("estimator")
            state, held = contents.state, contents.arrays["held"]
            target, classes, about = state["target"], tuple(state["classes"]), state["about"]
            scale = TargetScale(state["shift"])
        except (KeyError, TypeError) as error:
            raise ModelFileError(
                f"The saved table model lacks a part ({error}): fit and save it again."
            ) from None
        read = _sklearn_estimator if inner.kind == SKLEARN else estimator_from
        return TableModel(
            TableEncoder.from_contents(encoder), read(inner), target, classes, about, held, scale
        )

    def to_device(self, device: str) -> TableModel:
        """A copy whose estimator lives on `device`.

        Raises
        ------
        ModelFileError
            Where it is scikit-learn's, which knows the CPU alone.
        """
        if not self.own:
            raise ModelFileError(
                f"The model ({self.about.get('method', type(self.estimator).__name__)}) computes "
                "on the CPU alone: leave the device out."
            )
        return replace(self, estimator=self.estimator.to_device(device))


def _sklearn_contents(estimator: Any) -> Contents:
    state = {"class": type(estimator).__name__, "version": sklearn.__version__}
    return Contents(SKLEARN, state, {"skops": packed(estimator)})


def _sklearn_estimator(contents: Contents) -> Any:
    versions = f"scikit-learn {contents.state['version']}, here is {sklearn.__version__}"
    return unpacked(cast("NDArray[np.uint8]", contents.arrays["skops"]), versions)


def probabilities(estimator: Any, X: NDArray[np.float64], K: int) -> NDArray[np.float64]:
    """Probabilities (n, K) of all class codes; zero for those absent from the training rows."""
    P = np.zeros((len(X), K))
    if len(X):
        P[:, np.asarray(estimator.classes_, dtype=int)] = estimator.predict_proba(X)
    return P
