"""Multi-index model: a function of r directions of a Gaussian input, with its exact moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.limits import refuse_beyond
from ..maths.links import Link
from ..maths.ranges import not_negative, one_of, positive
from ..maths.streams import stream
from .base import (
    NoiseLaw,
    Sample,
    Task,
    check_inputs,
    function_of_projection,
    normal,
    orthonormal_columns,
    unit_noise,
)

#: Relative to sqrt(E g^2): an eigenvalue of C_2 below it is rounding, as in `information_exponent`.
RANK_TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class MultiIndex(Task):
    """y = g(U^T x / s) + noise * eps, x ~ N(0, s^2 I_d), U (d, r) with orthonormal columns.

    f(x) = g(U^T x / s) is the regression function. Its Hermite tensors, those of x / s, are exact
    where g is a polynomial, and as exact as the series that comes with g otherwise. A latent
    variable model g(Ax), A (r, d) any matrix, is the link z -> g(Lz) with A = L U^T, L (r, r).

    Raises ValueError when a parameter is outside its range.
    Source: Damian22, section 2; Moniri24, section 2.

    >>> from gradfeat.tasks.targets import he2_hep
    >>> task = MultiIndex(20, he2_hep(4, r=2), noise=0.1)
    >>> task.sample(5, stream(0, "train")).X.shape, task.directions.shape
    (torch.Size([5, 20]), torch.Size([20, 2]))
    >>> task.information_exponent, task.degenerate, round(task.kappa, 12)
    (2, False, 1.0)
    """

    d: int  #: Number of inputs, at least r.
    #: A `MultiHermite` (any polynomial), a `FunctionLink` (any other function), or one of
    #: `gradfeat.tasks.targets`.
    g: Link
    noise: float = 0.0  #: Standard deviation of the noise, in the units of y.
    #: {"gaussian", "sign"}, eps ~ N(0, 1) (Moniri24), or eps = -1 or +1 with probability 1/2 each
    #: (Damian22: noise uniform on {-z, z}).
    noise_law: NoiseLaw = "gaussian"
    scale: float = 1.0  #: s, the standard deviation of each input.
    aligned: bool = False  #: U is the first r coordinate axes instead of a uniformly random frame.
    seed: int = 0  #: Chooses U: tasks of equal d, r and seed share their directions.

    def __post_init__(self) -> None:
        check_inputs(self.d, self.r)
        not_negative(noise=self.noise)
        one_of(("gaussian", "sign"), noise_law=self.noise_law)
        positive(scale=self.scale)

    @property
    def r(self) -> int:
        return self.g.r

    @property
    def directions(self) -> Float[Tensor, "d r"]:
        """U, the same for the same `d`, `r`, `seed` and `aligned`."""
        return self._frame

    @cached_property
    def _frame(self) -> Float[Tensor, "d r"]:
        if self.aligned:
            return torch.eye(self.d, self.r, dtype=torch.float64)
        return orthonormal_columns(self.d, self.r, stream(self.seed, "directions"))

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Inputs first, then noise: tasks that differ only in the noise share their inputs."""
        X = self.scale * normal(n, self.d, generator)
        return Sample(X, self.target(X) + self.noise * unit_noise(n, self.noise_law, generator))

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """f(x) = g(U^T x / s)."""
        return function_of_projection(self.g, X, self.directions / self.scale)

    @property
    def information_exponent(self) -> int | None:
        """Lowest non-zero Hermite degree of g above 0; None where its series has none."""
        return self.g.series.information_exponent()

    def core_tensor(self, k: int) -> Float[Tensor, ...]:
        """C_k = E grad^k g(Z), (r,) * k: the Hermite tensor in the coordinates U^T x / s."""
        return torch.from_numpy(np.asarray(self.g.series.tensor(k)))

    def hermite_tensor(self, k: int) -> Float[Tensor, ...]:
        """E grad^k f(x) = C_k(U^T ., ..., U^T .) / s^k, (d,) * k.

        Raises MemoryError where d^k entries do not fit: use `core_tensor`, or `g.series.contract`
        on U^T w.

        >>> from gradfeat.tasks.targets import pure_hermite
        >>> MultiIndex(3, pure_hermite(3)).hermite_tensor(3).shape
        torch.Size([3, 3, 3])
        """
        what = f"a Hermite tensor of order {k} in {self.d} inputs"
        refuse_beyond(3 * 8 * self.d**k, None, what, "use core_tensor")
        C = self.core_tensor(k)
        for _ in range(k):  # contracts the first axis and appends the axis of the inputs
            C = C.movedim(0, -1) @ (self.directions.T / self.scale)
        return C

    @property
    def hessian(self) -> Float[Tensor, "d d"]:
        """H = E grad^2 f = U C_2 U^T / s^2."""
        return self.hermite_tensor(2)

    @property
    def degenerate(self) -> bool:
        """Whether rank H < r, against Assumption 2 of Damian22."""
        return math.isinf(self.kappa)

    @property
    def kappa(self) -> float:
        """|H^+|_2 / sqrt(r), H^+ the pseudo-inverse; infinite where rank H < r.

        Source: Damian22, Assumption 2 and Theorem 1.
        """
        smallest = float(torch.linalg.eigvalsh(self.core_tensor(2)).abs().min())
        if smallest <= RANK_TOLERANCE * math.sqrt(self.g.series.norm_squared()):
            return math.inf
        return self.scale**2 / (smallest * math.sqrt(self.r))
