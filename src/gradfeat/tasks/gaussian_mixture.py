"""Gaussian components around orthogonal means, a label each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.ranges import not_negative, positive
from ..maths.streams import stream
from .base import Sample, Task, check_inputs, normal, orthonormal_columns, uniform


@final
@dataclass(frozen=True)
class GaussianMixture(Task):
    """x ~ N(mu_j, Sigma_j) with probability p_j, y = y_j; mu_j = separation * u_j.

    Sigma_j = scale^2 (I + (along^2 - 1) u_j u_j^T), u_1..u_r orthonormal. So the likelihoods differ
    through U^T x alone, and E[y|x] is a function of it; widths that differ between components at
    right angles to U would put labels into |x| and are not offered. E|x|^2 = separation^2 +
    scale^2 (d - 1 + along^2). Separation 0 with along 1 leaves no structure. `mirrored` gives each
    component a twin of the same label at -mu_j, half of p_j each: then E[y x] = 0, no linear
    function of x says anything about y, and r = 2 is the XOR of Gaussians.

    Raises ValueError when a parameter is outside its range.
    Source: Shi23, section 4.1 (mixtures of Gaussians; truth mu_j/|mu_j|).

    >>> task = GaussianMixture(d=20, r=3, separation=math.sqrt(20), scale=0.2)
    >>> sample = task.sample(4, stream(0, "train"))
    >>> sample.X.shape, task.component_labels
    (torch.Size([4, 20]), (1.0, -1.0, 1.0))
    """

    #: d, r: inputs, components: 1 <= r <= d.
    d: int
    r: int
    #: |mu_j|. Neurons w ~ N(0, I/d) tell components apart where separation is a few times scale *
    #: sqrt(d).
    separation: float
    scale: float = 1.0  #: Standard deviation of a component across its mean.
    along: float = 1.0  #: Standard deviation along the mean, in units of `scale`.
    labels: tuple[float, ...] | None = None  #: y_j, any reals; +1, -1, +1, ... by default.
    weights: tuple[float, ...] | None = None  #: p_j, above 0; 1/r each by default.
    mirrored: bool = False  #: Half of each component is around -mu_j.
    seed: int = 0  #: Chooses U: tasks of equal d, r and seed share their directions.

    def __post_init__(self) -> None:
        check_inputs(self.d, self.r)
        not_negative(separation=self.separation)
        positive(scale=self.scale, along=self.along)
        if len(self.component_labels) != self.r or not all(map(math.isfinite, self.labels or ())):
            raise ValueError(f"labels are {self.labels}: give {self.r} finite numbers.")
        p = self.component_weights
        if len(p) != self.r or not all(w > 0 for w in p) or abs(sum(p) - 1) > 1e-9:
            raise ValueError(
                f"weights are {self.weights}: give {self.r} probabilities above 0 that add to 1."
            )

    @property
    def component_labels(self) -> tuple[float, ...]:
        """y_1, ..., y_r."""
        alternating = tuple((-1.0) ** j for j in range(self.r))
        return alternating if self.labels is None else self.labels

    @property
    def component_weights(self) -> tuple[float, ...]:
        """p_1, ..., p_r."""
        return (1 / self.r,) * self.r if self.weights is None else self.weights

    @property
    def directions(self) -> Float[Tensor, "d r"]:
        """U: column j is mu_j/|mu_j|, also where separation is 0."""
        return self._frame

    @cached_property
    def _frame(self) -> Float[Tensor, "d r"]:
        return orthonormal_columns(self.d, self.r, stream(self.seed, "directions"))

    def sample(self, n: int, generator: torch.Generator) -> Sample:
        """Components first, then noise: the sizes and labels do not change the draws."""
        drawn, side = uniform(n, 2, generator).T.contiguous()
        edges = torch.tensor(self.component_weights, dtype=torch.float64).cumsum(0)[:-1]
        j = torch.bucketize(drawn, edges, right=True)
        xi, u = normal(n, self.d, generator), self.directions.T[j]
        xi += (self.along - 1) * (xi * u).sum(1, keepdim=True) * u
        y = torch.tensor(self.component_labels, dtype=torch.float64)[j]
        at = self.separation * torch.where((side < 0.5) & self.mirrored, -u.T, u.T).T
        return Sample(at + self.scale * xi, y[:, None])

    def posterior(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n r"]:
        """Pr[component j | x], float64: a softmax of log-likelihoods in a = U^T x.

        log p_j + [a_j^2 - (a_j - separation)^2/along^2]/(2 scale^2) + const; with twins, the log
        of the sum of both exponentials.
        """
        a = X.double() @ self.directions.to(X.device)
        p = torch.tensor(self.component_weights, dtype=torch.float64, device=X.device)
        inside = self._exponent(a, self.separation)
        if self.mirrored:
            inside = torch.logaddexp(inside, self._exponent(a, -self.separation))
        return torch.softmax(p.log() + inside, 1)

    def target(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        """sum_j Pr[j|x] y_j."""
        y = torch.tensor(self.component_labels, dtype=torch.float64, device=X.device)
        return (self.posterior(X) @ y).to(X.dtype)[:, None]

    def _exponent(self, a: Tensor, mean: float) -> Tensor:
        return (a.square() - ((a - mean) / self.along).square()) / (2 * self.scale**2)
