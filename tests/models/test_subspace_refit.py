"""The last fit inside the learnt directions: reductions, invariance, every option."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from contracts import close
from gradfeat.maths.blocks import Block
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.local_machines import LocalRidge
from gradfeat.models.rfm import RFM
from gradfeat.models.search.head_search import Split
from gradfeat.models.subspace_refit import (
    Projected,
    SubspaceRefit,
    leading_metric,
    total_variance,
)
from gradfeat.rows.rows import in_memory


def sample(n: int = 120, d: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(5)).double()
    return X, (X[:, :1] + 0.5 * X[:, 1:2]).sin()


ROUNDS = RFM(Laplace(3.0), 1e-2, n_iter=2)
BASE = SubspaceRefit(ROUNDS, KernelRidge(Gaussian(1.0), 1e-2), directions=2)


def symmetric(seed: int, d: int = 5) -> torch.Tensor:
    A = torch.randn(d, d, generator=torch.Generator().manual_seed(seed)).double()
    return A @ A.T


def test_all_directions_at_power_one_half_are_the_metric():
    A = symmetric(0)
    B = leading_metric(A, None, 0.5)
    M = A @ A
    close(B @ B.T, M / torch.linalg.eigvalsh(M)[-1], 1e-8)


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_columns_are_leading_eigenvectors_times_powers(power):
    A = symmetric(1)
    e, V = torch.linalg.eigh(A @ A)
    B = leading_metric(A, 2, power)
    scale = (e.flip(0)[:2] / e[-1]) ** power
    close(B.T @ B, torch.diag(scale**2), 1e-8)
    close((V.flip(1)[:, :2].T @ B).abs(), torch.diag(scale), 1e-8)


def test_eigenvalues_at_rounding_are_no_directions():
    u = torch.ones(3, 1).double() / 3**0.5
    close(leading_metric(u @ u.T, None, 0.5), u @ u.T, 1e-12)
    assert leading_metric(u @ u.T, 2, 0.0).shape == (3, 1)


def test_all_directions_keep_the_coordinates_of_the_inputs():
    """M^power itself, of the same distances as V diag(e^power), at every power."""
    A = symmetric(1, 4)
    for power in (0.0, 0.25, 1.0):
        whole, rotated = leading_metric(A, None, power), leading_metric(A, 4, power)
        close(whole, whole.T, 1e-12)
        close(whole @ whole.T, rotated @ rotated.T, 1e-12)
    close(leading_metric(A, None, 0.0), torch.eye(4).double(), 1e-12)


def test_projected_rows_have_unit_total_variance_whatever_the_weights():
    X, y = sample()
    w = torch.rand(len(X), generator=torch.Generator().manual_seed(0)).double()
    for A in (symmetric(2, 4), torch.tensor([1.0, 3.0, 2.0, 0.5]).double()):
        for directions in (3, None):
            P, _ = Split(Block(X, y, w), Block(X, y, w), A).onto(directions, 0.5)
            assert total_variance(P, w) == pytest.approx(1.0, rel=1e-12)


def test_the_head_is_kernel_ridge_in_the_learnt_metric():
    """With the rounds' kernel, all directions and the scale undone it is the RFM itself."""
    X, y = sample()
    machine = ROUNDS.fit(in_memory(X, y))
    B = leading_metric(machine.A, None, 0.5)
    largest = float(torch.linalg.eigvalsh(machine.M)[-1]) ** 0.5
    scale = total_variance(X @ B, torch.ones(len(X)).double()) ** -0.5
    head = KernelRidge(Laplace(3.0 * scale / largest), ROUNDS.alpha)
    close(SubspaceRefit(ROUNDS, head).fit(in_memory(X, y))(X), machine(X), 1e-6)


def test_gradient_is_the_derivative():
    X, y = sample()
    f = BASE.fit(in_memory(X, y))
    h, at = 1e-5, X[:7]
    steps = [(f(at + h * e) - f(at - h * e)) / (2 * h) for e in torch.eye(4).double()]
    # Central differences: h^2 of third derivatives and rounding / h.
    torch.testing.assert_close(f.gradient(at), torch.stack(steps, 2), rtol=1e-6, atol=1e-7)
    assert isinstance(f, Projected)


def test_predictions_turn_with_the_inputs():
    X, y = sample()
    Q = torch.linalg.qr(symmetric(3, 4))[0]
    close(BASE.fit(in_memory(X @ Q, y))(X @ Q), BASE.fit(in_memory(X, y))(X), 1e-6)


def test_noise_is_smoothed_better_inside_the_direction_than_in_all_inputs():
    X, y = sample(300, 12)
    X_new, y_new = sample(500, 12)
    noise = torch.randn(300, 1, generator=torch.Generator().manual_seed(6)).double()
    new, noisy = slice(300, None), y + 0.5 * noise
    head = KernelRidge(Gaussian(1.0), 1.0)
    inside = replace(BASE, directions=1, head=head).fit(in_memory(X, noisy))(X_new[new])
    outside = KernelRidge(Gaussian(3.0), 1.0).fit(in_memory(X, noisy))(X_new[new])
    errors = [float((f - y_new[new]).square().mean()) for f in (inside, outside)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize(
    "option",
    [
        {"directions": 1},
        {"directions": None},
        {"power": 0.0},
        {"power": None},
        {"head": KernelRidge(Laplace(1.0), 1e-2)},
        {"rfm": replace(ROUNDS, n_iter=1)},
    ],
)
def test_every_option_changes_the_fit(option):
    X, y = sample()
    changed = replace(BASE, **option).fit(in_memory(X, y))(X)
    assert float((changed - BASE.fit(in_memory(X, y))(X)).abs().max()) > 1e-4


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_last_round_by_another_learner_is_that_round_where_its_rows_are_all(diagonal: bool):
    """Solved directly twice: K in the metric A is k of rows A x, to rounding times n / alpha."""
    X = torch.randn(120, 4, generator=torch.Generator().manual_seed(0)).double()
    rows = in_memory(X, (X[:, :1] * X[:, 1:2]).sin())
    rfm = RFM(Laplace(3.0), alpha=1e-2, n_iter=2, diagonal=diagonal)
    f = SubspaceRefit(rfm, LocalRidge(Laplace(3.0), 1e-2), power=None).fit(rows)
    torch.testing.assert_close(f(X[:20] + 0.1), rfm.fit(rows)(X[:20] + 0.1), rtol=0, atol=1e-9)
