"""Ridge after one gradient step, of many sizes: what a seed gains, and what theory says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, final

import numpy as np

from gradfeat.lab import lazy
from gradfeat.maths.ranges import LARGEST, at_least, at_most, one_of, within
from gradfeat.maths.step_names import ROW_USES

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.maths.activations import Activation
    from gradfeat.maths.feature_ridge import RidgeFit
    from gradfeat.maths.step_names import Residual, RowLaw
    from gradfeat.models.step_sizes import Step, StepRows
    from gradfeat.tasks.base import Sample
    from gradfeat.theory.ridge_errors import RidgeErrors
    from gradfeat.theory.teacher import Teacher

#: Hermite coefficients of y and the standard deviation of its noise. 1 and 2 are the talk's
#: settings; 3 has a third degree, for a third column.
SETTINGS: Final[Mapping[int, tuple[tuple[float, ...], float]]] = {
    1: ((0.0, 1.0), 1.0),
    2: ((0.0, 1.0, math.sqrt(0.5)), 0.0),
    3: ((0.0, 1.0, 0.5, 0.3), 0.5),
}

#: What is measured of a fit, in the order of the fields of `RidgeErrors`.
METRICS: Final = ("loss", "training", "test")

#: Powers of X beta beyond it are left out: in the limit they gain next to nothing.
MOST_COLUMNS: Final = 4

#: Rows of which one matrix of features has 15 GB at the talk's ratios.
MOST_N: Final = 50_000

Numbers = dict[str, float]


def columns_at(alpha: float) -> int:
    """How many powers of X beta a step n^alpha adds in the limit; 0 on the edges and beyond 4.

    >>> [columns_at(alpha) for alpha in (-0.5, 0.1, 0.25, 0.3, 0.36, 0.45)]
    [0, 1, 0, 2, 3, 0]
    """
    degree = float(lazy.limit_degree(alpha))
    return int(degree) if degree <= MOST_COLUMNS else 0


def residual_of(name: str) -> Residual:
    """What weights a gradient, as one of its names."""
    one_of(lazy.RESIDUALS, residual=name)
    return next(known for known in lazy.RESIDUALS if known == name)


def law_of(name: str) -> RowLaw:
    """The law of the rows of W0, as one of its names."""
    one_of(lazy.ROW_LAWS, rows=name)
    return next(known for known in lazy.ROW_LAWS if known == name)


def single(rows: Sample, device: str) -> Sample:
    """Rows in float32: half of the time, and errors within 1e-4 of those in float64."""
    import torch

    return lazy.Sample(*(part.to(device, torch.float32) for part in (rows.X, rows.y)))


@final
@dataclass(frozen=True)
class StepSetup:
    """A target, sizes, penalty and start; centred ReLU, a ~ N(0, I/N).

    Raises ValueError where a setting cannot be.
    """

    setting: int  #: Of `SETTINGS`.
    n: int  #: Rows of the gradient, as many of the head and for the test.
    residual: str  #: {"y", "y - f0", "ba22"}, what weights the gradient.
    sample: str  #: {"fresh", "reused"}: whether the head has rows of its own.
    #: phi, psi: d/n and d/N, to rounding.
    phi: float
    psi: float
    lam: float  #: Ridge penalty.
    rows: str = "sphere"  #: {"sphere", "gaussian"}: rows of W0 on the unit sphere or N(0, I/d).

    def __post_init__(self) -> None:
        one_of([str(k) for k in SETTINGS], setting=str(self.setting))
        residual_of(self.residual)
        law_of(self.rows)
        one_of(ROW_USES, sample=self.sample)
        at_least(1, n=self.n)
        within(1e-8, LARGEST, phi=self.phi, psi=self.psi, lam=self.lam)
        at_most(MOST_N, n=self.n, d=self.d, N=self.N)
        at_least(1, d=self.d, N=self.N)

    @property
    def d(self) -> int:
        return round(self.phi * self.n)

    @property
    def N(self) -> int:
        return round(self.d / self.psi)

    @property
    def teacher(self) -> lazy.Teacher:
        return lazy.Teacher.single(*SETTINGS[self.setting])

    @property
    def weighting(self) -> Residual:
        return residual_of(self.residual)

    @property
    def limits(self) -> tuple[float, float, float, Activation, Teacher]:
        """What theory takes: phi, psi, lambda, sigma and the target."""
        return self.phi, self.psi, self.lam, lazy.CentredReLU(), self.teacher

    def seed(self, seed: int, device: str) -> StepSeed:
        """Draw a seed: settings share direction, inputs, first layer and test rows."""
        coefficients, noise = SETTINGS[self.setting]
        task = lazy.SingleIndex(self.d, lazy.HermiteSeries(coefficients), noise, seed)
        names = ("gradient", "head" if self.sample == "fresh" else "gradient", "test")
        rows = [task.sample(self.n, lazy.stream(seed, name)) for name in names]
        rows[2] = lazy.Sample(rows[2].X, task.target(rows[2].X))
        gradient, head, test = (single(part, device) for part in rows)
        step = lazy.first_step(
            lazy.in_memory(gradient.X, gradient.y),
            width=self.N,
            activation=lazy.CentredReLU(),
            residual=self.weighting,
            law=law_of(self.rows),
            seed=seed,
        )
        seen = step.rows(head.X), step.rows(test.X)
        scale = float(self.teacher.power) / float(head.y.square().mean())
        return StepSeed(step, head, test, seen, noise, self.lam, self.residual == "y", scale)

    def finite_gain(self, alpha: float) -> Numbers:
        """Gains over random features predicted at this n and step size n^alpha."""
        after = _finite if self.sample == "fresh" else _reused
        return _named(_finite(self, 0.0) - after(self, self.n**alpha))

    def limit_gain(self, degree: float, printed: bool = False) -> Numbers:
        """Gains of the network in the limit, `degree` columns added; or as in print."""
        degrees = [0, degree]
        found = lazy.limit_errors(
            *self.limits,
            degree=degrees,
            residual=self.weighting,
            printed=printed,
            rows=law_of(self.rows),
        )
        return {name: values[0] - values[1] for name, values in _named_arrays(found).items()}

    def column_gain(self, degree: int) -> Numbers:
        """Gains of the unpenalised columns (X beta)^k, k <= degree, beside F_0 in the limit."""
        residual = "y" if self.weighting == "ba22" else self.weighting
        plain, beside = (
            lazy.column_errors(
                *self.limits, powers=range(1, most + 1), residual=residual, rows=law_of(self.rows)
            )
            for most in (0, degree)
        )
        return _named(plain - beside)

    def own_to_shared(self) -> float:
        """kappa: E|G_j|^2 beside c_1 a_j beta over that of c_1 a_j beta, in the limit."""
        phi, _, _, sigma, teacher = self.limits
        beta = lazy.gradient_direction(phi, sigma, teacher, self.weighting, self.N)
        shared = float(sigma.hermite_coefficients(1)[1]) ** 2 * float(beta.norm_squared)
        return float(lazy.own_power(self.phi, beta, sigma)) / shared

    def plain(self) -> Numbers:
        """Errors of random features in the limit."""
        return _named(_finite(self, 0.0))


@lru_cache(4096)
def _finite(setup: StepSetup, eta: float) -> RidgeErrors:
    return lazy.finite_step_errors(
        *setup.limits, eta=eta, n=setup.n, residual=setup.weighting, rows=law_of(setup.rows)
    )


def _reused(setup: StepSetup, eta: float) -> RidgeErrors:
    return lazy.reused_sample_errors(
        *setup.limits, eta=eta, n=setup.n, residual=setup.weighting, rows=law_of(setup.rows)
    )


def _mean(errors: Sequence[Numbers]) -> Numbers:
    return {name: sum(one[name] for one in errors) / len(errors) for name in errors[0]}


def _named_arrays(errors: RidgeErrors) -> dict[str, np.ndarray]:
    values = (errors.training_loss, errors.training_error, errors.test_error)
    return dict(zip(METRICS, values, strict=True))


def _named(errors: RidgeErrors) -> Numbers:
    return {name: float(value) for name, value in _named_arrays(errors).items()}


@final
@dataclass(frozen=True, eq=False)
class StepSeed:
    """A step, the rows of its head, and test rows whose y has no noise, of one seed.

    With the residual y the gradient is odd in the head a that it starts from, so -eta is the step
    of -a and has the same law: `mirrored` means over both, which cancels most of the noise of small
    steps.
    """

    step: Step
    head: Sample
    test: Sample
    seen: tuple[StepRows, StepRows]
    noise: float
    lam: float
    mirrored: bool
    scale: float  #: E y^2 over the mean of y^2 on the head's rows.
    intercept: bool = False  #: Whether the fitted head has one.

    def networks(self, etas: Sequence[float]) -> list[Numbers]:
        """Errors of ridge on sigma(X (W0 + eta G)^T) for each eta; one gradient for all."""
        signs = (1, -1) if self.mirrored else (1,)
        return [_mean([self._network(sign * eta) for sign in signs]) for eta in etas]

    def _network(self, eta: float) -> Numbers:
        head, test = self.seen
        ones = self.head.y.new_ones(len(self.head.y), int(self.intercept))
        fit = lazy.feature_ridge(head.features(eta), self.lam).fit_nested(ones, self.head.y)[-1]
        return self._errors(fit, test.features(eta) @ fit.a + fit.b.sum(0))

    def own_to_shared(self) -> float:
        """|G|^2 beside beta over |G beta|^2/|beta|^2."""
        along = float((self.step.G @ self.step.beta).square().sum() / self.step.beta.square().sum())
        return float(self.step.G.square().sum()) / along - 1

    def columns(self, degree: int) -> list[Numbers]:
        """Errors of ridge on F_0 and no power of X beta, the first, ..., all up to `degree`."""
        F, F_test = (rows.features(0.0) for rows in self.seen)
        U, U_test = (self.step.powers(rows.X, degree) for rows in (self.head, self.test))
        fits = lazy.feature_ridge(F, self.lam).fit_nested(U, self.head.y)
        return [self._errors(fit, F_test @ fit.a + U_test[:, : len(fit.b)] @ fit.b) for fit in fits]

    def _errors(self, fit: RidgeFit, predicted: Tensor) -> Numbers:
        """The noise of test rows counts by its variance: it need not be drawn."""
        test = float((self.test.y - predicted).square().mean()) + self.noise**2
        return dict(zip(METRICS, (float(fit.loss), float(fit.error), test), strict=True))
