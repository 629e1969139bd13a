"""One gradient step at many step sizes: the gradient and its products with rows are shared."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, Polynomial
from ..maths.limits import BLOCK_BYTES, row_blocks
from ..maths.ranges import one_of
from ..maths.statistics.combined import Joint
from ..maths.statistics.gradient_sums import FirstLayerGradient
from ..maths.step_names import HEAD_LAWS, RESIDUALS, ROW_LAWS, HeadName, Residual, RowLaw
from ..rows.rows import Rows
from .head import NetworkRest, check_rows_came
from .predictors import TwoLayer
from .random_features import draw, draw_first_layer


@dataclass(frozen=True, eq=False)
class StepRows:
    """Some rows seen by every W0 + eta G: sigma(P + eta Q), P = X W0^T, Q = X G^T.

    Memory: P and Q, and F for each call of `features`; no further (n, N) matrix.
    """

    P: Float[Tensor, "n N"]
    Q: Float[Tensor, "n N"]
    activation: Activation

    def features(self, eta: float) -> Float[Tensor, "n N"]:
        """F = sigma(X (W0 + eta G)^T), by blocks of rows."""
        F = torch.empty_like(self.P)
        for rows in row_blocks(len(F), 3 * F.shape[1] * F.element_size(), BLOCK_BYTES):
            F[rows] = self.activation(torch.add(self.P[rows], self.Q[rows], alpha=eta))
        return F


@dataclass(frozen=True, eq=False)
class Step:
    """A network at its start and its gradient: W = W0 + eta G for any eta.

    `W0, a` (N, d), (N, c): First layer, and head, a ~ N(0, I/N).
    `G` (N, d): (1/n) [(a r^T) o sigma'(W0 X^T)] X.
    `beta` (d, c): X^T r / n, the direction that the step writes into W: G is near c_1 a beta^T.
    """

    W0: Float[Tensor, "N d"]
    a: Float[Tensor, "N c"]
    G: Float[Tensor, "N d"]
    beta: Float[Tensor, "d c"]
    activation: Activation

    def W(self, eta: float) -> Float[Tensor, "N d"]:
        return torch.add(self.W0, self.G, alpha=eta)

    def network(self, eta: float) -> TwoLayer:
        """The network after a step of size eta, its head still a."""
        zero = torch.zeros_like(self.beta)
        b = self.W0.new_zeros(len(self.W0))
        return TwoLayer(self.W(eta), b, self.a, zero[0], zero, self.activation)

    def rows(self, X: Float[Tensor, "n d"]) -> StepRows:
        """Products of X with W0 and G, for the features at every eta."""
        return StepRows(X @ self.W0.mT, X @ self.G.mT, self.activation)

    def powers(self, X: Float[Tensor, "n d"], degree: int) -> Float[Tensor, "n degree"]:
        """(X beta)^{ok} for k = 1, ..., degree, side by side: what large steps add to F_0."""
        if self.beta.shape[1] != 1:
            raise ValueError(
                f"the step was made for {self.beta.shape[1]} targets: give first_step one target."
            )
        return (X @ self.beta) ** torch.arange(1, degree + 1, device=X.device)


def first_step(
    rows: Rows,
    *,
    width: int,
    activation: Activation,
    residual: Residual = "y",
    law: RowLaw = "sphere",
    head: HeadName = "gaussian",
    seed: int = 0,
) -> Step:
    """G = (1/n) [(a r^T) o sigma'(W0 X^T)] X and beta = X^T r / n, without a step size yet.

    One pass. r = y, y - f_0 or y - f_0 / sqrt(N), with f_0 = sigma(X W0^T) a; rows of W0 on the
    unit sphere, or from N(0, I/d); `head`: the law of sqrt(N) a_j.

    Source: Moniri24, Section 2; Ba et al. 2022.
    """
    one_of(RESIDUALS, residual=residual)
    one_of(ROW_LAWS, law=law)
    one_of(HEAD_LAWS, head=head)
    X, c = rows.template.X, rows.template.y.shape[1]
    a = _of_law(draw(X, seed, "a", width, c), head) / width**0.5
    W0, b = draw_first_layer(X, width, law, seed), X.new_zeros(width)
    zero = X.new_zeros(X.shape[1], c)
    net = TwoLayer(W0, b, a, zero[0], zero, activation)
    rest = None
    if residual != "y":
        rest = NetworkRest(net, width**-0.5 if residual == "ba22" else 1.0)
    # X^T r is the gradient of c linear neurons, one for each output.
    linear = FirstLayerGradient(zero.T, zero[0], torch.eye(c).to(X), Polynomial((0.0, 1.0)), rest)
    gradient = FirstLayerGradient(W0, b, a, activation, rest)
    sums, products = rows.collect(Joint((gradient, linear)), "gradient")
    check_rows_came(sums.weight)
    G, beta = sums.WT.T / sums.weight, products.WT / sums.weight
    return Step(W0, a, G.to(X), beta.to(X), activation)


def _of_law(z: Tensor, head: HeadName) -> Tensor:
    """Normal draws as draws of the law."""
    match head:
        case "gaussian":
            return z
        case "sign":
            return torch.where(z < 0, -1.0, 1.0).to(z)
        case "ones":
            return torch.ones_like(z)
    return 3**0.5 * torch.erf(z / 2**0.5)
