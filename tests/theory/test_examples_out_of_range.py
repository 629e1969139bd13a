"""Every public formula on nan and infinity: a sentence, or nan where an entry is, no number."""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradfeat.theory


def formulas() -> Iterator[Callable[..., Any]]:
    for found in pkgutil.iter_modules(gradfeat.theory.__path__):
        module = importlib.import_module(f"gradfeat.theory.{found.name}")
        for name, one in vars(module).items():
            own = inspect.isfunction(one) and one.__module__ == module.__name__
            if own and name[0] != "_" and "Source:" in (one.__doc__ or ""):
                yield one


def first_call(formula: Callable[..., Any]) -> dict[str, Any]:
    """Arguments of the first call in the formula's example."""
    calls: list[inspect.BoundArguments] = []

    def recorded(*given: Any, **named: Any) -> Any:
        calls.append(inspect.signature(formula).bind(*given, **named))
        return formula(*given, **named)

    names = {**inspect.getmodule(formula).__dict__}
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(formula) or ""):
        names[formula.__name__] = recorded
        exec(compile(example.source, "<example>", "single"), names)
        if calls:
            return dict(calls[0].arguments)
    raise AssertionError(f"{formula.__name__} is not called by its example")


def numeric(value: Any) -> bool:
    return np.asarray(value, dtype=object).size > 0 and all(
        isinstance(one, (int, float, np.number)) and not isinstance(one, bool)
        for one in np.asarray(value, dtype=object).flat
    )


def spoilt(value: Any, number: float) -> Any:
    """The value, or its first entry, replaced."""
    if np.ndim(value) == 0:
        return number
    found = np.array(value, dtype=float)
    found.flat[0] = number
    return found if isinstance(value, np.ndarray) else found.tolist()


def has_nan(found: Any) -> bool:
    parts = [getattr(found, name) for name in getattr(found, "__dataclass_fields__", ())]
    if isinstance(found, dict):
        parts = list(found.values())
    elif isinstance(found, (list, tuple)):
        parts = list(found)
    if parts:
        return any(map(has_nan, parts))
    return isinstance(found, (float, np.ndarray, np.number)) and bool(np.isnan(found).any())


def refused(call: Callable[[], Any]) -> str:
    """What it says, or nothing where it gave nan; warnings count as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return "" if has_nan(call()) else "a number"
        except (ValueError, RuntimeWarning) as error:
            return str(error)


@pytest.mark.parametrize("formula", list(formulas()), ids=lambda one: one.__name__)
def test_a_number_that_is_none_is_told(formula):
    arguments, signature = first_call(formula), inspect.signature(formula)
    for name, value in arguments.items():
        for number in (math.nan, math.inf):
            if not numeric(value):
                continue
            given: Any = dict(arguments) | {name: spoilt(value, number)}
            bound = inspect.BoundArguments(signature, given)
            words = refused(lambda bound=bound: formula(*bound.args, **bound.kwargs))
            sentence = words.endswith(".") and ": give" in words
            # Some infinities have a limit: so many rows, or an input beyond every step.
            limit = math.isinf(number) and words == "a number"
            assert words == "" or sentence or limit, (name, number, words)
