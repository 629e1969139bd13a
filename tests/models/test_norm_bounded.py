"""Heads under norm bounds: the minimum of other solvers, certified, for each loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import linprog, minimize

from gradfeat.maths.box_ball import project
from gradfeat.models.bounded.interior_point import bounded_head
from gradfeat.models.losses import Hinge, Logistic, Loss, Squared

LOSSES = [Squared(), Logistic(), Hinge()]
BOTH = (0.3, 0.6)
BOUNDS = [BOTH, (0.4, math.inf), (math.inf, 0.7), (50.0, 100.0)]


def problem(loss: Loss, n: int = 60, r: int = 5, seed: int = 0):
    """Correlated features, targets partly explained by them, weights with a zero among them."""
    g = torch.Generator().manual_seed(seed)
    F = torch.randn(n, r, generator=g).double() + torch.randn(n, 1, generator=g).double()
    y = F[:, 0] - F[:, 1] + 0.5 + torch.randn(n, generator=g).double()
    w = torch.randint(0, 3, (n,), generator=g).double()
    return F, y if loss == Squared() else torch.where(y >= 0, 1.0, -1.0).double(), w


def mean_loss(loss, F, y, w, a, offset=0.0):
    return float(w @ loss(F @ a + offset, y) / w.sum())


def generic_minimum(loss, F, y, w, B1, B2, offset):
    """SLSQP on the smooth losses; the hinge's with its slacks as variables."""
    A = torch.cat([F, torch.full((len(F), 1), float(offset))], 1).double().numpy()
    y, v, r = y.numpy(), (w / w.sum()).numpy(), F.shape[1]
    free = A.shape[1]
    hinge = loss == Hinge()
    n = len(y) if hinge else 0

    def value(x):
        if hinge:
            return v @ x[free:], np.r_[np.zeros(free), v]
        f = torch.tensor(A @ x)
        target = torch.tensor(y)
        return float(v @ loss(f, target).numpy()), A.T @ (v * loss.slope(f, target).numpy())

    limit = B1 if math.isfinite(B1) else None
    bounds = [(-limit if limit else None, limit)] * r + [(None, None)] + [(0, None)] * n
    constraints = []
    if math.isfinite(B2):
        inside = {"fun": lambda x: B2**2 - x[:r] @ x[:r]}
        inside["jac"] = lambda x: np.r_[-2 * x[:r], np.zeros(len(x) - r)]
        constraints.append({"type": "ineq", **inside})
    if hinge:
        J = np.hstack([y[:, None] * A, np.eye(n)])
        constraints.append({"type": "ineq", "fun": lambda x: J @ x - 1, "jac": lambda _: J})
    start = np.r_[np.zeros(free), np.full(n, 1.5)]
    options = {"ftol": 1e-12, "maxiter": 1000}
    found = minimize(
        value, start, jac=True, bounds=bounds, constraints=constraints, options=options
    )
    return float(found.fun)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize(("B1", "B2"), BOUNDS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_minimum_is_between_the_bound_and_the_value_and_that_of_a_generic_solver(
    loss, B1, B2, offset
):
    F, y, w = problem(loss)
    fit = bounded_head(F, y, loss, B1=B1, B2=B2, weights=w, offset=offset, tolerance=1e-7)
    other = generic_minimum(loss, F, y, w, B1, B2, offset)
    assert fit.value == pytest.approx(mean_loss(loss, F, y, w, fit.a, fit.offset), rel=1e-12)
    assert float(fit.a.abs().max()) <= B1
    assert float(fit.a.norm()) <= B2 * (1 + 1e-12)
    assert fit.gap <= 1e-7 * max(1.0, float(y.square().mean()))
    # SLSQP stops within about 1e-9 of the minimum, and may leave its set by as much.
    assert fit.lower - 1e-8 <= other <= fit.value + 1e-7


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_point_of_the_set_is_below_the_lower_bound(loss):
    F, y, w = problem(loss)
    fit = bounded_head(F, y, loss, B1=BOTH[0], B2=BOTH[1], weights=w, tolerance=1e-3)
    draws = torch.randn(500, 5, generator=torch.Generator().manual_seed(1)).double()
    near = fit.a + 0.05 * draws
    values = [mean_loss(loss, F, y, w, project(a, *BOTH)) for a in (*draws, *near)]
    assert fit.lower <= min(values)
    assert fit.value <= min(values) + fit.gap


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_lower_bound_is_the_dual_value_at_the_slopes(loss, offset):
    """From the definition l*(u) = sup_f u f - l(f), the supremum over a fine grid of f."""
    F, y, w = problem(loss)
    v = w / w.sum()
    fit = bounded_head(F, y, loss, B1=0.4, weights=w, offset=offset)
    f = torch.linspace(-40, 40, 40_001).double()[:, None]
    u = fit.slopes[w > 0]
    conjugate = (u * f - loss(*torch.broadcast_tensors(f, y[w > 0]))).amax(0)
    pulled = F.T @ (v * fit.slopes)
    dual = -float(v[w > 0] @ conjugate) - 0.4 * float(pulled.abs().sum())
    # The grid misses the supremum by up to a quarter of the step squared (squared loss): 1e-6.
    assert fit.lower == pytest.approx(dual, abs=2e-6)
    assert abs(float(v @ fit.slopes)) < 1e-12 or not offset


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_nearly_collinear_features_of_a_grid_are_certified_too(loss):
    g = torch.Generator().manual_seed(3)
    z = torch.randn(400, generator=g).double()
    F = torch.relu(z[:, None] - torch.linspace(-2, 2, 60).double())
    y = torch.sin(2 * z) if loss == Squared() else torch.where(torch.sin(2 * z) > 0, 1.0, -1.0)
    for B1, B2 in ((0.2, 1.0), (math.inf, 5.0), (1.0, math.inf)):
        assert bounded_head(F, y.double(), loss, B1=B1, B2=B2).converged


@pytest.mark.parametrize(("n", "size", "B2"), [(5, 1e2, 1e-3), (30, 1e4, 0.1)])
def test_steep_features_do_not_throw_the_logistic_fit_off(n, size, B2):
    """Whole Newton steps would leave the loss where it is flat."""
    g = torch.Generator().manual_seed(1)
    z = torch.randn(n, 1, generator=g).double()
    F = size * torch.relu(z - torch.linspace(-2, 2, 20).double())
    y = torch.randn(n, generator=g).double().sign()
    assert bounded_head(F, y, Logistic(), B2=B2, offset=True).converged


def test_hinge_loss_in_a_box_is_a_linear_programme():
    F, y, w = problem(Hinge(), n=200, r=8)
    v = (w / w.sum()).numpy()
    A, n = (y[:, None] * F).numpy(), len(y)
    cost = np.r_[np.zeros(8), v]
    rows = np.hstack([-A, -np.eye(n)])
    exact = linprog(cost, rows, -np.ones(n), bounds=[(-0.4, 0.4)] * 8 + [(0, None)] * n)
    fit = bounded_head(F, y, Hinge(), B1=0.4, weights=w, tolerance=1e-8)
    assert fit.value == pytest.approx(exact.fun, abs=1e-8)


def test_wide_bounds_give_least_squares():
    F, y, w = problem(Squared())
    A = torch.cat([F, torch.ones(len(F), 1).double()], 1)
    S = w.sqrt()
    exact = torch.linalg.lstsq(S[:, None] * A, (S * y)[:, None]).solution[:, 0]
    free = bounded_head(F, y, Squared(), weights=w, offset=True)
    torch.testing.assert_close(torch.cat([free.a, torch.tensor([free.offset])]), exact)
    wide = bounded_head(F, y, Squared(), B2=1e3, weights=w, offset=True, tolerance=1e-9)
    assert wide.value == pytest.approx(free.value, rel=1e-7)
    assert free.gap == 0


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_count_rows(loss):
    F, y, w = problem(loss)
    times = w.long()
    one = bounded_head(F, y, loss, B1=0.3, weights=w, tolerance=1e-9)
    other = bounded_head(
        F.repeat_interleave(times, 0), y.repeat_interleave(times), loss, B1=0.3, tolerance=1e-9
    )
    assert one.value == pytest.approx(other.value, abs=1e-8)
    assert not one.slopes[w == 0].any()


def test_one_class_with_an_offset_has_loss_zero():
    F, y, _ = problem(Hinge())
    for loss in (Hinge(), Logistic()):
        fit = bounded_head(F, torch.ones_like(y), loss, B1=0.3, offset=True)
        assert fit.converged
        assert fit.lower == pytest.approx(0.0, abs=1e-12)


def test_tolerance_changes_the_gap():
    F, y, _ = problem(Squared())
    loose, tight = (bounded_head(F, y, Squared(), B1=0.3, tolerance=t) for t in (0.1, 1e-8))
    assert tight.gap < 1e-6 < loose.gap


def test_what_cannot_be_fitted_is_refused():
    F, y, w = problem(Hinge())
    with pytest.raises(ValueError, match="both bounds are infinite"):
        bounded_head(F, y, Hinge())
    with pytest.raises(ValueError, match="must be \\+1 and -1"):
        bounded_head(F, 2 * y, Logistic(), B1=1.0)
    with pytest.raises(ValueError, match="are all 0"):
        bounded_head(F, y, Hinge(), B1=1.0, weights=0 * w)
    with pytest.raises(ValueError, match="a column each"):
        bounded_head(F[:, :0], y, Hinge(), B1=1.0)
    with pytest.raises(ValueError, match="give positive numbers"):
        bounded_head(F, y, Hinge(), B1=0.0)


@pytest.mark.parametrize("value", [0.0, 1 / 3, -1e6])
def test_a_constant_target_is_fitted_by_its_offset(value):
    """The loss of the mean, which the gap is a share of, is nothing but rounding."""
    F = torch.randn(60, 4, generator=torch.Generator().manual_seed(0)).double()
    y = torch.full((60,), value).double()
    fit = bounded_head(F, y, Squared(), B1=1.0, offset=True)
    assert fit.converged
    assert fit.offset == pytest.approx(value, abs=1e-3 * abs(value) + 1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"w": -1.0}, "negative or infinite values"),
        ({"w": math.nan}, "negative or infinite values"),
        ({"y": math.inf}, "not finite"),
        ({"F": math.nan}, "not finite"),
    ],
)
def test_rows_that_void_the_certificate_are_refused(change, words):
    g = torch.Generator().manual_seed(0)
    rows = {"F": torch.randn(20, 2, generator=g), "y": torch.ones(20), "w": torch.ones(20)}
    for name, value in change.items():
        rows[name][0] = value
    with pytest.raises(ValueError, match=words):
        bounded_head(rows["F"], rows["y"], Squared(), B1=1.0, weights=rows["w"])
