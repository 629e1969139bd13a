"""Errors of one step and ridge over step sizes, from one gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..maths.activations import Activation
from ..maths.feature_ridge import RidgeFit, ridge_fit
from ..maths.residuals import Residual
from ..rows.rows import in_memory
from .step_sizes import Step, StepRows, first_step

#: Inputs (n, d) and targets (n, c).
Rows = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class StepErrors:
    """What ridge on the features at one step size leaves, summed over the columns of y.

    Attributes
    ----------
    eta : float
        Step size.
    loss : float
        (1/n) |y - F a|^2 + lam |a|^2 on the rows of the head.
    training : float
        (1/n) |y - F a|^2 on the same rows.
    test : float
        The mean squared error on the test rows.
    """

    eta: float
    loss: float
    training: float
    test: float


def step_errors(
    gradient: Rows,
    head: Rows | None,
    test: Rows,
    *,
    width: int,
    activation: Activation,
    etas: Sequence[float],
    lam: float,
    residual: Residual = "y",
    seed: int = 0,
) -> list[StepErrors]:
    """Errors of W = W0 + eta G and ridge, for each eta: one gradient, two products of each X.

    One network at a time: at most three matrices (n, N) and one Gram matrix of min(n, N)^2 numbers
    live at once. (Stacking the networks of several seeds is slower even at n = 300, N = 200.)

    Parameters
    ----------
    gradient, head, test : (Tensor (n, d), Tensor (n, c))
        Rows of the gradient, of the head and of the test error. ``head=None`` is the rows of the
        gradient again (the result differs several-fold).
    width, activation, residual, seed
        As in :func:`first_step`.
    etas : sequence of float
        Step sizes; 0 is random features.
    lam : float
        Ridge penalty.

    Raises
    ------
    ValueError, numpy.linalg.LinAlgError
        As in :func:`first_step` and :func:`ridge_fit`.

    Source: Moniri24, Section 2; Ba et al. 2022.

    Examples
    --------
    >>> from gradfeat.maths.activations import CentredReLU
    >>> X = torch.randn(900, 20, generator=torch.Generator().manual_seed(0)).double()
    >>> one, two, three = ((part, part[:, :1]) for part in X.split(300))
    >>> relu = CentredReLU()
    >>> errors = step_errors(
    ...     one, two, three, width=200, activation=relu, etas=[0.0, 20.0], lam=0.01
    ... )
    >>> errors[1].test < errors[0].test
    True
    """
    step = first_step(
        in_memory(*gradient), width=width, activation=activation, residual=residual, seed=seed
    )
    fits = _fits(step, gradient if head is None else head, etas, lam)
    rows = step.rows(test[0])
    return [
        StepErrors(
            eta, float(fit.loss.sum()), float(fit.error.sum()), _error(rows, fit, test[1], eta)
        )
        for eta, fit in zip(etas, fits, strict=True)
    ]


def _fits(step: Step, head: Rows, etas: Sequence[float], lam: float) -> list[RidgeFit]:
    rows = step.rows(head[0])
    return [ridge_fit(rows.features(eta), head[1], lam) for eta in etas]


def _error(rows: StepRows, fit: RidgeFit, y: Tensor, eta: float) -> float:
    return float(torch.addmm(y, rows.features(eta), fit.a, alpha=-1).square().mean(0).sum())
