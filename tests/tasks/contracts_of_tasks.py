"""What every task must satisfy, and the list that goes through it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gradfeat.maths.links import FunctionLink
from gradfeat.maths.streams import stream
from gradfeat.tasks.base import Task
from gradfeat.tasks.gaussian_mixture import GaussianMixture
from gradfeat.tasks.linear_labels import GaussianParity, LinearLabels
from gradfeat.tasks.low_dimensional_support import LowDimensionalSupport
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.one_dimensional import OneDimensional
from gradfeat.tasks.parity_blocks import ParityBlocks
from gradfeat.tasks.simple_and_complex import SimpleAndComplex
from gradfeat.tasks.single_index import SingleIndex, he2_he4
from gradfeat.tasks.sparse_coding import SparseCoding
from gradfeat.tasks.targets import GatedProduct, SumOfSines, TruncatedPower, he2_hep, heaviside


@dataclass(frozen=True)
class Wave:
    """A smooth function of two variables that is no sum over them."""

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return np.cos(z[:, 0] + z[:, 1]) + np.tanh(z[:, 0])


WAVE = Wave()

TASKS: list[Task] = [
    SingleIndex(6, he2_he4(), noise=0.5, seed=1),
    SparseCoding.hard(12, 9, 3, 0.3, flip=0.1, seed=1),
    SparseCoding.parity(9, 9, 4, seed=2),
    SparseCoding.majority(10, 7, 5, 0.2, flip=0.2),
    SparseCoding(8, 6, 2, (0, 2), (0.2, 0.5, 0.3), 0.4),
    MultiIndex(7, he2_hep(4, r=2), noise=0.5, noise_law="sign", seed=1),
    MultiIndex(5, GatedProduct(0.5), noise=0.1, scale=0.5, aligned=True),
    MultiIndex(4, SumOfSines(4, 1.5), scale=2.0),
    MultiIndex(6, FunctionLink.projected(WAVE, 2, k_max=1), noise=0.2, seed=2),
    LowDimensionalSupport(9, 2, WAVE, noise=0.3, seed=1),
    LowDimensionalSupport(9, 2, WAVE, curvature=1.5, ambient=0.2, noise=0.3),
    LowDimensionalSupport(2, 2, WAVE, curvature=1.0, ambient=1.0),
    OneDimensional(heaviside(), noise=0.3),
    OneDimensional(TruncatedPower(2), d=4, noise=0.1),
    GaussianMixture(7, 3, 2.0, seed=1),
    GaussianMixture(6, 2, 1.5, 0.8, 0.5, (2.0, -0.5), (0.3, 0.7)),
    GaussianMixture(6, 2, 1.5, 0.6, mirrored=True),
    ParityBlocks(12, 10, 3, 3, 0.4, 0.3, seed=1),
    ParityBlocks(9, 9, 5, 1, 0.5),
    ParityBlocks.uniform(8, 7, 3),
    LinearLabels(6, flip=0.1, seed=1),
    LinearLabels(5, "real", noise=0.4),
    SimpleAndComplex(6, 3, 0.9, seed=1),
    SimpleAndComplex(5, 4, noise=0.3),
    GaussianParity(5, 4, 3, seed=1),
]

#: A right statistic exceeds this many standard errors once in 1.7 million seeds.
Z = 5.0


def errors(values: Tensor, mean: Tensor | float = 0.0) -> float:
    """Largest |average - mean| over columns, in standard errors."""
    values = values - mean
    error = values.std(0) / math.sqrt(len(values)) + 1e-12
    return float((values.mean(0).abs() / error).max())


def check_directions_are_orthonormal(task: Task) -> None:
    """U^T U = I to the rounding of sums of some ten squares."""
    U = task.directions
    identity = torch.eye(U.shape[1]).double()
    torch.testing.assert_close(U.T @ U, identity, rtol=0, atol=1e-14)


def check_target_is_the_mean_given_the_input(task: Task) -> None:
    """E[y - target | x] = 0: no correlation of the residual with functions of x."""
    sample = task.sample(50_000, stream(0, "mean"))
    residual = sample.y - task.target(sample.X)
    along = sample.X @ task.directions
    probes = [torch.ones_like(along), along, along.square(), sample.X, task.target(sample.X)]
    assert errors(torch.cat([residual * probe for probe in probes], 1)) < Z


def check_only_the_directions_move_the_target(task: Task) -> None:
    """Moves at right angles to U leave the target to rounding."""
    X, U = task.sample(500, stream(0, "x")).X, task.directions
    beside = torch.randn(X.shape, generator=stream(0, "beside")).double()
    beside -= (beside @ U) @ U.T
    torch.testing.assert_close(task.target(X + beside), task.target(X), rtol=0, atol=1e-11)
    spread = task.target(X).std()
    assert float(spread) > 0.1


def check_samples_repeat(task: Task) -> None:
    """By generator alone; another name, other rows; the global generator untouched."""
    state = torch.get_rng_state()
    one, same = (task.sample(20, stream(2, "train")) for _ in range(2))
    other = task.sample(20, stream(2, "test"))
    assert torch.equal(one.X, same.X)
    assert torch.equal(one.y, same.y)
    assert not torch.equal(one.X, other.X)
    assert torch.equal(state, torch.get_rng_state())


def check_shapes_and_types(task: Task) -> None:
    """Rows in float64; the target in the type of its input; no empty sample."""
    sample = task.sample(5, stream(0, "shape"))
    assert sample.X.dtype == sample.y.dtype == torch.float64
    assert sample.y.shape == task.target(sample.X).shape == (5, 1)
    assert sample.X.shape == (5, len(task.directions))
    assert task.target(sample.X.float()).dtype == torch.float32


TASK_CHECKS = [
    check_directions_are_orthonormal,
    check_target_is_the_mean_given_the_input,
    check_only_the_directions_move_the_target,
    check_samples_repeat,
    check_shapes_and_types,
]
