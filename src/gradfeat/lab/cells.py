"""Cells of a grid: flat settings of plain values, and the key each result is stored under."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfeat.errors import ExperimentError, choices

Value = str | int | float
Cell = dict[str, Value]
Product = Mapping[str, Value | Sequence[Value]]
Grid = Product | Sequence[Product]

KINDS: dict[Any, type] = {"int": int, "float": float, "str": str, int: int, float: float, str: str}


@dataclass(frozen=True)
class Factor:
    """A parameter of a trial: the type of its values, and its default where it has one."""

    kind: type
    default: Value | None


def listed(values: Any) -> list[Any]:
    """One value as a list of one, several as a list of several."""
    return [values] if np.ndim(values) == 0 else list(values)


def products(grid: Grid) -> list[Product]:
    """The products whose union is the grid: one for a mapping, as they are for a sequence."""
    match grid:
        case Mapping():
            return [grid]
        case _:
            return list(grid)


def _number(name: str, value: Any) -> int | float:
    try:
        return int(value) if str(value).lstrip("+-").isdigit() else float(value)
    except (TypeError, ValueError):
        raise ExperimentError(f"{name} is {value!r}: give a number.") from None


def coerced(name: str, kind: type, value: Any) -> Value:
    """`value` in the type of its factor, so that equal settings are equal cells.

    >>> coerced("n", int, 1e4), coerced("eta", float, 1), coerced("n", int, "200")
    (10000, 1.0, 200)
    """
    match value:
        case bool() | np.bool_():
            raise ExperimentError(f"{name} is {value!r}: name the two settings with words instead.")
        case str() | int() | float() | np.number():
            pass
        case _:
            raise ExperimentError(f"{name} is {value!r}: give text, an integer or a number.")
    if kind is str:
        return str(value)
    number = _number(name, value)
    if not math.isfinite(number):
        raise ExperimentError(f"{name} is {value!r}: give a finite number.")
    if kind is float:
        return float(number) + 0.0  # -0.0 becomes 0.0
    if number != int(number):
        raise ExperimentError(f"{name} is {value!r}: give a whole number.")
    return int(number)


def _kind(name: str, parameter: inspect.Parameter, values: list[Any]) -> type:
    """As annotated, else of the default, else the widest of the values."""
    if parameter.annotation in KINDS:
        return KINDS[parameter.annotation]
    if parameter.default is not inspect.Parameter.empty:
        values = [parameter.default]
    kinds = {type(value) for value in values}
    if kinds <= {int, np.int64}:
        return int
    if kinds <= {int, float, np.int64, np.float64}:
        return float
    if kinds <= {str, np.str_}:
        return str
    raise ExperimentError(f"{name} has values {values!r}: give text only or numbers only.")


def factor_of(name: str, parameter: inspect.Parameter, values: list[Any]) -> Factor:
    """A factor from the signature of its trial and the values that grids give it."""
    kind = _kind(name, parameter, values)
    if parameter.default is inspect.Parameter.empty:
        return Factor(kind, None)
    return Factor(kind, coerced(f"the default of {name}", kind, parameter.default))


def named_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that a function takes by name, in their order."""
    parameters = dict(inspect.signature(function).parameters)
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ExperimentError(f"a trial takes {name!r}: name each of its parameters instead.")
    return parameters


def check_names(given: Mapping[str, Any], factors: Mapping[str, Factor]) -> None:
    for name in given:
        if name not in factors:
            raise ExperimentError(f"{name!r} is no setting{choices(name, factors)}")


def expand(
    grid: Grid, factors: Mapping[str, Factor], overrides: Mapping[str, Any] | None = None
) -> list[Cell]:
    """The cells of a grid in order, every factor filled in, each cell once.

    `overrides` replace values of the grid in every product. Of a factor that names things (text),
    products with other names are left out where every name asked for is one of some product, so
    that each keeps the sizes chosen for it; with a name that none has, all names asked for go with
    the sizes of each.

    >>> union = [{"case": "a", "n": 1}, {"case": ["b", "c"], "n": 2}]
    >>> factors = {"case": Factor(str, None), "n": Factor(int, None), "eta": Factor(float, 1.0)}
    >>> expand(union, factors, {"case": "b", "eta": 2})
    [{'case': 'b', 'n': 2, 'eta': 2.0}]
    """
    cells: dict[tuple[Value, ...], Cell] = {}
    for settings in _overridden(products(grid), factors, overrides or {}):
        check_names(settings, factors)
        axes = [_axis(name, factor, settings) for name, factor in factors.items()]
        for values in itertools.product(*axes):
            cells.setdefault(values, dict(zip(factors, values, strict=True)))
    return list(cells.values())


def _overridden(
    grid: list[Product], factors: Mapping[str, Factor], overrides: Mapping[str, Any]
) -> list[Product]:
    """The products with the values asked for; of names, those products that have them."""
    for name, asked in overrides.items():
        names = [str(value) for value in listed(asked)]
        has = [_names(name, factors.get(name), product) for product in grid]
        if names and set(names) <= {value for values in has for value in values}:
            kept = [[v for v in names if v in values] for values in has]
            grid = [{**p, name: v} for p, v in zip(grid, kept, strict=True) if v]
        else:
            grid = [{**product, name: asked} for product in grid]
    return grid


def _names(name: str, factor: Factor | None, product: Product) -> list[str]:
    """The text values that a product gives to a factor; none of one that is a number."""
    if factor is None or factor.kind is not str:
        return []
    return [str(value) for value in listed(product.get(name, factor.default or []))]


def _axis(name: str, factor: Factor, settings: Mapping[str, Any]) -> list[Value]:
    if name in settings:
        values = [coerced(name, factor.kind, value) for value in listed(settings[name])]
    else:
        values = [] if factor.default is None else [factor.default]
    if not values:
        raise ExperimentError(f"{name} has no value: give at least one.")
    return values


def several(settings: Mapping[str, Iterable[Value]]) -> list[str]:
    """The settings that have several values, all where none has.

    >>> several({"n": [1, 2], "m": [5, 5]}), several({"n": [1], "m": [5]})
    (['n'], ['n', 'm'])
    """
    return [name for name, values in settings.items() if len({*values}) > 1] or [*settings]


def strangers(cells: Sequence[Cell], known: Sequence[Cell]) -> list[dict[str, Value]]:
    """Of each cell the settings in which it differs from the nearest known one.

    Of known cells at the same distance, one that differs in numbers rather than in names counts.

    >>> known = [{"case": "a", "n": 1}, {"case": "b", "n": 2}]
    >>> strangers([{"case": "a", "n": 1}, {"case": "a", "n": 2}, {"case": "b", "n": 5}], known)
    [{}, {'n': 2}, {'n': 5}]
    """
    there = {tuple(cell.values()) for cell in known}

    def differing(cell: Cell) -> dict[str, Value]:
        if tuple(cell.values()) in there:
            return {}
        found = [{n: v for n, v in cell.items() if v != one[n]} for one in known]
        return min(found, key=lambda own: (len(own), sum(v == str(v) for v in own.values())))

    return [differing(cell) for cell in cells]


def key_of(name: str, version: int, source: str, cell: Cell, seed: int) -> str:
    """SHA-256 (64 hexadecimal digits) of experiment, version, source, cell and seed."""
    text = json.dumps([name, version, source, cell, seed], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
