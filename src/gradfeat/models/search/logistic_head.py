"""Kernel logistic regression as the last fit of an RFM on codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...rows.rows import Rows, in_memory
from ..base import Learner
from ..kernel_logistic import KernelLogistic
from ..kernel_machine import KernelMachine, apply_metric
from ..rfm import RFM


def codes_of(y: Float[Tensor, "n c"]) -> tuple[Float[Tensor, "n c"], Float[Tensor, " c"]]:
    """+-1 codes, and what was subtracted from them to give y (a constant between -1 and 1).

    Examples
    --------
    >>> codes_of(torch.tensor([[0.5], [-1.5]]))
    (tensor([[ 1.],
            [-1.]]), tensor([0.5000]))
    """
    codes = torch.where(y > 0, 1.0, -1.0).to(y)
    return codes, (codes - y)[0]


def share(c: int) -> float:
    """What decisions are of logits: half of the one of two classes, softmax(-f/2, f/2)_2."""
    return 0.5 if c == 1 else 1.0


@final
@dataclass(frozen=True)
class ShiftedLogistic(Learner[KernelMachine]):
    """Kernel logistic regression on codes of which a constant was subtracted, as y - mean y.

    That constant is subtracted from the logits too, so that adding it gives logits: f of several
    classes, and (-f, f) those of two.

    Attributes
    ----------
    logistic : KernelLogistic
        The fit to the codes themselves.

    Examples
    --------
    >>> from gradfeat.models.kernels.radial import Gaussian
    >>> from gradfeat.rows import in_memory
    >>> X = torch.linspace(-1, 1, 6).double()[:, None]
    >>> f = ShiftedLogistic(KernelLogistic(Gaussian(1.0), alpha=0.1))
    >>> f = f.fit(in_memory(X, X.sign() - 0.3))
    >>> bool(((f(X) + 0.3).sign() == X.sign()).all())
    True
    """

    logistic: KernelLogistic

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[KernelMachine]:
        """One stage; no randomness."""
        block = rows.block("logistic loss")
        codes, shift = codes_of(block.y)
        f = self.logistic.fit(in_memory(block.X, codes, block.w), seed=seed)
        half = share(codes.shape[1])
        yield replace(f, c=half * f.c, offset=half * f.offset - shift)


@final
@dataclass(frozen=True)
class LastRound(Learner[KernelMachine]):
    """Learn M = A^2 by `rfm`, then fit `head` on A x in place of its last round.

    Attributes
    ----------
    rfm : RFM
        How M is learnt.
    head : Learner
        What is fitted.

    Examples
    --------
    >>> from gradfeat.models.kernel_ridge import KernelRidge
    >>> from gradfeat.models.kernels.radial import Laplace
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> y, rfm = X[:, :1].sign(), RFM(Laplace(3.0), alpha=0.1, n_iter=2)
    >>> rows = in_memory(X, y)
    >>> f = LastRound(rfm, KernelRidge(Laplace(3.0), 0.1)).fit(rows)
    >>> torch.allclose(f(X), rfm.fit(rows)(X))
    True
    """

    rfm: RFM
    head: Learner[KernelMachine]

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[KernelMachine]:
        """One stage."""
        block = rows.block("an RFM with another last round")
        *_, A = self.rfm.metrics(rows, seed=seed)
        last = in_memory(apply_metric(block.X, A), block.y, block.w)
        yield replace(self.head.fit(last, seed=seed), Z=block.X, A=A)
