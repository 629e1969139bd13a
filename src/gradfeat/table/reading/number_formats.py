"""How numbers are written: the separators and the unit of a column, found from all of its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gradfeat.table.reading.number_cells import FLAGS, LONE_FLAGS, WrittenNumber, taken_apart
from gradfeat.table.reading.units import PARTS, converted, is_money, name_of, of_credits, related

#: Larger numbers count as infinite: the squares that scores and figures take stay finite.
LARGEST = 1e150


@dataclass(frozen=True)
class NumberFormat:
    """What stands between thousands ("" for nothing) and before decimals, and the unit.

    Before decimals ``.,`` is either. A cell that does not follow it is read where it can be only
    one number: ``1,5`` is 1.5 where points are expected, ``1,234`` may be two numbers and is none.
    Percent are hundredths; letters and words such as K, million and dozen multiply where the format
    is `scaled`. `bare`: how many percent 1 is without a sign, 0 where such cells are none. `flags`:
    whether letters such as H are no units but notes. Where one mark stands between thousands and
    before decimals, three digits behind it are thousands.
    """

    thousands: str = ""
    decimal: str = "."
    unit: str = ""
    scaled: bool = False
    bare: float = 0.0
    flags: bool = False

    @property
    def plain(self) -> bool:
        """Whether every reader of text knows it."""
        return self == PLAIN

    def read(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Numbers (n,), nan for what is none, infinite beyond 1e150.

        >>> NumberFormat(",", ".", "$").read(["$1,200", "-3.5", "12 %", "1e400"]).tolist()
        [1200.0, -3.5, nan, inf]
        """
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def stored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers that are stored as such: of percent only 0 is sure, as in text without a sign."""
        return np.where(values != 0, np.nan, values) if self.unit in PARTS else values

    def _number(self, text: str) -> float:
        cell = taken_apart(text)
        cell = _in_millions(cell) if cell and self.scaled and not self.unit else cell
        if cell is None or not self._has_unit(cell) or (cell.scale != 1 and not self.scaled):
            return np.nan
        value = self._value(cell.body)
        if value is None:
            others = {v for v in (f._value(cell.body) for f in FORMATS) if v is not None}
            value = others.pop() if len(others) == 1 else np.nan
        value *= cell.sign * cell.scale
        value = converted(value, cell.unit, self.unit) if cell.unit else value * (self.bare or 1.0)
        value /= PARTS.get(self.unit, 1.0)
        return np.copysign(np.inf, value) if abs(value) > LARGEST else value

    def _has_unit(self, cell: WrittenNumber) -> bool:
        if cell.unit:
            return related(cell.unit, self.unit) or (self.flags and cell.unit in FLAGS)
        return self.unit not in PARTS or bool(self.bare) or not cell.body.strip("0.,")

    def _value(self, body: str) -> float | None:
        if not self.follows(body):
            return None
        both = self.thousands == self.decimal
        if self.thousands and (not both or GROUPED[self.decimal].fullmatch(body)):
            body = body.replace(self.thousands, "")
        return float(body.replace(self.decimal[-1], "."))

    def follows(self, body: str) -> bool:
        """Whether digits with separators are written so: 7,265E4 has no thousands, as it has E."""
        grouped = self.thousands and self.thousands in body and "e" in body.lower()
        return not grouped and bool(_pattern(self.thousands, self.decimal).fullmatch(body))

    @property
    def measured(self) -> bool:
        """Whether numbers have a unit that says how large they are.

        Money and percent stand aside: amounts are often written without a sign, and 12 is not 12 %.
        """
        return bool(self.unit) and self.unit not in PARTS and not is_money(self.unit)

    @property
    def words(self) -> str:
        """How numbers are written, in words; empty for plain ones."""
        said = [name_of(self.unit)] if self.unit else []
        if self.thousands:
            said.append(f"with {self.thousands.replace(' ', 'a blank')} between thousands")
        if self.decimal != ".":
            said.append(f"with {' or '.join(self.decimal)} before decimals")
        if self.flags:
            said.append("without what stands behind some, such as H or +")
        if self.scaled:
            said.append("multiplied by what K, million, dozen or the like say")
        return ", ".join(said)


#: Digits and a point: the format of every reader of text.
PLAIN = NumberFormat()


@cache
def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        t = re.escape(thousands)
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{t}\d{{3}})+)"
        if thousands == ",":  # lakhs and crores are groups of two
            whole = rf"(?:{whole}|[1-9]\d?(?:,\d\d)+,\d{{3}})"
    d = f"[{re.escape(decimal)}]"
    return re.compile(rf"(?:{whole}(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?", re.ASCII)


#: What may stand between the digits of a number.
SEPARATORS = ".,' _"

#: Whole numbers with a mark between thousands.
GROUPED = {m: re.compile(rf"[1-9]\d{{0,2}}(?:[{m}]\d{{3}})+", re.ASCII) for m in ",."}


def one_groups(texts: Iterable[str], mark: str) -> NDArray[np.float64]:
    """Which of the texts (n,) are so, as 0 and 1: see :func:`one_group`."""
    return np.array([one_group(text, GROUPED[mark]) for text in texts], dtype=np.float64)


def without_unit(texts: Iterable[str]) -> NDArray[np.float64]:
    """Which of the texts (n,) are numbers without a unit, as 0 and 1.

    >>> without_unit(["5 kg", "5", "kg"]).tolist()
    [0.0, 1.0, 0.0]
    """
    cells = map(taken_apart, texts)
    return np.array([cell is not None and not cell.unit for cell in cells], dtype=np.float64)


def one_group(text: str, grouped: re.Pattern[str]) -> bool:
    """Whether a number has three digits behind its one mark, and at most three before it."""
    cell = taken_apart(text)
    return bool(cell and grouped.fullmatch(cell.body) and len(cell.body) < len("1.234.567"))


def range_among(text: str, values: NDArray[np.float64]) -> bool:
    """Whether a text is as 1133 - 1384, of two numbers among the others, which a code seldom is."""
    ends = [float(one) for one in re.split(r"\s?[-–]\s?", text) if one.isdecimal()]
    return len(ends) == 2 and bool(np.nanmin(values) <= ends[0] < ends[1] <= np.nanmax(values))


#: Of so many cells that are no markers of missing values at least one may be none of the others.
ONE_STRAY_IN = 10

#: Numbers of a kind by whose sizes a letter or mark is told.
_FEW = 5

#: In order of preference where several read as many cells.
FORMATS = tuple(
    NumberFormat(thousands, decimal)
    for thousands, decimal in (
        ("", "."), (",", "."), ("", ","), (".", ","), (" ", "."), (" ", ","), ("'", "."),
        ("'", ","), ("_", "."),
    )
)  # fmt: skip


@dataclass(frozen=True)
class FoundFormat:
    """The format that reads most cells, and the other one that reads as many differently."""

    format: NumberFormat
    otherwise: NumberFormat | None = None


def find_format(texts: Sequence[str], counts: Sequence[int], decimals: str = "") -> FoundFormat:
    """The format of most of the cells `texts`, each of which occurs so many times.

    Where commas may stand between thousands or before decimals all over, they stand before
    decimals if other columns of the table have them so (`decimals` is ","), else between thousands.
    Where some surely have points before decimals and others commas, none has thousands; `decimals`
    is ".,", where other columns tell so.

    >>> find_format(["5.123,45", "7"], [1, 1]).format == NumberFormat(".", ",")
    True
    >>> find_format(["1,234"], [1]).otherwise == NumberFormat("", ",")
    True
    """
    cells = [(taken_apart(text), count) for text, count in zip(texts, counts, strict=True)]
    numbers = [(cell, count) for cell, count in cells if cell is not None]
    if any(cell.scale == 1e3 and not cell.unit for cell, _ in numbers):
        numbers = [(_in_millions(cell), count) for cell, count in numbers]
    flags = _flagged(numbers)
    numbers = [(replace(c, unit="") if flags else c, n) for c, n in numbers]
    unit, scaled = _unit(numbers), _scaled(numbers)
    best, other = PLAIN, None
    if any(set(cell.body) & set(SEPARATORS) for cell, _ in numbers):
        votes = {f: sum(n for cell, n in numbers if f.follows(cell.body)) for f in FORMATS}
        best = min(FORMATS, key=lambda f: (-votes[f], f.decimal != (decimals or f.decimal)))
        other = _other(best, votes, is_money(unit))
        if other and best.thousands and _in_the_larger([cell for cell, _ in numbers]):
            best, other = other, None
        if _either_decimal(numbers, decimals == EITHER):
            best, other = NumberFormat("", EITHER), None
        elif best.thousands and _no_thousands(best, [cell.body for cell, _ in numbers]):
            best = replace(best, thousands="")
        elif not best.thousands and _thousands_too(best, numbers):
            best, other = replace(best, thousands=best.decimal), None
    unit, bare = _percent(unit, [(c, n) for c, n in numbers if best.follows(c.body)], best)
    best = replace(best, unit=unit, scaled=scaled, bare=bare, flags=flags)
    return FoundFormat(best, other and replace(other, unit=unit, scaled=scaled, bare=bare))


EITHER = ".,"  #: Points before decimals in some cells, commas in others.


def _either_decimal(numbers: Sequence[tuple[WrittenNumber, int]], told: bool) -> bool:
    """Whether cells have a point or a comma before decimals, each of them in some.

    Surely before decimals is a mark that no three digits follow, or that follows a 0, in one of ten
    cells with that mark. Where that is `told`, three digits may follow in all.
    """
    marked = Counter[tuple[str, bool]]()
    for cell, count in numbers:
        marks = [c for c in cell.body if c in SEPARATORS]
        if len(marks) > 1 or {*marks} - {*EITHER}:
            return False
        if marks:
            whole, _, after = cell.body.partition(marks[0])
            marked[marks[0], len(after) != 3 or not whole.strip("0") or len(whole) > 3] += count
    sure = (ONE_STRAY_IN * marked[m, True] >= marked[m, True] + marked[m, False] for m in EITHER)
    there = all(marked[m, True] + (told and marked[m, False]) for m in EITHER)
    return there and (told or all(sure))


def _no_thousands(written: NumberFormat, bodies: Sequence[str]) -> bool:
    """Whether 6,210 stands beside numbers such as 6.210, all of which are far below 6210."""
    others = [body for body in bodies if written.thousands not in body]
    marked = [body for body in {*bodies}.difference(others) if written.decimal not in body]
    places = [len(body.partition(written.decimal)[2]) for body in others]
    if not marked or 2 * places.count(3) <= len(bodies):
        return False
    most = max(written._value(body) or 0.0 for body in others)
    values = [written._value(body) or 0.0 for body in marked]
    return 10 * most < min(values) and max(values) < 10 * 1000 * most


def _thousands_too(written: NumberFormat, numbers: Sequence[tuple[WrittenNumber, int]]) -> bool:
    """Whether 12,345 stands beside 12345,67: as decimals they would be far below all others.

    Beside 902.2K, or 902.2 m, that is no reason to take 2.406M, or 2.406 km, for thousands.
    """
    if not in_one_size(cell for cell, _ in numbers):
        return False
    grouped, others = list[float](), list[float]()
    for body in {cell.body for cell, _ in numbers if written.follows(cell.body)}:
        whole = GROUPED[written.decimal].fullmatch(body) is not None
        if whole or written.decimal in body:
            (grouped if whole else others).append(written._value(body) or 0.0)
    if min(len(grouped), len(others)) < _FEW:
        return False
    below = float(np.median(others)) / float(np.median(grouped))
    return 100 < below < 10_000 and max(grouped) < float(np.median(others))


def _in_millions(cell: WrittenNumber) -> WrittenNumber:
    """2.4m as it is meant beside 902k: no metres."""
    return replace(cell, unit="", scale=1e6) if cell.unit == "m" else cell


def _sizes(cells: Sequence[WrittenNumber]) -> dict[WrittenNumber, float]:
    """For each cell how much 1 is in it: 1000 in 5K, and in 5 km beside metres."""
    to = max((cell.unit for cell in cells), default="")
    return {c: c.scale * (converted(1.0, c.unit, to) if c.unit else 1.0) for c in cells}


def _in_the_larger(cells: Sequence[WrittenNumber]) -> bool:
    """Whether only numbers in a larger unit have a mark, as 2,406 kg beside 902 g: of decimals."""
    sizes = _sizes(cells)
    marked = [sizes.pop(cell) for cell in {*cells} if {*cell.body} & {*SEPARATORS}]
    return bool(marked and sizes) and min(marked) > max(sizes.values())


def in_one_size(cells: Iterable[WrittenNumber | None]) -> bool:
    """Whether 1 is as much in each of the cells: none is in thousands or km beside others in m."""
    return len({*_sizes([cell for cell in cells if cell]).values()}) == 1


def _flagged(numbers: Sequence[tuple[WrittenNumber, int]]) -> bool:
    """Whether letters such as H and L, or a + alone, stand behind some numbers and not others."""
    units = Counter[str]()
    for cell, count in numbers:
        units[cell.unit] += count
    bare, least = units.pop("", 0), sum(units.values()) / ONE_STRAY_IN
    allowed = FLAGS if len(units) > 1 else LONE_FLAGS
    return bool(units) and units.keys() <= allowed and bare > least


def _percent(
    unit: str, numbers: Sequence[tuple[WrittenNumber, int]], written: NumberFormat
) -> tuple[str, float]:
    """The unit, percent where many cells are, and how many percent 1 is in the other cells.

    Where all of these are at most 1, and half of the cells with a sign are above, they are shares;
    where they are among those with a sign, they are percent. Else nothing tells.
    """
    signed = [(cell, n) for cell, n in numbers if cell.unit and related(cell.unit, "%")]
    alone = [(cell, n) for cell, n in numbers if not cell.unit]
    few = min(sum(n for _, n in each) for each in (signed, alone))
    if few * ONE_STRAY_IN <= sum(n for _, n in numbers):
        return unit, 0.0
    there, bare = (
        np.array([c.sign * (written._value(c.body) or 0.0) for c, _ in each])
        for each in (signed, alone)
    )
    there = np.array([converted(v, c.unit, "%") for v, (c, _) in zip(there, signed, strict=True)])
    if np.abs(bare).max() <= 1 < np.median(np.abs(there)):
        return "%", 100.0
    near = np.abs(bare - (there.min() + there.max()) / 2) <= 1.5 * np.ptp(there)
    return ("%", 1.0) if near.all() and np.abs(bare).max() > 1 else (unit, 0.0)


def _scaled(numbers: Sequence[tuple[WrittenNumber, int]]) -> bool:
    """Whether letters such as M multiply, and are no codes such as 2B beside 02.

    They do where a number with such a letter has decimals or is money, where all have one, and
    where a word says it.
    """
    scaled = [cell for cell, _ in numbers if cell.scale != 1]
    telling = any(c.word or set(c.body) & set(".,") or is_money(c.unit) for c in scaled)
    if len({cell.scale for cell, _ in numbers}) == 1:
        return bool(scaled)
    return telling and not _of_one_size(numbers)


def _of_one_size(numbers: Sequence[tuple[WrittenNumber, int]]) -> bool:
    """Whether numbers with one letter are as large as those without, as 290.4 K beside 291.0."""
    sizes: dict[float, list[float]] = {}
    for cell, _ in numbers:
        value = PLAIN._value(cell.body)
        if cell.word or cell.unit or value is None:
            return False
        sizes.setdefault(cell.scale, []).append(cell.sign * value)
    if len(sizes) != 2 or 1.0 not in sizes or min(map(len, sizes.values())) < _FEW:
        return False
    one, other = (np.quantile(each, (0.1, 0.5, 0.9)) for each in sizes.values())
    return bool((np.abs(one - other) < 0.2 * max(np.ptp(one), np.ptp(other))).all())


def _unit(numbers: Sequence[tuple[WrittenNumber, int]]) -> str:
    """The unit that most cells with a unit have; of money it may be some, else most of all.

    Of credits and debits it is that of credits, whose sign is kept; 4dr alone is no -4. Whole
    numbers with H and S are codes.
    """
    units = Counter[str]()
    for cell, count in numbers:
        units[cell.unit] += count
    bare = units.pop("", 0)
    whole = not any({*cell.body} & {*EITHER} for cell, _ in numbers)
    if not units or (whole and units.keys() == {"H", "S"}):
        return ""
    unit = max(units, key=lambda one: units[one])
    count = sum(n for other, n in units.items() if related(other, unit))
    unit = of_credits([*units], unit)
    return "" if not is_money(unit) and count <= bare + sum(units.values()) - count else unit


def _other(best: NumberFormat, votes: dict[NumberFormat, int], money: bool) -> NumberFormat | None:
    """Where the comma may be either: what it would be otherwise; of money the point, too."""
    pair = {
        NumberFormat(",", "."): NumberFormat("", ","),
        NumberFormat("", ","): NumberFormat(",", "."),
        NumberFormat(".", ","): NumberFormat(),
        **({PLAIN: NumberFormat(".", ",")} if money else {}),
    }
    other = pair.get(best)
    return None if other is None or votes[other] < votes[best] else other
