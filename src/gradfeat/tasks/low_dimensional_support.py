"""Inputs near an r-dimensional subspace or curved manifold of R^d."""

# Apart: a data model has a file of its own.
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.multi_indices import RealFunctionOfRows
from ..maths.ranges import not_negative
from ..maths.streams import stream
from .base import (
    Sample,
    Task,
    check_inputs,
    function_of_projection,
    normal,
    orthonormal_columns,
    unit_noise,
)


@final
@dataclass(frozen=True)
class LowDimensionalSupport(Task):
    """x = U z + V (curvature h(z) + ambient xi), y = g(z) + noise * eps, z ~ N(0, I_r).

    [U V] is a random orthogonal frame of R^d, U (d, r), V (d, q), q = d - r; xi ~ N(0, I_q), and

        h_j(z) = sqrt(2 r / q) sin(a_j . z + t_j), a_j ~ N(0, I_r), t_j uniform on [0, 2 pi).

    So x lies on a subspace (curvature 0, ambient 0), on a smooth manifold, the graph of the
    curved part over z (ambient 0), or around either. Everywhere U^T x = z, hence
    E[y|x] = g(U^T x) exactly, at any curvature and ambient noise: the ambient noise is at right
    angles to U, as noise along U would only rename the coordinate. On average over h, curvature 1
    puts as much of E|x|^2 into the curved part as there is in z. Curvature 0 with ambient 1 is
    x ~ N(0, I_d): `gradfeat.tasks.multi_index.MultiIndex`.

    Raises ValueError when a parameter is outside its range.
    Source: the talk Feature learning and limitations of kernels, low-dimensional support; the
    manifold is ours.

    >>> from gradfeat.tasks.targets import he2_hep
    >>> task = LowDimensionalSupport(20, 2, he2_hep(4, r=2), curvature=1.0)
    >>> X = task.sample(5, stream(0, "train")).X
    >>> X.shape, torch.linalg.matrix_rank(X.T @ X).item()
    (torch.Size([5, 20]), 5)
    """

    #: d, r: number of inputs, dimension of the support: 1 <= r <= d.
    d: int
    r: int
    g: RealFunctionOfRows  #: Maps a float64 array (p, r) to real, finite values (p,).
    curvature: float = 0.0  #: Size of the curved part; 0 is the subspace.
    ambient: float = 0.0  #: Standard deviation of the noise on x in each of the q directions of V.
    noise: float = 0.0  #: Standard deviation of the Gaussian noise on y.
    seed: int = 0  #: Chooses the frame and h.

    def __post_init__(self) -> None:
        check_inputs(self.d, self.r)
        not_negative(noise=self.noise, curvature=self.curvature, ambient=self.ambient)

    @cached_property
    def frame(self) -> Float[Tensor, "d d"]:
        """[U V], the same for the same `d` and `seed`."""
        return orthonormal_columns(self.d, self.d, stream(self.seed, "directions"))

    @property
    def directions(self) -> Float[Tensor, "d r"]:
        """U: U^T x is the intrinsic coordinate z, on the manifold and around it."""
        return self.frame[:, : self.r]

    def manifold(self, z: Float[Tensor, "n r"]) -> Float[Tensor, "n d"]:
        """U z + curvature V h(z): the points of the support with intrinsic coordinates z."""
        U, V = self.frame[:, : self.r], self.frame[:, self.r :]
        q = V.shape[1]
        generator = stream(self.seed, "curvature")
        A = torch.randn(q, self.r, generator=generator, dtype=torch.float64)
        t = 2 * math.pi * torch.rand(q, generator=generator, dtype=torch.float64)
        h = math.sqrt(2 * self.r / max(q, 1)) * torch.sin(z @ A.T + t)
        return z @ U.T + self.curvature * h @ V.T

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Coordinates, then ambient noise, then label noise: the sizes do not change the draws."""
        z = normal(n, self.r, generator)
        xi = normal(n, self.d - self.r, generator)
        X = self.manifold(z) + self.ambient * xi @ self.frame[:, self.r :].T
        return Sample(X, self.target(X) + self.noise * unit_noise(n, "gaussian", generator))

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """g(U^T x)."""
        return function_of_projection(self.g, X, self.directions)
