"""Columns that tell which row it is, and rows that tell of each other: of one time or subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import lgamma, log

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gradfeat.table.encode import TableEncoder
from gradfeat.table.leaks import FEWEST_ROWS, LEVELS, MOST_ROWS, RARELY, between, names_of
from gradfeat.table.reading.decide import plan_column
from gradfeat.table.results import ColumnNote
from gradfeat.table.row_sample import column_of, is_numbers
from gradfeat.wording import listed, number, percent

Floats = NDArray[np.float64]

#: Share of distinct values, and of values without a blank, from which texts are identifiers.
DISTINCT, ONE_WORD = 0.99, 0.9
#: Share of their range that numbers of rows fill at least, where further rows are not here.
FILLED = 0.1
#: Share of the target up to which numbers of rows are of no use.
NO_USE = 0.1
#: Characters that names, titles and addresses have at most, at the median, and rows of them that
#: are tried; by so many trees, with so many rows a leaf; standard errors from which what they tell
#: is beyond chance.
NAME_LENGTH, TRIED, TREES, LEAF_ROWS, BEYOND = 60, 1_000, 50, 5, 3.0

_ROW_NAME = re.compile(
    r"(unnamed: ?\d+|row ?names?|(row)?[ _.-]?(id|no|nr|num(ber)?|index|idx)|row|obs|rownum|)",
    re.IGNORECASE,
)
#: The end of a name of what is told apart by it.
_ID = r"(?i:(^|[_\W])id$)|[a-z](Id|ID)$"
_ID_NAME = re.compile(
    _ID + r"|(?i:(^|[_\W])(pid|uid|uuid|guid|index|idx|key|no|nr)$)|^[A-Z]{1,4}ID$"
)
_SUBJECT = re.compile(
    _ID + r"|(?i:subject|patient|person|participant|individual|animal|household|student|user|"
    r"customer|client)"
)

#: Correlation of neighbours in time from which they tell of each other, and standard errors of it.
NEAR, SURE = 0.25, 5.0
#: Rows for each column of the linear model, and its penalty for columns of variance 1.
ROWS_A_COLUMN, PENALTY = 10, 1e-3

#: Groups that are subjects at least; shares of the target and of other columns that lie between
#: them; and in how many of the other columns.
FEWEST_GROUPS, SHARED_TARGET, SHARED, MOST_OF = 10, 0.5, 0.8, 0.5

_PARTS = (
    re.compile(r"(year|yr|yyyy)", re.IGNORECASE),
    re.compile(r"(month|mon|mnth|mo)", re.IGNORECASE),
    re.compile(r"(day|mday|dom|day_?of_?month|date_?of_?month)", re.IGNORECASE),
    re.compile(r"(hour|hr)", re.IGNORECASE),
)

#: What a name begins with, up to the number or letter of a sample.
_STEM = r"^(.*\w)[-_/. ]+\w{1,4}$"


def identifiers(
    inputs: pd.DataFrame,
    once: pd.DataFrame,
    rows: int,
    alone: Mapping[str, float],
    code: Floats,
    encoder: TableEncoder,
) -> dict[str, str]:
    """The columns that tell nothing but which row it is, each with the reason.

    `inputs` (n, p) are training rows in random order, `once` those without their copies, of a table
    of so many different `rows`. `alone` are shares of the target that columns explain, `code`
    (m, c) the target of the first rows; `encoder` says how cells are read.
    """
    found: dict[str, str] = {}
    for name in map(str, inputs.columns):
        column = column_of(once, name).dropna()
        if is_numbers(column):
            why = _row_number(column, name, rows, alone[name])
        else:
            why = _name(column, column_of(inputs, name).iloc[:TRIED], code[:TRIED], encoder)
        if why:
            found[name] = why
    return found


def _row_number(known: pd.Series, name: str, rows: int, alone: float) -> str:
    """Why numbers only count or name the rows; '' where they may tell more."""
    named = _ROW_NAME.fullmatch(name.strip()) is not None
    if len(known) < FEWEST_ROWS or not _all_different(known) or (alone > NO_USE and not named):
        return ""
    telling = f": it alone explains {percent(alone)}" if alone > NO_USE else ""
    if _numbers_rows(known, rows):
        order = f" of a file in order{telling}" if telling else ""
        return f"it numbers the rows{order}, {int(known.min()):,} to {int(known.max()):,}"
    called = named or _ID_NAME.search(name)
    return f"{_own_values(known)}, and it is called {name!r}{telling}" if called else ""


def _name(known: pd.Series, first: pd.Series, code: Floats, encoder: TableEncoder) -> str:
    """Why texts only name the rows; '' where similar ones have similar targets, or none is.

    Texts of one word are keys. Of names, titles and addresses, the `first` (m,) are encoded as they
    would be for a fit, to see whether these numbers tell of the target in rows that are not fitted.
    """
    if len(known) < FEWEST_ROWS or known.nunique() < DISTINCT * len(known):
        return ""
    some = known.head(MOST_ROWS)
    plan = plan_column(str(known.name), some, encoder.dates, encoder.decimal)
    texts = some.astype(str).str.strip()
    words = f"{_own_values(known)}, such as {str(known.iloc[0])!r}"
    if texts.str.contains(r"\s").mean() <= 1 - ONE_WORD:
        one = plan.kind == "numbers" and len(plan.encode(some.head(FEWEST_ROWS)).parts) == 1
        doubt = f". {plan.assumption.removesuffix('.')}" if plan.kind == "text" else ""
        named = known.dtype.kind in "OUST" and (plan.kind == "text" or one)
        return words + doubt.removesuffix(". ") if named else ""
    if plan.kind != "text" or texts.str.len().median() > NAME_LENGTH:
        return ""
    tells = _tells(np.column_stack([*plan.encode(first).parts.values()]), code)
    doubt = f". {plan.assumption.removesuffix('.')}" if plan.assumption else ""
    why = doubt or ", and like letters do not go with like targets"
    return "" if tells else f"{words}{why}"


def _tells(X: Floats, code: Floats) -> bool:
    """Whether trees on X (n, d) predict the target (n, c) of rows left out of them, beyond chance.

    A correlation of n rows has a standard error of 1/sqrt(n) where nothing is told.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    trees = ExtraTreesRegressor(
        TREES, min_samples_leaf=LEAF_ROWS, bootstrap=True, oob_score=True, random_state=0
    )
    found = trees.fit(np.nan_to_num(X), code if code.shape[1] > 1 else code[:, 0]).oob_prediction_
    x, y = (v - v.mean(axis=0) for v in (found.reshape(code.shape), code))
    scale = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    correlation = (x * y).sum(axis=0) / np.where(scale > 0, scale, np.inf)
    return bool(correlation.max() * np.sqrt(len(y)) > BEYOND)


