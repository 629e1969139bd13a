"""Number of directions, and the spectrum of H, on targets whose answer is known."""

from __future__ import annotations

import pytest
import torch

from gradfeat.diagnostics.direction_count import (
    MOST_FEATURES,
    count_directions,
    curvature_test,
    hessian_means,
)
from gradfeat.diagnostics.hermite_degrees import feature_count, residuals_by_degree
from gradfeat.maths.linear_algebra import principal_angles
from gradfeat.maths.streams import null_draws


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def counted(Z: torch.Tensor, y: torch.Tensor, degrees: list[int], level: float = 0.01):
    left = residuals_by_degree(Z, y, max(degrees, default=1))
    return count_directions(Z, left, degrees, null_draws(len(Z), 199, 0), level)


KNOWN = {
    "linear and quadratic in one direction": (lambda z: z[:, 0] + z[:, 0] ** 2, [1, 2], 1),
    "linear in one, quadratic in another": (lambda z: z[:, 0] + z[:, 1] ** 2, [1, 2], 2),
    "a product": (lambda z: z[:, 0] * z[:, 1], [2], 2),
    "cubic": (lambda z: z[:, 0] ** 3 - 3 * z[:, 0], [3], 1),
    "a product of three": (lambda z: z[:, 0] * z[:, 1] * z[:, 2], [3], 3),
    "two outputs": (lambda z: z[:, :2], [1], 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_number_of_directions_and_their_space(name):
    target, degrees, r = KNOWN[name]
    Q = torch.linalg.qr(normal(5, 5, seed=3))[0]
    X = normal(2000, 5)
    y = target(X).reshape(2000, -1) + 0.1 * normal(2000, 1, seed=4)
    found = counted(X @ Q.T, y, degrees)
    assert found.directions.shape == (5, r)
    # Noise of 1/sqrt(2000) a coefficient, several of them, against signals of size 1.
    assert float(principal_angles(found.directions, Q[:, :r]).max()) < 0.3


def test_noise_adds_no_direction_beyond_the_level():
    """Of 40 draws with one true direction, at level .05: 2, and 4 standard errors above is 7.5."""
    more = 0
    for seed in range(40):
        Z = normal(300, 4, seed=seed)
        y = Z[:, :1] + normal(300, 1, seed=500 + seed)
        more += counted(Z, y, [1, 2], 0.05).directions.shape[1] > 1
    assert more <= 7


def test_tensors_that_are_too_large_are_left_out_and_said():
    d = 45
    assert feature_count(d, 3) > MOST_FEATURES
    found = counted(normal(200, d), normal(200, 1, seed=1), [1, 3])
    assert (found.degrees, found.left_out) == ((1,), (3,))


def test_without_degrees_there_are_no_directions():
    found = counted(normal(100, 3), normal(100, 1, seed=1), [])
    assert (found.directions.shape, found.degrees) == ((3, 0), ())


def test_the_hessian_is_its_sum_in_any_blocks(monkeypatch):
    Z, Y = normal(30, 3), normal(30, 2, seed=1)
    terms = [
        y[:, None, None] * (torch.outer(z, z) - torch.eye(3)) for y, z in zip(Y, Z, strict=True)
    ]
    expected = torch.stack(terms).mean(0)
    for size in (2**28, 9 * 8 * 7):
        monkeypatch.setattr("gradfeat.diagnostics.direction_count.BLOCK_BYTES", size)
        torch.testing.assert_close(hessian_means(Z, Y), expected)


def test_the_spectrum_is_that_of_the_target():
    """f = z_0^2 - z_1^2 / 2: H = diag(2, -1, 0), each entry within 4 standard errors."""
    Z = normal(20_000, 3)
    y = Z[:, :1] ** 2 - Z[:, 1:2] ** 2 / 2
    found = curvature_test(Z, residuals_by_degree(Z, y, 2)[1], null_draws(20_000, 49, 0), 0.05)
    spread = (y - y.mean()) * Z[:, :1] ** 2
    error = float(spread.std()) / 20_000**0.5
    assert float((found.eigenvalues - torch.tensor([2.0, 0.0, -1.0])).abs().max()) < 4 * error
    assert found.p_value == 0.02


def test_several_outputs_give_a_spectrum_without_sign():
    Z = normal(3000, 3)
    y = torch.cat([Z[:, :1] ** 2, -(Z[:, 1:2] ** 2)], dim=1)
    found = curvature_test(Z, residuals_by_degree(Z, y, 2)[1], null_draws(3000, 49, 0), 0.05)
    assert float(found.eigenvalues.min()) >= 0
    assert int((found.eigenvalues > found.threshold).sum()) == 2
