"""A head under norm bounds: the convex fit, with a certified lower bound of its minimum."""

from __future__ import annotations

import math
import warnings

from jaxtyping import Float
from torch import Tensor

from ...maths.box_ball import check_bounds
from ..losses import Loss, Squared
from .head_sets import BoxBall
from .interior_point import BoundedFit, head_problem


def bounded_head(
    F: Float[Tensor, "n r"],
    y: Float[Tensor, " n"],
    loss: Loss,
    *,
    B1: float = math.inf,
    B2: float = math.inf,
    weights: Float[Tensor, " n"] | None = None,
    offset: bool = False,
    tolerance: float = 1e-4,
) -> BoundedFit:
    """min (1/sum w) sum_i w_i l(F_i.a + offset, y_i) over |a_j| <= B1, |a|_2 <= B2.

    A primal-dual interior-point method. The lower bound is Fenchel's: for every u, h the support
    function of the set, P* >= -(1/sum w) sum_i w_i l*(u_i, y_i) - h(F^T (w u)/sum w), here at the
    slopes u of the loss (of weighted sum 0 where the offset is free). Float64 within; memory: a
    copy of F and Gram matrices (r, r).

    Parameters
    ----------
    F, y : Tensor (n, r), (n,)
        Features and targets; +-1 for hinge and logistic loss.
    loss : Loss
        Squared, hinge or logistic.
    B1, B2 : float
        Bounds, positive; infinite for none. The squared loss allows both to be infinite (least
        squares of least norm).
    weights : Tensor (n,), optional
        Non-negative row weights.
    offset : bool
        Fit a free constant too.
    tolerance : float
        The gap at which to stop, as a share of the loss of a = 0 (with an offset, of the mean of
        y).

    Returns
    -------
    BoundedFit

    Raises
    ------
    ValueError
        When a bound is not positive, both are infinite for a loss other than the squared one,
        labels are not +-1, or there is no feature or no row with weight.

    Warns
    -----
    UserWarning
        When the gap stayed above the tolerance: what it is, and what to do.

    Source: Boyd & Vandenberghe 2004, section 11.7 (method); Rockafellar 1970, section 31
    (duality).

    Examples
    --------
    >>> import torch
    >>> from gradfeat.models.losses import Squared
    >>> F = torch.eye(2).double()
    >>> fit = bounded_head(F, torch.tensor([3.0, 0.2]).double(), Squared(), B1=1.0)
    >>> [round(x, 2) for x in fit.a.tolist()], round(fit.value, 2), fit.gap < 1e-3
    ([1.0, 0.2], 2.0, True)
    """
    check_bounds(B1, B2)
    problem = head_problem(F, y, loss, weights, offset)
    r = F.shape[1]
    if r == 0:
        raise ValueError("F has no columns: give at least one feature.")
    # A bound that the other one implies would only add slacks.
    bounds = BoxBall(B1 if B1 < B2 else math.inf, B2 if B1 * math.sqrt(r) > B2 else math.inf)
    if math.isinf(B1) and math.isinf(B2):
        if loss != Squared():
            raise ValueError(
                f"both bounds are infinite and the loss is {loss!r}, whose minimum may not exist: "
                "give a finite bound."
            )
        return problem.least_squares(tolerance)
    fit = problem.minimise(bounds, tolerance)
    if not fit.converged:
        warnings.warn(
            f"the head's loss {fit.value:g} is certified within {fit.gap:g} only, and "
            f"{fit.tolerance:g} was asked for: bring the features to one size, or raise the "
            "tolerance.",
            UserWarning,
            stacklevel=2,
        )
    return fit
