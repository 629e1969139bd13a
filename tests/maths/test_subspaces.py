"""Angles, cosines, leading directions and effective rank."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.linalg import subspace_angles

from gradfeat.maths.linear_algebra import (
    flat_cosine,
    leading_directions,
    principal_angles,
)

G = torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(0)


@pytest.mark.parametrize(("r", "s"), [(1, 1), (2, 3), (3, 2)])
def test_angles_agree_with_scipy(r, s):
    U, V = (torch.randn(6, k, generator=G).double() for k in (r, s))
    expected = np.sort(subspace_angles(U.numpy(), V.numpy()))
    np.testing.assert_allclose(principal_angles(U, V).numpy(), expected, atol=1e-12)


def test_small_angles_keep_their_digits_in_any_basis():
    V = torch.tensor([[1.0], [1e-9], [0.0]]).double()
    U = torch.tensor([[-5.0], [0.0], [0.0]]).double()
    assert float(principal_angles(U, V)[0]) == pytest.approx(1e-9, rel=1e-6)


def test_flat_cosine_ignores_scale_and_is_nan_at_zero():
    A = torch.randn(3, 3, generator=G).double()
    assert flat_cosine(A, -2 * A) == pytest.approx(-1)
    assert math.isnan(flat_cosine(A, 0 * A))


def test_leading_directions_rebuild_the_matrix():
    B = torch.randn(4, 4, generator=G).double()
    e, V = leading_directions(B @ B.T)
    torch.testing.assert_close((V * e) @ V.T, B @ B.T, rtol=1e-12, atol=1e-12)
    assert bool((e.diff() <= 0).all())
    assert bool((V.gather(0, V.abs().argmax(0, keepdim=True)) > 0).all())
