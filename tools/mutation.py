"""An error that `mutate.py` plants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """`new` in the place of `old`, once, in a file of the package; `tests` should then fail."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
