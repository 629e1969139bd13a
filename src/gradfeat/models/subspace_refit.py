"""The last fit of a recursive feature machine inside the directions it has found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.statistics.affine import Affine, inputs_only
from ..rows.rows import Rows
from .base import Learner
from .kernel_machine import KernelMachine
from .projected import Projected
from .rfm import RFM


def eigenpairs(A: Tensor) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Eigenvalues of M = A^2, decreasing, and vectors; of a diagonal M (A of shape (d,)) inputs.

    Examples
    --------
    >>> eigenpairs(torch.tensor([1.0, 3.0]))[0].tolist()
    [9.0, 1.0]
    """
    if A.ndim == 1:
        order = A.argsort(descending=True, stable=True)
        return A[order].square(), torch.eye(len(A), dtype=A.dtype, device=A.device)[:, order]
    root, V = torch.linalg.eigh(A.double())
    return root.flip(0).clamp(min=0).square().to(A), V.flip(1).to(A)


def leading_metric(
    e: Float[Tensor, " d"], V: Float[Tensor, "d d"], directions: int | None, power: float
) -> Float[Tensor, "d r"]:
    """V_r diag(e_1^power, ..., e_r^power): the leading :func:`eigenpairs`, with e_1 = 1.

    Power 1/2 is the metric M cut to rank r, power 0 gives all r directions the same weight.
    Eigenvalues at rounding are left out. Of all directions it is M^power itself: V diag(e^power)
    V^T, the same distances in the coordinates of the inputs.

    Examples
    --------
    >>> leading_metric(*eigenpairs(torch.tensor([1.0, 3.0, 2.0])), 2, 0.0).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    r = int((e > torch.finfo(e.dtype).eps * len(e) * e[0]).sum())
    r = max(1, r if directions is None else min(r, directions))
    B = V[:, :r] * (e[:r] / e[0]) ** power
    return B @ V[:, :r].T if directions is None else B


def unit_variance(
    B: Float[Tensor, "d r"], X: Float[Tensor, "n d"], w: Float[Tensor, " n"]
) -> Float[Tensor, "d r"]:
    """B times the number that gives the rows of X B a total variance of 1 (0 stays 0).

    Examples
    --------
    >>> X = torch.tensor([[-2.0], [2.0]])
    >>> unit_variance(torch.ones(1, 1), X, torch.ones(2)).tolist()
    [[0.5]]
    """
    P, p = X @ B, w / w.sum()
    return _scaled(B, float((p @ (P - p @ P).square()).sum()))


def _scaled(B: Tensor, variance: float) -> Tensor:
    return B / variance**0.5 if variance > 0 else B


@final
@dataclass(frozen=True)
class SubspaceRefit(Learner[Projected]):
    """Learn M by `rfm`, then fit `head` on B^T x, B = V_r diag(e^power) of M, of total variance 1.

    A kernel fit in all d inputs pays for each of them even where M says which few matter: a smooth
    kernel on these few does not. The result is evaluated in float64 whatever the fit was in.

    Parameters
    ----------
    rfm : RFM
        How M is learnt, and from how many rows: after its `n_iter` updates.
    head : Learner
        What is fitted to all projected rows; its bandwidth is in units of their standard deviation.
    directions : int, optional
        r; None: all that are not rounding.
    power : float
        How far the eigenvalues of M weigh its directions.

    Source: Rad24, Algorithm 1; Constantine 2015, chapter 4 (response surfaces in the active
    variables).

    Examples
    --------
    >>> from gradfeat.models.kernel_ridge import KernelRidge
    >>> from gradfeat.models.kernels.radial import Gaussian, Laplace
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(400, 8, generator=torch.Generator().manual_seed(0)).double()
    >>> y = (X[:, :1] + X[:, 1:2]).sin()
    >>> rfm = RFM(Laplace(4.0), alpha=1e-3, n_iter=3)
    >>> f = SubspaceRefit(rfm, KernelRidge(Gaussian(0.5), 1e-4), directions=1)
    >>> f = f.fit(in_memory(X, y))
    >>> float((f(X) - y).square().mean() / y.var()) < 1e-2
    True
    """

    rfm: RFM
    head: Learner[KernelMachine]
    directions: int | None = None
    power: float = 0.5

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[Projected]:
        """One stage: the passes of the metric, one for the spread, and those of the head.

        Raises
        ------
        ValueError
            Where rows are streamed and the head needs them in memory, or its solver has no centres.
        MemoryError
            When not even the matrices of ten centres fit.
        """
        if rows.held is None:
            rows = rows.with_sample(self.rfm.sampled(rows, seed).sample)
        *_, A = self.rfm.metrics(rows, seed=seed)
        # In the order of rows, as other processes get it: the order decides on rounding.
        B = leading_metric(*eigenpairs(A), self.directions, self.power).contiguous()
        moments = rows.mapped(_onto(B, rows)).moments("spread in the directions")
        B = _scaled(B, float(moments.xx.trace() / moments.weight))
        head = self.head.fit(rows.mapped(_onto(B, rows)), seed=seed)
        yield Projected(head.in_float64(), B.double())


def _onto(B: Tensor, rows: Rows) -> Affine:
    """B^T x in the place of x."""
    none = rows.template
    return inputs_only(B.new_zeros(len(B)), B, none.y.shape[1])
