"""One type for a column whose files hold it in several: what each reads as, nothing lost."""

# Apart: what the footers of files say of their columns is unified here, whatever their format.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.types as kinds

from ..errors import SourceError

#: Its functions are made when it is imported, which no type checker sees.
pc: Any = pyarrow.compute

_TESTS = {
    "nothing": kinds.is_null,
    "truth values": kinds.is_boolean,
    "numbers": lambda t: kinds.is_integer(t) or kinds.is_floating(t) or kinds.is_decimal(t),
    "text": lambda t: kinds.is_string(t) or kinds.is_large_string(t) or kinds.is_string_view(t),
    "dates": lambda t: kinds.is_timestamp(t) or kinds.is_date(t),
    "times of day": kinds.is_time,
    "durations": kinds.is_duration,
}

#: What can be written as text that is read as the same again.
_AS_TEXT = {"text", "numbers", "truth values", "dates", "times of day"}


def common_type(name: str, held: Sequence[tuple[str, pa.DataType]]) -> pa.DataType:
    """The type that holds the column of all files; each is given as its name and type.

    Numbers of any width go together, and truth values with them as 0 and 1; dates with times; text
    with numbers, truth values, dates and times, which are then text, from which the plan of a
    column reads them. Codes of categories are their values.

    Examples
    --------
    >>> common_type("x", [("a", pa.int8()), ("b", pa.float64())])
    DataType(double)
    >>> common_type("x", [("a", pa.int8()), ("b", pa.string())])
    DataType(string)
    """
    types = [(file, plain(type_)) for file, type_ in held if not kinds.is_null(type_)]
    found = {kind(type_) for _, type_ in types}
    if "text" in found and len(found) > 1 and found <= _AS_TEXT:
        return pa.string()
    distinct = list(dict.fromkeys(type_ for _, type_ in types))
    if found == {"numbers", "truth values"}:
        distinct = [pa.int8() if kinds.is_boolean(type_) else type_ for type_ in distinct]
    if len(distinct) > 1 and any(map(kinds.is_decimal, distinct)):
        distinct = [pa.float64() if kind(type_) == "numbers" else type_ for type_ in distinct]
    if found == {"dates"} and len(distinct) > 1:
        distinct = [pa.timestamp("us") if kinds.is_date(type_) else type_ for type_ in distinct]
    schemas = [pa.schema([(name, type_)]) for type_ in distinct or [pa.null()]]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(name).type
    except pa.ArrowException as error:
        raise _apart(name, types) from error


def _apart(name: str, types: Sequence[tuple[str, pa.DataType]]) -> SourceError:
    """The error of two files that differ in kind, or in type where no two do."""
    first, one = types[0]
    differ = [(f, t) for f, t in types if kind(t) != kind(one)]
    words = kind
    if not differ:
        differ, words = [(f, t) for f, t in types if t != one], str
    other, type_ = differ[0]
    return SourceError(
        f"column {name!r} holds {words(one)} in '{first}' and {words(type_)} in '{other}': write "
        "it with the same type in all files."
    )


def plain(type_: pa.DataType) -> pa.DataType:
    """The type of the values, where a column is stored as codes of them."""
    return type_.value_type if kinds.is_dictionary(type_) else type_


def kind(type_: pa.DataType) -> str:
    """What a column holds, in words."""
    values = plain(type_)
    return next((word for word, test in _TESTS.items() if test(values)), f"values of type {values}")


def as_type(column: Any, type_: pa.DataType) -> Any:
    """A column as :func:`common_type` of it and others.

    Whole numbers become the nearest float64; what is no number is missing where numbers are text.

    Examples
    --------
    >>> as_type(pa.array([2.0, float("nan")]), pa.string()).to_pylist()
    ['2', None]
    """
    if kinds.is_floating(column.type) and kinds.is_string(type_):
        column = pc.if_else(pc.is_nan(column), None, column)
    whole = kinds.is_integer(column.type) and kinds.is_floating(type_)
    return pc.cast(column, options=pc.CastOptions(type_, allow_float_truncate=whole))