def _own_values(known: pd.Series) -> str:
    return f"{known.nunique():,} of {len(known):,} training rows have a value of their own"


def _all_different(known: pd.Series) -> bool:
    """Whether they are whole numbers of which none comes twice."""
    values = known.to_numpy(dtype=np.float64)
    whole = np.isfinite(values).all() and (values % 1 == 0).all()
    return bool(len(values) and whole and known.is_unique)


def _numbers_rows(known: pd.Series, rows: int) -> bool:
    """Whether different whole numbers, of a sample perhaps, count the rows of the table."""
    return 0.9 * rows <= _width(known) <= 1.05 * rows


def _width(known: pd.Series) -> float:
    """How many whole numbers there are from the least to the largest, infinity for 1e308."""
    return float(known.max()) - float(known.min()) + 1


def _numbers_more(known: pd.Series) -> bool:
    """Whether n different whole numbers lie so close that they number rows, some of them not here.

    Independent draws of N numbers are all different with probability N! / ((N - n)! N^n).
    """
    n, N = len(known), _width(known)
    return n >= FILLED * N and lgamma(N + 1) - lgamma(N - n + 1) - n * log(N) < log(RARELY)


def numbers_of_rows(inputs: pd.DataFrame, names: Sequence[str], rows: int) -> dict[str, str]:
    """Columns of whole numbers that count rows, with words on those that count further rows too."""
    found: dict[str, str] = {}
    for name in names:
        column = column_of(inputs, name)
        if not is_numbers(column) or not _all_different(column):
            continue
        if _numbers_rows(column, rows):
            found[name] = ""
        elif _numbers_more(column):
            ends = f"{int(column.min()):,} to {int(column.max()):,}"
            found[name] = f"; {len(column):,} of the numbers {ends}, none of them twice"
    return found


