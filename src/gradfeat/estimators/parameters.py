"""Parameters of estimators: declared once, stored as they come, documented where they are declared.

An estimator is a dataclass: its ``__init__`` only stores, and lists every parameter by name, which
is what scikit-learn asks for.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(cls: T) -> T:
    """The fields of a class as keyword parameters of an estimator."""
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: T) -> T:
    """:func:`parameters`, with the documentation of those that are inherited."""
    cls = parameters(cls)
    cls.__doc__ = _documented(cls)
    return cls


@parameters
class SharedParameters:
    """What every estimator takes.

    Parameters
    ----------
    standardise : bool
        Give every input mean zero and standard deviation 1 first.
    search : {"fast", "full"} or None
        Validated search over everything left None (on at most 1,500 or 4,000 training rows, one
        or two sweeps); None searches nothing: what is given is used as it is, and what is left
        None takes its starting value.
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the named random streams; None is 0, so that equal estimators give equal fits.
    """

    standardise: bool = True
    search: str | None = "fast"
    device: str | None = None
    dtype: str | None = None
    random_state: Any = None


#: Where the sections of a docstring that are put together stand: before the first of these.
_AFTER = re.compile(r"^(Source:|Examples\n-+$)", re.MULTILINE)


def _documented(cls: type) -> str:
    """The docstring, with the parameters and attributes of the classes above put into it."""
    own = _documentation(cls)
    found = {name: _entries(cls, name) for name in ("Parameters", "Attributes")}
    own = re.sub(r"^(Parameters|Attributes)\n-+\n(.+\n|\n(?=    ))*\n?", "", own, flags=re.M)
    shared = [field.name for field in fields(SharedParameters)]
    order = [f.name for f in fields(cls) if f.name not in shared] + shared  # type: ignore[arg-type]
    found["Parameters"].sort(key=lambda entry: order.index(entry[0].split(",")[0]))
    sections = (
        f"{name}\n{'-' * len(name)}\n" + "\n".join(text for _, text in entries) + "\n\n"
        for name, entries in found.items()
    )
    place = _AFTER.search(own)
    at = place.start() if place else len(own)
    return own[:at] + "".join(sections) + own[at:]


def _documentation(cls: type) -> str:
    return inspect.cleandoc(cls.__doc__ or "") + "\n"


def _entries(cls: type, section: str) -> list[tuple[str, str]]:
    """(names, text) of each entry of a section in the class and those above; the lowest counts."""
    entries: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        if one.__module__.startswith(__package__ or "."):
            text = re.search(
                rf"^{section}\n-+\n((?:.+\n|\n(?=    ))*)", _documentation(one), re.MULTILINE
            )
            for entry in re.split(r"\n(?=\S)", text.group(1).rstrip() if text else ""):
                if entry:
                    entries[entry.split(" : ")[0]] = entry
    return list(entries.items())
