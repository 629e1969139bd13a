"""The guarantee of gradient feature learning, term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class LossBound:
    """L <= total = opt + features + eps."""

    #: opt, features, eps: OPT, r B_a1 B_x1 sqrt(cone + sampling), and the optimisation error.
    opt: float
    features: float
    eps: float
    #: cone, sampling: what is under the root: 2 g, and C sqrt(B_x2 log n)/(B_G |l'(0)| sqrt(n)).
    cone: float
    sampling: float

    @property
    def total(self) -> float:
        """The bound of the loss, and with hinge or logistic loss (over log 2) of Pr[sign f != y].

        Above the loss of f = 0 it says nothing.
        """
        return self.opt + self.features + self.eps


def loss_bound(
    opt: float,
    *,
    r: int,
    B_a1: float,
    B_x1: float,
    B_x2: float,
    width: float,
    B_G: float,
    n: int,
    slope: float = 1.0,
    C: float = 1.0,
    eps: float = 0.0,
) -> LossBound:
    """L <= OPT + r B_a1 B_x1 sqrt(2 g + C sqrt(B_x2 log n)/(B_G |l'(0)| sqrt n)) + eps.

    The theorem writes O(1) for C and leaves it open: with C = 1 (the default, ours) the sampling
    term is a size, not a proven number; `cone` and OPT do not depend on it.

    `opt`: OPT of the class at least norm B_G, or an upper bound of it; `r`, `B_a1`: neurons of the
    class, and the bound of their coefficients; `B_x1`, `B_x2`: E|x| and E|x|^2, or bounds of them;
    `width`: g, the cone: |<G, D>|/|G| > 1 - g; `B_G`: least norm of the simplified gradients, in
    units of x, 0 gives infinity; `n`: rows; `slope`: |l'(0)|: 1 for the hinge, 1/2 for the logistic
    loss, 2 for the squared loss at y = +-1; `C`: the constant; `eps`: optimisation error.
    Regime: n and the width of the network large enough for the theorem; not checked here.
    Raises ValueError when a number is negative, width is outside [0, 1], n or r below 1, or slope
    is 0.
    Source: Shi23, main theorem.

    >>> bound = loss_bound(0.1, r=2, B_a1=0.5, B_x1=1.0, B_x2=1.0, width=0.02, B_G=1.0, n=10**8)
    >>> round(bound.cone, 3), round(bound.sampling, 5), round(bound.total, 3)
    (0.04, 0.00043, 0.301)
    """
    numbers = {"opt": opt, "B_a1": B_a1, "B_x1": B_x1, "B_x2": B_x2, "B_G": B_G, "C": C}
    numbers["eps"] = eps
    wrong = {name: x for name, x in numbers.items() if not x >= 0}
    if wrong:
        raise ValueError(f"{wrong}: give numbers of 0 or more.")
    if not (0 <= width <= 1 and n >= 1 and r >= 1 and slope != 0):
        raise ValueError(
            f"width, n, r, slope are {width}, {n}, {r}, {slope}: give a width in [0, 1], n and r "
            "of 1 or more, and the slope of the loss at 0."
        )
    cone = 2 * width
    error = C * math.sqrt(B_x2 * math.log(n) / n)
    scale = B_G * abs(slope)
    sampling = error / scale if scale > 0 else (math.inf if error > 0 else 0.0)
    size = r * B_a1 * B_x1
    features = size * math.sqrt(cone + sampling) if size > 0 else 0.0
    return LossBound(opt, features, eps, cone, sampling)
