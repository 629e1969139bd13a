"""Tables that no program would write, by a generator of random numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import pandas as pd

#: Cells that some reader has taken badly before.
ODD = (
    "", " ", "NA", "nan", "inf", "-inf", "1e308", "-1e308", "1e400", "1e-320",
    "9223372036854775807",
    "-9223372036854775808", "18446744073709551616", "1" + "0" * 400, "0x12", "1_000", "1,5",
    "1 000",     "12 kg", "5%", "$3", "-", "--", "+", ".", "e", "1e", "0001-01-01", "9999-12-31",
    "1677-09-20",
    "2262-04-12", "2024-02-30", "24:60", "2024-01-01T00:00:00Z", "2024-01-01 00:00+99:00",
    "3/4/2021",
    "true", "False", "T", "None", "null", "\\N", "#REF!", "'", '"', '""', '"a', "a\nb", "a\tb",
    "a;b",
    "\x00", "\x1b]0;t\x07", "\u200b", "\ufeff", "\ud7ff", "e\u0301", "٣", "１２", "½", "−5", "∞",
    "🙂", "<b>", "=1+1",
    "{}", "[]", '{"a": 1}', "a" * 5000, "1 2 3", "1.2.3", "1-2", "12:30", "nan kg", "-0", "1e5 kg",
)  # fmt: skip

NAMES = (
    "", " ", "y", "a", "a", "A", "target", "index", "Unnamed: 0", "1", "nan", "\x1b[2J", "a\nb",
    "x" * 300, "é", "e\u0301", "🙂", "a,b", '"', "__class__", "{y}", "%s", "a.b", "a[0]", "$x$",
    "_",
    "predicted_y",
    "probability_0", "<script>", "\u202e", "date",
)  # fmt: skip


@dataclass(frozen=True)
class Malformed:
    """Bytes of a table, the ending of its name, and a column to ask for."""

    data: bytes
    ending: str
    target: str


def _plain_column(draw: Random, n: int) -> list[str]:
    kind = draw.choice(("number", "number", "level", "integer", "date", "text", "constant"))
    match kind:
        case "number":
            scale = draw.choice((1.0, 1.0, 1e-300, 1e150, 1e307, 1e18))
            return [repr(draw.gauss(0, 1) * scale) for _ in range(n)]
        case "integer":
            top = draw.choice((2, 10, 2**31, 2**63 - 1, 2**64, 2**70))
            return [str(top - draw.randrange(min(top, 1000))) for _ in range(n)]
        case "level":
            return [draw.choice("pqr") for _ in range(n)]
        case "date":
            year = draw.choice((1, 1600, 1970, 2024, 9990))
            return [f"{year + draw.randrange(9):04d}-0{1 + k % 9}-11" for k in range(n)]
        case "text":
            return [
                "".join(draw.choice("ab <>&\"'é🙂,\n\x00\x1b") for _ in range(9)) for _ in range(n)
            ]
    return [draw.choice(ODD)] * n


def _column(draw: Random, n: int) -> list[str]:
    cells = _plain_column(draw, n)
    for _ in range(draw.choice((0, 0, 0, 1, 3, n // 2))):
        cells[draw.randrange(n)] = draw.choice(ODD)
    return cells


def _frame(draw: Random) -> tuple[list[str], list[list[str]], str]:
    n = draw.choice((1, 3, 5, 12, 30, 30, 60, 60, 60, 120))
    width = draw.choice((1, 2, 2, 3, 3, 4, 6, 6))
    columns = [_column(draw, n) for _ in range(width)]
    plain = [f"c{k}" for k in range(width)]
    names = [draw.choice(NAMES) if draw.random() < 0.2 else name for name in plain]
    target = draw.choice(names)
    if draw.random() < 0.8:  # most often there is something to learn
        names[-1] = target = "y"
        values = [repr(draw.gauss(0, 1)) for _ in range(n)]
        columns[-1] = values if draw.random() < 0.6 else [draw.choice("uvw") for _ in range(n)]
        for _ in range(draw.choice((0, 0, 0, 0, 1, 3))):
            columns[-1][draw.randrange(n)] = draw.choice(ODD)
    return names, columns, target


def _quoted(cell: str, separator: str) -> str:
    if any(mark in cell for mark in (separator, "\n", '"', "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _delimited(draw: Random, names: list[str], columns: list[list[str]]) -> bytes:
    separator = draw.choice((",", ",", ",", ",", ";", "\t", "|", " "))
    rows = [names, *zip(*columns, strict=True)]
    quoted = draw.random() < 0.95
    lines = [separator.join(_quoted(c, separator) if quoted else c for c in row) for row in rows]
    for _ in range(draw.choice((0,) * 9 + (1, 2))):  # lines with more or fewer cells, and others
        odd = draw.choice(("", ",,,,,,,,,,", "# a", "total,1", '"', "a" * 3000, "\x00"))
        lines.insert(draw.randrange(len(lines) + 1), odd)
    end = draw.choice(("\n", "\n", "\r\n", "\r"))
    text = end.join(lines) + draw.choice(("", end, end * 3))
    encoding = draw.choice(("utf-8",) * 30 + ("utf-8-sig", "utf-16", "utf-16-le", "cp1252"))
    return text.encode(encoding, "replace")


def _json_lines(draw: Random, names: list[str], columns: list[list[str]]) -> bytes:
    def value(cell: str) -> object:
        choice = draw.random()
        if choice < 0.7:
            try:
                return float(cell)
            except ValueError:
                return cell
        return (
            cell if choice < 0.999 else draw.choice(([1], {"b": 1}, None, True, 2**70, {"a": {}}))
        )

    rows = [dict(zip(names, map(value, row), strict=True)) for row in zip(*columns, strict=True)]
    lines = [json.dumps(row) for row in rows]
    for _ in range(draw.choice((0,) * 9 + (1,))):
        odd = draw.choice(("", "{", "[]", "1", "null", '{"a": NaN}', "[" * 5000, '{"y": 1e999}'))
        lines.insert(draw.randrange(len(lines) + 1), odd)
    return "\n".join(lines).encode()


def _typed(draw: Random, cells: list[str]) -> pd.Series:
    """The column in a type that files with types have."""
    numbers = pd.to_numeric(pd.Series(cells), errors="coerce").astype(float)
    small = numbers.where(numbers.abs() < 1e9)
    makers: tuple[Callable[[], pd.Series], ...] = (
        lambda: pd.Series(cells, dtype=object),
        lambda: numbers,
        lambda: numbers,
        lambda: small.round().astype("Int64"),
        lambda: (small > 0).astype("boolean"),
        lambda: pd.to_datetime(small * 1e9, errors="coerce", utc=draw.random() < 0.5),
        lambda: pd.to_timedelta(small * 1e9, errors="coerce"),
        lambda: pd.Series(cells).astype("category"),
        lambda: pd.Series([c.encode("utf-8", "replace") for c in cells], dtype=object),
        lambda: pd.Series([[1, 2] for _ in cells], dtype=object),
        lambda: pd.Series([{"a": c} for c in cells], dtype=object),
        lambda: numbers.astype("float32"),
        lambda: pd.Series([None] * len(cells), dtype=object),
    )
    with np.errstate(all="ignore"):
        return draw.choice(makers + makers[1:4] * 3)()


def _arrow(draw: Random, names: list[str], columns: list[list[str]], ending: str) -> bytes:
    unique = [f"{n}_{k}" if n in names[:k] else n for k, n in enumerate(names)]
    series = dict(zip(unique, columns, strict=True))
    frame = pd.DataFrame({n: c if n == "y" and draw.random() < 0.6 else _typed(draw, c)
                          for n, c in series.items()})  # fmt: skip
    buffer = io.BytesIO()
    if ending == ".feather":
        frame.to_feather(buffer)
    else:
        frame.to_parquet(buffer, row_group_size=draw.choice((7, 1000)))
    return buffer.getvalue()


def _hurt(draw: Random, data: bytes) -> bytes:
    """Bytes cut, flipped, doubled or put in."""
    data = bytearray(data)
    for _ in range(draw.choice((0,) * 19 + (1, 3))):
        at = draw.randrange(len(data) + 1)
        match draw.randrange(4):
            case 0:
                data = data[:at]
            case 1 if at < len(data):
                data[at] ^= 1 << draw.randrange(8)
            case 2:
                data[at:at] = bytes(draw.randrange(256) for _ in range(5))
            case _:
                data += data[at:]
    return bytes(data)


def malformed(draw: Random) -> Malformed:
    """One table: text three times of four, else with types."""
    names, columns, target = _frame(draw)
    ending = draw.choice(
        (".csv",) * 8 + (".jsonl", ".jsonl", ".parquet", ".parquet", ".feather", ".gz")
    )
    match ending:
        case ".jsonl":
            data = _json_lines(draw, names, columns)
        case ".parquet" | ".feather":
            data = _arrow(draw, names, columns, ending)
        case _:
            data = _delimited(draw, names, columns)
    data = _hurt(draw, data)
    if ending == ".gz":
        import gzip

        data, ending = _hurt(draw, gzip.compress(data)), ".csv.gz"
    return Malformed(data, ending, target)
