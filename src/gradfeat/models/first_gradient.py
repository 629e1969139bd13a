"""Is the first gradient informative? A permutation test on its leading singular value."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block, FirstLayerGradient, Moments, collect
from ..maths.streams import stream
from ..maths.whitening import whitening
from .base import unit_weights
from .gradient_step import GradientStep

#: Rows, entries of X, and neurons that the test looks at.
TEST_ROWS, TEST_NUMBERS, TEST_WIDTH = 5000, 250_000, 256


@dataclass(frozen=True)
class GradientTest:
    """P-values of the linear part and of the first gradient beyond it, and the verdict at 5 %.

    ``linear_p`` tests beta = E[y x] (information exponent 1), ``gradient_p`` the leading singular
    value of the first-layer gradient at the residual y - alpha - beta.x (exponent 2).
    """

    linear_p: float
    gradient_p: float
    level: float = 0.05

    @property
    def informative(self) -> bool:
        """Whether either part is beyond chance, at `level` over both (Bonferroni)."""
        return min(self.linear_p, self.gradient_p) <= self.level / 2


def first_gradient_test(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n c"],
    *,
    weights: Float[Tensor, " n"] | None = None,
    permutations: int = 99,
    seed: int = 0,
    learner: GradientStep | None = None,
) -> GradientTest:
    """Permutation test of the first gradient step: targets are shuffled against the inputs.

    p = (1 + number of shuffles whose statistic is at least the observed one) / (1 + shuffles).

    Parameters
    ----------
    X, y : Tensor (n, d), (n, c)
        Inputs (whitened here), and targets.
    weights : Tensor (n,), optional
        Row weights.
    permutations, seed : int
        Shuffles, and their seed.
    learner : GradientStep, optional
        Activation and initialisation of the network tested.

    Source: the null is exact by exchangeability (Fisher); the statistic is Damian22's Lemma 1.

    Examples
    --------
    >>> X = torch.randn(1000, 5, generator=torch.Generator().manual_seed(0)).double()
    >>> first_gradient_test(X, X[:, :1] ** 2).informative
    True
    """
    learner = GradientStep(TEST_WIDTH) if learner is None else learner
    rows = max(500, min(TEST_ROWS, TEST_NUMBERS // X.shape[1]))
    w = unit_weights(X, weights)[:rows]
    X, y = X[:rows], y[:rows]
    mean, P = whitening(Block(X, y, w))
    X = (X - mean) @ P
    net = learner.start(Block(X, y, w), seed)
    residual = y - X @ net.beta - net.offset
    generator = stream(seed, "first gradient test")

    def statistics(y: Tensor, r: Tensor) -> tuple[float, float]:
        """|beta| and the leading singular value of the gradient."""
        linear = collect(Moments(), [Block(X, y, w)]).xy.norm()
        step = FirstLayerGradient(
            net.W, net.b, net.a, learner.activation.derivative, lambda _, target: target
        )
        G = collect(step, [Block(X, r, w)]).W
        return float(linear), float(torch.linalg.eigvalsh(G.T @ G)[-1])

    observed, exceed = statistics(y, residual), [1, 1]
    for _ in range(permutations):
        order = torch.randperm(len(X), generator=generator)
        drawn = statistics(y[order], residual[order])
        exceed = [e + (s >= o) for e, s, o in zip(exceed, drawn, observed, strict=True)]
    linear_p, gradient_p = (e / (1 + permutations) for e in exceed)
    return GradientTest(linear_p, gradient_p)
