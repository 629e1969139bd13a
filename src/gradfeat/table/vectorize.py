"""The encoded columns of each original column, before anything is filled or left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder
from skrub import DatetimeEncoder, MinHashEncoder, TableVectorizer

from gradfeat.table.columns import ColumnPlan, read_date, read_levels, read_number, read_two_levels
from gradfeat.table.results import UnreadCells

MOST_LEVELS = 40
TEXT_COMPONENTS = 8
MISSING = "_missing"

Table = Mapping[str, pd.Series]


@dataclass(frozen=True)
class EncodedColumn:
    """What the column `source` is encoded as: `parts` maps a name's ending to (n,) float64."""

    source: str
    parts: dict[str, np.ndarray]
    unread: UnreadCells | None


@dataclass(frozen=True)
class Encoded:
    """One encoded column that is kept: where it comes from, its name, and what fills its gaps."""

    source: str
    part: str
    name: str
    fill: float


def fit_vectorizer(plans: tuple[ColumnPlan, ...], table: Table) -> TableVectorizer | None:
    """Fit skrub on the columns that are levels or dates; None where there are none.

    Numbers do not pass through it: it would round them to float32.
    """
    readable, _ = _readable(plans, table)
    if readable.empty:
        return None
    text = MinHashEncoder(n_components=TEXT_COMPONENTS, hashing="murmur")
    vectorizer = TableVectorizer(
        cardinality_threshold=max(3, min(MOST_LEVELS, len(readable) // 2)) + 1,
        low_cardinality=OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        high_cardinality=text,  # pyright: ignore[reportArgumentType] (skrub has no types)
        datetime=DatetimeEncoder(
            add_total_seconds=False, add_weekday=True, periodic_encoding="circular"
        ),
    )
    return vectorizer.fit(readable)


def _forget_texts(vectorizer: TableVectorizer, readable: pd.DataFrame) -> None:
    """Empty the caches of hashed texts (fitting does), so that no saved file holds them."""
    for key in vectorizer.kind_to_columns_["high_cardinality"]:
        vectorizer.transformers_[key].fit(readable[key])


def with_levels(
    plans: tuple[ColumnPlan, ...], vectorizer: TableVectorizer | None
) -> tuple[ColumnPlan, ...]:
    """The plans, with the levels of columns that have few enough for one encoded column each."""
    if vectorizer is None:
        return plans
    few, keys = vectorizer.kind_to_columns_["low_cardinality"], _keys(plans)

    def levels(name: str) -> tuple[str, ...]:
        found = vectorizer.transformers_[keys[name]].categories_[0]
        return tuple(str(level) for level in found if not pd.isna(level))

    return tuple(replace(p, levels=levels(p.name)) if keys.get(p.name) in few else p for p in plans)


def encode_columns(
    plans: tuple[ColumnPlan, ...], vectorizer: TableVectorizer | None, table: Table
) -> tuple[EncodedColumn, ...]:
    """Encode every planned column of a frame with at least one row; nan where missing."""
    encoded = {
        p.name: _encode_number(p, table[p.name]) for p in plans if p.name not in _keys(plans)
    }
    if vectorizer is not None:
        readable, unread = _readable(plans, table)
        values, places = _distinct(readable)
        output = vectorizer.transform(values)
        _forget_texts(vectorizer, values)
        for name, key in _keys(plans).items():
            found = _encode_read(values.loc[:, key], vectorizer, output)
            parts = {part: columns[places[key]] for part, columns in found.items()}
            encoded[name] = EncodedColumn(name, parts, unread[key])
    return tuple(encoded[plan.name] for plan in plans)


def _keys(plans: tuple[ColumnPlan, ...]) -> dict[str, str]:
    """Return the vectorizer's own names of columns: skrub renames at random where names clash."""
    read = [plan.name for plan in plans if plan.reading in ("levels", "date")]
    return {name: f"v{position}" for position, name in enumerate(read)}


def _readable(
    plans: tuple[ColumnPlan, ...], table: Table
) -> tuple[pd.DataFrame, dict[str, UnreadCells | None]]:
    """Levels, then dates, by the vectorizer's names, and what of them could not be read."""
    keys = _keys(plans)
    levels = {keys[p.name]: read_levels(p, table[p.name]) for p in plans if p.reading == "levels"}
    dates = {keys[p.name]: read_date(p, table[p.name]) for p in plans if p.reading == "date"}
    read = levels | dates
    values = pd.DataFrame({key: column.values for key, column in read.items()})
    return values, {key: column.unread for key, column in read.items()}


def _distinct(readable: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """The distinct values of each column, repeated to the same length; where each row has its own.

    A value is encoded the same whatever stands beside it, so each is encoded once.
    """
    found = {
        str(key): pd.factorize(column, use_na_sentinel=False) for key, column in readable.items()
    }
    most = max(len(values) for _, values in found.values())
    rows = np.arange(most)
    columns = {
        key: values.take(np.minimum(rows, len(values) - 1)) for key, (_, values) in found.items()
    }
    return pd.DataFrame(columns), {key: codes for key, (codes, _) in found.items()}


def _encode_number(plan: ColumnPlan, column: pd.Series) -> EncodedColumn:
    read = (read_number if plan.reading == "number" else read_two_levels)(plan, column)
    parts = {"": read.values, MISSING: np.isnan(read.values).astype(float)}
    return EncodedColumn(plan.name, parts, read.unread)


def _encode_read(
    column: pd.Series, vectorizer: TableVectorizer, output: pd.DataFrame
) -> dict[str, np.ndarray]:
    key = str(column.name)
    names = vectorizer.input_to_outputs_[key]
    parts = {n.removeprefix(key): output[n].to_numpy(dtype=float) for n in names}
    if key in vectorizer.kind_to_columns_["low_cardinality"]:
        levels = vectorizer.transformers_[key].categories_[0]
        return {k: parts[k] for k, level in zip(parts, levels, strict=True) if not pd.isna(level)}
    missing = column.isna().to_numpy()
    parts = {part: np.where(missing, np.nan, values) for part, values in parts.items()}
    if key in vectorizer.kind_to_columns_["datetime"]:
        parts = {"_seconds": _seconds(column)} | parts
    return parts | {MISSING: missing.astype(float)}


def _seconds(dates: pd.Series) -> np.ndarray:
    """Return seconds since 1970 in float64 (skrub's are float32: steps of two minutes)."""
    return (dates - pd.Timestamp(0, tz=dates.dt.tz)).dt.total_seconds().to_numpy(dtype=float)
