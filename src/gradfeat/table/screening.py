"""What to know of the columns before a score is read: identifiers, leaks, copies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata, skew

from gradfeat.drawing.numbers import number, percent
from gradfeat.rows.sources.tables import selected
from gradfeat.table.encode import TableEncoder
from gradfeat.table.leaks import (
    FEWEST_ROWS,
    LEVELS,
    MOST_ROWS,
    about_leaks,
    about_sums,
    explained,
    names_of,
)
from gradfeat.table.reading.plan import cell_text
from gradfeat.table.results import ColumnGroup, ColumnNote
from gradfeat.table.row_sample import column_of, is_numbers

Floats = NDArray[np.float64]

#: Rows that are compared with each other, to count equal ones once.
MOST_COMPARED = 200_000
#: Share of distinct values, and of values without a blank, from which texts are identifiers.
DISTINCT, ONE_WORD = 0.99, 0.9
#: Share of the target up to which numbers of rows are of no use.
NO_USE = 0.1

_ROW_NAME = re.compile(
    r"(unnamed: ?\d+|row ?names?|(row)?[ _.-]?(id|no|nr|num(ber)?|index|idx)|row|obs|rownum)",
    re.IGNORECASE,
)
_ID_NAME = re.compile(
    r"(?i:(^|[_\W])(id|pid|uid|uuid|guid|index|idx|key|no|nr)$)|[a-z](Id|ID)$|^[A-Z]{1,4}ID$"
)


@dataclass(frozen=True, eq=False)
class Screened:
    """Columns to leave out, each with the reason, and what there is to say before a verdict."""

    left_out: Mapping[str, str]
    remarks: tuple[str, ...]


def screen(
    inputs: pd.DataFrame,
    y: Floats,
    target: str,
    classes: int,
    rows: int,
    keep: bool,
    option: bool = True,
    encoder: TableEncoder | None = None,
) -> Screened:
    """Look at each input column alone, on training rows.

    Left out, unless they are to be kept, are identifiers: texts of one word that are all different,
    and whole numbers that count the rows or are called an id, and explain less than a tenth of the
    target or are called numbers of rows. Remarked on are these, columns that alone explain the
    target, and copies of others.

    `inputs` (n, p) are training rows in random order, `y` (n,) targets, or codes of `classes`
    (0 for numbers), and `rows` those of the whole table. `keep` says whether identifiers stay,
    `option` whether the command has an option for that, to name. `encoder` reads cells as those of
    the fit are read; it is fitted to single columns here.
    """
    if len(inputs) < FEWEST_ROWS:
        return Screened({}, ())
    texts = inputs.select_dtypes(["str", "string", "category", object])
    inputs = inputs.assign(**{str(name): cell_text(column) for name, column in texts.items()})
    names = [str(name) for name in inputs.columns]
    code = _codes(y[:MOST_ROWS], classes)
    once, encoder = _each_once(inputs), encoder or TableEncoder()
    read = _read(inputs, encoder)
    alone = {n: explained(column.iloc[:MOST_ROWS], code) for n, column in read.items()}
    different = round(rows * len(once) / len(inputs))
    found = {n: _identifier(column_of(once, n), n, different, alone[n], encoder) for n in names}
    identifiers = {name: why for name, why in found.items() if why}
    left_out = {} if keep or len(identifiers) == len(names) else identifiers
    same = [name for name in names if column_of(inputs, name).nunique(dropna=False) < 2]
    known = {*left_out, *same}
    others = [name for name in names if name not in known]
    counting = numbers_of_rows(inputs, others, rows)
    numbers = [name for name in counting if alone[name] > NO_USE]
    remarks = [
        *([f"Left out, the same in every row: {names_of(same)}."] if same else []),
        *_about_identifiers(identifiers, bool(left_out), option),
        *_about_order(numbers, alone, target),
        *_about_named([n for n in others if n not in numbers], once, alone, target, option),
        *about_leaks(
            {n: read[n] for n in others if n not in numbers}, alone, y, code, target, classes
        ),
        *([] if classes else about_sums({n: read[n] for n in others}, y, target)),
        *_about_copies(selected(inputs, others)),
    ]
    return Screened(left_out, tuple(remarks))


def left_out_notes(inputs: pd.DataFrame, left_out: Mapping[str, str]) -> list[ColumnNote]:
    """A note on each column that is left out."""
    columns = {name: column_of(inputs, name) for name in left_out}
    return [
        ColumnNote(n, "dropped", c.nunique(), int(c.isna().sum()), f"an identifier: {left_out[n]}")
        for n, c in columns.items()
    ]


def _read(inputs: pd.DataFrame, encoder: TableEncoder) -> dict[str, pd.Series]:
    """The columns by name; of the first rows alone where they are amounts or moments in text."""
    columns = {str(name): column_of(inputs, str(name)) for name in inputs.columns}
    first = {n: c.iloc[:MOST_ROWS] for n, c in columns.items() if not is_numbers(c)}
    many = {n: c for n, c in first.items() if c.nunique() > LEVELS}
    return columns | (encoder.in_order(pd.DataFrame(many)) if many else {})


def _codes(y: Floats, classes: int) -> Floats:
    """The target as columns (n, c): ranks of numbers, 0/1 of classes."""
    if classes:
        return (y[:, None] == np.arange(classes)).astype(np.float64)
    return rankdata(y)[:, None]


def _each_once(inputs: pd.DataFrame) -> pd.DataFrame:
    """The rows without their copies, which would hide that a column has no value twice."""
    few = len(inputs) <= MOST_COMPARED
    return inputs.drop_duplicates() if few else inputs


def _identifier(
    column: pd.Series, name: str, rows: int, alone: float, encoder: TableEncoder
) -> str:
    """Why a column tells nothing but which row it is; '' where it may tell more."""
    if is_numbers(column) and not _whole(column):
        return ""
    known = column.dropna()
    distinct = known.nunique()
    if len(known) < FEWEST_ROWS or distinct < DISTINCT * len(known):
        return ""
    said = f"{distinct:,} of {len(known):,} training rows have a value of their own"
    if not is_numbers(column):
        words = f"{said}, such as {str(known.iloc[0])!r}"
        return words if column.dtype.kind in "OUST" and _one_word(known, encoder) else ""
    named = _ROW_NAME.fullmatch(name.strip()) is not None
    if not _all_different(known) or (alone > NO_USE and not named):
        return ""
    if _numbers_rows(known, rows):
        order = f" of a file in order: it alone explains {percent(alone)}" if alone > NO_USE else ""
        return f"it numbers the rows{order}, {int(known.min()):,} to {int(known.max()):,}"
    called = alone <= NO_USE and _ID_NAME.search(name)
    return f"{said}, and it is called {name!r}" if called else ""


def _whole(column: pd.Series) -> bool:
    """Whether all numbers that are there are whole."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return not (values[np.isfinite(values)] % 1 > 0).any()


