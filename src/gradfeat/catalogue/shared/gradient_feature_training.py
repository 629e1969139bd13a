"""What the Shi23 experiments share: the case studies, their gradient features, their networks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from gradfeat.catalogue.shared.descent_training import finite_outputs
from gradfeat.catalogue.shared.gradient_feature_masses import (
    CASES,
    FLIP,
    ODD,
    OUTSIDE,
    SCALE,
    K,
    even_labels,
    parity_law,
)
from gradfeat.maths.activations import ReLU
from gradfeat.maths.blocks import Block
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.links import FunctionLink, sum_of_series
from gradfeat.maths.ranges import at_least, at_most, one_of, paired
from gradfeat.maths.simplified_gradients import simplified_gradients
from gradfeat.maths.streams import stream
from gradfeat.models.base import Predictor
from gradfeat.models.descent.gradient_descent import Trains, batches, trained
from gradfeat.models.descent.layers import Layers
from gradfeat.models.descent.loop import descend
from gradfeat.models.descent.phases import Phase
from gradfeat.models.gradient_features.cones import GradientFeature
from gradfeat.models.gradient_features.feature_set import first_neurons, gradient_feature_set
from gradfeat.models.losses import Hinge
from gradfeat.models.predictors import Linearised
from gradfeat.tasks.base import Sample, Task
from gradfeat.tasks.gaussian_mixture import GaussianMixture
from gradfeat.tasks.linear_labels import LinearLabels
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.parity_blocks import ParityBlocks
from gradfeat.tasks.single_index import SingleIndex

#: |cos| from which on a direction is found.
NEAR = 0.95
#: Eigenvalue of the second moment of unit vectors from which on a direction of a span is covered.
COVERED = 0.1


def odd_labels(z: np.ndarray) -> np.ndarray:
    """sign(z) where |z| > (2 log 2)^{1/2}, else -sign(z): E[y z] = E[y z^2] = 0, exponent 3."""
    return np.where((np.abs(z) > ODD) == (z > 0), 1.0, -1.0)


def case_study(case: str, structure: str, d: int, r: int, seed: int) -> Task:
    """The task of a case: r mirrored pairs of Gaussian components, r blocks, r directions.

    Without structure: means at 0, patterns all uniform, labels turned over half of the time, and
    for the single index odd labels that neither E[y x] nor E[y x x^T] shows.

    With r >= 2 a single index becomes a multi-index: labels by the length of U^T x.

    Raises ValueError when a name is unknown, or r is not 1 where labels are linear.
    """
    one_of(CASES, case=case)
    one_of(("yes", "no"), structure=structure)
    if case == "linear" and r != 1:
        raise ValueError(f"r is {r}: the case {case!r} has one direction, give 1.")
    planted = structure == "yes"
    match case:
        case "mixture":
            at_least(2, r=r)  # one part would have one label
            away = math.sqrt(d) if planted else 0.0
            return GaussianMixture(d, r, away, SCALE, mirrored=True, seed=seed)
        case "parity":
            p_uniform, p_o = parity_law(r)
            p_uniform = p_uniform if planted else 1.0
            return ParityBlocks(d, r * K + OUTSIDE, K, r, p_uniform, p_o, seed)
        case "linear":
            return LinearLabels(d, flip=FLIP if planted else 0.5, seed=seed)
        case _ if r > 1:
            return MultiIndex(d, radius_labels(r, planted), seed=seed)
        case _:
            return SingleIndex(d, even_labels if planted else odd_labels, seed=seed)


def radius_labels(r: int, planted: bool) -> FunctionLink:
    """+1 where |z|^2 is above its median, else -1 (a polynomial of degree 2); odd ones of z_1 else.

    E[y He_2(z_i)]/2 = Pr[chi^2_{r+2} > median of chi^2_r] - 1/2 for each i: E[y x x^T] has rank r.
    """
    from scipy.special import chdtrc, chdtri

    middle = float(chdtri(r, 0.5))
    if not planted:
        first = [HermiteSeries((0.0,) * 3), *[HermiteSeries((0.0,))] * (r - 1)]
        return FunctionLink(lambda Z: odd_labels(Z[:, 0]), sum_of_series(first))
    even = HermiteSeries((0.0, 0.0, float(chdtrc(r + 2, middle)) - 0.5))
    series = sum_of_series([even] * r)
    return FunctionLink(lambda Z: np.where((Z**2).sum(1) > middle, 1.0, -1.0), series)


def expected(case: str, U: Tensor, sign: int) -> Tensor:
    """Where gradients of neurons with that sign of b point: the planted directions, or E[y x].

    A neuron with b < 0 fires nearly always, so its gradient is about E[y x] where that is not 0:
    for parity blocks the sum of their directions.
    """
    return U.sum(1, keepdim=True) / U.shape[1] ** 0.5 if case == "parity" and sign < 0 else U


def rows_of(task: Task, n: int, seed: int, name: str) -> Sample:
    """Rows of a stream in float32: descent is twice as fast, and its noise far above rounding."""
    drawn = task.sample(n, stream(seed, name))
    return Sample(drawn.X.float(), drawn.y.float())


@dataclass(frozen=True, eq=False)
class Found:
    """Gradient features with mass >= p, and what they are to the planted directions."""

    features: tuple[GradientFeature, ...]  #: Mass >= p.
    missed: int  #: Planted directions with |cos| <= .95 to all of them.
    others: int  #: Features with |cos| <= .95 to all expected directions of their sign.
    #: mass_plus, mass_minus: mean over the expected directions of the mass of s = +1 and s = -1 (0
    #: where under p/4).
    mass_plus: float
    mass_minus: float
    other_mass: float  #: The largest mass of anything not expected (0 where under p/4).

    @property
    def numbers(self) -> dict[str, float]:
        """The fields by their names, of the features their number."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: float(v) for name, v in (own | {"features": len(self.features)}).items()}


