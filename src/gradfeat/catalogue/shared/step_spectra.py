"""Singular values and vectors of a network at many step sizes, beside what theory says of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from gradfeat.catalogue.shared.step_training import residual_of
from gradfeat.lab import lazy
from gradfeat.maths.ranges import MOST_ROWS, at_least, at_most, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.maths.activations import Activation
    from gradfeat.models.step_sizes import Step, StepRows
    from gradfeat.theory.gradient_direction import GradientDirection, Residual
    from gradfeat.theory.one_step_spectrum import FeatureSpectrum

#: A value is separated where it is this share of the predicted edge beyond it, in simulation and
#: in theory. The bulk's own largest value is within 1 % of the edge at n = 1,000 and more, and
#: spikes vary by a few percent over seeds, so one draw tells the two apart.
MARGIN: Final = 0.1

#: Rows of which singular vectors are kept for a figure.
DRAWN: Final = 500

#: The largest exponent: the step n^{1/2} is that of Ba22, where theory ends.
MOST_ALPHA: Final = 0.5

#: Hermite coefficients of y = He_1(b.x) + He_2(b.x)/sqrt(2), setting 2 of the talk: E y^2 = 2.
TEACHER: Final = (0.0, 1.0, 0.5**0.5)

ACTIVATIONS: Final = ("sine", "centred_relu", "tanh", "odd_sine")


def odd_sine(z: Tensor) -> Tensor:
    """sin z: c_1 = e^{-1/2}, c_3 = -e^{-1/2}/6, no even coefficient."""
    return z.sin()


def _odd_slope(z: Tensor) -> Tensor:
    return z.cos()


def odd_sine_activation() -> Activation:
    """sin z as an activation."""
    return lazy.UserActivation(odd_sine, (), _odd_slope, (np.sin, np.cos))


@dataclass(frozen=True)
class StepModel:
    """Setting 2 of the talk, a network of N neurons and one gradient on n rows of d inputs.

    Raises ValueError where a setting cannot be, by its name.
    """

    activation: str  #: A name of `ACTIVATIONS`.
    #: n, d, N: rows (of the gradient, and as many fresh ones of F), inputs, neurons.
    n: int
    d: int
    N: int
    residual: str  #: {"y", "y - f0", "ba22"}, what weights the gradient.

    def __post_init__(self) -> None:
        one_of(ACTIVATIONS, activation=self.activation)
        residual_of(self.residual)
        at_least(2, n=self.n, d=self.d, N=self.N)
        at_most(MOST_ROWS, n=self.n, d=self.d, N=self.N)

    @property
    def sigma(self) -> Activation:
        odd = self.activation == "odd_sine"
        return odd_sine_activation() if odd else lazy.activation(self.activation)

    @property
    def teacher(self) -> lazy.Teacher:
        """y = He_1(b.x) + He_2(b.x)/sqrt(2) without noise."""
        return lazy.Teacher.single(TEACHER)

    @property
    def weighting(self) -> Residual:
        return residual_of(self.residual)

    @property
    def ratios(self) -> tuple[float, float]:
        """phi = d/n and psi = d/N."""
        return self.d / self.n, self.d / self.N

    @property
    def first_layer_edge(self) -> float:
        """1 + sqrt(N/d): right edge of the singular values of W_0."""
        return 1 + math.sqrt(self.N / self.d)

    def direction(self) -> GradientDirection:
        """|beta|^2 and alignment in the limit."""
        return lazy.gradient_direction(
            self.ratios[0], self.sigma, self.teacher, self.weighting, self.N
        )

    def spectrum(self, eta: float) -> FeatureSpectrum:
        """Edge and outliers of F/sqrt(n) after a step, kept for the next time it is asked for."""
        return _spectrum(self, eta)

    def first_layer(self, eta: float) -> float:
        """The outlier of W over its bulk's edge, nan where there is none."""
        found = lazy.first_layer_outlier(
            *self.ratios, self.sigma, self.teacher, eta=eta, residual=self.weighting, width=self.N
        )
        return float(found) / self.first_layer_edge


@lru_cache(512)
def _spectrum(model: StepModel, eta: float) -> FeatureSpectrum:
    return lazy.feature_spectrum(
        *model.ratios, model.sigma, model.teacher, eta=eta, n=model.n, residual=model.weighting
    )


def step_size(n: int, alpha: float) -> float:
    """eta = n^alpha.

    Raises ValueError when alpha is above 1/2 or nan.

    >>> step_size(10_000, 0.25)
    10.0
    """
    at_most(MOST_ALPHA, alpha=alpha)
    return float(n) ** alpha


def predicted(model: StepModel, eta: float) -> dict[str, float]:
    """The limits of the metrics of `measured`, nan for a value or vector that is not separated."""
    spectrum, start = model.spectrum(eta), model.spectrum(0.0)
    count, direction = spectrum.separated(MARGIN), model.direction()
    values = (spectrum.outliers / spectrum.edge).tolist()
    seen, overlaps = count >= 1, spectrum.overlaps
    both, W = count >= 2, model.first_layer(eta)
    return {
        "separated": float(count),
        "start_separated": 0.0,
        "first": values[0] if seen else math.nan,
        "second": values[1] if both else math.nan,
        "start_bulk": float(start.limit.typical_largest(model.n)) / start.edge,
        "overlap_line": float(overlaps[0, 1]) if seen else math.nan,
        "overlap_parabola": float(overlaps[1, 2]) if both else math.nan,
        "overlap_constant": float(overlaps[1, 0]) if both else math.nan,
        "overlap_cubic": float(overlaps[1, 3]) if both else math.nan,
        "alignment": float(direction.alignment),
        "norm": float(direction.norm_squared),
        "first_layer": W,
        "first_layer_separated": float(W > 1 + MARGIN),
    }


