"""Every solver on the same systems: optimality, agreement, status, trace, memory."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from contracts import close
from gradfeat.models.base import Kernel
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.models.search.kernel_space import SOLVERS
from gradfeat.models.solvers import tiles
from gradfeat.models.solvers.base import Progress, Solution, Solver, System
from gradfeat.models.solvers.conjugate_gradients import ConjugateGradients
from gradfeat.models.solvers.direct import Direct
from gradfeat.models.solvers.eigenpro import EigenPro
from gradfeat.models.solvers.nystrom import Nystrom
from gradfeat.models.solvers.nystrom_cg import NystromCG
from gradfeat.models.solvers.richardson import Richardson
from gradfeat.rows.rows import in_memory

TOLERANCE = 1e-6
#: Solvers of the full system, each able to reach the tolerance on a well-conditioned one.
FULL: list[Solver] = [
    Direct(TOLERANCE),
    Richardson(TOLERANCE, 5000),
    ConjugateGradients(TOLERANCE),
    NystromCG(rank=30, tolerance=TOLERANCE),
    EigenPro(subsample=60, q=20, tolerance=TOLERANCE, max_iter=500),
]
#: With all points as centres this is one of them.
ALL: list[Solver] = [*FULL, Nystrom(centres=10**6, tolerance=TOLERANCE)]
#: The same, without a bound on the steps that makes slow ones run long.
SHORT = [Richardson(1e-9, 3), ConjugateGradients(1e-9, 3), EigenPro(60, 9, 1e-9, 3)]


def names(solvers: list[Solver]) -> list[str]:
    return [type(one).__name__ for one in solvers]


def system(n: int = 150, alpha: float = 10.0, kernel: Kernel | None = None) -> System:
    """Smooth targets and a noisy one, weights with zeros among them."""
    g = torch.Generator().manual_seed(3)
    X = torch.randn(n, 3, generator=g).double()
    y = torch.stack([X[:, 0] * X[:, 1], X[:, 2] + torch.randn(n, generator=g)], 1)
    w = torch.randint(0, 4, (n,), generator=g).double()
    return System(kernel or Laplace(3.0), X, y, alpha, w)


def residual(one: System, solution: Solution) -> float:
    """Relative residual of the symmetric form, from scratch in float64."""
    X, y = one.X.double(), one.y.double()
    S = torch.ones(len(X)).double() if one.weights is None else one.weights.double().sqrt()
    A = S[:, None] * one.kernel(X, X) * S + one.alpha * torch.eye(len(X)).double()
    b = torch.where(S[:, None] > 0, solution.c / S[:, None], 0.0)
    left, right = S[:, None] * y - A @ b, S[:, None] * y
    return float((left.norm(dim=0) / right.norm(dim=0)).max())


def fitted(one: System, solution: Solution) -> torch.Tensor:
    return one.kernel(one.X.double(), solution.Z.double()) @ solution.c


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles so small that every system here has several, and a ragged one."""
    monkeypatch.setattr(tiles, "CPU_SIDE", {torch.float32: 64, torch.float64: 40})


@pytest.mark.parametrize("method", FULL, ids=names(FULL))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tolerance_is_reached_by_an_independent_measurement(method, dtype, weighted):
    one = system()
    w = one.weights if weighted else None
    given = replace(one, X=one.X.to(dtype), y=one.y.to(dtype), weights=w)
    solution = method.solve(given)
    assert solution.converged
    assert solution.message == ""
    assert residual(given, solution) <= 1.01 * TOLERANCE
    assert solution.trace[-1].residual == pytest.approx(residual(given, solution), rel=0.01)
    assert solution.c.dtype == torch.float64


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_all_solve_the_same_system(method):
    one = system()
    expected = fitted(one, Direct().solve(one))
    # |K b - K b*| <= |residual| since K <= A; Nystrom's tolerance is on the normal equations,
    # whose error is at most their condition (below 100 here) times larger.
    close(fitted(one, method.solve(one)), expected, 100 * TOLERANCE)


ILL = system(150, 1e-10, Gaussian(20.0))


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_status_of_an_ill_conditioned_system_is_true(method, dtype):
    """Condition 1e12: whatever is claimed must be so, and what was not reached is said."""
    one = replace(ILL, X=ILL.X.to(dtype), y=ILL.y.to(dtype), weights=None)
    solution = replace_iterations(method, 60).solve(one)
    reached = solution.trace[-1].residual
    assert solution.converged == (reached <= TOLERANCE)
    if not isinstance(method, Nystrom):
        # The measurement's own rounding: eps |A| |c| / |y|.
        rounding = 1e-15 * 150 * float(solution.c.norm() / one.y.norm())
        assert residual(one, solution) == pytest.approx(reached, rel=0.01, abs=rounding)
    if not solution.converged:
        assert f"{reached:.2g}" in solution.message
        assert "1e-06 was asked" in solution.message


