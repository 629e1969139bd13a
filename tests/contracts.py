"""What every kernel and every learner must satisfy, and the lists that go through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gradfeat.maths.activations import CentredReLU, Erf, Tanh
from gradfeat.maths.gradients import autodiff_gradient
from gradfeat.models.base import Kernel, Learner, Predictor
from gradfeat.models.descent.gradient_descent import GradientDescent
from gradfeat.models.descent.layers import Start
from gradfeat.models.descent.phases import Phase
from gradfeat.models.gradient_step import GradientStep, Whitened
from gradfeat.models.head import RidgeHead
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.dot_product import polynomial
from gradfeat.models.kernels.generalised_laplace import GeneralisedLaplace
from gradfeat.models.kernels.network import NetworkKernel
from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern, RadialKernel
from gradfeat.models.random_features import RandomFeatures
from gradfeat.models.restore import predictor_from
from gradfeat.models.rfm import RFM
from gradfeat.models.tangent_ridge import TangentRidge
from gradfeat.rows.rows import in_memory

RADIAL: list[RadialKernel] = [
    Laplace(2.0),
    Gaussian(1.5),
    Matern(2.0, 0.5),
    Matern(2.0, 1.5),
    Matern(2.0, 2.5),
]
#: Functions of any norm; not all are invariant under rotations.
NORMS = [
    GeneralisedLaplace(2.0, q=0.7),
    GeneralisedLaplace(3.0, p=1.0),
    GeneralisedLaplace(3.0, p=1.5, q=1.2),
]
#: Functions of x.z, |x|^2 and |z|^2.
ROTATION_INVARIANT = [
    NetworkKernel(bias=0.5),
    NetworkKernel(weight=1.2, bandwidth=2.0),
    NetworkKernel(bias=0.5, trained="head"),
    NetworkKernel(depth=3, weight=1.4, bias=0.3),
    NetworkKernel(CentredReLU(), bias=0.5, trained="hidden"),
    NetworkKernel(Erf(), bias=0.5),
    NetworkKernel(Erf(), depth=2, trained="head"),
    NetworkKernel(Tanh(), depth=2, bias=0.5),
    polynomial(3, 0.5, 2.0),
]
KERNELS: list[Kernel] = [*RADIAL, *NORMS, *ROTATION_INVARIANT]
HEAD = RidgeHead(penalty=0.5)
BARE = RidgeHead(penalty=0.5, intercept=False)
STEP = GradientStep(width=24, head=BARE)
START = Start(std_b=0.5)
PHASES = (Phase(5, 0.05, decay_W=0.1, decay_a=0.1), Phase(5, 0.05, momentum=0.5))
DESCENT = GradientDescent(24, phases=PHASES, start=START)

#: Learners with fixed penalties and no random split of the rows.
LEARNERS: list[Learner] = [
    *(KernelRidge(kernel, 0.1) for kernel in [*RADIAL, ROTATION_INVARIANT[0]]),
    RFM(Laplace(3.0), 0.1, n_iter=2),
    RFM(Matern(3.0, 2.5), 0.1, n_iter=2, diagonal=True, centre_gradients=True),
    RFM(NetworkKernel(bias=0.5), 0.1, n_iter=2),
    RFM(GeneralisedLaplace(3.0, p=1.0), 0.1, n_iter=2),
    RandomFeatures(width=24, head=HEAD),
    RandomFeatures(width=24, rows="sphere", biases=False, head=HEAD),
    STEP,
    GradientStep(width=24, n_steps=3, head=HEAD, linear="none"),
    GradientStep(width=24, n_steps=2, update="gradient", head=BARE),
    Whitened(STEP, shrinkage=0.1),
    DESCENT,
    GradientDescent(24, phases=PHASES, start=START, trains="head"),
    GradientDescent(24, Tanh(), phases=PHASES, start=START, trains="linearisation"),
]
#: Learners of one output, through the same contracts with the first column of y.
SINGLE: list[Learner] = [TangentRidge(24, start=START, penalty=0.5)]


@dataclass(frozen=True)
class Data:
    """A small weighted regression problem."""

    X: Tensor
    y: Tensor
    w: Tensor


def data(n: int = 40, d: int = 4, c: int = 2) -> Data:
    """Standard normal inputs, targets with a linear and a quadratic part, weights in {1, 2, 3}."""
    g = torch.Generator().manual_seed(7)
    X = torch.randn(n, d, generator=g).double()
    y = torch.stack([X[:, 0] ** 2 + X[:, 1], X[:, 0] * X[:, 2] + 2], 1)
    return Data(X, y[:, :c], torch.randint(1, 4, (n,), generator=g).double())


def close(one: Tensor, other: Tensor, tolerance: float = 1e-10) -> None:
    """Equal to `tolerance` of the largest entry."""
    scale = float(other.abs().max()) + 1e-300
    torch.testing.assert_close(one, other, rtol=0, atol=tolerance * scale)


def check_gradient_is_the_derivative(f: Predictor) -> None:
    """Closed form against automatic differentiation, away from the training rows' kinks."""
    X = data(9).X + 0.123
    close(f.gradient(X), autodiff_gradient(f, X))


