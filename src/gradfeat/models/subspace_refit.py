"""The last fit of a recursive feature machine inside the directions it has found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.statistics.moments import Affine, inputs_only
from ..rows.rows import Rows
from .base import Learner, OneStage, Predictor
from .local_machines import LocalMachines
from .predictors import KernelMachine, apply_metric
from .rfm import RFM


class MetricSpectrum(ABC):
    """Eigenvalues of M = A^2, decreasing, those at rounding left out, and their directions."""

    e: Float[Tensor, " k"]

    @classmethod
    def of(cls, A: Tensor) -> MetricSpectrum:
        """Of a square root as of :func:`gradfeat.models.predictors.apply_metric`."""
        if A.ndim == 1:
            order = A.argsort(descending=True, stable=True)
            e = A[order].square()
            return OfColumns(e[above_rounding(e)], order, len(A))
        if A.shape[0] > A.shape[1]:
            root, V = A.norm(dim=0), A / A.norm(dim=0)
        else:
            root, V = (t.to(A) for t in torch.linalg.eigh(A.double()))
            root, V = root.flip(0).clamp(min=0), V.flip(1)
        kept = above_rounding(root.square())
        return OfDirections(root.square()[kept], V[:, kept])

    def powers(self, r: int, power: float) -> Float[Tensor, " r"]:
        """The first r eigenvalues^power, in units of the largest."""
        return (self.e[:r] / self.e[0]) ** power

    def rank(self, directions: int | None) -> int:
        """How many directions there are of so many asked for."""
        return max(1, len(self.e) if directions is None else min(len(self.e), directions))

    @abstractmethod
    def leading(self, directions: int, power: float) -> Float[Tensor, "d r"]:
        """V_r diag(e_1^power, ..., e_r^power), with e_1 = 1.

        Power 1/2 is the metric M cut to rank r, power 0 gives all r directions the same weight.
        """

    @abstractmethod
    def whole(self, power: float) -> Tensor:
        """M^power, of the same distances in the coordinates of the inputs: for `apply_metric`."""

    def onto(self, X: Float[Tensor, "n d"], directions: int | None, power: float) -> Tensor:
        """Rows in their coordinates along so many directions; None: of the inputs."""
        if directions is None:
            return apply_metric(X, self.whole(power))
        return X @ self.leading(directions, power)


def above_rounding(e: Float[Tensor, " k"]) -> Tensor:
    """Which of decreasing eigenvalues are no rounding; the first one is none."""
    kept = e > torch.finfo(e.dtype).eps * len(e) * e[0]
    kept[0] = True
    return kept


@final
@dataclass(frozen=True, eq=False)
class OfColumns(MetricSpectrum):
    """Of a diagonal M: the directions are inputs, `order` those of the largest entries first."""

    e: Float[Tensor, " k"]
    order: Tensor
    d: int

    def leading(self, directions: int, power: float) -> Float[Tensor, "d r"]:
        r = self.rank(directions)
        B = self.e.new_zeros(self.d, r)
        B[self.order[:r], range(r)] = self.powers(r, power)
        return B

    def whole(self, power: float) -> Tensor:
        m, r = self.e.new_zeros(self.d), self.rank(None)
        m[self.order[:r]] = self.powers(r, power)
        return m


@final
@dataclass(frozen=True, eq=False)
class OfDirections(MetricSpectrum):
    """Of any M, with eigenvectors V."""

    e: Float[Tensor, " k"]
    V: Float[Tensor, "d k"]

    def leading(self, directions: int, power: float) -> Float[Tensor, "d r"]:
        r = self.rank(directions)
        return self.V[:, :r] * self.powers(r, power)

    def whole(self, power: float) -> Tensor:
        thin = self.leading(len(self.e), power)
        return thin if self.V.shape[1] < self.V.shape[0] else thin @ self.V.T


def leading_metric(A: Tensor, directions: int | None, power: float) -> Float[Tensor, "d r"]:
    """The matrix that takes rows to their coordinates, of :meth:`MetricSpectrum.onto`."""
    spectrum = MetricSpectrum.of(A)
    if directions is not None:
        return spectrum.leading(directions, power)
    return apply_metric(torch.eye(len(A), dtype=A.dtype, device=A.device), spectrum.whole(power))


def total_variance(P: Float[Tensor, "n r"], w: Float[Tensor, " n"]) -> float:
    """Weighted variance of the columns, summed."""
    p = w / w.sum()
    return float((p @ (P - p @ P).square()).sum())


@final
@dataclass(frozen=True, eq=False)
class Projected(Predictor):
    """f(x) = inner(B^T x), gradient B grad inner(B^T x), B (d, r), in the float type of B.

    Results are in that of x.
    """

    inner: Predictor
    B: Float[Tensor, "d r"]

    def scratch_per_row(self) -> int:
        """Of the inner function, and gradients in both spaces."""
        return self.inner.scratch_per_row() + 2 * self.B.numel() * self.B.element_size()

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return self.inner(X.to(self.B.dtype) @ self.B).to(X.dtype)

    def gradient(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n c d"]:
        return (self.inner.gradient(X.to(self.B.dtype) @ self.B) @ self.B.T).to(X.dtype)

    def tensors(self) -> dict[str, Tensor]:
        return {"B": self.B, **{f"inner.{k}": t for k, t in self.inner.tensors().items()}}

    def spec(self) -> dict[str, Any]:
        return {"type": "Projected", "inner": self.inner.spec()}


@final
@dataclass(frozen=True)
class SubspaceRefit(OneStage[Projected]):
    """Learn M by `rfm`, then fit `head` on B^T x, B = V_r diag(e^power) of M, of total variance 1.

    A kernel fit in all d inputs pays for each of them even where M says which few matter: a smooth
    kernel on these few does not. Rows are projected in float64 whatever the fit was in.

    `head`: Fitted to all projected rows; its bandwidth is in units of their standard deviation.
    `directions`: r; None: all that are not rounding.
    `power`: How far the eigenvalues of M weigh its directions. None: rows are A x as they are in
        the last round, M = A^2, and `head` is that round, for more rows than a solver takes.

    Source: Rad24, Algorithm 1; Constantine 2015, chapter 4 (response surfaces in the active
    variables).

    >>> from gradfeat.models.kernel_ridge import KernelRidge
    >>> from gradfeat.models.kernels.radial import Gaussian, Laplace
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(400, 8, generator=torch.Generator().manual_seed(0)).double()
    >>> y = (X[:, :1] + X[:, 1:2]).sin()
    >>> rfm = RFM(Laplace(4.0), alpha=1e-3, n_iter=3)
    >>> f = SubspaceRefit(rfm, KernelRidge(Gaussian(0.5), 1e-4), directions=1).fit(in_memory(X, y))
    >>> float((f(X) - y).square().mean() / y.var()) < 1e-2
    True
    """

    rfm: RFM
    head: Learner[KernelMachine | LocalMachines]
    directions: int | None = None
    power: float | None = 0.5

    def fit(self, rows: Rows, *, seed: int = 0) -> Projected:
        """One stage: the passes of the metric, one for the spread, and those of the head."""
        if rows.held is None:
            rows = rows.with_sample(self.rfm.sampled(rows, seed).sample)
        *_, A = self.rfm.metrics(rows, seed=seed)
        if self.power is None:
            B = torch.diag(A) if A.ndim == 1 else A
        else:
            B = _of_variance_one(A, self.directions, self.power, rows)
        return Projected(self.head.fit(rows.mapped(_onto(B, rows)), seed=seed), B.double())


@final
@dataclass(frozen=True, eq=False)
class InMetric(OneStage[Projected]):
    """Fit `head` as a :class:`SubspaceRefit` does in a given M = A^2, A as of `apply_metric`."""

    A: Tensor
    head: Learner[KernelMachine | LocalMachines]
    directions: int | None = None
    power: float = 0.5

    def fit(self, rows: Rows, *, seed: int = 0) -> Projected:
        """One stage: a pass for the spread, and those of the head."""
        B = _of_variance_one(self.A, self.directions, self.power, rows)
        return Projected(self.head.fit(rows.mapped(_onto(B, rows)), seed=seed), B.double())


def _of_variance_one(A: Tensor, directions: int | None, power: float, rows: Rows) -> Tensor:
    """:func:`leading_metric` in the unit in which B^T x has total variance 1."""
    # In the order of rows, as other processes get it: the order decides on rounding.
    B = leading_metric(A, directions, power).contiguous()
    moments = rows.mapped(_onto(B, rows)).moments("spread in the directions")
    variance = float(moments.xx.trace() / moments.weight)
    return B / variance**0.5 if variance > 0 else B


def _onto(B: Tensor, rows: Rows) -> Affine:
    """B^T x in the place of x."""
    none = rows.template
    return inputs_only(B.new_zeros(len(B)), B, none.y.shape[1])