def replace_iterations(method: Solver, most: int) -> Solver:
    return method if isinstance(method, Direct) else replace(method, max_iter=most)  # type: ignore[call-arg]


def test_a_solver_with_a_preconditioner_solves_what_plain_ones_do_not():
    """Gaussian of a large bandwidth and a small penalty: the same number of iterations."""
    one = replace(system(150, 1e-5, Gaussian(10.0)), weights=None)
    assert Direct(TOLERANCE).solve(one).converged
    assert NystromCG(rank=80, tolerance=TOLERANCE, max_iter=30).solve(one).converged
    assert not ConjugateGradients(TOLERANCE, 30).solve(one).converged
    assert not Richardson(TOLERANCE, 30).solve(one).converged


@pytest.mark.parametrize("method", SHORT, ids=names(SHORT))
def test_what_is_not_reached_is_said_with_what_to_do(method):
    solution = method.solve(system(alpha=1e-3))
    assert not solution.converged
    assert "after 3 iterations and 1e-09 was asked (max_iter = 3 was reached): raise" in (
        solution.message
    )


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_tiles_do_not_change_the_answer(method, monkeypatch):
    """Several ragged tiles, none kept, against one tile."""
    one = system()
    many = method.solve(one)
    monkeypatch.setattr(tiles, "CPU_SIDE", {torch.float64: 1000})
    close(fitted(one, many), fitted(one, method.solve(one)), 200 * TOLERANCE)


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_integer_weights_repeat_rows(method):
    one = system()
    times = one.weights.long()  # type: ignore[union-attr]
    X, y = one.X.repeat_interleave(times, 0), one.y.repeat_interleave(times, 0)
    repeated = System(one.kernel, X, y, one.alpha)
    solution = method.solve(repeated)
    fit = one.kernel(one.X, solution.Z) @ solution.c
    # Two fits, each within its tolerance; the weighted residual bounds the fit at weighted rows.
    close(fitted(one, method.solve(one))[times > 0], fit[times > 0], 300 * TOLERANCE)


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_the_trace_only_grows(method):
    trace = method.solve(system()).trace
    for name in ("iteration", "seconds", "passes", "evaluations", "bytes"):
        values = [getattr(progress, name) for progress in trace]
        assert values == sorted(values)
        assert values[-1] > 0


def test_symmetry_and_kept_tiles_spare_evaluations():
    one = system()
    kept = ConjugateGradients(TOLERANCE).solve(one).trace[-1]
    # Vectors, and three tiles' scratch, but no room for tiles.
    tight = ConjugateGradients(TOLERANCE, memory_limit=kept.bytes - 60_000).solve(one).trace[-1]
    assert kept.passes == tight.passes
    assert kept.evaluations < 0.7
    assert kept.evaluations < tight.evaluations < 0.7 * tight.passes
    assert tight.bytes <= kept.bytes - 60_000


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_the_memory_limit_is_kept_or_refused(method):
    one = system()
    declared = method.solve(one).trace[-1].bytes
    with pytest.raises(MemoryError, match=r"needs [\d.]+ .* are allowed: "):
        replace(method, memory_limit=1000).solve(one)
    assert replace(method, memory_limit=2 * declared).solve(one).trace[-1].bytes <= 2 * declared


@pytest.mark.parametrize("name", SOLVERS)
def test_case_16_a_million_rows(name):
    """The direct solver refuses with bytes and what to use; no other needs n^2."""
    X = torch.zeros(1, 94).expand(1_250_000, 94)
    one = System(Laplace(1.0), X, X[:, :1], 1.0)
    if name == "direct":
        with pytest.raises(MemoryError, match=r"6\.25 TB .*Nystrom\(\) or EigenPro\(\)"):
            SOLVERS[name]().solve(one)
    else:
        with pytest.raises(MemoryError, match=r"needs [\d.]+ [MG]B and 1 kB are allowed"):
            SOLVERS[name](memory_limit=1000).solve(one)


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_a_zero_target_has_zero_coefficients(method):
    one = system()
    solution = method.solve(replace(one, y=0 * one.y))
    assert solution.converged
    assert not bool(solution.c.any())


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_one_zero_output_does_not_disturb_the_others(method):
    one = system()
    both = method.solve(replace(one, y=torch.cat([one.y[:, :1], 0 * one.y[:, :1]], 1)))
    assert both.converged
    assert not bool(both.c[:, 1].any())


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_without_penalty_the_data_are_interpolated(method):
    g = torch.Generator().manual_seed(0)
    X = torch.randn(60, 8, generator=g).double()
    one = System(Laplace(1.0), X, X[:, :1], 0.0)
    close(fitted(one, method.solve(one)), one.y, 100 * TOLERANCE)


