"""JSON lines as a data frame."""

from __future__ import annotations

import json

import pandas as pd

from gradfeat.table.errors import TableError


class _RepeatedName(ValueError):
    pass


def parse_json_lines(name: str, text: str) -> pd.DataFrame:
    """Parse one JSON object a line: its names are the columns; absent names are missing values.

    Raises
    ------
    TableError
        For a line that is not an object, or names a column twice.

    Examples
    --------
    >>> parse_json_lines("a.jsonl", '{"a": 1}\\n{"a": 2}\\n').to_dict("list")
    {'a': [1, 2]}
    """
    lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    return pd.DataFrame([_record(name, number, line) for number, line in lines])


def _record(name: str, number: int, line: str) -> dict[str, object]:
    try:
        record = json.loads(line, object_pairs_hook=_distinct)
    except _RepeatedName as error:
        raise TableError(
            f"Line {number} of '{name}' names the column {error} twice: "
            "give each column its own name."
        ) from error
    except (ValueError, RecursionError) as error:
        raise _no_object(name, number) from error
    if not isinstance(record, dict):
        raise _no_object(name, number)
    return record


def _no_object(name: str, number: int) -> TableError:
    return TableError(
        f"Line {number} of '{name}' is not a JSON object: give JSON lines, that is one object "
        'such as {"a": 1, "b": "x"} on each line.'
    )


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        raise _RepeatedName(repr(next(key for key in names if names.count(key) > 1)))
    return record
