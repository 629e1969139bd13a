"""Calls as bytes that a worker of a cluster can load, with functions of the user's own files."""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..errors import EngineError

#: Functions that a worker keeps, so that what they cache is kept too.
KEPT = 32


def beside(function: Callable[..., Any]) -> list[ModuleType]:
    """Modules that workers cannot import: that of a function, and those loaded from its folder.

    Functions of packages give none: packages are installed on the workers.
    """
    name = function.__module__
    file = vars(sys.modules[name]).get("__file__")
    if "." in name or name == "__main__" or file is None:
        return []
    here = Path(file).resolve().parent
    loaded = [module for name, module in list(sys.modules.items()) if _own(name, module)]
    return [module for module in loaded if here == _folder(module)]


def _own(name: str, module: ModuleType | None) -> bool:
    return module is not None and "." not in name and name not in ("__main__", "gradfeat")


def _folder(module: ModuleType) -> Path | None:
    """Where a module lies, or a package with all its files."""
    match vars(module).get("__file__"):
        case str(file):
            path = Path(file).resolve()
            return path.parents[1] if path.name == "__init__.py" else path.parent
        case _:
            return None


@contextlib.contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    import cloudpickle

    registered = cloudpickle.list_registry_pickle_by_value()
    fresh = [module for module in modules if module.__name__ not in registered]
    for module in fresh:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in fresh:
            cloudpickle.unregister_pickle_by_value(module)


def _pickled(value: Any, apart: bool) -> bytes:
    """A value with what it uses of the user's files; functions of those as bytes of their own."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            match obj:
                case FunctionType() if apart and beside(obj):
                    return function_of, (function_bytes(obj),)
                case _Cached() if beside(obj):
                    return _cached, (obj.__wrapped__, obj.cache_parameters())
            return super().reducer_override(obj)

    out = io.BytesIO()
    Pickler(out).dump(value)
    return out.getvalue()


#: What `functools.lru_cache` makes of a function; cloudpickle sends it by name only.
_Cached = type(lru_cache(abs))


def _cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    return lru_cache(**parameters)(function)


@lru_cache(KEPT)
def function_bytes(function: Callable[..., Any]) -> bytes:
    """A function, with what it uses of the files beside its own."""
    with _by_value(beside(function)):
        return _pickled(function, apart=False)


@lru_cache(KEPT)
def function_of(data: bytes) -> Callable[..., Any]:
    """A function from its bytes: the same one each time, so that what it caches stays."""
    return pickle.loads(data)


def call_bytes(call: Callable[..., Any], values: tuple[Any, ...]) -> bytes:
    """A call to be made elsewhere by :func:`made`."""
    try:
        return _pickled((call, values), apart=True)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise EngineError(
            f"a trial cannot be sent to the workers of a cluster ({error}): let it use functions, "
            "classes and numbers only, and open files and locks inside."
        ) from None


def made(data: bytes, *shared: Any) -> Any:
    """The call, made here, with what is shared before its own values."""
    try:
        call, values = pickle.loads(data)
    except (ImportError, AttributeError) as error:
        raise EngineError(
            f"the workers of the cluster lack something that the trial needs ({error}): install it "
            "there as here, or put it in files beside that of the experiment."
        ) from None
    return call(*shared, *values)
