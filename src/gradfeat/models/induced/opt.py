"""OPT: the least loss of a gradient-feature-induced class, between two certified numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.activations import ReLU
from ...maths.blocks import unit_weights
from ...maths.box_ball import check_bounds
from ...maths.simplified_gradients import check_rows
from ..bounded.head_sets import Simplex
from ..bounded.interior_point import BoundedFit, bounded_head, head_problem
from ..losses import Loss
from ..predictors import TwoLayer
from .network import SignedDirections, grid_neurons


def steepest(
    directions: SignedDirections, X: Float[Tensor, "n d"], B_b: float, c: Float[Tensor, " n"]
) -> tuple[Float[Tensor, "q2 d"], Float[Tensor, " q2"], Float[Tensor, " q2"]]:
    """w = +-D, b of sign s with |b| <= B_b, and max over b of |sum_i c_i relu(<w, x_i> - b)|."""
    D = directions.D.to(X).T
    W = torch.cat([D, -D])
    ends = [sorted((0.0, sign * B_b)) for sign in directions.signs.tolist() * 2]
    best = [
        steepest_bias((X @ w).double(), c.double(), low, high)
        for w, (low, high) in zip(W, ends, strict=True)
    ]
    b, sizes = torch.tensor(best, dtype=torch.float64, device=W.device).T
    return W, b.to(W), sizes


def steepest_bias(
    z: Float[Tensor, " n"], c: Float[Tensor, " n"], low: float, high: float
) -> tuple[float, float]:
    """(b, max) of |sum_i c_i relu(z_i - b)| over low <= b <= high.

    The sum is linear between the z_i, so its largest size is at one of them or at an end.
    """
    z, order = z.sort()
    c = c[order]
    b = torch.cat([z.new_tensor([low, high]), z.clamp(low, high)])
    zero = z.new_zeros(1)
    above = torch.searchsorted(z, b, right=True)  # z[above:] > b
    count = torch.cat([c.flip(0).cumsum(0).flip(0), zero])[above]
    total = torch.cat([(c * z).flip(0).cumsum(0).flip(0), zero])[above]
    sizes = (total - b * count).abs()
    best = int(sizes.argmax())
    return float(b[best]), float(sizes[best])


#: Times that neurons beyond the grid are added where the dual point says they are missing.
ROUNDS = 4
#: Up to this many neurons each is exchanged for a better one in turn, in so many passes.
EXCHANGED, PASSES = 16, 2


@dataclass(frozen=True, eq=False)
class OptBounds:
    """lower <= OPT <= upper on the rows given.

    `upper`: The loss of `network`, a member of the class: r neurons, of which some may be equal.
    `lower`: No member, whatever its biases in the range, has a smaller loss.
    `hull`: Loss of a sum of any number of neurons with sum |a_i| <= min(r B_a1, sqrt(r) B_a2),
        which contains the class: what more neurons at the same total could reach.
    """

    upper: float
    lower: float
    hull: float
    network: TwoLayer


def opt_bounds(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    directions: SignedDirections,
    loss: Loss,
    *,
    r: int,
    B_a1: float = math.inf,
    B_a2: float = math.inf,
    B_b: float,
    biases: int = 16,
    weights: Float[Tensor, " n"] | None = None,
    tolerance: float = 1e-3,
) -> OptBounds:
    """OPT = min mean l(f(x), y) over f = sum_{i<=r} a_i relu(<w_i, x> - b_i), between two bounds.

    The class: w_i one of the given unit directions D up to sign, b_i of the direction's sign with
    |b_i| <= B_b, neurons may repeat, |a_i| <= B_a1, |a|_2 <= B_a2 (no offset).

    *Upper bound of OPT*: the convex fit over the hull of the class shares out the r neurons (few
    of them are then exchanged one by one while that helps), their head is fitted under the bounds;
    the result is in the class. *Lower bound*: for every dual
    point u and f in the class, loss(f) >= -mean l*(u) + mean(u f), and |mean(u f)| <= M max over
    (D, b) of |mean(u relu(<D, x> - b))|, M = min(r B_a1, sqrt(r) B_a2), which r equal neurons
    reach. In b that mean is piecewise linear with kinks at the projections of the rows, so its
    maximum over the whole range of b is exact. Neurons at the maximum are added to the grid.

    `X, y`: Rows and targets (+-1 for hinge and logistic loss).
    `directions`: D and the signs of the biases.
    `loss`: Squared, hinge or logistic.
    `B_a1, B_a2, B_b`: Bounds of |a_i|, |a|_2 and |b_i|; one of the first two and the last finite.
    `biases`: Points of the first grid for each direction and sign.
    `tolerance`: Of both fits, as a share of the loss of f = 0.

    Source: Shi23, the definition of OPT; duality as in Rockafellar 1970, section 31.

    >>> from gradfeat.models.losses import Squared
    >>> X = torch.linspace(-1, 1, 101).double()[:, None]
    >>> one = SignedDirections(torch.ones(1, 1).double(), torch.tensor([1]))
    >>> opt = opt_bounds(X, X[:, 0].abs(), one, Squared(), r=2, B_a1=1.0, B_b=1.0)
    >>> opt.lower <= 0.001 and opt.upper <= 0.001
    True
    """
    if y.ndim != 1 or X.ndim != 2 or X.shape != (len(y), len(directions.D)):
        raise ValueError(
            f"X and y have shapes {tuple(X.shape)} and {tuple(y.shape)}: give "
            f"(n, {len(directions.D)}) and (n,)."
        )
    check_rows(X, y[:, None], weights)
    M = _mass(r, B_a1, B_a2, B_b, directions)
    members = _Members(X, y, directions, loss, B_a1, B_a2, B_b, M, weights, tolerance)
    hull = members.hull(*grid_neurons(directions, X, biases=biases, B_b=B_b, weights=weights))
    kept = torch.repeat_interleave(shared_out(hull.a.abs(), r))
    W, b, fit = members.exchanged(hull.W[kept], hull.b[kept])
    beta = X.new_zeros(X.shape[1], 1)
    network = TwoLayer(W, -b, fit.a.to(X)[:, None], beta[0], beta, ReLU())
    # Both are of a class that contains the network; each fit has its own tolerance.
    lower, hull_value = (min(value, fit.value) for value in (hull.lower, hull.value))
    return OptBounds(fit.value, lower, hull_value, network)


@dataclass(frozen=True, eq=False)
class HullFit:
    """sum_j a_j relu(<W_j, x> - b_j) with sum |a_j| <= M: its loss, and what none goes below."""

    W: Float[Tensor, "m d"]
    b: Float[Tensor, " m"]
    a: Float[Tensor, " m"]
    value: float
    lower: float


@dataclass(frozen=True, eq=False)
class _Members:
    """The class with its rows: heads of given neurons, better neurons, and its hull."""

    X: Tensor
    y: Tensor
    directions: SignedDirections
    loss: Loss
    B_a1: float
    B_a2: float
    B_b: float
    M: float
    weights: Tensor | None
    tolerance: float

    def _features(self, W: Tensor, b: Tensor) -> Tensor:
        return torch.relu(torch.addmm(-b, self.X, W.T))

    def _pulls(self, fit: BoundedFit) -> Tensor:
        """w_i u_i / sum w."""
        w = unit_weights(fit.slopes, self.weights).double()
        return w * fit.slopes / w.sum()

    def _steepest(self, pulls: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return steepest(self.directions, self.X, self.B_b, pulls)

    def fitted(self, W: Tensor, b: Tensor) -> BoundedFit:
        F, w = self._features(W, b), self.weights
        return bounded_head(
            F, self.y, self.loss, B1=self.B_a1, B2=self.B_a2, weights=w, tolerance=self.tolerance
        )

    def exchanged(self, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor, BoundedFit]:
        """These neurons, or few of them with each in turn exchanged for one of a lower loss."""
        fit, r = self.fitted(W, b), len(b)
        for i in [*range(r)] * PASSES if 1 < r <= EXCHANGED else []:
            others = torch.arange(r, device=W.device) != i
            tried_W, tried_b = self._joined(W[others], b[others])
            tried = self.fitted(tried_W, tried_b)
            if tried.value < fit.value:
                W, b, fit = tried_W, tried_b, tried
        return W, b, fit

    def _joined(self, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """These neurons, first the one along which the loss falls fastest at their fit."""
        rows, biases, sizes = self._steepest(self._pulls(self.fitted(W, b)))
        at = int(sizes.argmax())
        return torch.cat([rows[at : at + 1], W]), torch.cat([biases[at : at + 1], b])

    def hull(self, W: Tensor, b: Tensor) -> HullFit:
        """The best of all sums of neurons with sum |a_j| <= M, from a grid's neurons on.

        While a neuron beyond the grid could lower the dual bound by more than the tolerance, the
        best one of each direction joins the grid.
        """
        lower, (fit, pulls, largest) = 0.0, self._on_grid(W, b)
        for _ in range(ROUNDS):
            new_W, new_b, sizes = self._steepest(pulls)
            missed = self.M * max(0.0, float(sizes.max()) - largest)
            lower = max(lower, fit.lower - missed)
            if missed <= fit.tolerance:
                break
            better = sizes > largest
            W, b = torch.cat([W, new_W[better]]), torch.cat([b, new_b[better]])
            fit, pulls, largest = self._on_grid(W, b)
        up, down = fit.a.chunk(2)
        return HullFit(W, b, up - down, fit.value, lower)

    def _on_grid(self, W: Tensor, b: Tensor) -> tuple[BoundedFit, Tensor, float]:
        """The fit on a grid, its pulls, and the largest |sum_i pulls_i F_ij| on the grid."""
        F = self._features(W, b).double()
        problem = head_problem(torch.cat([F, -F], 1), self.y, self.loss, self.weights)
        fit = problem.minimise(Simplex(self.M), self.tolerance)
        pulls = self._pulls(fit)
        return fit, pulls, float((F.T @ pulls).abs().max())


def _mass(r: int, B_a1: float, B_a2: float, B_b: float, directions: SignedDirections) -> float:
    """M = min(r B_a1, sqrt(r) B_a2), the largest sum of |a_i|."""
    check_bounds(B_a1, B_a2)
    M = min(r * B_a1, math.sqrt(r) * B_a2) if r >= 1 else 0.0
    if r < 1 or not directions.D.shape[1] or not (math.isfinite(M) and 0 < B_b < math.inf):
        raise ValueError(
            f"r, B_a1, B_a2, B_b are {r}, {B_a1}, {B_a2}, {B_b} with {directions.D.shape[1]} "
            "directions: give one direction or more, r >= 1, a finite bound of a and a finite "
            "B_b > 0."
        )
    return M


def shared_out(sizes: Float[Tensor, " m"], r: int) -> Tensor:
    """r places in proportion to sizes, by largest remainders: whole numbers with sum r."""
    total = float(sizes.sum())
    quota = r * sizes / total if total > 0 else torch.full_like(sizes, r / len(sizes))
    places = quota.floor()
    left = r - int(places.sum())
    order = (quota - places).argsort(descending=True, stable=True)
    places[order[:left]] += 1
    return places.long()
