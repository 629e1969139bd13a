"""What goes wrong, each in one sentence for the person at the keyboard: what came, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SourceError(ValueError):
    """Rows that cannot be read or used: which file and rows."""


class EngineError(RuntimeError):
    """Workers, a cluster or a checkpoint that failed: what happened, and what is kept."""


class TableError(ValueError):
    """A table, target, file or device that cannot be used."""


class ModelFileError(ValueError):
    """A model file that cannot be read or written."""

    @classmethod
    def absent(cls, path: object) -> ModelFileError:
        return cls(f"{path} does not exist: give the path of a saved model.")


class ExperimentError(ValueError):
    """An experiment, or a request to run one, that cannot be used."""


class StoreError(ValueError):
    """A store that cannot be read or written: what it is."""


#: What the command line prints as one sentence, with exit code 2.
OURS = SourceError, EngineError, TableError, ModelFileError, ExperimentError, StoreError


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
