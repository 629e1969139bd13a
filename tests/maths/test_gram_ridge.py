"""Ridge from moments is ridge from the rows, at every penalty and by every criterion."""

from __future__ import annotations

import pytest
import torch

from gradfeat.maths.blocks import Block, collect
from gradfeat.maths.gram_ridge import LeaveOneOut, gram_ridge, solve_gram
from gradfeat.maths.ridge import ridge_path
from gradfeat.maths.statistics.moments import Moments

G = torch.Generator().manual_seed(1)
F = torch.randn(60, 8, generator=G).double() + 3
y = F[:, :2].sin() + 0.3 * torch.randn(60, 2, generator=G).double()
w = torch.rand(60, generator=G).double() + 0.5
ROWS = [Block(F[i], y[i], w[i]) for i in torch.arange(60).tensor_split(4)]
LAMS = (1e-3, 1.0, 30.0)


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(1)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", LAMS)
def test_coefficients_and_criteria_are_those_of_the_singular_values(lam, intercept):
    m = collect(Moments(), ROWS)
    path = gram_ridge(m, intercept=intercept)
    exact, means = ridge_path(F, y, w, intercept=intercept)
    # Condition 1e3 at most: rounding stays below 1e-12.
    torch.testing.assert_close(
        path.coefficients(lam), exact.coefficients(lam), rtol=1e-10, atol=1e-11
    )
    solved = solve_gram(m, lam, intercept=intercept)
    torch.testing.assert_close(solved, exact.coefficients(lam), rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(path.offset, exact.offset)
    torch.testing.assert_close(path.means, means)
    assert path.gcv(lam) == pytest.approx(exact.gcv(lam), rel=1e-10)
    assert path.grid() == pytest.approx(exact.grid(), rel=1e-9)


@pytest.mark.parametrize("size", [0.0, 3e-8, 1e-7, 3e-7])
def test_a_column_that_others_add_up_to_moves_no_penalty(size):
    """Rows held it and their sums did not: the same table had other penalties when it streamed."""
    noise = torch.randn(60, 1, generator=G).double()
    wider = torch.cat([F, F[:, :1] + F[:, 1:2] + size * noise], 1)
    rows = [Block(wider[i], y[i], w[i]) for i in torch.arange(60).tensor_split(4)]
    sums, exact = gram_ridge(collect(Moments(), rows)), ridge_path(wider, y, w)[0]
    assert sums.grid() == pytest.approx(exact.grid(), rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_errors_are_those_of_the_singular_values(intercept):
    path = gram_ridge(collect(Moments(), ROWS), intercept=intercept)
    found = collect(LeaveOneOut(path, LAMS), ROWS)
    exact, _ = ridge_path(F, y, w, intercept=intercept)
    assert found.tolist() == pytest.approx([exact.loo(lam) for lam in LAMS], rel=1e-10)


def test_left_out_errors_are_those_of_fits_without_the_row():
    path = gram_ridge(collect(Moments(), ROWS))
    errors = []
    for i in range(60):
        rest = [j for j in range(60) if j != i]
        less, means = ridge_path(F[rest], y[rest], w[rest])
        said = less.offset + (F[i] - means) @ less.coefficients(1.0)
        errors.append(float(w[i] * (y[i] - said).square().sum()))
    found = float(collect(LeaveOneOut(path, (1.0,)), ROWS))
    assert found == pytest.approx(sum(errors) / float(w.sum()), rel=1e-10)


def test_best_has_the_least_gcv_of_the_grid():
    path = gram_ridge(collect(Moments(), ROWS))
    assert path.gcv(path.best()) == min(map(path.gcv, path.grid()))


def test_columns_that_follow_from_others_or_do_not_vary_are_rounding():
    twice = torch.cat([F, F[:, :1], torch.full((60, 1), 1e6).double()], dim=1)
    m = collect(Moments(), [Block(twice, y, w)])
    path = gram_ridge(m)
    assert len(path.e) == 8
    a = path.coefficients(1e-6)
    said = path.offset + (twice - path.means) @ a
    plain, means = ridge_path(F, y, w)
    # Twice the column halves its penalty: 1e-6 of a spectrum of order 10.
    expected = plain.offset + (F - means) @ plain.coefficients(1e-6)
    torch.testing.assert_close(said, expected, rtol=1e-6, atol=1e-6)
