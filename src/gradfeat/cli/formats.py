"""Formats of what commands print: a table to read, or records for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from gradfeat.drawing.numbers import finite


class Format(StrEnum):
    """How a command prints its tables: laid out for people, or for other programs."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


Printed = Annotated[
    Format, typer.Option("--format", help="Of what is printed: for people, or csv or json.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print remarks on the data, the answer and the files; no tables, no progress.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every step of the progress, and all remarks.")
]


def records_in(records: Sequence[Mapping[str, Any]], form: Format) -> str:
    """Records as CSV, with a header, or as a JSON list.

    >>> records_in([{"a": 1, "b": "x"}], Format.CSV)
    'a,b\\n1,x\\n'
    >>> records_in([{"a": 1}], Format.JSON)
    '[\\n {\\n  "a": 1\\n }\\n]\\n'
    """
    if form is Format.JSON:
        plain = finite([dict(record) for record in records])
        return json.dumps(plain, indent=1, allow_nan=False) + "\n"
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