@pytest.mark.parametrize("method", [*ALL, *SHORT], ids=names([*ALL, *SHORT]))
def test_watch_sees_the_iterates_and_ends_the_solve(method):
    seen: list[tuple[Progress, float]] = []
    one = replace(system(), weights=None)

    def watch(progress, Z, c):
        fit = one.kernel(one.X, Z) @ c
        seen.append((progress, float((fit - one.y).square().mean())))
        return len(seen) == 2

    solution = method.solve(one, watch=watch)
    assert [progress for progress, _ in seen] == list(solution.trace[: len(seen)])
    assert len(seen) <= 3
    # Two steps towards the fit already explain more than the zero function does.
    assert seen[-1][1] < float(one.y.square().mean())


@pytest.mark.parametrize("method", ALL, ids=names(ALL))
def test_same_seed_same_numbers_and_global_state_untouched(method):
    state, one = torch.get_rng_state(), system()
    first, again = method.solve(one, seed=4), method.solve(one, seed=4)
    assert torch.equal(first.c, again.c)
    assert torch.equal(state, torch.get_rng_state())


def test_a_system_that_makes_no_sense_is_refused():
    X = torch.zeros(3, 2)
    with pytest.raises(ValueError, match=r"alpha is -1\.0: give"):
        System(Laplace(1.0), X, X, -1.0)
    with pytest.raises(ValueError, match=r"y \(0, 2\): give X \(n, d\)"):
        System(Laplace(1.0), X[:0], X[:0], 1.0)


def test_direct_tells_its_fallbacks():
    """Duplicated rows without penalty: float32 fails, float64 too, least squares interpolates."""
    X = torch.linspace(0, 1, 40)[:, None].repeat(2, 1)
    one = System(Gaussian(1.0), X, X.sin(), 0.0)
    narrow = Direct(1e-3).solve(replace(one, alpha=1e-8))
    assert "float32 matrix is not numerically positive definite: float64 was used" in narrow.message
    assert narrow.converged
    singular = Direct(1e-3).solve(one)
    assert "least squares over the" in singular.message
    assert singular.converged
    conflict = Direct(1e-3).solve(replace(one, y=torch.arange(80.0)[:, None]))
    assert not conflict.converged
    assert "raise alpha" in conflict.message


def test_direct_refuses_a_kernel_that_is_not_positive_semi_definite():
    class Negative(Gaussian):
        def profile_(self, s):
            return s.neg_()

    one = system(alpha=0.0, kernel=Negative(1.0))
    with pytest.raises(np.linalg.LinAlgError, match="not positive semi-definite"):
        Direct().solve(one)


@pytest.mark.parametrize("name", ["direct", "nystrom"])
def test_what_float32_cannot_solve_is_solved_in_float64_or_told(name: str):
    """Gaussian kernel, bandwidth 10, penalty 1e-10: float32 rounds the matrix to one of no rank."""
    X = torch.randn(300, 3, generator=torch.Generator().manual_seed(0))
    y = X[:, :1].sin() + X[:, 1:2]
    learner = KernelRidge(Gaussian(10.0), 1e-10, SOLVERS[name]())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        f = learner.fit(in_memory(X, y))
    missed = float((f(X) - y).square().mean() / y.var())
    assert missed < 1e-3 or "residual" in str(told[0].message)
    assert f(X).dtype == torch.float32


def test_iterations_that_raised_the_residual_are_not_taken():
    """More columns than float32 tells apart make a preconditioner that leads away."""
    X = torch.randn(700, 2, generator=torch.Generator().manual_seed(0))
    system = System(Gaussian(3.0), X, X[:, :1].sin(), 1e-6)
    found = NystromCG(rank=600, tolerance=1e-9, max_iter=5, sampled=True).solve(system)
    left = X[:, :1].sin().double() - Gaussian(3.0)(X.double(), X.double()) @ found.c
    assert float(left.norm()) <= (1 + 1e-6) * float(X[:, :1].sin().norm())  # sin in float32
