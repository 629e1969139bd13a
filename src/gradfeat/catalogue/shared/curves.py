"""From a table to the series of a figure, their theory, and the words of a caption."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

import numpy as np

from gradfeat.drawing import series
from gradfeat.drawing.series import Series, summary
from gradfeat.drawing.style import Mark, class_marks
from gradfeat.drawing.types import Axes, DataFrame
from gradfeat.wording import listed

K = TypeVar("K")


def metric_series(rows: DataFrame, x: str, metric: str, mark: Mark) -> Series:
    """Mean and 95 % interval over seeds of a metric at each value of a column."""
    found = summary(rows, x, metric)
    return Series(*(found[c].to_numpy() for c in (x, "mean", "low", "high")), mark=mark)


def draw_metric(
    ax: Axes,
    rows: DataFrame,
    x: str,
    metric: str,
    mark: Mark,
    *,
    connect: bool = False,
    shift: float = 0.0,
) -> Series | None:
    """Points of a metric against a column; None, and nothing drawn, where no row has it."""
    seen = rows.dropna(subset=[metric])
    if seen.empty:
        return None
    found = metric_series(seen, x, metric, mark)
    series.points(ax, found, connect=connect, shift=shift)
    return found


def path_series(rows: DataFrame, x: str, path: str, mark: Mark) -> Series:
    """The same for arrays: `path` holds a value at each entry of `x`, one pair of arrays a row.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"seed": [0, 1], "step": [[1, 2]] * 2, "path": [[0, 4], [2, 4]]})
    >>> path_series(rows, "step", "path", Mark("network", "#000000", "o")).mean.tolist()
    [1.0, 4.0]
    """
    import pandas as pd

    lengths = [len(values) for values in rows[x]]
    columns = {
        "seed": np.repeat(rows["seed"].to_numpy(), lengths),
        x: np.concatenate([np.asarray(values, dtype=float) for values in rows[x]]),
        path: np.concatenate([np.asarray(values, dtype=float) for values in rows[path]]),
    }
    return metric_series(pd.DataFrame(columns), x, path, mark)


def marks_of(names: Mapping[K, str]) -> dict[K, Mark]:
    """A mark for each value, labelled by its name."""
    return dict(zip(names, class_marks(tuple(names.values())), strict=True))


#: What was drawn, and of which rows.
Drawn = list[tuple[Series, "DataFrame"]]


def draw_series(
    ax: Axes,
    rows: DataFrame,
    factor: str,
    names: Mapping[K, str],
    x: str,
    metric: str,
    *,
    connect: bool = False,
    apart: float = 0.0,
    known: Container[K] = (),
) -> Drawn:
    """Points of a metric against a column (or entries of its arrays), a series a value of a factor.

    Values that no row has are left out. Neighbours stand `apart` points from each other. Points of
    `known` values are not connected: their theory is the line through them.
    """
    parts = [
        (mark, only(rows, **{factor: value}), metric, connect and value not in known)
        for value, mark in marks_of(names).items()
    ]
    return _drawn(ax, x, parts, apart)


def draw_metrics(
    ax: Axes,
    rows: DataFrame,
    x: str,
    names: Mapping[str, str],
    *,
    connect: bool = False,
    apart: float = 0.0,
) -> Drawn:
    """The same with a series a metric."""
    parts = [(mark, rows, metric, connect) for metric, mark in marks_of(names).items()]
    return _drawn(ax, x, parts, apart)


def _drawn(ax: Axes, x: str, parts: list[tuple[Mark, DataFrame, str, bool]], apart: float) -> Drawn:
    drawn = []
    for place, (mark, rows, metric, connect) in enumerate(parts):
        if len(rows):
            found = (path_series if rows[x].dtype == object else metric_series)(
                rows, x, metric, mark
            )
            series.points(ax, found, connect=connect, shift=apart * (place - (len(parts) - 1) / 2))
            drawn.append((found, rows))
    return drawn


def theory_line(
    ax: Axes,
    rows: DataFrame,
    x: str,
    metric: str,
    theory: Callable[..., Mapping[str, float]],
    color: str,
    label: str = "",
    points: int = 12,
    *,
    evenly: bool = False,
) -> None:
    """What theory says along a column of whole numbers, the other factors as in the first row.

    `evenly`: Along a column of any numbers, at the same distances.
    """
    low, high = rows[x].min(), rows[x].max()
    if evenly:
        at = np.linspace(low, high, points)
    else:
        at = np.unique(np.geomspace(low, high, points).round().astype(int))
    cell = {name: rows[name].iloc[0] for name in inspect.signature(theory).parameters}
    values = [theory(**cell | {x: one})[metric] for one in at.tolist()]
    series.line(ax, at, np.array(values), label, color)


def law_line(
    ax: Axes, found: Series, law: Callable[[np.ndarray], np.ndarray], label: str, color: str
) -> None:
    """A law that is known up to a factor, at the height of the points of a series; of one, none."""
    if len(np.unique(found.x)) == 1:
        return
    height = float(np.exp(np.mean(np.log(found.mean / law(found.x)))))
    x = np.geomspace(found.x.min(), found.x.max(), 30)
    series.line(ax, x, height * law(x), label, color)


def relative(
    table: DataFrame, theory: Callable[..., Mapping[str, float]], metrics: Iterable[str]
) -> DataFrame:
    """The table with each metric divided by what theory says of it."""
    names = list(inspect.signature(theory).parameters)
    said = [theory(*row) for row in table[names].itertuples(index=False, name=None)]
    return table.assign(**{m: table[m] / [one[m] for one in said] for m in metrics})


def only(table: DataFrame, **values: object) -> DataFrame:
    """Rows whose columns have these values."""
    for name, value in values.items():
        table = table.loc[table[name] == value]
    return table


def settings(table: DataFrame, *names: str) -> list[tuple[object, ...]]:
    """Different values of these columns, in the order in which they come."""
    distinct = table[list(names)].drop_duplicates()
    return list(zip(*(distinct[name] for name in names), strict=True))


def file_name(source: object) -> str:
    """What a file or built-in name is called, without its folders.

    >>> file_name("data/mnist.npz")
    'mnist.npz'
    """
    return str(source).replace("\\", "/").rsplit("/", 1)[-1]


def over_seeds(table: DataFrame) -> str:
    """What points and bars mean, for a caption.

    >>> import pandas as pd
    >>> over_seeds(pd.DataFrame({"seed": [0, 1, 0]}))
    'mean over 2 seeds with 95 % intervals'
    >>> over_seeds(pd.DataFrame({"seed": [7, 7]}))
    'one seed'
    """
    seeds = len(set(table["seed"]))
    return "one seed" if seeds == 1 else f"mean over {seeds} seeds with 95 % intervals"


def values_of(table: DataFrame, name: str) -> str:
    """The different values of a column, for a caption.

    >>> import pandas as pd
    >>> values_of(pd.DataFrame({"p_o": [0.5, 0.25, 0.5]}), "p_o")
    '0.5 and 0.25'
    """
    return listed([str(value) for value in table[name].unique()])


def averaged(table: DataFrame, *names: str) -> str:
    """A sentence on settings that a figure does not tell apart; nothing where each has one value.

    >>> import pandas as pd
    >>> averaged(pd.DataFrame({"m": [20, 30], "n": [5, 5]}), "m", "n")
    ' Points average over m = 20 and 30.'
    """
    several = [f"{name} = {values_of(table, name)}" for name in names if len({*table[name]}) > 1]
    return f" Points average over {'; '.join(several)}." if several else ""
