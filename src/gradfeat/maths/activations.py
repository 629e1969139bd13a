"""Activations sigma: values, derivatives, Hermite coefficients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from jaxtyping import Float
from numpy.polynomial import hermite_e, polynomial
from scipy import special

from . import hermite

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any  # theory reads coefficients without torch; shapes are checked all the same

#: E relu(Z) = 1/sqrt(2 pi).
RELU_MEAN = 1 / math.sqrt(2 * math.pi)


class Activation(ABC):
    """An elementwise function sigma with its derivative and Hermite coefficients.

    Values and derivatives take a tensor of any shape, float dtype and device and keep all three;
    Z ~ N(0, 1) throughout.
    """

    #: What the activation is called in a saved file.
    name: ClassVar[str]

    #: Points where sigma or its derivative jumps.
    breakpoints: tuple[float, ...] = ()

    @abstractmethod
    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """sigma(z)."""

    @abstractmethod
    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """sigma'(z), zero at a kink."""

    def hermite_coefficients(self, k_max: int) -> Float[np.ndarray, " k"]:
        """c_k = E[sigma(Z) He_k(Z)] / k! for k = 0, ..., k_max; by quadrature unless known."""
        return hermite.hermite_coefficients(self.values, k_max, self.breakpoints)

    def second_moment(self) -> float:
        """E sigma(Z)^2; by quadrature unless known."""
        return _mean_square(self.values, self.breakpoints)

    def spec(self) -> dict[str, Any]:
        """What `activation_from_spec` restores: a dict of JSON values."""
        return {"name": self.name}

    def values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """sigma(z) of a float64 NumPy array."""
        return _of_numpy(self, z)

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """sigma'(z) of a float64 NumPy array."""
        return _of_numpy(self.derivative, z)

    def derivative_second_moment(self) -> float:
        """E sigma'(Z)^2; by quadrature unless known."""
        return _mean_square(self.derivative_values, self.breakpoints)


class Ramp(Activation):
    """sigma(z) = max(z, 0) - mean, with sigma'(0) = 0."""

    mean: ClassVar[float] = 0.0

    def values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return np.maximum(z, 0.0) - self.mean

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        import torch

        if z.requires_grad:
            return z.clone().gt_(0)
        return torch.gt(z, 0, out=torch.empty_like(z))  # without a pass over booleans

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return np.heaviside(z, 0.0)


@final
@dataclass(frozen=True)
class ReLU(Ramp):
    """sigma(z) = max(z, 0), with sigma'(0) = 0.

    c_0 = phi(0), c_1 = 1/2, c_k = phi(0) He_{k-2}(0) / k! for k >= 2, phi the Gaussian density.

    Source: Damian22 (c_k there is without 1/k!).
    """

    name: ClassVar[str] = "relu"
    breakpoints: tuple[float, ...] = field(default=(0.0,), init=False, repr=False)

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.relu()

    def hermite_coefficients(self, k_max: int) -> Float[np.ndarray, " k"]:
        return hermite.ramp_coefficients(0.0, k_max)

    def second_moment(self) -> float:
        return 0.5


@final
@dataclass(frozen=True)
class CentredReLU(Ramp):
    """sigma(z) = max(z, 0) - 1/sqrt(2 pi), so that E sigma(Z) = 0.

    Source: Moniri24, where c_0 = 0 is assumed.
    """

    mean: ClassVar[float] = RELU_MEAN

    name: ClassVar[str] = "centred_relu"
    breakpoints: tuple[float, ...] = field(default=(0.0,), init=False, repr=False)

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.relu() - RELU_MEAN

    def hermite_coefficients(self, k_max: int) -> Float[np.ndarray, " k"]:
        return np.r_[0.0, hermite.ramp_coefficients(0.0, k_max)[1:]]

    def second_moment(self) -> float:
        return 0.5 - RELU_MEAN**2


