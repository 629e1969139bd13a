"""`gradfeat.importances`: what any fitted model loses without a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from gradfeat.errors import TableError
from gradfeat.estimators.checks import classifies
from gradfeat.figures.comparison import together
from gradfeat.interface.open import refuse_types
from gradfeat.maths.limits import LONGEST
from gradfeat.maths.ranges import within
from gradfeat.table.encode import TableEncoder
from gradfeat.table.methods import SEEDS
from gradfeat.table.read import as_frame
from gradfeat.table.results import Importances
from gradfeat.table.shuffling import (
    HeldRows,
    blocks_of,
    correlated_groups,
)
from gradfeat.table.shuffling import (
    importances as shuffled,
)


def importances(
    model: Any, X: Any, y: Any, *, time: float = 20.0, random_state: int = 0
) -> pd.DataFrame:
    """What a fitted model of any library loses where a column of these rows is shuffled.

    The fall of R2, or of the accuracy of a classifier, with a 95 % interval (bootstrap over rows):
    a row a column, largest first. Columns that are correlated by .9 or more are shuffled together:
    they share a ``group`` and a ``loss``. Give rows that the model was not fitted to.

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
    values = column_or_1d(y)
    check_consistent_length(frame, values)
    if pd.isna(values).any():
        raise TableError("The target has missing values: leave their rows out.")
    labels = pd.Index(pd.unique(values)) if classifies(model) else None
    if labels is None:
        codes = _numbers(values, f"The target of {called}")
    else:
        codes = labels.get_indexer(pd.Index(values)).astype(np.float64)
    encoder = TableEncoder().fit(frame)
    groups = correlated_groups(encoder.transform(frame), encoder.source_, encoder.feature_names_)
    names = tuple(str(name) for name in frame.columns)

    def predict(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions where the cell of a column j comes from row ``rows[i, j]``."""
        at = rows.astype(np.intp)
        each = {n: (frame[n].array.take(at[:, j]), frame[n].dtype) for j, n in enumerate(names)}
        taken = pd.DataFrame({n: pd.Series(cells, dtype=own) for n, (cells, own) in each.items()})
        f = np.asarray(model.predict(taken.to_numpy() if type(X) is np.ndarray else taken))
        if f.shape not in {(len(at),), (len(at), 1)}:
            raise TableError(
                f"{called} predicts an array of shape {f.shape} for {len(at)} rows: give a model "
                "that predicts one value a row."
            )
        f = f.ravel()
        if labels is None:
            return _numbers(f, f"What {called} predicts")
        found = labels.get_indexer(pd.Index(f))
        if (found < 0).all():
            raise TableError(
                f"{called} predicts classes such as {f[0]!s} and the target has such as "
                f"{values[0]!s}: give the classes that the model was fitted to."
            )
        return found.astype(np.float64)

    own = np.tile(np.arange(len(frame), dtype=np.float64)[:, None], len(names))
    rows = HeldRows(own, codes, labels is not None, np.arange(len(own)))
    blocks = blocks_of(names, groups, {})
    found = shuffled(called, predict, rows, blocks, time, random_state)
    if found is None:
        raise TableError("The target is the same in all rows: give rows in which it varies.")
    return losses(found)


def _numbers(values: NDArray[Any], what: str) -> NDArray[np.float64]:
    """Values as finite numbers; a sentence where one is none."""
    try:
        found = np.asarray(None if values.dtype.kind in "mM" else values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        wrong = values[~np.isfinite(found)][0] if found.shape == values.shape else values[0]
        raise TableError(f"{what} is {wrong!s} in some rows: finite numbers are needed.")
    return found


def losses(found: Importances | None) -> pd.DataFrame:
    """A row a column: loss, ends of its interval, and what it was shuffled together with."""
    rows = [
        (name, one.loss.estimate, one.loss.low, one.loss.high, together(one))
        for one in (found.losses if found else ())
        for name in one.columns
    ]
    return pd.DataFrame(rows, columns=pd.Index(["column", "loss", "low", "high", "group"]))