def check_agop_in_tiny_blocks(f: Predictor) -> None:
    """One block or many, centred or not."""
    X, w = data().X + 0.123, data().w
    for centre in (False, True):
        whole = f.agop(X, weights=w, centre=centre)
        small = f.agop(X, weights=w, centre=centre, block_bytes=3 * f.scratch_per_row())
        close(small, whole, 1e-11)


def check_batches_equal_all_rows(f: Predictor) -> None:
    """Predictions in batches of 1, 7, all; none at all."""
    X = data().X
    for size in (1, 7):
        close(torch.cat([f(rows) for rows in X.split(size)]), f(X))
    assert f(X[:0]).shape == (0, data().y.shape[1])


def check_saved_description_restores(f: Predictor) -> None:
    """Spec and tensors define the function."""
    X = data().X
    assert torch.equal(predictor_from(f.spec(), f.tensors())(X), f(X))


def check_fit_repeats_and_leaves_global_state(learner: Learner) -> None:
    """Same seed, same numbers; global generator and inputs untouched."""
    state, one = torch.get_rng_state(), data()
    f, g = (learner.fit(in_memory(one.X, one.y), seed=3) for _ in range(2))
    assert torch.equal(f(one.X), g(one.X))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(one.X, data().X)
    assert torch.equal(one.y, data().y)


def check_integer_weights_repeat_rows(learner: Learner) -> None:
    """Weight k is k copies of the row."""
    one = data()
    times = one.w.long()
    weighted = learner.fit(in_memory(one.X, one.y, one.w))
    repeated = learner.fit(
        in_memory(one.X.repeat_interleave(times, 0), one.y.repeat_interleave(times, 0))
    )
    close(weighted(one.X), repeated(one.X), 1e-8)


def check_predictions_scale_with_targets(learner: Learner) -> None:
    """Every method here is equivariant to the scale of y at a fixed penalty."""
    one = data()
    close(scaled(learner)(one.X, 8 * one.y), 8 * scaled(learner)(one.X, one.y), 1e-8)


def scaled(learner: Learner) -> Callable[[Tensor, Tensor], Tensor]:
    """Fitted values as a function of the data."""
    return lambda X, y: learner.fit(in_memory(X, y))(X)


def check_constant_target_is_predicted(learner: Learner) -> None:
    """A zero AGOP or gradient stays finite."""
    one = data()
    assert bool(torch.isfinite(learner.fit(in_memory(one.X, 0 * one.y))(one.X)).all())
    assert bool(torch.isfinite(learner.fit(in_memory(one.X, 0 * one.y + 3))(one.X)).all())


PREDICTOR_CHECKS = [
    check_agop_in_tiny_blocks,
    check_batches_equal_all_rows,
    check_saved_description_restores,
]
LEARNER_CHECKS = [
    check_fit_repeats_and_leaves_global_state,
    check_integer_weights_repeat_rows,
    check_constant_target_is_predicted,
]
NETS = [learner for learner in LEARNERS if not isinstance(learner, KernelRidge | RFM)]
#: Descent on both layers is not equivariant, on either alone it is.
EQUIVARIANT = [learner for learner in LEARNERS if learner != DESCENT]
