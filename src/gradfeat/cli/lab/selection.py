"""What is asked of the lab: which cells of an experiment, and how they are computed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradfeat.cli.guard import Refused
from gradfeat.cli.lab import STORE
from gradfeat.errors import ExperimentError
from gradfeat.lab.cells import check_names
from gradfeat.lab.experiment import Experiment, Point
from gradfeat.maths.ranges import usable_device

Overrides = Mapping[str, Sequence[Any]]


def parsed(settings: Sequence[str] | None) -> dict[str, list[str]]:
    """Return the values by name of ``--set`` words; what they mean is for the experiment to say.

    >>> parsed(["n=100,200", "method=ntk"])
    {'n': ['100', '200'], 'method': ['ntk']}
    """
    found: dict[str, list[str]] = {}
    for word in settings or []:
        name, equals, text = word.partition("=")
        name, values = name.strip(), [value.strip() for value in text.split(",")]
        if not (name and equals and all(values)):
            raise Refused(f"--set {word!r} is not NAME=VALUE or NAME=VALUE,VALUE: write n=100,200.")
        if name in found:
            raise Refused(f"--set gives {name!r} twice: give its values together, {name}=A,B.")
        found[name] = values
    return found


@dataclass(frozen=True)
class Selection:
    """Cells and seeds: a scale, how many seeds or which, values in place of the grid's."""

    scale: str
    seeds: int | list[int] | None
    overrides: Overrides

    def points(self, experiment: Experiment) -> list[Point]:
        try:
            check_names(self.overrides, experiment.factors)
            return experiment.points(self.scale, self.seeds, self.overrides)
        except ExperimentError as error:
            raise Refused(f"experiment {experiment.name!r}: {error}") from error

    def words(self) -> list[str]:
        """Return its parts: the scale, then seeds and values where they are not the grid's.

        >>> Selection("quick", None, {"n": [1, 2]}).words()
        ['quick', 'n=1,2']
        """
        match self.seeds:
            case None:
                seeds = []
            case int() as n:
                seeds = [f"{n} seed{'s' * (n != 1)}"]
            case which:
                seeds = [f"seeds {','.join(map(str, which))}"]
        return [self.scale, *seeds, *_pairs(self.overrides)]

    def in_words(self) -> str:
        """Return it for people.

        >>> Selection("quick", 3, {"n": [1, 2]}).in_words()
        'scale quick, 3 seeds, n=1,2'
        """
        return "scale " + ", ".join(self.words())

    def options(self) -> list[str]:
        """Return the options that select the same; seeds that are not the first ones have none."""
        match self.seeds:
            case int() as n:
                seeds = ["--seeds", str(n)]
            case _:
                seeds = []
        sets = [word for pair in _pairs(self.overrides) for word in ("--set", pair)]
        return ["--scale", self.scale, *seeds, *sets]


def _pairs(overrides: Overrides) -> list[str]:
    return [f"{name}={','.join(map(str, values))}" for name, values in overrides.items()]


@dataclass(frozen=True)
class Narrowed:
    """Options that a reader may give or leave out."""

    scale: str | None
    seeds: int | None
    overrides: Overrides

    @property
    def given(self) -> bool:
        return bool(self.scale or self.seeds or self.overrides)

    def over(self, last: Selection) -> Selection:
        """Return the last selection changed by what is given; a scale starts from its own grid.

        >>> last = Selection("paper", 20, {"n": [1]})
        >>> Narrowed(None, 5, {"m": ["2"]}).over(last)
        Selection(scale='paper', seeds=5, overrides={'n': [1], 'm': ['2']})
        >>> Narrowed("quick", None, {}).over(last)
        Selection(scale='quick', seeds=None, overrides={})
        """
        base = last if self.scale is None else Selection(self.scale, None, {})
        seeds = base.seeds if self.seeds is None else self.seeds
        return replace(base, seeds=seeds, overrides={**base.overrides, **self.overrides})


@dataclass(frozen=True)
class Request:
    """A run: what, where to, and by what means."""

    selection: Selection
    store: Path
    jobs: int = 1
    device: str = "cpu"
    retry_failed: bool = False
    dask: str | None = None

    def points(self, experiment: Experiment) -> list[Point]:
        points = self.selection.points(experiment)
        usable_device(self.device, here=self.dask in (None, "local"))
        if self.device != "cpu" and not experiment.takes_device:
            raise Refused(f"{experiment.name!r} runs on the CPU only: leave out --device.")
        return points


def store_option(store: Path) -> list[str]:
    """Return the option that names the store, where it is not the usual one."""
    return [] if store == STORE else ["--store", str(store)]


def command(*words: str) -> str:
    """Return a command to copy.

    >>> command("show", "my file.py")
    "gradfeat show 'my file.py'"
    """
    return " ".join(["gradfeat", *map(shlex.quote, words)])