def _all_different(known: pd.Series) -> bool:
    """Whether they are whole numbers of which none comes twice."""
    values = known.to_numpy(dtype=np.float64)
    whole = np.isfinite(values).all() and (values % 1 == 0).all()
    return bool(len(values) and whole and known.is_unique)


def _numbers_rows(known: pd.Series, rows: int) -> bool:
    """Whether different whole numbers, of a sample perhaps, count the rows of the table."""
    return 0.9 * rows <= known.max() - known.min() + 1 <= 1.05 * rows


def _one_word(known: pd.Series, encoder: TableEncoder) -> bool:
    """Whether nearly all texts are one word each, and none of the things that texts are read as."""
    texts = known.head(MOST_ROWS).astype(str).str.strip()
    if texts.str.contains(r"\s").mean() > 1 - ONE_WORD:
        return False
    kind = encoder.fit(known.head(MOST_ROWS).to_frame()).notes_[0].kind
    return kind == "text" or (kind == "numbers" and len(encoder.feature_names_) == 1)


def _about_identifiers(found: Mapping[str, str], left_out: bool, option: bool) -> list[str]:
    if not found:
        return []
    one = len(found) == 1
    what = "as an identifier" if one else "as identifiers"
    said = f"Left out {what}" if left_out else f"Kept, though {'it looks' if one else 'they look'} "
    said = said if left_out else f"{said}{what.replace('as', 'like')}"
    how = f"--keep-identifiers keeps {'it' if one else 'them'}"
    how = how if left_out else f"--ignore leaves {'it' if one else 'them'} out"
    each = [f"{name!r} ({why})" for name, why in found.items()]
    return [f"{said}: {names_of(each, quoted=True)}{f'; {how}' if option else ''}."]


def _about_order(names: Sequence[str], alone: Mapping[str, float], target: str) -> list[str]:
    """Numbers of rows that explain the target, as in a file that is sorted by it."""
    if not names:
        return []
    one = len(names) == 1
    each = [f"{name!r} ({percent(alone[name])})" for name in names]
    verbs = ("numbers", "explains", "it gives") if one else ("number", "explain", "they give")
    leaves = f"--ignore {names[0]!r} leaves it out" if one else "--ignore NAME leaves one out"
    return [
        f"{names_of(each, quoted=True)} {verbs[0]} the rows and alone {verbs[1]} so much of "
        f"{target!r}: if the file is sorted, {verbs[2]} the answer away; {leaves}."
    ]


