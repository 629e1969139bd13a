"""What a plan for the cells of a column can do and gives, and the plan of levels.

Levels are two, a few, or so many that their texts are hashed.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final
from unicodedata import normalize

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from gradfeat.errors import TableError
from gradfeat.rows.sources.tables import Cells
from gradfeat.table.results import Kind, UnreadCells
from gradfeat.wording import MISSING_WORDS, TRUTH_WORDS


@contextlib.contextmanager
def _without_its_folder() -> Iterator[None]:
    """skrub makes a folder in the home of whoever imports it: there may be no home to write to."""
    name, home = "SKB_DATA_DIRECTORY", os.path.expanduser("~")
    ours = not {name, "SKRUB_DATA_DIRECTORY"} & os.environ.keys() and "skrub" not in sys.modules
    if ours:
        os.environ[name] = os.path.abspath(os.sep)  # which is there
    try:
        yield
        if ours:
            sys.modules["skrub"].set_config(data_dir=os.path.join(home, "skrub_data"))
    finally:
        if ours:
            del os.environ[name]


with _without_its_folder():
    from skrub import MinHashEncoder

#: A word for missing values that may be a level: no airbags, no treatment.
NONE = "None"
#: Characters that nobody sees, and blanks of all kinds.
_UNSEEN = dict.fromkeys([0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xAD]) | dict.fromkeys(
    [0xA0, 0x2007, 0x2009, 0x202F], " "
)
_DIGIT = re.compile(r"\d")


def content(column: pd.Series) -> str:
    """Return what the values are, whatever the dtype that holds them (pandas' ``infer_dtype``)."""
    if types.is_bool_dtype(column.dtype):
        return "boolean"
    if types.is_numeric_dtype(column.dtype):
        return "complex" if types.is_complex_dtype(column.dtype) else "floating"
    return types.infer_dtype(column, skipna=True)


def as_text(column: pd.Series) -> pd.Series:
    """Return the values as text, None where missing or blank; whole numbers without ``.0``.

    >>> as_text(pd.Series([1.0, None, 2.5])).tolist()
    ['1', None, '2.5']
    """
    if column.dtype not in ("str", "string", "category"):
        return _texts(column)
    codes, levels = pd.factorize(column)  # each distinct value is looked at once
    found = np.array([*_texts(pd.Series(levels)), None], dtype=object)
    return pd.Series(found[codes], index=column.index, dtype=object, name=column.name)


def cell_text(column: pd.Series) -> pd.Series:
    """:func:`as_text` of an input: None also where a word such as NA says that a value is missing.

    >>> cell_text(pd.Series(["red", "NA", "none"])).tolist()
    ['red', None, 'none']
    """
    text = as_text(column)
    gaps = text.isin(MISSING_WORDS)
    return text.mask(gaps, None) if gaps.any() else text


def level_text(column: pd.Series, levels: Sequence[str]) -> pd.Series:
    """:func:`cell_text` of a column of levels, of which the word None may be one."""
    text = cell_text(column)
    none = as_text(column) == NONE if NONE in levels else text.isna() & False
    return text.mask(none, NONE) if none.any() else text


def has_digits(texts: Iterable[str]) -> bool:
    """Whether any may be a number or a date: each of them is written with a digit."""
    return any(_DIGIT.search(text) for text in texts)


def _texts(column: pd.Series) -> pd.Series:
    values = column.astype(object)
    if content(column) == "bytes":
        values = values.map(lambda value: value.decode("utf-8", "replace"), na_action="ignore")
    nested = values.map(types.is_list_like).to_numpy(dtype=bool)
    if nested.any():
        first = textwrap.shorten(str(values.iloc[nested.argmax()]), 60, placeholder=" ...")
        raise TableError(
            f"Column {column.name!r} holds lists or objects (the first is {first}): give each part "
            "a column of its own, or leave the column out."
        )
    text = values.map(_value_as_text, na_action="ignore")
    return text.astype(object).mask(text.isna() | (text == ""), None)


def plain_text(text: str) -> str:
    """The text without blanks at its ends, unseen characters, and a spreadsheet's ``="..."``.

    >>> plain_text('="007" '), plain_text("\\ufeffred\\u200b")
    ('007', 'red')
    """
    if not text.isascii():  # a lone half of a surrogate pair is no character of any file
        text = normalize("NFC", text.encode(errors="replace").decode().translate(_UNSEEN))
    text = text.strip()
    return text[2:-1] if text[:2] == '="' and text[-1] == '"' and len(text) > 3 else text


def _value_as_text(value: object) -> str:
    text = plain_text(str(value))
    return text[:-2] if text.endswith(".0") and text[:-2].lstrip("-").isdigit() else text


#: The ending of the name of a column that says where another has no value.
MISSING = "_missing"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedColumn:
    """What `source` is encoded as: `parts` (n,) by a name's ending, and cells that are none."""

    source: str
    parts: dict[str, Floats]
    unread: tuple[UnreadCells, ...] = ()


@dataclass(frozen=True)
class Encoded:
    """One encoded column that is kept: its source and name, what fills gaps, and `ends` of text."""

    source: str
    part: str
    name: str
    fill: float
    ends: tuple[float, ...] = ()


@dataclass(frozen=True)
class ColumnPlan(ABC):
    """How each cell of the column `name` is read, whatever stands in other rows."""

    #: What the column holds, in a word of reports.
    kind: ClassVar[Kind]
    #: Whether the first encoded column puts rows in order: numbers, or seconds.
    ordered: ClassVar[bool]

    name: str

    @property
    @abstractmethod
    def cells(self) -> Cells:
        """What cells of delimited text are to be given as."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What was assumed because nothing in the table tells, in a sentence; "" for nothing."""

    @abstractmethod
    def encode(self, column: pd.Series) -> EncodedColumn:
        """The column as numbers, nan where missing, and the cells counted that are not so read."""

    @abstractmethod
    def treatment(self, parts: Sequence[str]) -> str:
        """What was done to the column, in words, where it has the encoded `parts`."""


class UnambiguousText(ColumnPlan, ABC):
    """Plans that read every cell from its text, and have nothing to assume."""

    @property
    def cells(self) -> Cells:
        return "text"

    @property
    def assumption(self) -> str:
        return ""


def by_distinct(
    text: pd.Series, read: Callable[[NDArray[np.object_]], Floats]
) -> NDArray[np.float64]:
    """Read each distinct text once: (n,) or (n, k), nan where missing."""
    codes, distinct = pd.factorize(text)
    values = read(np.asarray(distinct, dtype=object))
    gap = np.full((1, *values.shape[1:]), np.nan)
    return np.concatenate([values, gap])[codes]


def unread_cells(
    name: str,
    column: pd.Series,
    lost: NDArray[np.bool_],
    what: str,
    instead: Callable[[pd.Series], Mapping[str, NDArray[np.bool_]]] = lambda _: {},
    read: bool = False,
) -> tuple[UnreadCells, ...]:
    """The cells counted that have a value which was `lost` (n,) in reading, as they are no `what`.

    `instead`: of the texts of such cells, which are said to be no other thing; `read`: they were
    read all the same, as `what` says.

    >>> column = pd.Series(["1", "?", None])
    >>> unread_cells("x", column, np.array([False, True, True]), "number")
    (UnreadCells(column='x', cells=1, example='?', what='number', row=1, place='', read=False),)
    """
    at = np.flatnonzero(lost)
    if not at.size:
        return ()
    text = cell_text(column.iloc[at])
    at, text = at[text.notna().to_numpy()], text.dropna()
    others = instead(text)
    usual = ~np.any([*others.values(), np.zeros(len(at), bool)], axis=0)
    found = [(why, np.flatnonzero(of_it)) for why, of_it in {what: usual, **others}.items()]
    return tuple(
        UnreadCells(name, len(of_it), str(text.iloc[of_it[0]]), why, int(at[of_it[0]]), read=read)
        for why, of_it in found
        if of_it.size
    )


def with_gaps(
    plan: ColumnPlan, parts: dict[str, Floats], unread: tuple[UnreadCells, ...] = ()
) -> EncodedColumn:
    """Parts with nan where a cell is missing, and one that marks these rows."""
    missing = np.isnan(next(iter(parts.values()))).astype(float)
    return EncodedColumn(plan.name, parts | {MISSING: missing}, unread)


#: Levels that have a column each in any case; with enough rows a level, and at most.
FEW_LEVELS, ROWS_A_LEVEL, MOST_LEVELS = 40, 10, 200

#: Numbers for a text.
TEXT_COMPONENTS = 8

#: How truth values are written.
TRUTH = ("False", "True")


def most_levels(rows: int) -> int:
    """So many levels of a column have a column of 0 and 1 each.

    Up to 40 do, and more where there are 10 rows a level, up to 200: a level that is seen less
    often says little, and each costs a column. In small tables half as many as rows.

    >>> most_levels(20), most_levels(400), most_levels(1000), most_levels(10**6)
    (10, 40, 100, 200)
    """
    return min(max(FEW_LEVELS, min(rows // ROWS_A_LEVEL, MOST_LEVELS)), max(3, rows // 2))


def truths(texts: NDArray[np.object_]) -> Floats:
    """What texts (n,) say: 0 for no, 1 for yes, nan for anything else."""
    return np.array([TRUTH_WORDS.get(text.casefold(), np.nan) for text in texts], dtype=np.float64)


def codes_of(levels: Sequence[str], texts: NDArray[np.object_]) -> Floats:
    """The number of each text among the levels, nan for any other: (k,).

    Case counts only where two levels differ in nothing else.

    >>> codes_of(("No", "Yes"), np.array(["yes", "No", "Y"], dtype=object)).tolist()
    [1.0, 0.0, nan]
    """
    exact = {level: float(code) for code, level in enumerate(levels)}
    folded: dict[str, float] = {}
    for level, code in exact.items():
        key = level.casefold()
        folded[key] = np.nan if key in folded else code
    return np.array(
        [exact.get(text, folded.get(text.casefold(), np.nan)) for text in texts], dtype=np.float64
    )


@final
@dataclass(frozen=True)
class TwoLevels(UnambiguousText):
    """Two levels: the second reads as 1. Other words for no and yes are read where they say so."""

    kind: ClassVar[Kind] = "yes/no"
    ordered: ClassVar[bool] = False

    levels: tuple[str, ...] = TRUTH

    def encode(self, column: pd.Series) -> EncodedColumn:
        text = level_text(column, self.levels)
        values = by_distinct(text, lambda texts: codes_of(self.levels, texts))
        lost, truth = np.isnan(values), truths(np.array(self.levels, dtype=object))
        said = by_distinct(text.where(lost, None), truths) if np.ptp(truth) == 1 else truth[:0]
        values[lost] = np.abs(said - truth[0])[lost] if said.size else np.nan  # yes may be first
        told = unread_cells(self.name, text, lost & ~np.isnan(values), "as no and yes", read=True)
        unread = unread_cells(self.name, text, np.isnan(values), "value seen in training")
        return with_gaps(self, {"": values}, (*told, *unread))

    def treatment(self, parts: Sequence[str]) -> str:
        del parts
        return f"0 for {self.levels[0]}, 1 for {self.levels[1]}"


@final
@dataclass(frozen=True)
class Levels(UnambiguousText):
    """A few levels, with a column of 0 and 1 each; all of them 0 for what is none."""

    kind: ClassVar[Kind] = "category"
    ordered: ClassVar[bool] = False

    levels: tuple[str, ...]

    def encode(self, column: pd.Series) -> EncodedColumn:
        text = level_text(column, self.levels)
        codes = by_distinct(text, lambda texts: codes_of(self.levels, texts))
        parts = {f"_{x}": (codes == code).astype(float) for code, x in enumerate(self.levels)}
        unread = unread_cells(self.name, text, np.isnan(codes), "value seen in training")
        return EncodedColumn(self.name, parts, unread)

    def treatment(self, parts: Sequence[str]) -> str:
        if len(parts) == 1:
            return f"1 where it is {parts[0].removeprefix('_')!r}; missing: 0"
        return f"{len(parts)} columns of 0 and 1, one a level; missing: all of them 0"


@final
@dataclass(frozen=True)
class Text(ColumnPlan):
    """Any text, as 8 min-hash numbers: similar texts have similar ones.

    `doubt`: why it may be meant to be numbers, in a sentence; `codes`: whether it is of whole
    numbers of one width with leading zeros.
    """

    kind: ClassVar[Kind] = "text"
    ordered: ClassVar[bool] = False

    doubt: str = ""
    codes: bool = False

    @property
    def cells(self) -> Cells:
        return "text"

    @property
    def assumption(self) -> str:
        if not self.codes:
            return self.doubt
        return (
            f"{self.name!r} has whole numbers of one width with leading zeros, as postcodes have: "
            "taken as codes, not as quantities; write quantities without these zeros."
        )

    def encode(self, column: pd.Series) -> EncodedColumn:
        values = by_distinct(cell_text(column), _hashed)
        return with_gaps(self, {f"_{k}": values[:, k] for k in range(TEXT_COMPONENTS)})

    def treatment(self, parts: Sequence[str]) -> str:
        hashed = sum(part != MISSING for part in parts)
        return f"{hashed} numbers made of its letters, alike for like texts (min-hash)"


def _hashed(texts: NDArray[np.object_]) -> Floats:
    """Min-hash numbers (k, 8). Source: Cerda and Varoquaux 2020, by skrub."""
    if not len(texts):
        return np.empty((0, TEXT_COMPONENTS))
    encoder = MinHashEncoder(n_components=TEXT_COMPONENTS, hashing="murmur")
    return encoder.fit_transform(pd.Series(texts, name="t", dtype="str")).to_numpy(dtype=float)


def levels_plan(
    name: str, counts: Sequence[int], texts: Sequence[str], doubt: str = "", codes: bool = False
) -> ColumnPlan:
    """The plan of a column of these texts, each of which occurs so many times."""
    levels = tuple(sorted(texts))
    if len(levels) == 2:
        return TwoLevels(name, levels)
    if len(levels) <= most_levels(sum(counts)):
        return Levels(name, levels)
    return Text(name, doubt, codes)