@final
@dataclass(frozen=True)
class TruncatedReLU(Activation):
    """sigma(z) = min(1, max(z, 0)), with sigma'(0) = sigma'(1) = 0.

    Source: Shi22.
    """

    name: ClassVar[str] = "truncated_relu"
    breakpoints: tuple[float, ...] = field(default=(0.0, 1.0), init=False, repr=False)

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.clamp(0, 1)

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.addcmul(z, z, value=-1).gt_(0)  # z - z^2 > 0 exactly where 0 < z < 1

    def hermite_coefficients(self, k_max: int) -> Float[np.ndarray, " k"]:
        return hermite.ramp_coefficients(0.0, k_max) - hermite.ramp_coefficients(1.0, k_max)

    def second_moment(self) -> float:
        return 0.5 - RELU_MEAN * math.exp(-0.5)


@final
@dataclass(frozen=True)
class Tanh(Activation):
    """sigma(z) = tanh z; its moments are by quadrature."""

    name: ClassVar[str] = "tanh"

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.tanh()

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return 1 - z.tanh().square()

    def values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return np.tanh(z)

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return 1 - np.tanh(z) ** 2


@final
@dataclass(frozen=True)
class Erf(Activation):
    """sigma(z) = erf z = (2 / sqrt(pi)) int_0^z exp(-t^2) dt.

    c_{2m+1} = (2 / sqrt(3 pi)) (-1/3)^m / (m! (2m + 1)), even c_k = 0.

    Source: integration by parts; Williams 1997 for E sigma(Z)^2 = (2 / pi) arcsin(2/3).
    """

    name: ClassVar[str] = "erf"

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.erf()

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return 2 / math.sqrt(math.pi) * (-z.square()).exp()

    def hermite_coefficients(self, k_max: int) -> Float[np.ndarray, " k"]:
        c = np.zeros(hermite.check_degree(k_max) + 1)
        m = np.arange(len(c[1::2]))
        magnitude = np.exp(-m * math.log(3) - special.gammaln(m + 1)) / (2 * m + 1)
        c[1::2] = 2 / math.sqrt(3 * math.pi) * (-1.0) ** m * magnitude
        return c

    def second_moment(self) -> float:
        return 2 / math.pi * math.asin(2 / 3)

    def values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return special.erf(z)

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return 2 / math.sqrt(math.pi) * np.exp(-(z**2))

    def derivative_second_moment(self) -> float:
        return 4 / (math.pi * 5**0.5)


@final
@dataclass(frozen=True)
class Sine(Activation):
    """sigma(z) = sin z - cos z + e^{-1/2}: mean 0, c_1 = e^{-1/2}, c_2 = c_1/2, all slopes bounded.

    Source: sin z = Im e^{iz} and E e^{iZ} = e^{-1/2}; its moments are by quadrature.
    """

    name: ClassVar[str] = "sine"

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.sin() - z.cos() + math.exp(-0.5)

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return z.cos() + z.sin()

    def values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return np.sin(z) - np.cos(z) + math.exp(-0.5)

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return np.cos(z) + np.sin(z)


@final
@dataclass(frozen=True)
class Polynomial(Activation):
    """sigma(z) = p_0 + p_1 z + p_2 z^2 + ..."""

    name: ClassVar[str] = "polynomial"
    #: p_0, p_1, ... in the power basis, low to high: at least one, all finite.
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.coefficients or not np.isfinite(self.coefficients).all():
            got = self.coefficients
            raise ValueError(f"Polynomial coefficients were {got}; give at least one, all finite.")

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        value = z.new_full(z.shape, self.coefficients[-1])
        for p in reversed(self.coefficients[:-1]):
            value = value * z + p
        return value

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return Polynomial(tuple(polynomial.polyder(self.coefficients).tolist()))(z)

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return polynomial.polyval(z, polynomial.polyder(self.coefficients))

    def hermite_coefficients(self, k_max: int) -> Float[np.ndarray, " k"]:
        size = hermite.check_degree(k_max) + 1
        return np.r_[hermite_e.poly2herme(self.coefficients), np.zeros(size)][:size]

    def second_moment(self) -> float:
        c = hermite_e.poly2herme(self.coefficients)
        return hermite.HermiteSeries(tuple(c.tolist())).norm_squared()

    def spec(self) -> dict[str, Any]:
        return {"name": self.name, "coefficients": [float(p) for p in self.coefficients]}