def about_identifiers(found: Mapping[str, str], left_out: bool, option: bool) -> list[str]:
    """Which columns are identifiers, why, and how they are kept or left out."""
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


def about_order(found: Mapping[str, str], alone: Mapping[str, float], target: str) -> list[str]:
    """Numbers of rows that explain the target, as in a file that is sorted by it."""
    if not found:
        return []
    one = len(found) == 1
    each = [f"{name!r} ({percent(alone[name])}{more})" for name, more in found.items()]
    verbs = ("numbers", "explains", "it gives") if one else ("number", "explain", "they give")
    leaves = (
        f"--ignore {next(iter(found))!r} leaves it out" if one else "--ignore NAME leaves one out"
    )
    return [
        f"{names_of(each, quoted=True)} {verbs[0]} the rows and alone {verbs[1]} so much of "
        f"{target!r}: if the file is sorted, {verbs[2]} the answer away; {leaves}."
    ]


def about_named(
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


def about_texts(notes: Iterable[ColumnNote]) -> list[str]:
    """Which columns are read as text."""
    found = [note.name for note in notes if note.kind == "text"]
    return [f"Read as text, similar ones as similar numbers: {names_of(found)}."] if found else []


def about_time(X: Floats, encoder: TableEncoder, code: Floats, target: str) -> list[str]:
    """A remark where rows that are neighbours in time have targets that go together.

    In the order of a date, ``r = sum_i e_i e_(i+1) / sum_i e_i^2`` of what a linear model leaves of
    the target's ranks, or of its classes; its columns are all but those that count time, and their
    squares: weekdays, months and hours are among them, years are not. Where rows are independent r
    has a standard error of 1/sqrt(n).

    `X` (n, d) are training rows in random order, encoded; `code` (n, c) is their target.
    """
    if len(X) < FEWEST_ROWS:
        return []
    spread = ((code - code.mean(axis=0)) ** 2).sum()
    found: dict[str, tuple[float, float]] = {}
    for name, (clock, when) in _times(X, encoder).items():
        left = _left_by_linear(np.delete(X, clock, axis=1), code)[np.argsort(when, kind="stable")]
        share = (left**2).sum() / max(spread, 1e-300)
        found[name] = (left[1:] * left[:-1]).sum() / max((left**2).sum(), 1e-300), share
    name = max(found, key=lambda n: found[n], default="")
    chance = SURE / np.sqrt(len(X))
    if not name or found[name][0] < max(NEAR, chance):
        return []
    r, share = found[name]
    whole = name in map(repr, encoder.columns_)
    how = f"--time-column {name}" if whole else "A column of whole dates as --time-column"
    return [
        f"In the order of {name} neighbouring rows have similar {target!r} (correlation "
        f"{number(r)} of what a linear model of the other columns leaves, {percent(share)} of the "
        f"variance; by chance below {number(chance)}): rows that are tested on lie in time between "
        "rows that are learned from, and the scores below may not hold for later rows. "
        f"{how} tests on the last."
    ]


def _times(X: Floats, encoder: TableEncoder) -> dict[str, tuple[list[int], Floats]]:
    """What may order the rows in time, quoted: the places that count time, and the time (n,)."""
    place = {name: i for i, name in enumerate(encoder.feature_names_)}
    dates = [n.name for n in encoder.notes_ if n.kind == "date" and f"{n.name}_seconds" in place]
    parts = [next((n for n in place if part.fullmatch(n.strip())), "") for part in _PARTS]
    years = [*(f"{date}_year" for date in dates), parts[0]]
    clock = [place[n] for n in (*(f"{date}_seconds" for date in dates), *years) if n in place]
    found = {repr(date): (clock, X[:, place[f"{date}_seconds"]]) for date in dates}
    named = [name for name in parts if name]
    if len(named) > 1 and parts[1]:
        order = np.lexsort([X[:, place[name]] for name in reversed(named)])
        found[listed([repr(name) for name in named])] = (clock, order.argsort().astype(np.float64))
    return found


def _left_by_linear(X: Floats, code: Floats) -> Floats:
    """What ridge regression of `code` (n, c) on columns of X (n, d) and their squares leaves."""
    X = X / np.maximum(np.abs(X).max(axis=0), 1e-300)  # the largest numbers have no squares
    Z = np.hstack([X, (X - X.mean(axis=0)) ** 2])[:, : max(1, len(X) // ROWS_A_COLUMN)]
    Z = Z - Z.mean(axis=0)
    size = Z.std(axis=0)
    Z = Z[:, size > 0] / size[size > 0]
    y = code - code.mean(axis=0)
    gram = Z.T @ Z / len(Z) + PENALTY * np.eye(Z.shape[1])
    return y - Z @ np.linalg.solve(gram, Z.T @ y / len(Z))


def subjects(read: Mapping[str, pd.Series], code: Floats, names: Sequence[str]) -> dict[str, str]:
    """Columns whose values are subjects that come again, with the evidence.

    Of ten subjects or more, with two rows each on average, the targets `code` (n, c) agree, as half
    of their variance lies between subjects; and they are called subjects, or most other columns
    agree too. `read` are the columns as they are read.
    """
    found: dict[str, str] = {}
    for name in names:
        column = read[name].iloc[: len(code)]
        known = column.notna().to_numpy()
        group, values = pd.factorize(column.loc[known])
        if not FEWEST_GROUPS <= len(values) <= len(group) // 2 or _fractions(column):
            continue
        share = between(group, code[known])
        others = [n for n in names if n != name]
        if share >= SHARED_TARGET and (
            _SUBJECT.search(name) or (not is_numbers(column) and _agree(read, others, group, known))
        ):
            found[name] = f"{len(values):,} groups by {name!r} ({percent(share)}"
    return found


def _fractions(column: pd.Series) -> bool:
    return is_numbers(column) and bool((column.dropna() % 1 != 0).any())


def _agree(
    read: Mapping[str, pd.Series],
    names: Sequence[str],
    group: NDArray[np.intp],
    known: NDArray[np.bool_],
) -> bool:
    """Whether most of the columns vary little within groups, in the rows that have one."""
    shares = [between(group, _numbers(read[n].iloc[: len(known)])[known]) for n in names]
    return len(shares) > 1 and float(np.mean(np.array(shares) >= SHARED)) >= MOST_OF


def _numbers(column: pd.Series) -> Floats:
    """A column as numbers (n, c): themselves, or 0/1 of its most frequent levels."""
    if is_numbers(column):
        return column.fillna(column.median()).to_numpy(dtype=np.float64)[:, None]
    return np.array([column == level for level in column.value_counts().index[:LEVELS]], float).T


def about_subjects(found: Mapping[str, str], target: str) -> list[str]:
    """A remark on rows of one subject on both sides of a random split."""
    if not found:
        return []
    return [
        f"Rows come in {names_of([*found.values()], quoted=True)} of the variance of {target!r} "
        "lies between them): rows of the same group are learned from and tested on, and the scores "
        f"below may not hold for new groups. --group-column {next(iter(found))!r} tests on groups "
        "that were not learned from."
    ]


def about_stems(inputs: pd.DataFrame, names: Sequence[str], code: Floats, target: str) -> list[str]:
    """A remark on identifiers that begin with the name of a subject, as P42_1 and P42_2 do.

    `names` are columns that are left out, `code` (n, c) targets of the first rows.
    """
    for name in names:
        column = inputs[name].iloc[: len(code)]
        if is_numbers(column):
            continue
        stem = column.astype("str").str.extract(_STEM, expand=False)
        if stem.isna().any() or not subjects({"subject": stem}, code, ["subject"]):
            continue
        first = stem[stem.duplicated(keep=False)].iloc[0]
        some = column[stem == first].astype("str").iloc[:2].tolist()
        return [
            f"{name!r} begins alike in groups of rows (as {some[0]!r} and {some[1]!r} do), between "
            f"which most of the variance of {target!r} lies: rows of the same group are learned "
            "from and tested on, and the scores below may not hold for new groups. A column of "
            "what they begin with, as --group-column, tests on new ones."
        ]
    return []
