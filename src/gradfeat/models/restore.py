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
from .stacked import Stacked
from .subspace_refit import Projected
from .trees import Trees
from .two_layer import Linearised, TwoLayer


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
            return TwoLayer(**tensors, activation=activation_from_spec(activation))
        case {"type": "Linearised", "start": start}:
            moved = {name: tensors[name] for name in ("W", "b", "a")}
            inner = {k.removeprefix("start."): v for k, v in tensors.items() if k not in moved}
            return Linearised(
                TwoLayer(**inner, activation=activation_from_spec(start["activation"])), **moved
            )
    raise ValueError(f"the predictor {dict(spec)!r} is not known to this version of gradfeat.")


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}


def _local_machines(spec: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> LocalMachines:
    return LocalMachines(
        KernelMachine(kernel_from_spec(spec["base"]["kernel"]), **under("base.", tensors)),
        kernel_from_spec(spec["kernel"]),
        Partition(*(tensors[name] for name in ("directions", "thresholds", "widths", "left"))),
        *(tensors[name] for name in ("Z", "c", "starts")),
    )
