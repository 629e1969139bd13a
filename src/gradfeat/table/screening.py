"""What to know of the columns before a score is read: identifiers, leaks, copies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata, skew

from gradfeat.drawing.numbers import listed, number, percent
from gradfeat.rows.sources.tables import selected
from gradfeat.table.encode import TableEncoder
from gradfeat.table.results import ColumnGroup, ColumnNote
from gradfeat.table.row_sample import column_of, is_numbers

Floats = NDArray[np.float64]

#: Rows that are looked at for what a column alone explains, and the fewest that say anything.
MOST_ROWS, FEWEST_ROWS = 2_000, 20
#: Rows that hold a value of a column with gaps, at least, to look at by themselves; and how rarely
#: so many rows would all have one class by chance.
FEWEST_KNOWN, RARELY = 100, 1e-6
#: Rows that are compared with each other, to count equal ones once.
MOST_COMPARED = 200_000
#: Share of distinct values, and of values without a blank, from which texts are identifiers.
DISTINCT, ONE_WORD = 0.99, 0.9
#: Share of the target that a column explains alone: from which it may be a leak, and up to which
#: numbers of rows are of no use.
LEAK, NO_USE = 0.95, 0.1
#: Distinct numbers that are levels, and bins of more of them.
LEVELS, BINS = 50, 20
#: Columns or groups that a remark names.
NAMED = 5

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
        *([f"Left out, the same in every row: {_names(same)}."] if same else []),
        *_about_identifiers(identifiers, bool(left_out), option),
        *_about_order(numbers, alone, target),
        *_about_named([n for n in others if n not in numbers], once, alone, target, option),
        *_about_leaks(
            {n: read[n] for n in others if n not in numbers}, alone, y, code, target, classes
        ),
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


def explained(column: pd.Series, code: Floats) -> float:
    """The share of the variance of `code` (n, c) between the levels of a column, adjusted.

    ``1 - (within / (n - k)) / (total / (n - 1))`` for k levels, of numbers 20 bins of equal
    size where they are many; 0 where nearly every row is a level of its own.
    """
    group = _levels(column)
    n, k = len(group), int(group.max()) + 1
    total = ((code - code.mean(axis=0)) ** 2).sum()
    if n - k < max(FEWEST_ROWS, n // 4) or total == 0:
        return 0.0
    size = np.bincount(group, minlength=k)
    means = np.array([np.bincount(group, column, minlength=k) / size for column in code.T]).T
    within = ((code - means[group]) ** 2).sum()
    return float(max(0.0, 1 - (within / (n - k)) / (total / (n - 1))))


def _read(inputs: pd.DataFrame, encoder: TableEncoder) -> dict[str, pd.Series]:
    """The columns by name; of the first rows alone where they are amounts or moments in text."""
    columns = {str(name): column_of(inputs, str(name)) for name in inputs.columns}
    first = {n: c.iloc[:MOST_ROWS] for n, c in columns.items() if not is_numbers(c)}
    many = {n: c for n, c in first.items() if c.nunique() > LEVELS}
    return columns | (encoder.in_order(pd.DataFrame(many)) if many else {})


def _levels(column: pd.Series) -> NDArray[np.intp]:
    """Codes (n,) of levels, without gaps; what is missing is one."""
    if not is_numbers(column):
        return pd.factorize(column, use_na_sentinel=False)[0]
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)  # nan is last
    if len(count) <= LEVELS:
        return code
    rank = (np.cumsum(count) - (count - 1) / 2)[code] / np.sum(~np.isnan(values))
    binned = np.where(np.isnan(values), BINS + 1, np.ceil(BINS * rank))
    return np.unique(binned, return_inverse=True)[1]


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
    return encoder.fit(known.head(MOST_ROWS).to_frame()).notes_[0].kind == "text"


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
    return [f"{said}: {_names(each, quoted=True)}{f'; {how}' if option else ''}."]


def _about_order(names: Sequence[str], alone: Mapping[str, float], target: str) -> list[str]:
    """Numbers of rows that explain the target, as in a file that is sorted by it."""
    if not names:
        return []
    one = len(names) == 1
    each = [f"{name!r} ({percent(alone[name])})" for name in names]
    verbs = ("numbers", "explains", "it gives") if one else ("number", "explain", "they give")
    leaves = f"--ignore {names[0]!r} leaves it out" if one else "--ignore NAME leaves one out"
    return [
        f"{_names(each, quoted=True)} {verbs[0]} the rows and alone {verbs[1]} so much of "
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
    return [f"Kept, though called an identifier: {_names(each, quoted=True)}{how}."]


def numbers_of_rows(inputs: pd.DataFrame, names: Sequence[str], rows: int) -> list[str]:
    """Columns of whole numbers that count the rows."""
    columns = {n: column_of(inputs, n) for n in names if is_numbers(column_of(inputs, n))}
    return [n for n, c in columns.items() if _all_different(c) and _numbers_rows(c, rows)]


def _about_leaks(
    read: Mapping[str, pd.Series],
    alone: Mapping[str, float],
    y: Floats,
    code: Floats,
    target: str,
    classes: int,
) -> list[str]:
    """Columns that may be known only with the target, the most telling first."""
    found: dict[str, str] = {}
    known = {n: _where_known(column.iloc[:MOST_ROWS], code) for n, column in read.items()}
    most = 0.0
    for name in sorted(read, key=lambda name: (-alone[name], -known[name])):
        order = "" if classes else _same_order(read[name], y)
        if max(alone[name], known[name]) >= LEAK or order:
            share, gaps = alone[name], ""
            if share < LEAK <= known[name]:
                share, gaps = (
                    known[name],
                    f" where it is filled in, {percent(read[name].notna().mean())} of rows",
                )
            found[name] = f"{name!r} ({percent(share)}{gaps}{order and f', {order}'})"
            most = max(most, share)
    if not found:
        return []
    one = len(found) == 1
    it, verb = ("it", "is") if one else ("they", "are")
    leaves = f"--ignore {next(iter(found))!r} leaves it out"
    says = f"alone explain{'s' * one} nearly all of" if most >= LEAK else f"follow{'s' * one}"
    return [
        f"{_names([*found.values()], quoted=True)} {says} {target!r}: if {it} {verb} known only "
        f"once {target!r} is, the scores below are of no use; "
        f"{leaves if one else '--ignore NAME leaves one out'}."
    ]


def _where_known(column: pd.Series, code: Floats) -> float:
    """What a column with gaps explains in the rows that hold a value, as one of later remarks.

    1 where all of these have one class, and others do not.
    """
    known = column.notna().to_numpy()
    if known.all() or known.sum() < FEWEST_KNOWN:
        return 0.0
    there = code[known]
    if (there == there[0]).all():
        return float((code == there[0]).all(axis=1).mean() ** known.sum() < RARELY)
    return explained(column.loc[known], there)


def _same_order(column: pd.Series, y: Floats) -> str:
    """Whether a column of numbers never goes against the target, as one that is rounded does."""
    if not is_numbers(column):
        return ""
    known = column.notna().to_numpy()
    x, y = column.to_numpy(dtype=np.float64)[known], y[: len(known)][known]
    if len(x) < FEWEST_ROWS or len(np.unique(x)) < 3:
        return ""
    rising, falling = x[np.lexsort((x, y))], x[np.lexsort((-x, y))]
    if not ((rising[1:] < rising[:-1]).any() and (falling[1:] > falling[:-1]).any()):
        rounded = np.array_equal(x, np.round(y))
        return "is it, rounded" if rounded else "never goes against it"
    return ""


def _about_copies(inputs: pd.DataFrame) -> list[str]:
    """Columns that hold the same values as one before them."""
    first: dict[bytes, str] = {}
    copies: list[str] = []
    for name, column in inputs.items():
        code, values = pd.factorize(column)
        key = code.tobytes() + repr([*values[:3]]).encode()
        if key in first and column.equals(inputs[first[key]]):
            copies.append(f"{str(name)!r} of {first[key]!r}")
        first.setdefault(key, str(name))
    return [f"Columns that are copies: {_names(copies, quoted=True)}."] if copies else []


def about_groups(groups: Sequence[ColumnGroup]) -> list[str]:
    """Which columns say nearly the same, in a sentence."""
    each = [f"{_names(group.columns)} ({group.correlation:.3g})" for group in groups]
    return [f"Correlated, and so shuffled together: {_names(each, quoted=True)}."] if each else []


def _names(names: Sequence[str], quoted: bool = False) -> str:
    """The first few, and how many more."""
    shown = [name if quoted else repr(name) for name in names[:NAMED]]
    more = len(names) - len(shown)
    return listed([*shown, *([f"{more:,} more"] if more else [])])


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
    what = "counts, skewed to the right" if counts else "skewed to the right"
    return [
        f"{target!r} is {what} (largest {number(float(y.max()))}, median "
        f"{number(float(np.median(y)))}): 1 % of the rows make {100 * share:.0f} % of its "
        "variance, so that few rows decide R2; --target-transform log learns its logarithm."
    ]