def _about_named(
    names: Sequence[str], once: pd.DataFrame, alone: Mapping[str, float], target: str, option: bool
) -> list[str]:
    """Numbers that are called identifiers and are all different, and tell of the target."""
    columns = {n: column_of(once, n) for n in names if _ID_NAME.search(n) and alone[n] > NO_USE}
    found = [n for n, c in columns.items() if is_numbers(c) and _all_different(c.dropna())]
    if not found:
        return []
    each = [f"{name!r} (all different; {percent(alone[name])} of {target!r})" for name in found]
    how = f"; --ignore {found[0]!r} leaves it out" if option else ""
    return [f"Kept, though called an identifier: {names_of(each, quoted=True)}{how}."]


def numbers_of_rows(inputs: pd.DataFrame, names: Sequence[str], rows: int) -> list[str]:
    """Columns of whole numbers that count the rows."""
    columns = {n: column_of(inputs, n) for n in names if is_numbers(column_of(inputs, n))}
    return [n for n, c in columns.items() if _all_different(c) and _numbers_rows(c, rows)]


def _about_copies(inputs: pd.DataFrame) -> list[str]:
    """Columns that hold the same values as one before them, or stand for the same."""
    first: dict[bytes, str] = {}
    copies: list[str] = []
    for name, column in inputs.items():
        code, values = pd.factorize(column)
        same = code.tobytes()
        exact, unit = same + repr([*values[:3]]).encode(), _without_unit(column)
        if exact in first and column.equals(inputs[first[exact]]):
            copies.append(f"{str(name)!r} of {first[exact]!r}")
        elif same in first and 2 * len(values) <= len(column):
            copies.append(f"{str(name)!r} of {first[same]!r}, written otherwise")
        elif unit in first:
            copies.append(f"{str(name)!r} of {first[unit]!r} in another unit")
        for key in (same, exact, unit):
            first.setdefault(key, str(name))
    return [f"Columns that are copies: {names_of(copies, quoted=True)}."] if copies else []


def _without_unit(column: pd.Series) -> bytes:
    """The first numbers of a column from its first one, in units of the step to the second."""
    if not is_numbers(column) or column.nunique() < FEWEST_ROWS:
        return str(column.name).encode()
    x = column.to_numpy(dtype=np.float64, na_value=np.nan)[:MOST_ROWS].copy()
    x -= x[np.isfinite(x)][:1].sum()
    steps = x[np.isfinite(x) & (x != 0)]
    return (np.round(x / steps[0], 4) + 0.0).tobytes() if len(steps) else str(column.name).encode()


def about_groups(groups: Sequence[ColumnGroup]) -> list[str]:
    """Which columns say nearly the same, in a sentence."""
    each = [f"{names_of(one.columns)} ({one.correlation:.3g})" for one in groups]
    return [f"Correlated, and so shuffled together: {names_of(each, quoted=True)}."] if each else []


#: Skewness from which a target is heavy-tailed, and the share of it that logarithms may leave.
SKEWED, LEFT = 2.0, 0.5


def about_tails(target: str, y: Floats) -> list[str]:
    """A remark on a target y (n,) whose few largest values rule every squared error.

    >>> about_tails("y", np.linspace(1.0, 2.0, 100))
    []
    >>> about_tails("y", np.exp(2.0 * np.random.default_rng(0).normal(size=100)))[0][:25]
    "'y' is skewed to the righ"
    """
    if len(y) < FEWEST_ROWS or y.min() < 0 or np.ptp(y) == 0:
        return []
    logs = np.log(y + (0.0 if y.min() > 0 else 1.0))
    if np.ptp(logs) == 0 or skew(y) < SKEWED or abs(skew(logs)) > LEFT * skew(y):
        return []
    counts = bool((y % 1 == 0).all())
    squares = np.sort((y / y.max() - (y / y.max()).mean()) ** 2)
    share = squares[-max(1, len(y) // 100) :].sum() / squares.sum()
    what = "whole numbers, skewed to the right" if counts else "skewed to the right"
    return [
        f"{target!r} is {what} (largest {number(float(y.max()))}, median "
        f"{number(float(np.median(y)))}): 1 % of the rows make {100 * share:.0f} % of its "
        "variance, so that few rows decide R2; --target-transform log learns its logarithm."
    ]
