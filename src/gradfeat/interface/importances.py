"""`gradfeat.importances`: what any fitted model loses without a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from gradfeat.errors import TableError
from gradfeat.estimators.checks import classifies, finite_numbers, gives_probabilities
from gradfeat.figures.comparison import together
from gradfeat.interface.open import refuse_types
from gradfeat.maths.limits import LONGEST
from gradfeat.maths.ranges import within
from gradfeat.table.encode import TableEncoder
from gradfeat.table.methods import SEEDS
from gradfeat.table.read import as_frame
from gradfeat.table.results import Importances
from gradfeat.table.shuffling import MOST_ROWS, HeldRows, blocks_of, correlated_groups, of_one_class
from gradfeat.table.shuffling import importances as shuffled


def importances(
    model: Any, X: Any, y: Any, *, time: float = 20.0, random_state: int = 0
) -> pd.DataFrame:
    """What a fitted model of any library loses where a column of these rows is shuffled.

    The fall of the ``score``, with a 95 % interval (bootstrap over rows; none of fewer than ten,
    which cannot tell): a row a column, largest first. It is R2, or of a classifier the accuracy;
    the rise of the log-loss where nearly all rows are predicted as one class and the model gives
    probabilities. Columns that are correlated by .9 or more are shuffled together: they share a
    ``group`` and a ``loss``. Give rows that the model was not fitted to.

    Parameters
    ----------
    model : fitted estimator
        With `predict`: :class:`TableModel`, an estimator or pipeline of scikit-learn, or alike.
    X : DataFrame of pandas or polars, pyarrow Table, array (n, d)
        The input columns, mixed ones too. The model is given an array where this is one, and a
        data frame of pandas otherwise.
    y : array-like (n,)
        Numbers, or labels of classes.
    time : float
        Seconds. Columns are shuffled up to 10 times, on at most 2,000 rows drawn at random.
    random_state : int
        Seed of the shuffles.

    Raises
    ------
    TableError
        For a model without `predict` or with other predictions than one a row, columns that cannot
        be read, a target with gaps, of another kind than the model's or the same in all rows.
    ValueError
        For a target of another length.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))
    >>> y = frame["a"] ** 2
    >>> forest = RandomForestRegressor(20, random_state=0).fit(frame[:200], y[:200])
    >>> importances(forest, frame[200:], y[200:])["column"][0]
    'a'
    """
    refuse_types(importances, {"time": time, "random_state": random_state})
    within(0, LONGEST, time=time)
    within(*SEEDS, random_state=random_state)
    called = type(model).__name__
    if not callable(getattr(model, "predict", None)):
        raise TableError(f"The model is a {called} without predict: give a fitted estimator.")
    frame = as_frame(X).reset_index(drop=True)
    values = column_or_1d(np.asarray(y))  # in the kind that it has: True and False stay so
    check_consistent_length(frame, values)
    if pd.isna(values).any():
        raise TableError("The target has missing values: leave their rows out.")
    labels = pd.Index(pd.unique(values)) if classifies(model) else None
    if labels is None:
        codes = finite_numbers(values, f"The target of {called}")
    else:
        codes = labels.get_indexer(pd.Index(values)).astype(np.float64)
    encoder = TableEncoder().fit(frame)
    groups = correlated_groups(encoder.transform(frame), encoder.source_, encoder.feature_names_)
    asked = _Asked(model, frame, type(X) is np.ndarray, labels)
    own = np.tile(np.arange(len(frame), dtype=np.float64)[:, None], frame.shape[1])
    probable = asked.of_one_class(own[:: 1 + len(own) // MOST_ROWS])
    predict = asked.probabilities if probable else asked.predict
    rows = HeldRows(own, codes, labels is not None, np.arange(len(own)), probable)
    blocks = blocks_of([str(name) for name in frame.columns], groups, {})
    found = shuffled(called, predict, rows, blocks, time, random_state)
    if found is None:
        raise TableError("The target is the same in all rows: give rows in which it varies.")
    return losses(found)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A model, and the frame whose cells it is asked about: of column j those of ``rows[:, j]``."""

    model: Any
    frame: pd.DataFrame
    array: bool  # what the model is given
    labels: pd.Index | None  # of classes

    def _cells(self, rows: NDArray[np.float64]) -> Any:
        at, own = rows.astype(np.intp), self.frame
        each = {n: (own[n].array.take(at[:, j]), own[n].dtype) for j, n in enumerate(own.columns)}
        cells = pd.DataFrame({n: pd.Series(cell, dtype=kind) for n, (cell, kind) in each.items()})
        return cells.to_numpy() if self.array else cells

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers (n,), or the places of classes among the labels; -1 for what is none of them."""
        f, called = np.asarray(self.model.predict(self._cells(rows))), type(self.model).__name__
        if f.shape not in {(len(rows),), (len(rows), 1)}:
            raise TableError(
                f"{called} predicts an array of shape {f.shape} for {len(rows)} rows: give a model "
                "that predicts one value a row."
            )
        f = f.ravel()
        if self.labels is None:
            return finite_numbers(f, f"What {called} predicts")
        found = self.labels.get_indexer(pd.Index(f))
        if (found < 0).all():
            raise TableError(
                f"{called} predicts classes such as {f.tolist()[0]!r} and the target has such as "
                f"{self.labels.tolist()[0]!r}: give the classes that the model was fitted to."
            )
        return found.astype(np.float64)

    def probabilities(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those (n, K) of the labels; 0 of one that the model does not know."""
        P = np.asarray(self.model.predict_proba(self._cells(rows)))
        at = pd.Index(self.model.classes_).get_indexer(pd.Index(self.labels))
        return np.column_stack([P, np.zeros(len(P))])[:, at]

    def of_one_class(self, rows: NDArray[np.float64]) -> bool:
        """Whether the model gives probabilities of classes, and predicts nearly one class alone."""
        known = self.labels is not None and getattr(self.model, "classes_", None) is not None
        return known and gives_probabilities(self.model) and of_one_class(self.predict(rows))


def losses(found: Importances | None) -> pd.DataFrame:
    """A row a column: score, loss, ends of its interval, and what it was shuffled together with."""
    score = found.score if found else ""
    rows = [
        (name, score, one.loss.estimate, one.loss.low, one.loss.high, together(one))
        for one in (found.losses if found else ())
        for name in one.columns
    ]
    names = ["column", "score", "loss", "low", "high", "group"]
    return pd.DataFrame(rows, columns=pd.Index(names))
