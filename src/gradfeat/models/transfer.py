"""Features learned elsewhere and few rows: a linear part only where leave-one-out asks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from .base import unit_weights
from .head import RidgeHead
from .two_layer import TwoLayer


@dataclass(frozen=True, eq=False)
class Transfer:
    """A net with a new head, and how the head was chosen.

    Attributes
    ----------
    net : TwoLayer
        The first layer as it was, the head fitted.
    penalty : float
        lambda.
    linear : float
        Scale s of the linear part; 0 where there is none.
    left_out : Tensor (n, c)
        What the same head fitted without row i predicts at row i.
    loss : float
        Weighted mean squared error of `left_out`, summed over outputs.
    """

    net: TwoLayer
    penalty: float
    linear: float
    left_out: Float[Tensor, "n c"]
    loss: float


def transfer(
    net: TwoLayer,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n k"],
    head: RidgeHead,
    *,
    linear: bool = True,
    weights: Float[Tensor, " n"] | None = None,
    seed: int = 0,
) -> Transfer:
    """Head on the features of `net` and, if that pays, on the inputs themselves: one ridge.

    min over b, beta, a of sum_i w_i |y_i - b - beta.x_i - a.sigma(W x_i + b_0)|^2
    + lambda (|a|^2 + |beta|^2 / s^2), for s = 0 (no beta), s = 1, and the s at which the inputs
    have as much variance as the features; the s of least leave-one-out error is taken. A plain
    linear part would need n of order d rows; the features need n of order r^p only.

    Parameters
    ----------
    net : TwoLayer
        Where the first layer comes from.
    X, y : Tensor (n, d), (n, k)
        Rows and targets of the new problem; fewer rows than neurons or inputs are solved in the
        dual (n x n) form.
    head : RidgeHead
        lambda, or how it is chosen for each s.
    linear : bool
        False allows s = 0 only.
    weights : Tensor (n,), optional
        Positive row weights.
    seed : int
        Of the rows that a head chosen by validation holds out.

    Source: Damian22, Theorem 3.

    Examples
    --------
    >>> from gradfeat.models.gradient_step import GradientStep
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(3000, 50, generator=torch.Generator().manual_seed(0)).double()
    >>> net = GradientStep(width=200).fit(in_memory(X, X[:, :1] ** 2))
    >>> found = transfer(net, X[:40], X[:40, :1].abs(), RidgeHead())
    >>> bool((found.net(X) - X[:, :1].abs()).square().mean() < 0.15)
    True
    """
    w = unit_weights(X, weights)
    F, Z = (_varying(A, w / w.sum()) for A in (net.features(X), X))
    found = [_at(net, Z, F, y, s, head, w, seed) for s in _scales(F, Z, w, linear=linear)]
    return min(found, key=lambda one: one.loss)


def _varying(A: Tensor, share: Tensor) -> Tensor:
    """A with zeros in the columns whose spread about the mean is rounding."""
    spread = share @ (A - share @ A).square()
    rounding = 64 * torch.finfo(A.dtype).eps * A.abs().amax(0)
    return torch.where(spread.sqrt() > rounding, A, 0.0)


def _scales(F: Tensor, X: Tensor, w: Tensor, *, linear: bool) -> list[float]:
    """0, 1 and sqrt(tr cov F / tr cov X)."""
    of_F, of_X = (float(_variance(A, w / w.sum())) for A in (F, X))
    if not (linear and of_F > 0 and of_X > 0):
        return [0.0, 1.0] if linear and of_X > 0 else [0.0]
    return [0.0, 1.0, (of_F / of_X) ** 0.5]


def _variance(A: Tensor, share: Tensor) -> Tensor:
    return share @ (A - share @ A).square().sum(1)


def _at(
    net: TwoLayer,
    X: Tensor,
    F: Tensor,
    y: Tensor,
    s: float,
    head: RidgeHead,
    w: Tensor,
    seed: int,
) -> Transfer:
    """The fit at one scale of the linear part."""
    path, means, lam = head.path(torch.cat([F, s * X], 1) if s else F, y, w, seed)
    both = path.coefficients(lam)
    a, rest = both[: F.shape[1]], both[F.shape[1] :]
    beta = s * rest if s else X.new_zeros(X.shape[1], y.shape[1])
    new = replace(net, a=a, offset=path.offset - means @ both, beta=beta)
    return Transfer(new, lam, s, path.loo_predictions(lam), path.loo(lam))
