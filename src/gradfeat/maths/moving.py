"""Values made of tensors, on another device."""

from __future__ import annotations

from copy import copy
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from types import MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor

Value = TypeVar("Value")


def moved(value: Value, device: torch.device) -> Value:
    """The value with every tensor on the device, and the device in the place of any that it names.

    Goes through dataclasses (what they have cached is forgotten), tuples, lists, dicts, bound
    methods and `functools.partial`. All else stays as it is; so does what is there already, which
    is not copied.
    """
    return _moved(value, device)


def _moved(value: Any, device: torch.device) -> Any:
    match value:
        case Tensor():
            return value.to(device)
        case torch.device():
            return value if value == device else device
        case tuple() | list() if type(value) in (tuple, list):
            parts = [_moved(each, device) for each in value]
            return value if _same(parts, value) else type(value)(parts)
        case dict() if type(value) is dict:
            new = {name: _moved(each, device) for name, each in value.items()}
            return value if _same(new.values(), value.values()) else new
        case MethodType():
            owner = _moved(value.__self__, device)
            return value if owner is value.__self__ else MethodType(value.__func__, owner)
        case partial():
            parts = value.func, value.args, value.keywords
            new = [_moved(part, device) for part in parts]
            return value if _same(new, parts) else partial(new[0], *new[1], **new[2])
        case type():
            return value
    return _dataclass(value, device) if is_dataclass(value) else value


def _same(new: Any, old: Any) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def _dataclass(value: Any, device: torch.device) -> Any:
    """A copy whose fields are moved and whose cached properties are computed anew."""
    old = {field.name: getattr(value, field.name) for field in fields(value)}
    new = {name: _moved(each, device) for name, each in old.items()}
    if _same(new.values(), old.values()):
        return value
    made = copy(value)
    for name, each in new.items():
        object.__setattr__(made, name, each)
    for kind in type(made).__mro__:
        for name, member in vars(kind).items():
            match member:
                case cached_property():
                    vars(made).pop(name, None)
    return made
