"""The import hook's checker of annotations: how a value is checked, and how often in a test.

Checks take as long as the code that they check. Loops call one function hundreds of times with the
same shapes, so `make test` checks the first call of every function in every test, of methods,
properties and the constructors of dataclasses too (four calls each were a ninth of the processor
time of tests of models); with random draws, as in `make test-all`, every call is checked.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

#: An int is accepted where a float is asked for.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
every_call = jaxtyping.jaxtyped


class Budget:
    """How many calls of a function are checked in a test, and which test runs."""

    calls: float = 1
    test = 0

    def begin_test(self) -> None:
        """Check every function's first call anew."""
        self.test += 1

    def check_all(self) -> None:
        """Check every call from now on."""
        self.calls = math.inf


budget = Budget()


def first_calls(*, typechecker: Callable) -> Callable:
    """In place of ``jaxtyping.jaxtyped``, which the hook puts on functions and classes."""

    def decorate(fn: Any) -> Any:
        match fn:
            case type():
                if dataclasses.is_dataclass(fn) and not hasattr(fn.__init__, "checks_calls"):
                    fn.__init__ = decorate(fn.__init__)
                return fn
            case classmethod() | staticmethod():
                return type(fn)(decorate(fn.__func__))
            case property():
                return property(*(f and decorate(f) for f in (fn.fget, fn.fset, fn.fdel)))
        if not inspect.isfunction(fn):
            return every_call(fn, typechecker=typechecker)
        # Made at the first call: most of what a test imports is never called in it.
        test, calls, checks = budget.test, 0, None

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            nonlocal test, calls, checks
            if test != budget.test:
                test, calls = budget.test, 0
            if calls >= budget.calls:
                return fn(*args, **kwargs)
            calls += 1
            checks = checks or every_call(fn, typechecker=typechecker)
            return checks(*args, **kwargs)

        vars(called)["checks_calls"] = True
        return called

    return decorate


def install(*packages: str) -> None:
    """Check what these packages annotate; before they are imported."""
    jaxtyping.jaxtyped = first_calls
    jaxtyping.install_import_hook(packages, "typecheck.checked")
