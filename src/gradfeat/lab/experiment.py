"""An experiment: a question, a trial that simulates one cell, grids of cells, claims to check."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gradfeat.errors import ExperimentError, choices
from gradfeat.lab.cells import (
    Cell,
    Factor,
    Grid,
    Value,
    check_names,
    coerced,
    expand,
    factor_of,
    key_of,
    listed,
    named_parameters,
    products,
)
from gradfeat.lab.source import digest_of
from gradfeat.lab.verdicts import Check, Claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Metrics = Mapping[str, float | np.ndarray]

#: What `run` takes by name, and the columns of its own in a table: no factor may be called so.
RESERVED = frozenset(
    (
        *("store", "executor", "jobs", "scale", "seeds", "seed", "device"),
        *("retry_failed", "progress", "arrays", "experiment"),
    )
)


@dataclass(frozen=True)
class Point:
    """One result to be had: a cell, a seed, and the key it is stored under."""

    cell: Cell
    seed: int
    key: str


def _of_one(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter annotated as a sequence, annotated as one of its values."""
    inside = str(parameter.annotation).partition("[")[2].removesuffix("]")
    return parameter.replace(annotation=inside or parameter.annotation)


@dataclass(frozen=True, eq=False)
class Experiment:
    """trial(cell, seed) over a grid of cells and some seeds.

    A trial is a function ``trial(**cell, seed)`` that returns numbers and arrays by name. Its
    parameters other than ``seed`` and ``device`` are the factors of the experiment. A cell holds a
    value for every factor, defaults filled in, so a stored result is known by name, version, text
    of the trial, cell and seed.

    `name`: Also the name of its file, dashes for underscores.
    `question`: What the experiment answers, in one sentence.
    `about`: What is computed and how the figure is read, in paragraphs: `gradfeat show --about
        NAME`.
    `trial`: ``trial(**cell, seed: int[, device: str]) -> {name: float or array}``. May be left out
        where `batch` is given.
    `grids`: By scale ("quick", "paper", ...): values of factors, or a sequence of such mappings
        whose products are united. Parameters without default must be in each.
    `seeds`: Number of seeds, by scale where it is a mapping; seeds are 0, 1, ...
    `checks`: Claims: by sentences that end in their source in brackets, the check of each on the
        table.
    `theory`: ``theory(**cell) -> {metric: float}``, not random; it takes only factors it names.
    `figure`: ``figure(table with arrays, theory table or None) -> Figure``.
    `batch`: ``batch(**cell, seeds: Sequence[int][, device]) -> [result of each seed]``: the numbers
        that `trial` gives one by one, faster; `batch_size` seeds at most in a call.
    `along`: A factor whose values are computed together: `batch` takes a list of its values in
        place of one, and returns for each seed a list with one result for each value. It is asked
        only for pairs of value and seed that are missing. `trial`, where it is given, takes one
        value.
    `version`: Raise it when the numbers change for a reason outside of the experiment's folder;
        older results are then left aside, as they are where the text of the trial has changed.
    `small`: In place of values of the quick grid, for a run of a second or two: a first try, and
        tests.

    Raises ExperimentError where these do not fit each other.

    >>> def trial(n: int, noise: float = 0.0, *, seed: int) -> dict[str, float]:
    ...     return {"error": noise / n}
    >>> e = Experiment("demo", "Does it fall?", trial, {"quick": {"n": [1, 2]}}, seeds=3)
    >>> e.cells("quick", {"noise": 1})
    [{'n': 1, 'noise': 1.0}, {'n': 2, 'noise': 1.0}]
    """

    name: str
    question: str
    trial: Callable[..., Metrics] | None = None
    grids: Mapping[str, Grid] = field(default_factory=dict)
    seeds: Mapping[str, int] | int = 10
    checks: Mapping[str, Check] = field(default_factory=dict)
    theory: Callable[..., Mapping[str, float]] | None = None
    figure: Callable[[pd.DataFrame, pd.DataFrame | None], Figure] | None = None
    batch: Callable[..., Sequence[Metrics] | Sequence[Sequence[Metrics]]] | None = None
    batch_size: int = 8
    along: str | None = None
    version: int = 1
    small: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    factors: Mapping[str, Factor] = field(init=False, repr=False)
    takes_device: bool = field(init=False, repr=False)
    _cells: dict[str, list[Cell]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self._read_signatures()
            self._check()
        except ExperimentError as error:
            raise ExperimentError(f"experiment {self.name!r}: {error}") from None

    def _read_signatures(self) -> None:
        found = [
            named_parameters(function)
            for function in (self.trial, self.batch)
            if function is not None
        ]
        if not found:
            raise ExperimentError("there is nothing to run: give a trial or a batch.")
        kept = [[name for name in names if name not in ("seed", "seeds")] for names in found]
        if set(kept[0]) != set(kept[-1]):
            raise ExperimentError(
                f"trial takes {', '.join(kept[0])} and batch takes {', '.join(kept[-1])}: "
                "give both the same parameters."
            )
        if self.trial is None and self.along in found[0]:
            found[0][self.along] = _of_one(found[0][self.along])
        factors = {n: factor_of(n, found[0][n], self._given(n)) for n in kept[0] if n != "device"}
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "takes_device", "device" in kept[0])

    @property
    def simulation(self) -> Callable[..., Any]:
        """The trial, or the batch that stands for it."""
        found = self.trial or self.batch
        assert found is not None  # checked when it was made
        return found

    @cached_property
    def source(self) -> str:
        """Digest of what trial and batch execute in their file and folder."""
        return digest_of(self.trial, self.batch)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Each sentence of `checks`, its source and its check."""
        return tuple(Claim.cited(sentence, check) for sentence, check in self.checks.items())

    def _given(self, name: str) -> list[Any]:
        every = [product for grid in self.grids.values() for product in products(grid)]
        return [value for product in every if name in product for value in listed(product[name])]

    def _check(self) -> None:
        asked = (("trial", self.trial, "seed"), ("batch", self.batch, "seeds"))
        for name, function, word in asked:
            if function is not None and word not in named_parameters(function):
                raise ExperimentError(f"the {name} has no parameter {word!r}: add it.")
        if reserved := RESERVED.intersection(self.factors):
            raise ExperimentError(f"{min(reserved)!r} cannot name a parameter: call it otherwise.")
        if not self.grids:
            raise ExperimentError(
                "there are no grids: give at least one, by the name of its scale."
            )
        if self.batch_size < 1:
            raise ExperimentError(f"batch_size is {self.batch_size}: give 1 or more.")
        self._check_along()
        len(self.claims)  # each has a source
        check_names(self.small, self.factors)
        for scale in self.grids:
            self.cells(scale)
            self.seed_list(scale)
        if unknown := [name for name in self._theory_names() if name not in self.factors]:
            raise ExperimentError(
                f"theory takes {unknown[0]!r}, which is no setting"
                f"{choices(unknown[0], self.factors)}"
            )

    def _check_along(self) -> None:
        if self.along is None:
            return
        if self.along not in self.factors:
            raise ExperimentError(
                f"along is {self.along!r}, which is no setting{choices(self.along, self.factors)}"
            )
        if self.batch is None:
            raise ExperimentError(
                f"along is {self.along!r} and there is no batch: give one that takes its values "
                "together."
            )

    def _theory_names(self) -> list[str]:
        if self.theory is None:
            return []
        parameters = inspect.signature(self.theory).parameters
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return list(self.factors)
        return list(parameters)

    def _known_scale(self, scale: str) -> None:
        if scale not in self.grids:
            raise ExperimentError(f"{scale!r} is no scale of it{choices(scale, self.grids)}")

    def cells(self, scale: str, overrides: Mapping[str, Any] | None = None) -> list[Cell]:
        """The cells of a scale, `overrides` in place of the values of the grid."""
        self._known_scale(scale)
        if overrides:
            return expand(self.grids[scale], self.factors, overrides)
        if scale not in self._cells:
            self._cells[scale] = expand(self.grids[scale], self.factors)
        return list(self._cells[scale])

    def seed_list(self, scale: str, seeds: int | Sequence[int] | None = None) -> list[int]:
        """The seeds of a scale, or as many or those that are given."""
        self._known_scale(scale)
        given = self._seeds_of(scale) if seeds is None else seeds
        chosen = [int(coerced("a seed", int, seed)) for seed in listed(given)]
        if np.ndim(given) == 0:
            chosen = list(range(chosen[0]))
        if not chosen or min(chosen) < 0:
            raise ExperimentError(f"seeds is {given!r}: give how many, or a list of 0, 1, ...")
        return list(dict.fromkeys(chosen))

    def _seeds_of(self, scale: str) -> int:
        match self.seeds:
            case Mapping() if scale in self.seeds:
                return self.seeds[scale]
            case Mapping():
                raise ExperimentError(f"seeds has no number for scale {scale!r}: add it.")
            case _:
                return self.seeds

    def points(
        self,
        scale: str,
        seeds: int | Sequence[int] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> list[Point]:
        """Every (cell, seed) of a request in order, with its key."""
        chosen = self.seed_list(scale, seeds)
        return [
            Point(cell, seed, key_of(self.name, self.version, self.source, cell, seed))
            for cell in self.cells(scale, overrides)
            for seed in chosen
        ]

    def theory_table(self, cells: Sequence[Cell]) -> pd.DataFrame | None:
        """What theory predicts, a row a cell: factors, then metrics; None without theory.

        Theory is evaluated once for each distinct setting of the factors that it names.
        """
        import pandas as pd

        if self.theory is None:
            return None
        names = self._theory_names()
        known: dict[tuple[Value, ...], Mapping[str, float]] = {}
        rows = []
        for cell in cells:
            own = tuple(cell[name] for name in names)
            if own not in known:
                known[own] = self.theory(**dict(zip(names, own, strict=True)))
            rows.append({**cell, **known[own]})
        return pd.DataFrame(rows, columns=None if rows else list(self.factors))
