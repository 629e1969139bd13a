"""One gradient step on the first layer, then ridge (Moniri24, Ba22)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, final

from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, CentredReLU
from ..maths.blocks import Block
from ..maths.residuals import RESIDUALS, Residual
from .base import unit_weights
from .head import RidgeHead
from .refit import with_head
from .rows_learner import PassLearner
from .step_sizes import check_name, step_on
from .training_rows import InMemory, TrainingRows
from .two_layer import TwoLayer


@final
@dataclass(frozen=True)
class OneStep(PassLearner[TwoLayer]):
    """W = W0 + eta G, G = (1/n) [(a r^T) o sigma'(W0 X^T)] X; then ridge on sigma(X~ W^T).

    a ~ N(0, I/N), W0 rows on the unit sphere, no biases, head
    argmin (1/n)|y~ - F a|^2 + lam |a|^2 without intercept.

    Parameters
    ----------
    width : int
        N.
    eta : float
        Step size (n^alpha in the theory); 0 is random features.
    lam : float
        Ridge penalty.
    activation : Activation
        sigma; the theory wants c_0 = 0.
    residual : {"y", "y - f0", "ba22"}
        r = y (the printed theory), y - f_0 (the true gradient), or y - f_0 / sqrt(N) (the residual
        of Ba22, whose output has this further factor), with f_0 = sigma(X W0^T) a.
    sample : {"fresh", "same"}
        Head on rows that the gradient has not seen (``fit`` splits its rows in halves), or on
        the same rows (the result differs several-fold).

    Raises
    ------
    ValueError
        Where `residual` or `sample` is another name.

    See Also
    --------
    gradfeat.models.step_errors.step_errors : many step sizes from one gradient.

    Source: Moniri24, Section 2; Ba et al. 2022.

    Examples
    --------
    >>> import torch
    >>> X = torch.randn(400, 20, generator=torch.Generator().manual_seed(0)).double()
    >>> net = OneStep(width=100, eta=20.0, lam=0.01).fit(X, X[:, :1])
    >>> net.W.shape
    torch.Size([100, 20])
    """

    width: int
    eta: float
    lam: float
    activation: Activation = field(default_factory=CentredReLU)
    residual: Residual = "y"
    sample: Literal["fresh", "same"] = "fresh"

    def __post_init__(self) -> None:
        check_name("residual", self.residual, RESIDUALS)
        check_name("sample", self.sample, ("fresh", "same"))

    def fit_path(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> Iterator[TwoLayer]:
        """Fit on one sample; with ``sample="fresh"`` half of it is kept for the head."""
        return self.path(InMemory(Block(X, y, unit_weights(X, weights))), seed)

    def path(self, data: TrainingRows, seed: int = 0) -> Iterator[TwoLayer]:
        """:meth:`fit_path` on rows in memory or passed over (halves are then by hash)."""
        one, two = data.halves(seed) if self.sample == "fresh" else (data, data)
        step = step_on(one, self.width, self.activation, self.residual, seed)
        yield self._with_head(step.network(self.eta), two)

    def step(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        seed: int = 0,
    ) -> TwoLayer:
        """The network after the gradient step: W0 + eta G with the initial head."""
        data = InMemory(Block(X, y, unit_weights(X, weights)))
        return step_on(data, self.width, self.activation, self.residual, seed).network(self.eta)

    def fit_head(
        self,
        net: TwoLayer,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, "n c"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> TwoLayer:
        """Ridge on the features of `net` at (X, y)."""
        return self._with_head(net, InMemory(Block(X, y, unit_weights(X, weights))))

    def _with_head(self, net: TwoLayer, data: TrainingRows) -> TwoLayer:
        """The penalty is that of a mean over rows; the initial head leaves no trace."""
        return with_head(net, data, RidgeHead(self.lam, intercept=False, mean=True))
