"""Predictors from the description and tensors that they were saved as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ..maths.activations import activation_from_spec
from .base import Predictor
from .kernel_machine import KernelMachine
from .kernels.named import kernel_from_spec
from .local_machines import LocalMachines
from .partition import Partition
from .subspace_refit import Projected
from .two_layer import Linearised, TwoLayer


def predictor_from(spec: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Predictor:
    """Inverse of ``predictor.spec()`` and ``predictor.tensors()``."""
    match spec:
        case {"type": "KernelMachine", "kernel": kernel}:
            return KernelMachine(kernel_from_spec(kernel), **tensors)
        case {"type": "LocalMachines"}:
            return _local_machines(spec, tensors)
        case {"type": "Projected", "inner": inner}:
            parts = {k.removeprefix("inner."): t for k, t in tensors.items() if k != "B"}
            return Projected(predictor_from(inner, parts), tensors["B"])
        case {"type": "TwoLayer", "activation": activation}:
            return TwoLayer(**tensors, activation=activation_from_spec(activation))
        case {"type": "Linearised", "start": start}:
            moved = {name: tensors[name] for name in ("W", "b", "a")}
            inner = {k.removeprefix("start."): v for k, v in tensors.items() if k not in moved}
            return Linearised(
                TwoLayer(**inner, activation=activation_from_spec(start["activation"])), **moved
            )
    raise ValueError(f"the predictor {dict(spec)!r} is not known to this version of gradfeat.")


def _local_machines(spec: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> LocalMachines:
    base = {k.removeprefix("base."): t for k, t in tensors.items() if k.startswith("base.")}
    return LocalMachines(
        KernelMachine(kernel_from_spec(spec["base"]["kernel"]), **base),
        kernel_from_spec(spec["kernel"]),
        Partition(*(tensors[name] for name in ("directions", "thresholds", "widths", "left"))),
        *(tensors[name] for name in ("Z", "c", "starts")),
    )