def found_features(
    case: str,
    U: Tensor,
    train: Sample,
    *,
    p: float,
    width: float,
    B_G: float,
    bias: float,
    neurons: int,
    seed: int,
) -> Found:
    """The set of the training rows, w ~ N(0, I/d), b = +-bias, one B_G for both signs.

    It is asked for masses of p/4, so that what stays under p is seen too.
    """
    at_most(1, p=p, width=width)
    wide = gradient_feature_set(
        train.X,
        train.y,
        p=p / 4,
        width=width,
        least_norm=(B_G, B_G),
        neurons=neurons,
        weight_scale=len(U) ** -0.5,
        bias_scale=bias,
        seed=seed,
    )
    if case == "single-index" and U.shape[1] > 1:
        return _in_span(wide.features, U, p)
    masses = {sign: torch.zeros(expected(case, U, sign).shape[1]) for sign in (1, -1)}
    best, strange = torch.zeros(U.shape[1]), []
    for feature in wide.features:
        near = _near(feature, expected(case, U, feature.sign))
        if not bool(near.any()):
            strange.append(feature.mass)
        held = masses[feature.sign]
        masses[feature.sign] = torch.where(near, held.clamp(min=feature.mass), held)
        best = torch.where(_near(feature, U), best.clamp(min=feature.mass), best)
    return Found(
        tuple(feature for feature in wide.features if feature.mass >= p),
        int((best < p).sum()),
        sum(mass >= p for mass in strange),
        float(masses[1].mean()),
        float(masses[-1].mean()),
        max(strange, default=0.0),
    )


