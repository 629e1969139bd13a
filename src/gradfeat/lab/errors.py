"""What goes wrong with experiments and stores, in sentences for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class ExperimentError(ValueError):
    """An experiment, or a request to run one, that cannot be used: one sentence."""


class StoreError(ValueError):
    """A store that cannot be read or written: one sentence saying what it is and what to do."""


def choices(name: str, names: Iterable[str]) -> str:
    """ "; did you mean 'a'? There are a, b, c." for a name that is none of `names`.

    >>> choices("quik", ["quick", "paper"])
    "; did you mean 'quick'? There are quick, paper."
    """
    known = list(names)
    if not known:
        return "; there are none."
    close = get_close_matches(name, known, n=2)
    guess = f"did you mean {' or '.join(map(repr, close))}? There are" if close else "there are"
    return f"; {guess} {', '.join(known)}."
