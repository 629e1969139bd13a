"""Kernels by the names that users type, and from the descriptions that models save."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, SupportsFloat

from ...maths.activations import Erf, activation_from_spec
from ..base import Kernel
from .dot_product import DotProduct, polynomial
from .generalised_laplace import GeneralisedLaplace
from .network import NetworkKernel
from .radial import Gaussian, Laplace, Matern

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

    Parameters
    ----------
    name : str
        One of `NAMES`.
    bandwidth : number
        Length scale, positive.

    Raises
    ------
    ValueError
        For another name, or a bandwidth that is not positive and finite.

    Examples
    --------
    >>> kernel("matern32", 2.0)
    Matern(bandwidth=2.0, nu=1.5)
    """
    L = float(bandwidth)
    if not (math.isfinite(L) and L > 0):
        raise ValueError(f"bandwidth is {L}: give a positive number.")
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
    """Kernel from the dict that :meth:`Kernel.spec` wrote.

    Raises
    ------
    ValueError
        For a kernel that this version does not know.

    Examples
    --------
    >>> kernel_from_spec(Gaussian(3.0).spec())
    Gaussian(bandwidth=3.0)
    """
    match spec:
        case {"name": "Laplace", "bandwidth": L}:
            return Laplace(float(L))
        case {"name": "Gaussian", "bandwidth": L}:
            return Gaussian(float(L))
        case {"name": "Matern", "bandwidth": L, "nu": nu}:
            return Matern(float(L), float(nu))
        case {"name": "GeneralisedLaplace", "bandwidth": L, "p": p, "q": q}:
            return GeneralisedLaplace(float(L), float(p), float(q))
        case {"name": "DotProduct", "coefficients": [*a], "bandwidth": L}:
            return DotProduct(tuple(map(float, a)), L)
        case {"name": "NetworkKernel", "activation": sigma, **rest}:
            given = {k: v for k, v in rest.items() if k != "name"}
            return NetworkKernel(activation_from_spec(sigma), **given)
    raise ValueError(f"the kernel {dict(spec)!r} is not known to this version of gradfeat.")
