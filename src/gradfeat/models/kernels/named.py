"""Kernels by the names that users type, and from the descriptions that models save."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, SupportsFloat

from ...maths.activations import Erf, activation_from_spec
from ..base import Kernel
from .dot_product import polynomial
from .generalised_laplace import GeneralisedLaplace
from .network import NetworkKernel
from .radial import Gaussian, Laplace, Matern, check_bandwidth

_KERNELS: Final[dict[str, Callable[[float], Kernel]]] = {
    "laplace": Laplace,
    "laplace-0.7": partial(GeneralisedLaplace, q=0.7),
    "laplace-1.4": partial(GeneralisedLaplace, q=1.4),
    "laplace-l1": partial(GeneralisedLaplace, p=1.0),
    "laplace-l1-0.7": partial(GeneralisedLaplace, p=1.0, q=0.7),
    "gaussian": Gaussian,
    "matern12": partial(Matern, nu=0.5),
    "matern32": partial(Matern, nu=1.5),
    "matern52": partial(Matern, nu=2.5),
    "ntk": lambda L: NetworkKernel(bias=1.0, bandwidth=L),
    "nngp": lambda L: NetworkKernel(bias=1.0, trained="head", bandwidth=L),
    "erf-ntk": lambda L: NetworkKernel(Erf(), bias=1.0, bandwidth=L),
    "polynomial1": lambda L: polynomial(1, bandwidth=L),
    "polynomial2": lambda L: polynomial(2, bandwidth=L),
    "polynomial3": lambda L: polynomial(3, bandwidth=L),
}
#: The names that `kernel` resolves.
NAMES = tuple(_KERNELS)


def kernel(name: str, bandwidth: SupportsFloat) -> Kernel:
    """Kernel by the name that estimators and the command line use.

    "ntk" and "nngp" are those of the two-layer ReLU network, "erf-ntk" that of the erf network,
    all with weight and bias 1; "polynomial2" is (x.z / bandwidth^2 + 1)^2, 1 and 3 likewise. For
    these the bandwidth is the norm of inputs at which the constant 1 and x weigh the same.
    "laplace-0.7" and "laplace-1.4" are exp(-(|x - z| / bandwidth)^q) with that q, "laplace-l1" and
    "laplace-l1-0.7" the same of the distance sum_k |x_k - z_k| with q = 1 and 0.7.

    `name`: One of `NAMES`. `bandwidth`: Length scale, positive.
    """
    L = float(bandwidth)
    check_bandwidth(L)
    if name not in _KERNELS:
        allowed = ", ".join(map(repr, NAMES[:-1]))
        raise ValueError(f"kernel is {name!r}: allowed are {allowed} and {NAMES[-1]!r}.")
    return _KERNELS[name](L)


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
    """The kernels of this package by name: what stands in one of its files is found."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        import_module(f".{module.name}", __package__)
    here, found, waiting = __name__.rpartition(".")[0], {}, [Kernel]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        found |= {one.__name__: one for one in below if one.__module__.startswith(here)}
    return found