def _in_span(features: Iterable[GradientFeature], U: Tensor, p: float) -> Found:
    """The same of a multi-index, whose gradients may point anywhere in the span of U.

    Expected is what has a projection of length > .95; missed are directions of the span that the
    projections leave out (an eigenvalue of their second moment below a tenth); masses are the
    largest of each sign.
    """
    inside = [f for f in features if float((f.direction.to(U) @ U).norm()) > NEAR]
    outside = [f.mass for f in features if float((f.direction.to(U) @ U).norm()) <= NEAR]
    kept = [f for f in inside if f.mass >= p]
    P = torch.stack([f.direction.to(U) @ U for f in kept]) if kept else U.new_zeros(1, U.shape[1])
    covered = torch.linalg.eigvalsh(P.T @ P / len(P)) > COVERED
    plus, minus = (max((f.mass for f in inside if f.sign == s), default=0.0) for s in (1, -1))
    return Found(
        tuple(f for f in features if f.mass >= p),
        int((~covered).sum()),
        sum(mass >= p for mass in outside),
        plus,
        minus,
        max(outside, default=0.0),
    )


def _near(feature: GradientFeature, U: Tensor) -> Tensor:
    return (feature.direction.to(U) @ U).abs() > NEAR


def start_of(m: int, d: int, bias: float, seed: int) -> Layers:
    """Neurons as those of the features: w ~ N(0, I/d), b = +-bias in turn, a = +-m^{-1/2}, pairs.

    Neuron j and j + m/2 share w and b and have opposite a, so that f = 0. As everywhere in
    training the network is sigma(w.x + b'), b' = -b.

    Raises ValueError when m is odd or below 2.
    """
    paired(m)
    W, b = first_neurons(m // 2, d, stream(seed, "W0"), weight_scale=d**-0.5, bias_scale=bias)
    coin = torch.rand(m // 2, 1, generator=stream(seed, "a0"), dtype=torch.float64)
    a = torch.where(coin < 0.5, -1.0, 1.0) * m**-0.5
    W, b, a = W.repeat(2, 1).float(), -b.repeat(2).float(), torch.cat([a, -a]).float()
    return Layers(W[None], b[None], a[None])


def schedule(steps: int, step_size: float, n_batch: int) -> tuple[Phase, Phase]:
    """Momentum .9; a fifth of the steps, the last ones, a tenth as long, to settle.

    Raises ValueError when there are fewer than 5 steps or no rows in a batch.
    """
    at_least(5, steps=steps)
    at_least(1, n_batch=n_batch)
    last = steps // 5
    return (
        Phase(steps - last, step_size, momentum=0.9, batch=n_batch),
        Phase(last, step_size / 10, momentum=0.9, batch=n_batch),
    )


def path(
    start: Layers, trains: Trains, train: Sample, phases: tuple[Phase, ...], seed: int
) -> Iterator[tuple[int, Layers]]:
    """Step and parameters; hinge loss, batches of the training rows, the same for all methods."""
    source = batches(Block(train.X, train.y, torch.ones(len(train.X))), seed)
    what = trained(trains, start)
    for state in descend(start, source, phases, Hinge(), ReLU(), what):
        yield state.step, state.layers


def first_step(start: Layers, train: Sample) -> Layers:
    """w = sign(a) G(w, b), from all rows: one step that erases the start, of length 1/|a|.

    The network is 0 at the start, where the hinge's slope is -y, so the step is a E[y x 1{..}]; a
    and b stay.

    Source: Shi23, the first step of training.
    """
    (G,) = simplified_gradients(train.X, train.y, start.W[0], -start.b[0])
    return Layers((start.a[0].sign() * G)[None], start.b, start.a)


def function_of(start: Layers, now: Layers, trains: Trains) -> Predictor:
    """The network, or the function that is linear in the parameters."""
    if trains == "linearisation":
        return Linearised(start.network(0, ReLU()), now.W[0], now.b[0], now.a[0])
    return now.network(0, ReLU())


def loss_and_error(f: Predictor, rows: Sample) -> tuple[float, float]:
    """Mean hinge loss, and share of rows whose output has not the sign of the label.

    Raises ValueError when outputs are not finite: training diverged.
    """
    F = finite_outputs(f, rows)
    wrong = (F * rows.y <= 0).double().mean()
    return float(Hinge()(F, rows.y).double().mean()), float(wrong)
