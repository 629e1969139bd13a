"""One gradient step on the first layer, then ridge (Moniri24, Ba22)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from ..maths.activations import Activation, CentredReLU
from ..maths.step_names import RESIDUALS, ROW_LAWS, ROW_USES, Residual, RowLaw, RowUse
from ..rows.rows import Rows
from .base import OneStage
from .head import RidgeHead, with_head
from .step_sizes import check_name, first_step
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class OneStep(OneStage[TwoLayer]):
    """W = W0 + eta G, G = (1/n) [(a r^T) o sigma'(W0 X^T)] X; then ridge on sigma(X~ W^T).

    a ~ N(0, I/N), no biases, head argmin (1/n)|y~ - F a|^2 + lam |a|^2.

    `eta`: Step size (n^alpha in the theory); 0 is random features.
    `residual`: r = y (the printed theory), y - f_0 (the true gradient), or y - f_0 / sqrt(N) (the
        residual of Ba22, whose output has this further factor), with f_0 = sigma(X W0^T) a.
    `sample`: Head on rows that the gradient has not seen (``fit`` splits its rows in halves), or on
        the same rows (the result differs several-fold).
    `rows`: Rows of W0 uniform on the unit sphere, or from N(0, I/d): their lengths then carry a
        constant, which matters from l = 2 on.
    `intercept`: Whether the head has one, without penalty.

    Source: Moniri24, Section 2; Ba et al. 2022.

    >>> import torch
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(400, 20, generator=torch.Generator().manual_seed(0)).double()
    >>> net = OneStep(width=100, eta=20.0, lam=0.01).fit(in_memory(X, X[:, :1]))
    >>> net.W.shape
    torch.Size([100, 20])
    """

    width: int
    eta: float
    lam: float
    activation: Activation = field(default_factory=CentredReLU)
    residual: Residual = "y"
    sample: RowUse = "fresh"
    rows: RowLaw = "sphere"
    intercept: bool = False

    def __post_init__(self) -> None:
        check_name("residual", self.residual, RESIDUALS)
        check_name("sample", self.sample, ROW_USES)
        check_name("rows", self.rows, ROW_LAWS)

    def fit(self, rows: Rows, *, seed: int = 0) -> TwoLayer:
        """Fit on one sample; with ``sample="fresh"`` half of it is kept for the head."""
        one, two = rows.halves(seed) if self.sample == "fresh" else (rows, rows)
        return self.fit_head(self.step(one, seed=seed), two)

    def step(self, rows: Rows, *, seed: int = 0) -> TwoLayer:
        """The network after the gradient step: W0 + eta G with the initial head."""
        step = first_step(
            rows, width=self.width, activation=self.activation, residual=self.residual,
            law=self.rows, seed=seed,
        )  # fmt: skip
        return step.network(self.eta)

    def fit_head(self, net: TwoLayer, rows: Rows) -> TwoLayer:
        """Ridge on the features of `net` at the rows; the initial head leaves no trace.

        The penalty is that of a mean over rows.
        """
        return with_head(net, rows, RidgeHead(self.lam, intercept=self.intercept, mean=True))
