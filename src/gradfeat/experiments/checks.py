"""Settings of the catalogue that cannot be: one sentence each, by the name of the setting."""

from __future__ import annotations

from collections.abc import Iterable


def at_least(least: int, **settings: int) -> None:
    """Refuse a setting below `least`.

    Raises
    ------
    ValueError
        With its name and value.

    Examples
    --------
    >>> at_least(1, n=0)
    Traceback (most recent call last):
    ...
    ValueError: n is 0: give 1 or more.
    """
    for name, value in settings.items():
        if value < least:
            raise ValueError(f"{name} is {value}: give {least} or more.")


def paired(m: int) -> None:
    """Refuse a number of neurons that cannot start as pairs.

    Raises
    ------
    ValueError
        Where `m` is odd or below 2.

    Examples
    --------
    >>> paired(7)
    Traceback (most recent call last):
    ...
    ValueError: m is 7: neurons start in pairs, give an even number of 2 or more.
    """
    if m < 2 or m % 2:
        raise ValueError(f"m is {m}: neurons start in pairs, give an even number of 2 or more.")


def one_of(choices: Iterable[str], **settings: str) -> None:
    """Refuse a setting that is not among `choices`.

    Raises
    ------
    ValueError
        With its name and value.

    Examples
    --------
    >>> one_of(("ntk", "network"), method="net")
    Traceback (most recent call last):
    ...
    ValueError: method is 'net': give one of 'ntk', 'network'.
    """
    known = list(choices)
    for name, value in settings.items():
        if value not in known:
            raise ValueError(f"{name} is {value!r}: give one of {', '.join(map(repr, known))}.")
