"""Gradient-step learner: Algorithm 1 of Damian22, more first-layer steps, and whitened inputs.

And whether the first gradient is informative, by its leading singular value against chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from ..maths.activations import Activation, ReLU
from ..maths.blocks import Block, unit_weights
from ..maths.limits import deadline_passed
from ..maths.linear_algebra import row_basis, smaller_gram
from ..maths.statistics.gradient_sums import FirstLayerGradient, GradientOuterProducts
from ..maths.statistics.moments import (
    Whitening,
    WholeWhitening,
    inputs_only,
    whitening,
    whitening_of,
)
from ..maths.streams import null_draws, p_value
from ..rows.rows import Rows, in_memory, of_block
from .base import Staged
from .head import (
    AffineRest,
    Linear,
    NetworkRest,
    RidgeHead,
    affine_part,
    check_rows_came,
    with_head,
)
from .predictors import TwoLayer
from .random_features import draw, draw_first_layer


@final
@dataclass(frozen=True, eq=False)
class RowSpace:
    """Coordinates z = V^T x of rows X = Z V^T, V (d, n) orthonormal, where n < d.

    A first layer that is made of gradients of a net lies in the span of the rows, so that all of
    it happens in n coordinates: the same net, at a cost that follows the rank. Of other rows (more
    than columns, or streamed) the coordinates are the inputs.

    `rows`: In these coordinates. `V` (d, n) or None: None: the inputs.

    >>> import torch
    >>> from gradfeat.rows import in_memory
    >>> X = torch.tensor([[3.0, 4.0]])
    >>> space = RowSpace.of(in_memory(X, X[:, :1]))
    >>> space.rows.held.X.abs().tolist(), space.inward(X).abs().tolist()
    ([[5.0]], [[5.0]])
    """

    rows: Rows
    V: Float[Tensor, "d n"] | None = None

    @classmethod
    def of(cls, rows: Rows) -> RowSpace:
        held = rows.held
        V = None if held is None else row_basis(held.X)
        if held is None or V is None:
            return cls(rows)
        return cls(of_block(Block(held.X @ V, held.y, held.w)), V)

    @property
    def columns(self) -> int:
        """d, of the rows as they came."""
        return (self.rows.template.X if self.V is None else self.V.T).shape[1]

    def inward(self, W: Float[Tensor, "m d"]) -> Float[Tensor, "m n"]:
        """Vectors in these coordinates, without what is orthogonal to all rows."""
        return W if self.V is None else W @ self.V

    def net_inward(self, net: TwoLayer) -> TwoLayer:
        return replace(net, W=self.inward(net.W), beta=self.inward(net.beta.T).T)

    def net_outward(self, net: TwoLayer) -> TwoLayer:
        """A net of the coordinates as a function of the inputs."""
        if self.V is None:
            return net
        return replace(net, W=net.W @ self.V.T, beta=self.V @ net.beta)


@final
@dataclass(frozen=True)
class GradientStep(Staged[TwoLayer]):
    """One gradient step finds the features, ridge uses them: alpha + beta.x + a.sigma(W1 x + b).

    alpha = mean y, beta = (1/n) sum_i y_i x_i, r = y - alpha - beta.x;
    W1 = -eta grad_W L = (2 eta/n) sum_i r_i a_j sigma'(w_j.x_i) x_i at the antisymmetric start
    (f_0 = 0, W0 rows N(0, I/d), a_j = +-1, b = 0); b ~ N(0, 1) drawn anew; a by ridge on r.
    Inputs should be centred and have about unit covariance.

    Further steps (``n_steps`` > 1) start from the fitted net f:
    ``update="agop"`` draws the rows of W from N(0, M / tr M), M the AGOP of f, which is the fixed
    point that the neural feature ansatz W^T W ~ AGOP describes; ``update="gradient"`` takes a
    gradient step W + eta G at the fitted head.

    `width`: Number of neurons, even.
    `n_steps`: First-layer steps; 0 is random features with b ~ N(0, 1).
    `step_size`: eta; None gives each step rows of unit root-mean-square norm.
    `redraw_biases`: Draw b anew after each step, or keep b = 0.
    `linear`: beta as printed, by ridge with a penalty chosen as the head's (for correlated inputs,
        or more columns than rows), or no affine part beyond the head's.
    `head`: How a is fitted; no intercept as printed.

    Source: Damian22, Algorithm 1; Rad24 for the AGOP update.

    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(2000, 10, generator=torch.Generator().manual_seed(0)).double()
    >>> net = GradientStep(width=200).fit(in_memory(X, (X[:, :1] ** 2 - 1) / 2**0.5))
    >>> bool((net.W[:, 0].abs() / net.W.norm(dim=1)).median() > 0.9)
    True
    """

    width: int = 1024
    activation: Activation = field(default_factory=ReLU)
    n_steps: int = 1
    step_size: float | None = None
    update: Literal["agop", "gradient"] = "agop"
    redraw_biases: bool = True
    linear: Linear = "moment"
    head: RidgeHead = field(default_factory=lambda: RidgeHead(intercept=False))

    def __post_init__(self) -> None:
        if self.width % 2 or self.width < 2:
            raise ValueError(
                f"width is {self.width}: the antisymmetric start pairs neurons, give an even "
                "number."
            )

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[TwoLayer]:
        """The nets after 1, ..., `n_steps` steps (or after none), each with its fitted head."""
        start = self.start(rows, seed)
        if self.n_steps == 0:
            yield self._random_features(start, rows, seed)
            return
        space = RowSpace.of(rows)
        for net in self._steps(space.net_inward(start), space, seed):
            yield space.net_outward(net)

    def _steps(self, start: TwoLayer, space: RowSpace, seed: int) -> Iterator[TwoLayer]:
        """The nets in the coordinates of the rows, in which every step lies."""
        net, rows = start, space.rows
        for step in range(1, self.n_steps + 1):
            if step == 1:
                W = self._sized(self._gradient(net, rows, mirrored=True))
            elif self.update == "gradient":
                W = net.W + self._sized(self._gradient(net, rows, mirrored=False))
            else:
                W = self._ansatz(net, space, seed, step)
            b = start.b
            if self.redraw_biases:
                b = draw(rows.template.X, seed, f"b{step}", self.width)
            net = with_head(replace(start, W=W, b=b), rows, self.head, seed)
            yield net

    def start(self, rows: Rows, seed: int = 0) -> TwoLayer:
        """The antisymmetric network (zero) plus the affine part alpha + beta.x."""
        none, half = rows.template, self.width // 2
        W = draw_first_layer(none.X, half, "gaussian", seed).repeat(2, 1)
        offset, beta = affine_part(rows, self.linear, self.head.select)
        a = draw(none.X, seed, "a", half, none.y.shape[1]).sign()[:, _ranks(beta)]
        b = none.X.new_zeros(self.width)
        return TwoLayer(W, b, torch.cat([a, -a]), offset, beta, self.activation)

    def _random_features(self, start: TwoLayer, rows: Rows, seed: int) -> TwoLayer:
        none = rows.template
        W = draw_first_layer(none.X, self.width, "gaussian", seed)
        b = draw(none.X, seed, "b", self.width)
        return with_head(replace(start, W=W, b=b), rows, self.head, seed)

    def _gradient(self, net: TwoLayer, rows: Rows, *, mirrored: bool) -> Tensor:
        """Minus the gradient of the mean squared error in W.

        A `mirrored` start is zero, and the gradient of its second half is minus that of its first.
        """
        half = slice(None, self.width // 2 if mirrored else None)
        rest = AffineRest(net.offset, net.beta) if mirrored else NetworkRest(net)
        gradient = FirstLayerGradient(net.W[half], net.b[half], net.a[half], self.activation, rest)
        sums = rows.collect(gradient, "gradient")
        check_rows_came(sums.weight)
        G = (2 * sums.WT.T / sums.weight).to(net.W)
        return torch.cat([G, -G]) if mirrored else G

    def _sized(self, G: Tensor) -> Tensor:
        if self.step_size is not None:
            return self.step_size * G
        size = G.square().sum(1).mean().sqrt()
        return G / size if size > 0 else G

    def _ansatz(self, net: TwoLayer, space: RowSpace, seed: int, step: int) -> Tensor:
        """Rows from N(0, M / tr M); a constant net keeps its rows."""
        rows = space.rows
        products = GradientOuterProducts(net.gradient, net.scratch_per_row())
        e, V = torch.linalg.eigh(rows.collect(products, f"gradients after step {step - 1}"))
        e = e.clamp(min=0)
        if not e.sum() > 0:
            return net.W
        root = (V * (e / e.sum()).sqrt()) @ V.T
        X, d = rows.template.X, space.columns
        return space.inward(draw(X, seed, f"W{step}", self.width, d)) @ root.to(X)


@final
@dataclass(frozen=True)
class Whitened(Staged[TwoLayer]):
    """Fit `inner` on z = (C + shrinkage tr(C)/d I)^{-1/2} (x - mean x); C is the covariance of x.

    The theory of the gradient step is for isotropic inputs; on correlated ones the step follows
    the leading principal components instead of the target. The returned net takes x itself.

    `shrinkage`: Towards isotropy; None is d/n, between 1e-3 and 1, so that noise is not blown up.

    >>> import torch
    >>> from gradfeat.rows import in_memory
    >>> X = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> X[:, 1] += 5 * X[:, 0]
    >>> net = Whitened(GradientStep(width=64)).fit(in_memory(X, X[:, :1]))
    >>> bool((net(X) - X[:, :1]).square().mean() < 1e-3)
    True
    """

    inner: GradientStep
    shrinkage: float | None = None

    def fit_path(self, rows: Rows, *, seed: int = 0) -> Iterator[TwoLayer]:
        found, whitened = self._whitened(rows)
        for net in self.inner.fit_path(whitened, seed=seed):
            yield in_original(net, found)

    def _whitened(self, rows: Rows) -> tuple[Whitening, Rows]:
        held = rows.held
        if held is not None and len(held.X) < held.X.shape[1]:
            thin = whitening_of(held, self.shrinkage)
            return thin, of_block(Block(thin(held.X), held.y, held.w))
        X, c = rows.template.X, rows.template.y.shape[1]
        found = whitening(rows.moments(), self.shrinkage)
        return WholeWhitening(*(t.to(X) for t in found)), rows.mapped(inputs_only(*found, c))


def in_original(net: TwoLayer, found: Whitening) -> TwoLayer:
    """A net of whitened inputs as the same function of the inputs."""
    W, beta = found.turned(net.W), found.turned(net.beta.T).T
    b, offset = net.b - W @ found.mean, net.offset - found.mean @ beta
    return replace(net, W=W, beta=beta, b=b, offset=offset)


#: Rows, entries of X, and neurons that the test looks at.
TEST_ROWS, TEST_NUMBERS, TEST_WIDTH = 5000, 250_000, 256
#: Draws of each kind after which a test ends where the time is over: enough for a p of 1/40.
FEWEST_DRAWS = 39


def _ranks(beta: Float[Tensor, "d c"]) -> Tensor:
    """The place of each output by the size of its linear part, to about 1e-5 of the largest.

    The first draws are for the largest, so that which class is called the first changes no fit.
    """
    size = beta.norm(dim=0)
    steps = (size / size.max() * 1e5 / torch.pi).nan_to_num().round()
    return steps.argsort(descending=True, stable=True).argsort()


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
    narrow = torch.float32  # a draw that changes nothing is no smaller by rounding
    observed = torch.tensor(statistics(parts), dtype=narrow)
    shuffled, flipped = [], []
    for order, sign in zip(nulls.orders.T.to(X.device), nulls.signs.T.to(X), strict=True):
        shuffled.append(statistics(parts[:, order]))
        flipped.append(statistics(parts * sign[:, None]))
        if len(shuffled) >= FEWEST_DRAWS and deadline_passed():
            break
    linear_p, gradient_p = (
        max(
            p_value(float(observed[k]), torch.tensor(null, dtype=narrow)[:, k])
            for null in (shuffled, flipped)
        )
        for k in (0, 1)
    )
    return GradientTest(linear_p, gradient_p)
