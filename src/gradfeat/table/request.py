"""What a comparison is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gradfeat.rows.sources.text_options import FOUND, TextOptions
from gradfeat.table.errors import TableError
from gradfeat.table.methods import METHODS, WIDTH, Method
from gradfeat.table.reading.dates import DateOrder
from gradfeat.table.target_scale import Transform


@dataclass(frozen=True)
class Request:
    """What a comparison is asked for (the options of `gradfeat fit`)."""

    data: str
    target: str
    task: Literal["auto", "regression", "classification"] = "auto"
    methods: tuple[str, ...] = tuple(m.name for m in METHODS)
    seconds: float = 60.0
    seed: int = 0
    time_column: str | None = None
    device: str | None = None
    command: str = ""
    missing_target: Literal["drop", "refuse"] = "drop"
    ignore: tuple[str, ...] = ()
    width: int = WIDTH
    missing: tuple[str, ...] = ()
    dates: DateOrder = ""
    decimal: str = ""
    rare_classes: Literal["refuse", "drop", "merge"] = "refuse"
    text: TextOptions = FOUND
    keep_identifiers: bool = False
    target_transform: Transform = "none"

    @property
    def wanted(self) -> TextOptions:
        """What is known of the text that the table is in, the columns that are named among it."""
        time = () if self.time_column is None else (self.time_column,)
        wanted = (self.target, *time, *self.ignore)
        return replace(self.text, wanted=wanted, verbatim=(self.target,))


def chosen_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods by name, in the order of the comparison.

    Examples
    --------
    >>> [m.label for m in chosen_methods(["rfm", "linear"])]
    ['Linear model', 'Recursive feature machine']
    """
    known = [m.name for m in METHODS]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise TableError(
            f"The methods asked for include {', '.join(map(repr, unknown)) or 'none'}: allowed are "
            f"{', '.join(known)}."
        )
    return tuple(m for m in METHODS if m.name in names)


def check_device(name: str | None) -> None:
    """Refuse a device on which nothing can be computed here."""
    import torch

    try:
        torch.zeros(1, dtype=torch.float64, device=name).item()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        here = "cpu and cuda" if torch.cuda.is_available() else "cpu"
        raise TableError(
            f"The device {name!r} cannot be used here: allowed {'is' if here == 'cpu' else 'are'} "
            f"{here}."
        ) from None
