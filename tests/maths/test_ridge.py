"""Ridge paths against normal equations, hat matrices, brute-force refits and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from gradfeat.maths.ridge import kernel_ridge_path, ridge_path, solve_kernel_ridge

SHAPES = [(12, 4), (7, 15)]
LAM = 0.7
#: Rounding (1e-16) times the condition of these small problems (below 1e3), with room.
TIGHT = {"rtol": 1e-9, "atol": 1e-10}


def problem(n, m, *, weighted=True):
    g = torch.Generator().manual_seed(n)
    F = torch.randn(n, m, generator=g).double() + 1
    y = torch.randn(n, 2, generator=g).double() + 3
    w = torch.rand(n, generator=g).double() + 0.2 if weighted else torch.ones(n).double()
    return F, y, w


def predict(F, y, w, F_new, intercept):
    path, means = ridge_path(F, y, w, intercept=intercept)
    return path.offset + (F_new - means) @ path.coefficients(LAM)


def hat(F, w, intercept):
    """Smoother in y: column j is the fit to the j-th unit vector."""
    eye = torch.eye(len(F)).double()
    return predict(F, eye, w, F, intercept)


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
def test_normal_equations_hold(n, m, intercept):
    F, y, w = problem(n, m)
    path, means = ridge_path(F, y, w, intercept=intercept)
    a = path.coefficients(LAM)
    error = w[:, None] * (y - path.offset - (F - means) @ a)
    torch.testing.assert_close(F.T @ error, LAM * a, **TIGHT)
    if intercept:
        torch.testing.assert_close(error.sum(0), torch.zeros(2).double(), **TIGHT)


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_equals_brute_force(n, m, intercept, weighted):
    F, y, w = problem(n, m, weighted=weighted)
    path, _ = ridge_path(F, y, w, intercept=intercept)
    for i, prediction in enumerate(path.loo_predictions(LAM)):
        kept = torch.arange(n) != i
        refit = predict(F[kept], y[kept], w[kept], F[i : i + 1], intercept)[0]
        torch.testing.assert_close(prediction, refit, **TIGHT)
    squares = (y - path.loo_predictions(LAM)).square().sum(1)
    assert path.loo(LAM) == pytest.approx(float((w * squares).sum() / w.sum()), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
def test_gcv_is_that_of_the_hat_matrix(n, m, intercept):
    F, y, w = problem(n, m)
    path, _ = ridge_path(F, y, w, intercept=intercept)
    H = hat(F, w, intercept)
    error = (w[:, None] * (y - H @ y).square()).sum() / w.sum()
    assert path.gcv(LAM) == pytest.approx(float(error / (1 - H.trace() / n) ** 2), rel=1e-9)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_agrees_with_scikit_learn(n, m):
    F, y, w = problem(n, m)
    other = Ridge(alpha=LAM).fit(F.numpy(), y.numpy(), sample_weight=w.numpy())
    path, _ = ridge_path(F, y, w)
    expected = torch.from_numpy(other.coef_.T.copy())
    torch.testing.assert_close(path.coefficients(LAM), expected, **TIGHT)


def test_primal_and_dual_agree():
    F, y, _ = problem(12, 4, weighted=False)
    yc = y - y.mean(0)
    primal = ridge_path(F, yc, intercept=False)[0].coefficients(LAM)
    dual = kernel_ridge_path(F @ F.T, y).coefficients(LAM)
    torch.testing.assert_close(F.T @ dual, primal, **TIGHT)


def test_kernel_leave_one_out_holds_the_offset_fixed():
    F, y, w = problem(10, 3)
    K = (F @ F.T + 1) ** 2 / 20
    path = kernel_ridge_path(K, y, w)
    for i, prediction in enumerate(path.loo_predictions(LAM)):
        kept = torch.arange(10) != i
        noise = LAM * torch.diag(1 / w[kept])
        c = torch.linalg.solve(K[kept][:, kept] + noise, y[kept] - path.offset)
        torch.testing.assert_close(prediction, path.offset + K[i, kept] @ c, **TIGHT)


def test_kernel_path_and_cholesky_satisfy_the_equations():
    F, y, w = problem(10, 3)
    K = torch.exp(-torch.cdist(F, F))
    path = kernel_ridge_path(K, y, w)
    c = solve_kernel_ridge(K.clone(), y - path.offset, LAM, w)
    torch.testing.assert_close((K + LAM * torch.diag(1 / w)) @ c, y - path.offset, **TIGHT)
    torch.testing.assert_close(path.coefficients(LAM), c, **TIGHT)


def test_best_minimises_its_criterion_over_the_grid():
    F, y, w = problem(12, 4)
    path, _ = ridge_path(F, y, w)
    grid = path.grid()
    assert path.loo(path.best(grid)) == min(map(path.loo, grid))
    assert path.gcv(path.best(grid, "gcv")) == min(map(path.gcv, grid))


def test_float32_matrix_that_is_not_positive_definite_is_solved_in_float64():
    x = torch.linspace(0, 1, 300)[:, None]
    K = torch.exp(-(x - x.T).square())
    lam = 2e-6
    assert torch.linalg.cholesky_ex(K + lam * torch.eye(300))[1] > 0
    y = torch.sin(5 * x)
    c = solve_kernel_ridge(K.clone(), y, lam)
    wide = torch.linalg.solve(K.double() + lam * torch.eye(300).double(), y.double())
    # One rounding to float32 at the end.
    torch.testing.assert_close(c, wide.float(), rtol=1e-4, atol=1e-4 * float(wide.abs().max()))


def test_indefinite_matrix_is_refused_in_float64():
    with pytest.raises(np.linalg.LinAlgError, match="raise alpha"):
        solve_kernel_ridge(-torch.eye(2).double(), torch.ones(2, 1).double(), 0.5)


@pytest.mark.parametrize(("n", "m"), [(300, 40), (30, 60)])
def test_small_penalties_of_nearly_dependent_features_predict_as_least_squares_does(n, m):
    """Ramps on a line: singular values down to rounding, a penalty far below the largest square."""
    knots = torch.linspace(-1, 1, m, dtype=torch.float64) ** 3
    x, new = (torch.linspace(-1, 1, k, dtype=torch.float64) for k in (n, 501))
    F, G = ((t[:, None] - knots).clamp(min=0) for t in (x, new))
    y = torch.sin(3 * x)[:, None]
    path, means = ridge_path(F, y)
    lam = 1e-11 * float(path.e.mean())
    a = path.coefficients(lam)
    # The augmented system [F - mean; sqrt(lam) I] a = [y - mean; 0], whose condition is the root of
    # the normal equations': an independent solution that keeps its digits.
    rows = np.vstack([(F - F.mean(0)).numpy(), np.sqrt(lam) * np.eye(m)])
    right = np.vstack([(y - y.mean()).numpy(), np.zeros((m, 1))])
    expected = torch.from_numpy(np.linalg.lstsq(rows, right, rcond=None)[0])
    gap = (G - means) @ (a - expected)
    assert float(gap.abs().max()) < 1e-8


def test_features_that_do_not_vary_explain_nothing():
    F = torch.full((50, 3), 0.1, dtype=torch.float64) + 1e6
    y = torch.arange(50.0, dtype=torch.float64)[:, None]
    path, _ = ridge_path(F, y)
    assert len(path.e) == 0
    torch.testing.assert_close(path.loo_predictions(1e-12).mean(), y.mean())
