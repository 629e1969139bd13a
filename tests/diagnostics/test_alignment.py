"""Cosines and unit rows."""

from __future__ import annotations

import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity

from gradfeat.diagnostics.alignment import cosines, unit_rows

G = torch.Generator().manual_seed(0)
W = torch.randn(20, 6, generator=G).double()
U = torch.randn(6, 3, generator=G).double()
ROTATION = torch.linalg.qr(torch.randn(6, 6, generator=G).double())[0]
# rounding of sums of 6 terms
TIGHT = {"rtol": 0, "atol": 1e-14}


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(0)


def test_cosines_agree_with_scikit_learn():
    expected = torch.from_numpy(cosine_similarity(W.numpy(), U.T.numpy())).abs()
    torch.testing.assert_close(cosines(W, U), expected, **TIGHT)


def test_rotation_signs_and_scales_change_nothing():
    scale = (
        torch.logspace(-200, 200, 20, dtype=torch.float64)[:, None]
        * (-1) ** torch.arange(20)[:, None]
    )
    torch.testing.assert_close(
        cosines(scale * W @ ROTATION, ROTATION.T @ -U), cosines(W, U), **TIGHT
    )


def test_unit_rows_of_tiny_and_huge_rows_have_norm_one():
    rows = unit_rows(torch.tensor([[1e-310, 0], [1e300, 1e300]], dtype=torch.float64))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(2).double(), rtol=1e-14, atol=0)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"W has shape \(20, 6\) and the directions \(5, 3\)"):
        cosines(W, U[:5])
