"""The one exception whose message is for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TableError(ValueError):
    """A table, target or file that cannot be used: one sentence saying what came and what to do.

    The command line prints the sentence and exits with code 2.

    Examples
    --------
    >>> raise TableError("'a.csv' is empty: give a table with rows.")
    Traceback (most recent call last):
    ...
    gradfeat.tabular.errors.TableError: 'a.csv' is empty: give a table with rows.
    """


def near_names(name: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean 'a' or 'b'?"`` for the names closest to `name`, else ``"."``.

    Examples
    --------
    >>> near_names("biker", ["bikers", "temp"])
    "; did you mean 'bikers'?"
    >>> near_names("zzz", ["bikers", "temp"])
    '.'
    """
    by_lower = {other.lower(): other for other in names}
    close = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    if not close:
        return "."
    return "; did you mean " + " or ".join(repr(by_lower[key]) for key in close) + "?"


def listing(names: Iterable[str], most: int = 5) -> str:
    """Return the names quoted and joined, the first `most` of them and the number left out.

    Examples
    --------
    >>> listing("abc", most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest} more" if rest > 0 else "")
