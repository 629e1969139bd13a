"""Kernels by the names that users type, and from the descriptions that models save."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .radial import Gaussian, Laplace, Matern, RadialKernel


def kernel(name: str, bandwidth: float) -> RadialKernel:
    """Kernel by the name that estimators and the command line use.

    Parameters
    ----------
    name : {"laplace", "gaussian", "matern12", "matern32", "matern52"}
        Which kernel.
    bandwidth : float
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
    bandwidth = float(bandwidth)
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth is {bandwidth}: give a positive number.")
    match name:
        case "laplace":
            return Laplace(bandwidth)
        case "gaussian":
            return Gaussian(bandwidth)
        case "matern12":
            return Matern(bandwidth, 0.5)
        case "matern32":
            return Matern(bandwidth, 1.5)
        case "matern52":
            return Matern(bandwidth, 2.5)
    raise ValueError(
        f"kernel is {name!r}: allowed are 'laplace', 'gaussian', 'matern12', 'matern32' and "
        "'matern52'."
    )


def kernel_from_spec(spec: Mapping[str, Any]) -> RadialKernel:
    """Kernel from the dict that :meth:`RadialKernel.spec` wrote.

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
    raise ValueError(f"the kernel {dict(spec)!r} is not known to this version of gradfeat.")
