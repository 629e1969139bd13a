"""Factorisations on a matrix's own memory."""

from __future__ import annotations

import torch

from gradfeat.maths.linear_algebra import cholesky_, upper_cholesky_, upper_times_transpose


def positive(n: int = 30) -> torch.Tensor:
    A = torch.randn(n, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return A @ A.T + torch.eye(n)


def test_the_upper_factor_is_that_of_torch_from_the_upper_triangle_alone():
    A = positive()
    T = upper_cholesky_(A.triu() + torch.full_like(A, 7.0).tril(-1))
    assert T is not None
    expected = torch.linalg.cholesky(A, upper=True)
    # Condition about 120, rounding 1e-16, 30 terms.
    assert float((T - expected).abs().max()) < 1e-12
    assert not bool(T.tril(-1).any())


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    A = positive()
    A[20, 20] = -1.0
    assert upper_cholesky_(A.clone()) is None
    assert cholesky_(A.clone()) is None


def test_solve_and_product_with_the_transpose():
    A, y = positive(), torch.ones(30, 2).double()
    solve = cholesky_(A.clone())
    assert solve is not None
    assert float((A @ solve(y) - y).abs().max()) < 1e-12
    T = A.triu()
    # Entries of T T^T are near 3,000; rounding 1e-16 of 30 terms.
    assert float((upper_times_transpose(T) - T @ T.T).triu().abs().max()) < 1e-10
