"""Kernels by the names that users type, and from the descriptions that models save."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, SupportsFloat

from ...maths.activations import Erf, activation_from_spec
from ..base import Kernel
from .dot_product import polynomial
from .generalised_laplace import GeneralisedLaplace
from .network import NetworkKernel
from .radial import Gaussian, Laplace, Matern, check_bandwidth

#: The names that `kernel` resolves.
NAMES = (
    "laplace", "laplace-0.7", "laplace-1.4", "laplace-l1", "laplace-l1-0.7",
    "gaussian", "matern12", "matern32", "matern52",
    "ntk", "nngp", "erf-ntk", "polynomial2", "polynomial3",
)  # fmt: skip


def kernel(name: str, bandwidth: SupportsFloat) -> Kernel:
    """Kernel by the name that estimators and the command line use.

    "ntk" and "nngp" are those of the two-layer ReLU network, "erf-ntk" that of the erf network,
    all with weight and bias 1; "polynomial2" is (x.z / bandwidth^2 + 1)^2. For these the
    bandwidth is the norm of inputs at which the constant 1 and x weigh the same.
    "laplace-0.7" and "laplace-1.4" are exp(-(|x - z| / bandwidth)^q) with that q, "laplace-l1" and
    "laplace-l1-0.7" the same of the distance sum_k |x_k - z_k| with q = 1 and 0.7.

    `name`: One of `NAMES`. `bandwidth`: Length scale, positive.

    Examples
    --------
    >>> kernel("matern32", 2.0)
    Matern(bandwidth=2.0, nu=1.5)
    """
    L = float(bandwidth)
    check_bandwidth(L)
    match name:
        case "ntk":
            return NetworkKernel(bias=1.0, bandwidth=L)
        case "nngp":
            return NetworkKernel(bias=1.0, trained="head", bandwidth=L)
        case "erf-ntk":
            return NetworkKernel(Erf(), bias=1.0, bandwidth=L)
        case "polynomial2":
            return polynomial(2, bandwidth=L)
        case "polynomial3":
            return polynomial(3, bandwidth=L)
    return _radial(name, L)


def _radial(name: str, L: float) -> Kernel:
    match name:
        case "laplace":
            return Laplace(L)
        case "laplace-0.7":
            return GeneralisedLaplace(L, q=0.7)
        case "laplace-1.4":
            return GeneralisedLaplace(L, q=1.4)
        case "laplace-l1":
            return GeneralisedLaplace(L, p=1.0)
        case "laplace-l1-0.7":
            return GeneralisedLaplace(L, p=1.0, q=0.7)
        case "gaussian":
            return Gaussian(L)
        case "matern12":
            return Matern(L, 0.5)
        case "matern32":
            return Matern(L, 1.5)
        case "matern52":
            return Matern(L, 2.5)
    allowed = ", ".join(map(repr, NAMES[:-1]))
    raise ValueError(f"kernel is {name!r}: allowed are {allowed} and {NAMES[-1]!r}.")


def kernel_from_spec(spec: Mapping[str, Any]) -> Kernel:
    """Kernel from the dict that :meth:`Kernel.spec` wrote."""
    values = {name: _value(part) for name, part in spec.items() if name != "name"}
    found = _kernels().get(spec.get("name", ""))
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
def _kernels() -> dict[str, type[Kernel]]:
    """The kernels of this package by name: what stands in one of its files is found."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        import_module(f".{module.name}", __package__)
    here, found, waiting = __name__.rpartition(".")[0], {}, [Kernel]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found |= {one.__name__: one for one in below if one.__module__.startswith(here)}
    return found
