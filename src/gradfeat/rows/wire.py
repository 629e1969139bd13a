"""Statistics, pieces and states as bytes and numbers that any process can take."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..errors import EngineError
from ..maths.blocks import Statistic
from .source import held_piece
from .tree import Folded, Node, Segment

State = TypeVar("State")

#: A state between processes: the packed numbers by name.
Packed = dict[str, np.ndarray]

#: What pickle writes by name.
Defined = FunctionType | type


class _Pickler(pickle.Pickler):
    """Plain pickle with tensors as arrays: only the rows in view, and the same bytes each time.

    Functions and classes, which it writes by name, are listed in `defined`.
    """

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out, protocol=5)
        self.defined: list[Defined] = []

    def reducer_override(self, obj: Any) -> Any:
        """How a tensor is built again; all else as usual."""
        match obj:
            case Tensor() if type(obj) is Tensor and not obj.requires_grad:
                return _tensor, (to_array(obj), str(obj.device))
            case FunctionType() | type():
                self.defined.append(obj)
        return NotImplemented


def to_array(values: Tensor) -> np.ndarray:
    """The numbers, on the CPU, without those around a view."""
    return np.array(values.detach().cpu().numpy(), order="C")


def _tensor(values: np.ndarray, device: str) -> Tensor:
    return torch.from_numpy(np.require(values, requirements="W")).to(device)


def dumps(value: Any, what: str) -> bytes:
    """A value as bytes; `what` names it in the error where other processes cannot be sent it."""
    return _dumped(value, what)[0]


def identity_of(value: Any, what: str) -> bytes:
    """Bytes that are the same for the same value with the same code of functions and classes.

    Functions and classes outside gradfeat are pickled by name: here their own code is added, but
    not what they call or read from their module.
    """
    data, defined = _dumped(value, what)
    return b"".join((data, *map(code_of, defined)))


def _dumped(value: Any, what: str) -> tuple[bytes, list[Defined]]:
    out = io.BytesIO()
    pickler = _Pickler(out)
    try:
        pickler.dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise EngineError(
            f"{what} cannot be sent or kept ({error}): build it of functions and classes at the "
            "top level of a module, or compute in this process without a checkpoint."
        ) from None
    return out.getvalue(), pickler.defined


def loads(data: bytes, what: str) -> Any:
    try:
        return pickle.loads(data)
    except (ImportError, AttributeError) as error:
        raise EngineError(
            f"{what} cannot be loaded by a worker process ({error}): put what it is made of in a "
            "module that workers can import, or compute in this process."
        ) from None


def segment_bytes(segment: Segment, parallel: bool) -> bytes:
    """A segment to send; where other processes cannot read its pieces, they are read here."""
    if not parallel:
        copies = tuple(held_piece(tuple(p.read()), p.name) for p in segment.pieces)
        segment = replace(segment, pieces=copies)
    return dumps(segment, "the source")


def pack(statistic: Statistic[Any, State, Any], state: State) -> Packed:
    return {name: to_array(values) for name, values in statistic.pack(state).items()}


def unpack(statistic: Statistic[Any, State, Any], packed: Packed) -> State:
    return statistic.unpack({name: _tensor(values, "cpu") for name, values in packed.items()})


def _each(folded: Folded[Any], change: Callable[[Any], Any]) -> Folded[Any]:
    nodes = []
    for n in folded.nodes:
        nodes.append(Node(n.level, n.index, None if n.state is None else change(n.state)))
    return replace(folded, nodes=tuple(nodes))


def pack_folded(statistic: Statistic[Any, State, Any], folded: Folded[State]) -> Folded[Packed]:
    return _each(folded, partial(pack, statistic))


def unpack_folded(statistic: Statistic[Any, State, Any], folded: Folded[Packed]) -> Folded[State]:
    return _each(folded, partial(unpack, statistic))


def code_of(defined: Defined) -> bytes:
    """A digest of the code of a function, or of the functions of a class and its bases.

    Empty for those of gradfeat, which have a version. What they call is not looked at.
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
