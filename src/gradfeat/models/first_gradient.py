"""Is the first gradient informative? A test of its leading singular value against chance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.blocks import Block, unit_weights
from ..maths.deadline import deadline_passed
from ..maths.gram import smaller_gram
from ..maths.streams import null_draws, p_value
from ..maths.whitening import whitening_of
from ..rows.rows import in_memory
from .gradient_step import GradientStep, RowSpace

#: Rows, entries of X, and neurons that the test looks at.
TEST_ROWS, TEST_NUMBERS, TEST_WIDTH = 5000, 250_000, 256
#: Draws of each kind after which a test ends where the time is over: enough for a p of 1/40.
FEWEST_DRAWS = 39


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
    """Test of the first gradient step in whitened inputs against targets that say nothing of them.

    p = (1 + number of draws whose statistic is at least the observed one) / (1 + draws), the larger
    one of shuffled targets and of targets with random signs: where y^2 depends on x, shuffles alone
    find a gradient too often (see :class:`gradfeat.maths.streams.NullDraws`). There are
    `permutations` draws of each kind; `learner` is whose activation and initialisation are tested.

    Source: shuffles are exact by exchangeability (Fisher); the statistic is Damian22's Lemma 1.
    """
    learner = GradientStep(TEST_WIDTH) if learner is None else learner
    rows = max(500, min(TEST_ROWS, TEST_NUMBERS // X.shape[1]))
    w = unit_weights(X, weights)[:rows]
    X, y = X[:rows], y[:rows]
    X = whitening_of(Block(X, y, w))(X)
    start = learner.start(in_memory(X, y, w), seed)
    # The second half of the neurons mirrors the first one.
    half = len(start.b) // 2
    slopes = learner.activation.derivative(torch.addmm(start.b[:half], X, start.W[:half].T))
    parts = torch.stack([y - (w @ y) / w.sum(), y - X @ start.beta - start.offset])
    # Norms and singular values are the same in coordinates of the rows' span.
    Z = RowSpace.of(in_memory(X, y, w)).rows.block("a test of the first gradient").X
    weighted = w[:, None] * Z

    def statistics(parts: Tensor) -> tuple[float, float]:
        """|beta| and the leading singular value of the gradient, squared."""
        centred, residual = parts
        pulled = (residual[:, :, None] * weighted[:, None, :]).flatten(1)
        by_output = (slopes.T @ pulled).view(half, y.shape[1], -1)
        G = torch.einsum("mcd,mc->md", by_output, start.a[:half])
        return float((weighted.T @ centred).norm()), float(
            torch.linalg.eigvalsh(smaller_gram(G), UPLO="U")[-1]
        )

    nulls = null_draws(len(X), permutations, seed)
    observed = torch.tensor(statistics(parts))
    shuffled, flipped = [], []
    for order, sign in zip(nulls.orders.T.to(X.device), nulls.signs.T.to(X), strict=True):
        shuffled.append(statistics(parts[:, order]))
        flipped.append(statistics(parts * sign[:, None]))
        if len(shuffled) >= FEWEST_DRAWS and deadline_passed():
            break
    linear_p, gradient_p = (
        max(p_value(float(observed[k]), torch.tensor(null)[:, k]) for null in (shuffled, flipped))
        for k in (0, 1)
    )
    return GradientTest(linear_p, gradient_p)
