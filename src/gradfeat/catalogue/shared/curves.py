"""From tables to series of a figure: means over seeds of a metric, or of an array by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradfeat.drawing.series import Series, summary
from gradfeat.drawing.style import Mark

if TYPE_CHECKING:
    import pandas as pd


def metric_series(rows: pd.DataFrame, x: str, metric: str, mark: Mark) -> Series:
    """Mean and 95 % interval over seeds of a metric at each value of a column.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"n": [1, 1], "seed": [0, 1], "loss": [0.0, 1.0]})
    >>> metric_series(rows, "n", "loss", Mark("network", "#000000", "o")).mean.tolist()
    [0.5]
    """
    found = summary(rows, x, metric)
    return Series(*(found[c].to_numpy() for c in (x, "mean", "low", "high")), mark=mark)


def path_series(rows: pd.DataFrame, x: str, path: str, mark: Mark) -> Series:
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


def only(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows whose columns have these values.

    >>> import pandas as pd
    >>> only(pd.DataFrame({"n": [1, 2], "seed": [0, 0]}), n=2)["n"].tolist()
    [2]
    """
    for name, value in values.items():
        table = table.loc[table[name] == value]
    return table


def settings(table: pd.DataFrame, *names: str) -> list[tuple[object, ...]]:
    """Different values of these columns, in the order in which they come.

    >>> import pandas as pd
    >>> settings(pd.DataFrame({"pair": ["0/1", "3/8", "0/1"]}), "pair")
    [('0/1',), ('3/8',)]
    """
    distinct = table[list(names)].drop_duplicates()
    return list(zip(*(distinct[name] for name in names), strict=True))


def file_name(source: object) -> str:
    """What a file or built-in name is called, without its folders.

    >>> file_name("data/mnist.npz")
    'mnist.npz'
    """
    return str(source).replace("\\", "/").rsplit("/", 1)[-1]


def over_seeds(table: pd.DataFrame) -> str:
    """What points and bars mean, for a caption.

    >>> import pandas as pd
    >>> over_seeds(pd.DataFrame({"seed": [0, 1, 0]}))
    'mean over 2 seeds with 95 % intervals'
    >>> over_seeds(pd.DataFrame({"seed": [7, 7]}))
    'one seed'
    """
    seeds = len(set(table["seed"]))
    return "one seed" if seeds == 1 else f"mean over {seeds} seeds with 95 % intervals"


def values_of(table: pd.DataFrame, name: str) -> str:
    """The different values of a column, for a caption.

    >>> import pandas as pd
    >>> values_of(pd.DataFrame({"p_o": [0.5, 0.25, 0.5]}), "p_o")
    '0.5 and 0.25'
    """
    match [str(value) for value in table[name].unique()]:
        case [*most, last] if most:
            return f"{', '.join(most)} and {last}"
        case values:
            return "".join(values)


def averaged(table: pd.DataFrame, *names: str) -> str:
    """A sentence on settings that a figure does not tell apart; nothing where each has one value.

    >>> import pandas as pd
    >>> averaged(pd.DataFrame({"m": [20, 30], "n": [5, 5]}), "m", "n")
    ' Points average over m = 20 and 30.'
    """
    several = [f"{name} = {values_of(table, name)}" for name in names if len({*table[name]}) > 1]
    return f" Points average over {'; '.join(several)}." if several else ""
