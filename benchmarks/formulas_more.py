"""Simulations of `formulas.py`: steps of order sqrt(N), Lemma 1, shares, codes; what has no row.

As in `formulas_beyond.py` each group is (a draw, the theory, how many draws).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import ndtr

import gradfeat.theory
from gradfeat.maths.activations import Tanh
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.damian22_gradient import expected_squares, gradient_series, leading_term
from gradfeat.theory.finite_step_errors import finite_step_errors
from gradfeat.theory.head_law import HeadLaw
from gradfeat.theory.kernel_flow import lazy_loss
from gradfeat.theory.patterns import PatternLaw
from gradfeat.theory.shi22_moments import (
    gradient_moments,
    predicted_cosine,
    smoothed_step,
)
from gradfeat.theory.teacher import Teacher
from gradfeat.theory.zonal_spectrum import homogeneous_shares, spherical_shares

Numbers = dict[str, float]

# Steps of order sqrt(N): Cui et al. 2024, at the parameters of their notebook ------------------

D, OF_GRADIENT, ETA, PENALTY = 200, 20, 3.0, 0.1
POWER = (1 - math.exp(-2)) / 2  # E sin^2


def large(rng: np.random.Generator) -> Numbers:
    W, Z = rng.standard_normal((D, D)), rng.standard_normal((OF_GRADIENT * D, D))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    slope = 1 - np.tanh(Z @ W.T) ** 2
    V = W + ETA * (np.sin(Z[:, :1]) * slope).T @ Z / len(Z)
    X, new = rng.standard_normal((2, 3 * D, D))
    y, wanted = np.sin(X[:, 0]), np.sin(new[:, 0])
    F, later = np.tanh(X @ V.T) / D**0.5, np.tanh(new @ V.T) / D**0.5
    a = np.linalg.solve(F.T @ F + PENALTY * np.eye(D), F.T @ y)
    return {
        "finite_step_errors: test, eta of order sqrt(N)": POWER
        * np.mean((later @ a - wanted) ** 2)
        / np.mean(wanted**2),
        "finite_step_errors: training, eta of order sqrt(N)": POWER
        * np.mean((F @ a - y) ** 2)
        / np.mean(y**2),
    }


def large_theory() -> Numbers:
    teacher = Teacher.of_function(lambda z: np.sin(z[:, 0]), 1, 15)
    found = finite_step_errors(
        1 / 3, 1.0, PENALTY / 3, Tanh(), teacher, eta=ETA * D**0.5, n=3 * D,
        head=HeadLaw.named("ones"), gradient_phi=1 / OF_GRADIENT,
    )  # fmt: skip
    return {
        "finite_step_errors: test, eta of order sqrt(N)": float(found.test_error),
        "finite_step_errors: training, eta of order sqrt(N)": float(found.training_error),
    }


# Damian22's gradient, shares of a target, Shi22's codes ---------------------------------------

ROWS = 400_000
QUARTIC = MultiHermite(((2, 0), (1, 1), (0, 3)), (0.5, 0.4, 0.2))
UNIT, LONG = np.array([[0.6, 0.5, 0.4]]), np.array([[0.9, -0.6, 1.2]])
ONE = HermiteSeries((0.0, 1.0, 0.5, 0.3))
CODE = PatternLaw.hard_instance(D=30, k=3, p_o=0.5)
Q, S = np.r_[0.5, 0.3, 0.4, 0.3 * np.cos(np.arange(27.0))], 0.2


def unit(rng: np.random.Generator, rows: int, d: int) -> np.ndarray:
    w = rng.standard_normal((rows, d))
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def parts(rng: np.random.Generator) -> Numbers:
    z = rng.standard_normal((ROWS, 3))
    met = QUARTIC(z[:, :2]) * (z @ LONG[0] > 0.3)
    w, U = unit(rng, ROWS, 20), np.eye(20)[:, :2]
    lead = leading_term(QUARTIC, U, w, np.ones(ROWS))
    x = unit(rng, ROWS, 9)
    length = np.sqrt(rng.chisquare(9, ROWS))
    g, far = ONE(3 * x[:, 0]), ONE(length * x[:, 0])
    s = rng.choice(4, size=ROWS, p=CODE.probabilities)
    inside = rng.random((ROWS, 3)).argsort(1) < s[:, None]
    code = (np.hstack([inside, rng.random((ROWS, 27)) < CODE.p_o]) - CODE.means) / CODE.sigma
    y = np.array(CODE.labels)[s]
    slope = ndtr((1 - code @ Q) / S) - ndtr(-(code @ Q) / S)
    G = ((y * slope)[:, None] * code).reshape(400, -1, 30).mean(1)  # of 1,000 rows each
    along = G[:, :3].sum(1) ** 2 / 3
    return {
        "gradient_series": np.mean(met * z[:, 2]),
        "expected_squares: leading term": np.mean(np.square(lead).sum(1)) / 4,
        "spherical_shares: degree 1": 9 * np.mean(g * x[:, 0]) ** 2,
        # There are 44 harmonics of degree 2, and P_2(t) = (9 t^2 - 1)/8.
        "homogeneous_shares: degree 2": np.mean(far * length * (9 * x[:, 0] ** 2 - 1) / 8) ** 2
        * 44
        / 9,
        "predicted_cosine": math.sqrt(along.mean() / np.square(G).sum(1).mean()),
        "smoothed_step": float(np.mean((S * z[:, 0] + 0.9 > 0) & (S * z[:, 0] + 0.9 < 1))),
    }


def parts_theory() -> Numbers:
    moments = gradient_moments(CODE, Q[None], np.zeros(1), S)
    shares = homogeneous_shares(ONE, 9)[0]
    return {
        "gradient_series": gradient_series(QUARTIC, np.eye(3)[:, :2], LONG, -0.3)[0, 2],
        "expected_squares: leading term": expected_squares(QUARTIC, 20)[0],
        "spherical_shares: degree 1": spherical_shares(ONE, 9)[1],
        "homogeneous_shares: degree 2": shares[2],
        "predicted_cosine": float(predicted_cosine(moments, 1_000)[0]),
        "smoothed_step": float(smoothed_step(np.array([0.9]), S)[0]),
    }


# Gradient flow at the lazy end -------------------------------------------------------------------


def lazy(rng: np.random.Generator) -> Numbers:
    d, n, time = 20, 150, 2.0
    X = unit(rng, n + 1_000, d) * d**0.5
    t = np.arccos(np.clip(X @ X[:n].T / d, -1, 1))
    K = (np.sin(t) + (math.pi - t) * ((1 + d) * np.cos(t) + 1)) / (2 * math.pi)
    f = HermiteSeries((0.0, 0.8, 0.5))(X[:, 0])
    e, U = np.linalg.eigh(K[:n])
    noisy = f[:n] + 0.5 * rng.standard_normal(n)
    fit = K[n:] @ (U @ (-np.expm1(-2 * time * e / n) / e * (U.T @ noisy)))
    return {"lazy_loss": np.mean((fit - f[n:]) ** 2)}


def lazy_theory() -> Numbers:
    return {"lazy_loss": lazy_loss(HermiteSeries((0.0, 0.8, 0.5)), 20, 150, 2.0, 0.5)}


GROUPS: dict[str, tuple[Callable[[np.random.Generator], Numbers], Callable[[], Numbers], int]] = {
    "large": (large, large_theory, 400),
    "parts": (parts, parts_theory, 20),
    "lazy": (lazy, lazy_theory, 200),
}

# What has no row ---------------------------------------------------------------------------------

RATE = "a rate without a constant: exponents fitted by "
BOUND = "a bound: no measured value is beyond it in "
REASONS = {
    "leading_term": "`expected_squares` averages its square",
    "explicit_network": "its hinge loss is exactly 0: claim 2 of `shi22-bounds`",
    "fixed_feature_bound": BOUND + "`shi22-bounds`",
    "guarantee_sizes": "sizes of a guarantee, on which no network rests: `shi22-accuracy`",
    "query_bound": BOUND + "`shi22-queries`",
    "loss_bound": BOUND + "`shi23-cases`",
    "network_samples": RATE + "`damian22-phases`",
    "kernel_samples": RATE + "`damian22-phases`",
    "network_loss": BOUND + "`damian22-head`",
    "width_needed": RATE + "`damian22-head`",
    "query_tolerance": BOUND + "`damian22-degenerate`",
    "query_samples": RATE + "`damian22-degenerate`",
    "reuse_samples": RATE + "`dandi24-reuse`",
    "transfer_samples": RATE + "`damian22-transfer`",
    "transfer_loss": BOUND + "`damian22-transfer`",
    "suggested_samples": "the rates above, one of which it names",
    "generative_exponent": "a whole number: `tests/theory/test_generative_exponent.py`",
    "limit_degree": "a whole number: outliers are counted by `moniri24-spectrum`",
    "minimax_exponent": RATE + "`adapt-smooth`",
    "tuned_risk": "the least of `ridge_risk` over penalties",
    "effective_ridge": "kappa of `ridge_risk`, which has a row",
    "degree_learned": "a whole number: steps of the curve of `damian22-samples`",
    "staircase_risk": "sums of shares, which have rows",
    "kernel_growth_bound": BOUND + "`chizat19-dial`",
    "step_spikes": "columns of `feature_spectrum`, which has a row",
    "step_size": RATE + "`benarous21-times`",
    "time_exponent": RATE + "`benarous21-times`",
    "predict_error": "`finite_step_errors` or `reused_sample_errors`, which have rows",
    "reused_limit_errors": "the limit of `reused_sample_errors` at n = 10^14:"
    " `tests/theory/test_reused_sample_errors.py`",
    "round_exponent": RATE + "`rad24-rounds`",
    "step_outliers": "a whole number of a limit: within .5 of counts in `dandi24-outliers`",
    "signal_to_noise": "of moments, which have rows; the noise outside A is that of samples",
    "step_grid": "averages in `finite_step_errors`, which has rows",
    "multiplicities": "a whole number, in closed form",
}


def public_formulas() -> dict[str, str]:
    """Public functions of theory that name a source, and their modules."""
    found = {}
    for path in sorted(Path(str(gradfeat.theory.__file__)).parent.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            match node:
                case ast.FunctionDef(name=name) if "Source:" in (ast.get_docstring(node) or ""):
                    found[name] = path.stem
    return {name: module for name, module in found.items() if name[0] != "_"}


def without_row(rows: set[str]) -> dict[str, str]:
    """Formulas that no row covers; a reason, or nothing."""
    return {name: REASONS.get(name, "") for name in public_formulas() if name not in rows}
