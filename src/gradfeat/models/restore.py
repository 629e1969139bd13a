"""Predictors and kernels from the descriptions and tensors that they were saved as."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from torch import Tensor

from ..maths.activations import activation_from_spec
from ..maths.statistics.combined import under
from . import kernels
from .base import Kernel, Predictor
from .local_machines import LocalMachines
from .partition import Partition
from .predictors import KernelMachine, Linearised, TwoLayer
from .stacked import Stacked
from .subspace_refit import Projected
from .trees import Trees


def predictor_from(spec: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Predictor:
    """Inverse of ``predictor.spec()`` and ``predictor.tensors()``."""
    match spec:
        case {"type": "KernelMachine", "kernel": kernel}:
            return KernelMachine(kernel_from_spec(kernel), **tensors)
        case {"type": "LocalMachines"}:
            return _local_machines(spec, tensors)
        case {"type": "Projected", "inner": inner}:
            return Projected(predictor_from(inner, under("inner.", tensors)), tensors["B"])
        case {"type": "Stacked", "parts": [*parts]}:
            own, v = (under(f"{i}.", tensors) for i in range(len(parts))), tensors["weights"]
            if v.shape != (len(parts),) or not abs(float(v.sum()) - 1) < 1e-6 or v.min() < 0:
                raise ValueError(f"the weights {v.tolist()} are no shares of {len(parts)} fits.")
            return Stacked(tuple(map(predictor_from, parts, own)), v)
        case {"type": "Trees"}:
            return Trees(**tensors)
        case {"type": "TwoLayer", "activation": activation}:
            return _two_layer(tensors, activation)
        case {"type": "Linearised", "start": start}:
            moved = {name: tensors[name] for name in ("W", "b", "a")}
            inner = {k.removeprefix("start."): v for k, v in tensors.items() if k not in moved}
            return Linearised(_two_layer(inner, start["activation"]), **moved)
    raise ValueError(f"the predictor {dict(spec)!r} is not known to this version of gradfeat.")


def _two_layer(tensors: Mapping[str, Any], activation: dict[str, Any]) -> TwoLayer:
    return TwoLayer(**tensors, activation=activation_from_spec(activation))


def _local_machines(spec: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> LocalMachines:
    return LocalMachines(
        KernelMachine(kernel_from_spec(spec["base"]["kernel"]), **under("base.", tensors)),
        kernel_from_spec(spec["kernel"]),
        Partition(*(tensors[name] for name in ("directions", "thresholds", "widths", "left"))),
        *(tensors[name] for name in ("Z", "c", "starts")),
    )


def kernel_from_spec(spec: Mapping[str, Any]) -> Kernel:
    values = {name: _value(part) for name, part in spec.items() if name != "name"}
    found = _classes().get(spec.get("name", ""))
    if found is None:
        raise ValueError(f"the kernel {dict(spec)!r} is not known to this version of gradfeat.")
    return found(**values)


def _value(part: Any) -> Any:
    """A field of a kernel as it was: lists are tuples, and descriptions are activations."""
    match part:
        case [*entries]:
            return tuple(map(float, entries))
        case {"name": _}:
            return activation_from_spec(part)
    return part


@cache
def _classes() -> dict[str, type[Kernel]]:
    """Kernels by name: what stands in a file of the folder `kernels` is found."""
    here, found, waiting = kernels.__name__, {}, [Kernel]
    for module in pkgutil.iter_modules(kernels.__path__):
        import_module(f"{here}.{module.name}")
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found |= {one.__name__: one for one in below if one.__module__.startswith(here)}
    return found
