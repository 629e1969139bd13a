"""The Gram matrix on its own memory: its upper triangle, and nothing else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from gradfeat.maths.linear_algebra import add_gram, add_gram_, mirrored


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 3), (3, 5), (200, 33), (4, 0)])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_upper_triangle_is_added(shape, kind):
    F = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(kind)
    C = torch.full((shape[1],) * 2, 2.0, dtype=kind)
    add_gram_(C, F)
    # Rounding of sums of at most 200 products.
    tolerance = 1e-12 if kind == torch.float64 else 1e-3
    expected = F.T @ F + 2
    torch.testing.assert_close(C.triu(), expected.triu(), rtol=tolerance, atol=tolerance)
    assert (C.tril(-1) == 2 * torch.ones_like(C).tril(-1)).all()


def test_float32_is_added_in_float64():
    F = torch.tensor([[2.0**12, 1.0]])
    total = torch.full((2, 2), 2.0**50, dtype=torch.float64)
    add_gram(total, F)
    assert mirrored(total).tolist() == [
        [2.0**50 + 2**24, 2.0**50 + 2**12],
        [2.0**50 + 2**12, 2.0**50 + 1],
    ]


def test_threads_do_not_meet():
    def summed(seed):
        F = torch.randn(64, 20, generator=torch.Generator().manual_seed(seed)).double()
        C = torch.zeros(20, 20).double()
        for _ in range(50):
            add_gram_(C, F)
        return C.triu() - 50 * (F.T @ F).triu()

    with ThreadPoolExecutor(4) as pool:
        assert max(float(rest.abs().max()) for rest in pool.map(summed, range(8))) < 1e-9


def test_other_memory_is_refused():
    C = torch.zeros(3, 3).double()
    for F in (torch.ones(3, 4).double().T, torch.ones(4, 3)):
        with pytest.raises(ValueError, match=r"contiguous ones|of one type"):
            add_gram_(C, F)
