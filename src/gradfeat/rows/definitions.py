"""The code of functions and classes, which pickle writes by name."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any

#: What pickle writes by name.
Defined = FunctionType | type


def code_of(defined: Defined) -> bytes:
    """A digest of the code of a function, or of the functions of a class and its bases.

    Empty for those of gradfeat, which have a version. What they call is not looked at.

    Examples
    --------
    >>> from json import dumps, loads
    >>> code_of(dumps) == code_of(dumps), code_of(dumps) == code_of(loads)
    (True, False)
    >>> code_of(code_of)
    b''
    """
    match defined:
        case FunctionType():
            words = _function(defined)
        case _:
            words = repr([_class(one) for one in defined.__mro__])
    return blake2b(words.encode(), digest_size=16).digest() if words else b""


def _ours(defined: Defined) -> bool:
    return (defined.__module__ or "").partition(".")[0] == "gradfeat"


def _class(one: type) -> str:
    if _ours(one):
        return ""
    return repr([found for name, value in vars(one).items() if (found := _member(name, value))])


def _member(name: str, value: Any) -> str:
    match value:
        case FunctionType():
            return _function(value)
        case classmethod() | staticmethod():
            return _member(name, value.__func__)
        case property():
            return _member(name, value.fget)
        case cached_property():
            return _member(name, value.func)
        case _:  # Python's own are added when they are first asked for
            return "" if name.startswith("__") else _constant(value)


def _function(function: FunctionType) -> str:
    if _ours(function):
        return ""
    defaults = (function.__defaults__, tuple((function.__kwdefaults__ or {}).items()))
    return _code(function.__code__) + _constant(defaults)


def _code(code: CodeType) -> str:
    return repr((code.co_code, code.co_names, [_constant(value) for value in code.co_consts]))


def _constant(value: Any) -> str:
    """The same words in every process: no addresses, no order of a set."""
    match value:
        case CodeType():
            return _code(value)
        case tuple():
            return repr([_constant(part) for part in value])
        case frozenset():
            return repr(sorted(_constant(part) for part in value))
        case None | bool() | int() | float() | complex() | str() | bytes():
            return repr(value)
        case _:
            return type(value).__name__