@final
@dataclass(frozen=True)
class UserActivation(Activation):
    """sigma = any elementwise torch function.

    >>> import torch
    >>> UserActivation(torch.sin).derivative(torch.tensor([0.0])).tolist()
    [1.0]
    """

    name: ClassVar[str] = "user"
    #: Tensor to tensor of the same shape and dtype; it is also called on float64 CPU tensors.
    function: Callable[[Tensor], Tensor]
    breakpoints: tuple[float, ...] = ()  # where the function or its derivative jumps
    #: The derivative; None differentiates automatically (a kink has the value torch gives it).
    slope: Callable[[Tensor], Tensor] | None = None
    #: The same function and derivative of float64 arrays, which theory reads without torch.
    arrays: tuple[hermite.RealFunction, hermite.RealFunction] | None = None

    def __post_init__(self) -> None:
        hermite.check_breakpoints(self.breakpoints)

    def __call__(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return _checked(self.function(z), z)

    def derivative(self, z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if self.slope is not None:
            return _checked(self.slope(z), z)
        import torch

        return torch.func.vjp(self, z)[1](torch.ones_like(z))[0]

    def values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return _of_numpy(self, z) if self.arrays is None else self.arrays[0](z)

    def derivative_values(self, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return _of_numpy(self.derivative, z) if self.arrays is None else self.arrays[1](z)

    def spec(self) -> dict[str, Any]:
        raise ValueError(
            "A UserActivation cannot be saved, for its function is code; use one of"
            f" {', '.join(NAMES)} or Polynomial in a model that is to be saved."
        )


def activation(spec: str | Activation) -> Activation:
    """The activation of that name; an `Activation` is returned as it is."""
    match spec:
        case Activation():
            return spec
        case str() if spec in NAMES:
            return _NAMED[spec]()
    raise ValueError(
        f"activation is {spec!r}: give one of {', '.join(NAMES)}, or an Activation object."
    )


_NAMED: dict[str, Callable[[], Activation]] = {
    kind.name: kind for kind in (ReLU, CentredReLU, TruncatedReLU, Tanh, Erf, Sine)
}
#: The names that `activation` resolves.
NAMES = tuple(_NAMED)


def activation_from_spec(spec: dict[str, Any]) -> Activation:
    match spec:
        case {"name": "polynomial", "coefficients": [*p]} if {*map(type, p)} <= {int, float}:
            return Polynomial(tuple(map(float, p)))
        case {"name": str(name)} if name in NAMES:
            return activation(name)
    raise ValueError(
        f"A saved activation was {spec!r}; it must name one of {', '.join(NAMES)}, or polynomial"
        " with a list of coefficients: save the model again with this version."
    )


def _of_numpy(f: Callable[[Tensor], Tensor], z: np.ndarray) -> np.ndarray:
    """f at the entries of an array; torch is imported where values are asked for."""
    import torch

    return f(torch.from_numpy(np.array(z, dtype=np.float64))).detach().numpy()


def _mean_square(f: hermite.RealFunction, breakpoints: tuple[float, ...]) -> float:
    """E f(Z)^2."""
    return float(hermite.hermite_coefficients(lambda z: f(z) ** 2, 0, breakpoints)[0])


def _checked(value: Tensor, z: Tensor) -> Tensor:
    """`value`, refused unless it has z's shape and dtype."""
    if (value.shape, value.dtype) != (z.shape, z.dtype):
        raise ValueError(
            f"An activation's function returned {value.dtype} of shape {tuple(value.shape)} for"
            f" {z.dtype} of shape {tuple(z.shape)}; it must keep both and act on each entry alone."
        )
    return value