def measured(
    model: StepModel, alphas: Sequence[float], seed: int, device: str
) -> list[dict[str, float | np.ndarray]]:
    """The metrics of one network at each alpha, singular values in units of the predicted edge.

    `first_error` and its like are measured/predicted - 1. Arrays for a figure come with seed 0.
    """
    etas = [step_size(model.n, alpha) for alpha in alphas]
    task = lazy.MultiIndex(model.d, lazy.he1_he2(), 0.0, seed=seed)
    train = task.sample(model.n, lazy.stream(seed, "train"))
    X = task.sample(model.n, lazy.stream(seed, "test")).X.to(device)
    step = lazy.first_step(
        lazy.in_memory(train.X.to(device), train.y.to(device)),
        width=model.N, activation=model.sigma, residual=model.weighting, seed=seed,
    )  # fmt: skip
    rows, u = step.rows(X), (X @ step.beta)[:, 0] / step.beta.norm()
    shared = _direction(step, task.directions.to(X)) | _start(model, rows)
    return [
        shared
        | _first_layer(model, step, eta, seed)
        | _features(model, rows.features(eta), u, eta, seed)
        for eta in etas
    ]


def _direction(step: Step, b: Tensor) -> dict[str, float]:
    along, norm = float((step.beta.mT @ b).abs()), float(step.beta.norm())
    return {"alignment": along / norm, "norm": norm**2}


def _start(model: StepModel, rows: StepRows) -> dict[str, float]:
    """F_0: its largest singular value, and how many are beyond the bulk."""
    values = _values(rows.features(0.0)) / model.spectrum(0.0).edge
    return {"start_bulk": float(values[0]), "start_separated": _separated(values)}


def _first_layer(
    model: StepModel, step: Step, eta: float, seed: int
) -> dict[str, float | np.ndarray]:
    """The largest singular value of W; for a figure all of them, in units of the bulk's edge."""
    W = step.W(eta)
    largest = float(lazy.leading_singular(W, 1)[0][0]) / model.first_layer_edge
    expected, array = model.first_layer(eta), {}
    if seed == 0:
        array = {
            "first_layer_values": lazy.singular_values(W).cpu().numpy() / model.first_layer_edge
        }
    return array | {
        "first_layer": largest,
        "first_layer_separated": float(largest > 1 + MARGIN),
        "first_layer_error": largest / expected - 1,
    }


def _features(
    model: StepModel, F: Tensor, u: Tensor, eta: float, seed: int
) -> dict[str, float | np.ndarray]:
    spectrum = model.spectrum(eta)
    values = _values(F) / spectrum.edge
    seen = min(spectrum.separated(MARGIN), 2)
    expected = (*(spectrum.outliers[:seen] / spectrum.edge), math.nan, math.nan)
    vectors = lazy.leading_singular(F, seen)[1].mT if seen else F.new_empty(0, len(F))
    found = {
        "separated": _separated(values),
        "first": float(values[0]),
        "second": float(values[1]),
        "first_error": float(values[0] / expected[0]) - 1,
        "second_error": float(values[1] / expected[1]) - 1,
        **_overlaps(vectors, u),
    }
    return found | (_arrays(values, vectors, u) if seed == 0 else {})


def _values(F: Tensor) -> np.ndarray:
    """All singular values of F/sqrt(n), falling."""
    return lazy.singular_values(F).cpu().numpy() / math.sqrt(len(F))


def _separated(values: np.ndarray) -> float:
    return float(np.sum(values > 1 + MARGIN))


def _overlaps(vectors: Tensor, u: Tensor) -> dict[str, float]:
    """cos^2 of the left singular vectors with he_1(u), then with he_2(u), the constant, he_3(u)."""
    import torch

    columns = torch.stack([torch.ones_like(u), u, u**2 - 1, u**3 - 3 * u])
    cosines = vectors @ torch.nn.functional.normalize(columns, dim=1).mT
    squares = [*cosines.square().tolist(), [math.nan] * 4, [math.nan] * 4]
    return {
        "overlap_line": squares[0][1],
        "overlap_parabola": squares[1][2],
        "overlap_constant": squares[1][0],
        "overlap_cubic": squares[1][3],
    }


def _arrays(values: np.ndarray, vectors: Tensor, u: Tensor) -> dict[str, np.ndarray]:
    """What a figure draws: all values, and sqrt(n) times the vectors at some rows, signs fixed."""
    import torch

    shapes = torch.stack([u, u**2 - 1])[: len(vectors)]
    signs = (shapes * vectors).sum(1, keepdim=True).sign()
    some = (signs * vectors * math.sqrt(len(u)))[:, :DRAWN]
    return {"values": values, "projection": u[:DRAWN].cpu().numpy(), "vectors": some.cpu().numpy()}
