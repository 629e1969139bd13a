"""Cosines, shares within an angle, and unit rows."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity

from gradfeat.diagnostics.alignment import cosines, largest_cosine, share_within, unit_rows

G = torch.Generator().manual_seed(0)
W = torch.randn(20, 6, generator=G).double()
U = torch.randn(6, 3, generator=G).double()
ROTATION = torch.linalg.qr(torch.randn(6, 6, generator=G).double())[0]
# rounding of sums of 6 terms
TIGHT = {"rtol": 0, "atol": 1e-14}


def test_cosines_agree_with_scikit_learn():
    expected = torch.from_numpy(cosine_similarity(W.numpy(), U.T.numpy())).abs()
    torch.testing.assert_close(cosines(W, U), expected, **TIGHT)
    torch.testing.assert_close(largest_cosine(W, U), expected.max(1).values, **TIGHT)


def test_rotation_signs_and_scales_change_nothing():
    scale = (
        torch.logspace(-200, 200, 20, dtype=torch.float64)[:, None]
        * (-1) ** torch.arange(20)[:, None]
    )
    torch.testing.assert_close(
        cosines(scale * W @ ROTATION, ROTATION.T @ -U), cosines(W, U), **TIGHT
    )


def test_zero_neurons_and_directions_have_cosine_zero_and_are_within_no_angle():
    zero = torch.zeros(1, 6).double()
    assert cosines(zero, U).tolist() == [[0, 0, 0]]
    assert cosines(W, zero.T).abs().max() == 0
    assert share_within(zero, U, 89) == 0
    assert share_within(W, zero.T, 89) == 0


@pytest.mark.parametrize("degrees", [1e-6, 0.5, 30.0, 89.0])
def test_share_counts_neurons_up_to_their_planted_angle(degrees):
    angles = torch.tensor([0.9, 1.1], dtype=torch.float64) * math.radians(degrees)
    neurons = torch.stack([angles.cos(), -angles.sin()], dim=1)
    truth = torch.tensor([[-2.0], [0.0]]).double()
    expected = 0.5 if degrees < 85 else 1.0  # 1.1 * 89 degrees is past the right angle
    assert share_within(neurons, truth, degrees) == expected


def test_share_with_several_directions_counts_a_neuron_once():
    assert share_within(torch.eye(3), torch.eye(3)[:, :2], 10) == pytest.approx(2 / 3)
    assert share_within(torch.eye(3), torch.ones(3, 2), 60) == 1


def test_unit_rows_of_tiny_and_huge_rows_have_norm_one():
    rows = unit_rows(torch.tensor([[1e-310, 0], [1e300, 1e300]], dtype=torch.float64))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(2).double(), rtol=1e-14, atol=0)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"W has shape \(20, 6\) and the directions \(5, 3\)"):
        cosines(W, U[:5])
    with pytest.raises(ValueError, match="91 degrees"):
        share_within(W, U, 91)
    with pytest.raises(ValueError, match="no neurons"):
        share_within(W[:0], U, 10)
