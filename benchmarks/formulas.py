"""Every formula of `gradfeat.theory` that gives a number, beside simulation, in one table.

    python benchmarks/formulas.py                        # the table, and 1 where a row is beyond
    python benchmarks/formulas.py --draws 8 --only step  # fewer draws of some groups

A group is a simulation: from a generator to numbers by name; its theory returns the same names. A
row has the simulated mean, the formula, z = (mean - formula)/standard error and the relative
difference; it is within where |z| <= 4 and the difference <= 2 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import formulas_beyond
import formulas_more
import numpy as np

from gradfeat.maths.activations import CentredReLU, Tanh
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.maths.polynomial_text import polynomial
from gradfeat.theory.activation_coefficients import relu_coefficients, scaled_coefficients
from gradfeat.theory.committee import committee_error
from gradfeat.theory.damian22_gradient import population_gradient
from gradfeat.theory.damian22_noise import sampling_variance
from gradfeat.theory.feature_resolvent import FeatureLimit
from gradfeat.theory.finite_step_errors import finite_step_errors, finite_step_share
from gradfeat.theory.gradient_direction import gradient_direction, own_power
from gradfeat.theory.kernel_curve import ridge_risk
from gradfeat.theory.label_gradients import linear_gradient, mixture_gradient, sign_gradient
from gradfeat.theory.one_step_errors import column_errors, limit_errors
from gradfeat.theory.one_step_spectrum import feature_spectrum, first_layer_outlier
from gradfeat.theory.patterns import PatternLaw, best_linear_accuracy, best_threshold_accuracy
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.ridge_errors import learned_shares, moments, random_feature_errors
from gradfeat.theory.teacher import Teacher
from gradfeat.theory.zonal_spectrum import gegenbauer, zonal_spectrum

Numbers = dict[str, float]


@dataclass(frozen=True)
class Group:
    draw: Callable[[np.random.Generator], Numbers]
    theory: Callable[[], Numbers]
    draws: int


# One gradient step -----------------------------------------------------------------------------

N_ROWS, D, WIDTH, LAM = 800, 400, 600, 0.05
PHI, PSI = D / N_ROWS, D / WIDTH
TARGET = polynomial("x1 + x1*x2/2 + He2(x1)/3 + He2(x3)/4")
TEACHER = Teacher(TARGET, 0.5)
RELU, MEAN = CentredReLU(), 1 / math.sqrt(2 * math.pi)
ETA = {"fresh": N_ROWS**0.2, "reused": N_ROWS**0.25, "spectrum": N_ROWS**0.3}
SHAPE = (PHI, PSI, LAM, RELU, TEACHER)


def relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0) - MEAN


def ridge(
    F: np.ndarray, y: np.ndarray, new: np.ndarray, wanted: np.ndarray, free: int = 0
) -> Numbers:
    """Loss and test error of ridge, the last `free` columns without penalty."""
    n, m = F.shape
    penalty = np.full(m, n * LAM)
    penalty[m - free :] = 0
    a = np.linalg.solve(F.T @ F + np.diag(penalty), F.T @ y)
    loss = np.mean((y - F @ a) ** 2) + penalty @ a**2 / n
    return {"loss": loss, "test": np.mean((wanted - new @ a) ** 2) + 0.25, "a": a}


def step(rng: np.random.Generator) -> Numbers:
    X, head, new = rng.standard_normal((3, N_ROWS, D))
    W = rng.standard_normal((WIDTH, D))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = rng.standard_normal(WIDTH) / math.sqrt(WIDTH)
    y, y_head = (TARGET(rows[:, :3]) + rng.standard_normal(N_ROWS) / 2 for rows in (X, head))
    f_new, power = TARGET(new[:, :3]), float(TEACHER.power)
    G = (np.outer(a, y) * (W @ X.T > 0)) @ X / N_ROWS
    beta = X.T @ y / N_ROWS
    P, Q, P_new, Q_new = head @ W.T, head @ G.T, new @ W.T, new @ G.T
    scale = power / np.mean(y_head**2)
    tested = 2 / (1 / scale + (np.mean(f_new**2) + 0.25) / power)  # heavy tails on either side
    norm = float(beta @ beta)
    plain = ridge(relu(P), y_head, relu(P_new), f_new)
    held = relu(P_new) @ plain["a"]
    steps = [
        ridge(relu(P + s * ETA["fresh"] * Q), y_head, relu(P_new + s * ETA["fresh"] * Q_new), f_new)
        for s in (1, -1)
    ]
    heads = [one["a"] @ (W + s * ETA["fresh"] * G) for s, one in zip((1, -1), steps, strict=True)]
    beside = ridge(
        np.column_stack([relu(P), head @ beta]), y_head,
        np.column_stack([relu(P_new), new @ beta]), f_new, 1,
    )  # fmt: skip
    own = ridge(
        relu(X @ W.T + ETA["reused"] * X @ G.T), y, relu(P_new + ETA["reused"] * Q_new), f_new
    )
    F = relu(P + ETA["spectrum"] * Q) / math.sqrt(N_ROWS)
    values = np.linalg.svd(F, compute_uv=False)
    whole, half = _traces(head, W), _traces(*_smaller(rng))
    along = (G @ beta) @ (G @ beta) / norm
    moved = np.linalg.svd(W + 6.0 * G, compute_uv=False)
    return {
        "random_feature_errors: test": tested * plain["test"],
        "random_feature_errors: loss": scale * plain["loss"],
        "finite_step_errors: test": tested * (steps[0]["test"] + steps[1]["test"]) / 2,
        "finite_step_errors: loss": scale * (steps[0]["loss"] + steps[1]["loss"]) / 2,
        "column_errors: test": tested * beside["test"],
        "limit_errors: loss (ridge on F_0 and X beta)": scale * beside["loss"],
        "reused_sample_errors: test": own["test"]
        * 2
        * power
        / (np.mean(y**2) + np.mean(f_new**2) + 0.25),
        "reused_sample_errors: loss": own["loss"] * power / np.mean(y**2),
        "gradient_direction: squared norm": norm * power / np.mean(y**2),
        "gradient_direction: alignment": float(beta @ _chat()) / math.sqrt(norm),
        "own_power: kappa": float((G**2).sum()) / along - 1,
        "learned_shares: linear": float(np.mean(held * (new @ _chat()))) / TEACHER.linear,
        "finite_step_share: linear": 0.5 * sum(heads) @ _chat() / TEACHER.linear / 2,
        "feature_spectrum: first value": values[0],
        "first_layer_outlier": moved[0],
        "FeatureLimit: m_1": 2 * whole[0] - half[0],  # without what is of order 1/n
        "FeatureLimit: m_2": 2 * whole[1] - half[1],
        "FeatureLimit: typical_largest": np.linalg.svd(relu(P), compute_uv=False)[0] / N_ROWS**0.5,
    }


def _smaller(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and first weights of half the sizes."""
    W = rng.standard_normal((WIDTH // 2, D // 2))
    return rng.standard_normal((N_ROWS // 2, D // 2)), W / np.linalg.norm(W, axis=1, keepdims=True)


def _traces(X: np.ndarray, W: np.ndarray) -> tuple[float, float]:
    """tr K^{-1}/n and tr(X^T K^{-1} X)/(n d) of random features."""
    (n, d), F = X.shape, relu(X @ W.T)
    K = np.linalg.inv(F @ F.T / len(W) + LAM * PSI / PHI * np.eye(n))
    return np.trace(K) / n, np.sum(X * (K @ X)) / n / d


def _chat() -> np.ndarray:
    return np.pad(TEACHER.along, (0, D - TARGET.r))


def step_theory() -> Numbers:
    plain = random_feature_errors(*SHAPE, n=N_ROWS)
    after = finite_step_errors(*SHAPE, eta=ETA["fresh"], n=N_ROWS)
    direction = gradient_direction(PHI, RELU, TEACHER)
    shared = 0.25 * float(direction.norm_squared)
    _, linear, rest = moments(RELU)
    features = FeatureLimit(PHI, PSI, linear, rest)
    traces = features.traces(LAM)
    spectrum = feature_spectrum(PHI, PSI, RELU, TEACHER, eta=ETA["spectrum"], n=N_ROWS)
    return {
        "random_feature_errors: test": float(plain.test_error),
        "random_feature_errors: loss": float(plain.training_loss),
        "finite_step_errors: test": float(after.test_error),
        "finite_step_errors: loss": float(after.training_loss),
        "column_errors: test": float(column_errors(*SHAPE, powers=[1]).test_error),
        "limit_errors: loss (ridge on F_0 and X beta)": float(
            limit_errors(*SHAPE, degree=1).training_loss
        ),
        "reused_sample_errors: test": float(
            reused_sample_errors(*SHAPE, eta=ETA["reused"], n=N_ROWS).test_error
        ),
        "reused_sample_errors: loss": float(
            reused_sample_errors(*SHAPE, eta=ETA["reused"], n=N_ROWS).training_loss
        ),
        "gradient_direction: squared norm": float(direction.norm_squared),
        "gradient_direction: alignment": float(direction.alignment),
        "own_power: kappa": float(own_power(PHI, direction, RELU)) / shared,
        "learned_shares: linear": float(learned_shares(PHI, PSI, LAM, RELU, N_ROWS)[0]),
        "finite_step_share: linear": float(
            finite_step_share(*SHAPE, part=TARGET.part(1), eta=ETA["fresh"], n=N_ROWS)
        ),
        "feature_spectrum: first value": float(spectrum.outliers[0]),
        "first_layer_outlier": float(first_layer_outlier(PHI, PSI, RELU, TEACHER, eta=6.0)),
        "FeatureLimit: m_1": float(traces.m1),
        "FeatureLimit: m_2": float(traces.m2),
        "FeatureLimit: typical_largest": float(features.typical_largest(N_ROWS)),
    }


# Averages over inputs -----------------------------------------------------------------------------

ROWS = 400_000


def averages(rng: np.random.Generator) -> Numbers:
    x, y = rng.standard_normal((2, ROWS))
    z = rng.standard_normal((ROWS, 3))
    w = W_OF[0]
    f = QUARTIC(z[:, :2]) - QUARTIC.part(0)(z[:, :2]) - QUARTIC.part(1)(z[:, :2])
    gradient = -2 * np.mean((f * (z @ w > -0.3))[:, None] * z, axis=0)
    label = np.sign(z[:, 0])
    mixed = rng.integers(0, 2, ROWS)
    means = 2.0 * np.eye(3)[mixed]
    points = means + 0.5 * z
    there = points @ w > 0.4
    return {
        "relu_coefficients: c_2": np.mean(np.maximum(0.7 * x - 0.4, 0) * (x**2 - 1)) / 2,
        "scaled_coefficients: E sigma^2": np.mean(np.tanh(1.3 * x + 0.2) ** 2),
        "Teacher: c_*2 along C_1": np.mean(TARGET(z) * ((z @ TEACHER.along) ** 2 - 1)) / 2,
        "population_gradient": gradient[0],
        "linear_gradient": np.mean(z[:, 0] * (z @ w > 0.2) * z[:, 0]),
        "sign_gradient": np.mean(label * (z @ w > 0.2) * z[:, 0]),
        "mixture_gradient": np.mean(np.where(mixed == 0, 1.0, -0.5) * there * points[:, 0]),
        "committee_error": 0.5 * np.mean((_erf(x) - _erf(0.6 * x + 0.8 * y)) ** 2),
    }


W_OF = np.array([[0.6, 0.5, 0.4]])
QUARTIC = MultiHermite(((2, 0), (1, 1), (0, 3)), (0.5, 0.4, 0.2))


def _erf(z: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    return erf(z / math.sqrt(2))


def averages_theory() -> Numbers:
    w, one, U = W_OF, np.eye(3)[0], np.eye(3)[:, :2]
    mixture = mixture_gradient(
        U, w, 0.4, separation=2.0, labels=[1.0, -0.5], weights=[0.5, 0.5], scale=0.5
    )
    return {
        "relu_coefficients: c_2": relu_coefficients(np.array([0.7]), np.array([-0.4]), 2)[0, 2],
        "scaled_coefficients: E sigma^2": _tanh_square(),
        "Teacher: c_*2 along C_1": TEACHER.coefficients[2],
        "population_gradient": population_gradient(QUARTIC, U, w, np.ones(1), 0.3)[0, 0],
        "linear_gradient": linear_gradient(one, w, 0.2)[0, 0],
        "sign_gradient": sign_gradient(one, w, 0.2)[0, 0],
        "mixture_gradient": mixture[0, 0],
        "committee_error": committee_error([[1.0]], [[0.6]], [[1.0]]),
    }


def _tanh_square() -> float:
    return float(scaled_coefficients(Tanh(), np.array([1.3]), 0, 0.2)[1][0])


# Gradients of samples, kernels, patterns ---------------------------------------------------------


def samples(rng: np.random.Generator) -> Numbers:
    n, d = 2_000, 60
    X = rng.standard_normal((n, d))
    f = 0.5**0.5 * (X[:, 0] ** 2 - 1)
    y = f - f.mean()
    y = y - X @ (X.T @ y / n)
    G = (y * (X[:, 1] > 0)) @ X / n
    return {"sampling_variance": n * float(G @ G - (_mean_gradient() ** 2).sum())}


def _mean_gradient() -> np.ndarray:
    g = MultiHermite(((2,),), (0.5**0.5,))
    return -population_gradient(g, np.eye(60)[:, :1], np.eye(60)[1:2], np.ones(1))[0] / 2


def samples_theory() -> Numbers:
    g = MultiHermite(((2,),), (0.5**0.5,))
    found = sampling_variance(g, np.eye(60)[:, :1], np.eye(60)[1:2])
    return {"sampling_variance": float(found[0])}


def kernels(rng: np.random.Generator) -> Numbers:
    d, n = 12, 300
    X, new = (_sphere(rng, rows, d) for rows in (n, 1_000))
    f, wanted = (math.sqrt(d) * rows[:, 0] for rows in (X, new))
    y = f + 0.5 * rng.standard_normal(n)
    fit = np.exp(new @ X.T) @ np.linalg.solve(np.exp(X @ X.T) + 0.1 * np.eye(n), y)
    t = _sphere(rng, 100_000, d)[:, 0]
    return {
        "ridge_risk": np.mean((fit - wanted) ** 2),
        "zonal_spectrum: degree 2": np.mean(np.exp(t) * gegenbauer(2, d, t)[2]),
    }


def _sphere(rng: np.random.Generator, rows: int, d: int) -> np.ndarray:
    X = rng.standard_normal((rows, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def kernels_theory() -> Numbers:
    spectrum = zonal_spectrum(np.exp, 12, 12)
    risk = ridge_risk(spectrum, (0.0, 1.0), 300, ridge=0.1, noise=0.5)
    return {"ridge_risk": float(risk), "zonal_spectrum: degree 2": spectrum.eigenvalues[2]}


def patterns(rng: np.random.Generator) -> Numbers:
    k, rows = 5, 200_000
    half = rng.random(rows) < 0.5
    all_or_none = np.repeat(rng.integers(0, 2, (rows, 1)), k, axis=1)
    phi = np.where(half[:, None], rng.integers(0, 2, (rows, k)), all_or_none)
    s = phi.sum(1)
    right = np.where(s % 2 == 1, 1, -1) == np.where(s > k / 2, 1, -1)
    return {"best_linear_accuracy": right.mean(), "best_threshold_accuracy": right.mean()}


def patterns_theory() -> Numbers:
    law = PatternLaw.hard_instance(D=20, k=5, p_o=0.5)
    return {
        "best_linear_accuracy": best_linear_accuracy(5, 0.5),
        "best_threshold_accuracy": best_threshold_accuracy(law),
    }


GROUPS = {
    "step": Group(step, step_theory, 60),
    "averages": Group(averages, averages_theory, 40),
    "samples": Group(samples, samples_theory, 300),
    "kernels": Group(kernels, kernels_theory, 60),
    "patterns": Group(patterns, patterns_theory, 12),
    **{name: Group(*parts) for name, parts in formulas_beyond.GROUPS.items()},
    **{name: Group(*parts) for name, parts in formulas_more.GROUPS.items()},
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--draws", type=int, help="of every group, in place of its own")
    options.add_argument("--only", choices=sorted(GROUPS), action="append")
    options.add_argument("--sizes", action="store_true", help="two equivalents as d grows, alone")
    asked = options.parse_args()
    if asked.sizes:
        formulas_beyond.sizes()
        return 0
    print("| formula | simulated | theory | z | difference | within |\n|---|---|---|---|---|---|")
    beyond = 0
    for name in asked.only or GROUPS:
        beyond += table(GROUPS[name], asked.draws or GROUPS[name].draws)
    if asked.only is None:
        rows = {name.split(":")[0] for group in GROUPS.values() for name in group.theory()}
        print("\n| without a row | why |\n|---|---|")
        for name, why in formulas_more.without_row(rows).items():
            print(f"| `{name}` | {why} |")
            beyond += not why
    return int(beyond > 0)


def table(group: Group, draws: int) -> int:
    """Print the rows of a group; how many are beyond."""
    found = [group.draw(np.random.default_rng([21, seed])) for seed in range(draws)]
    beyond = 0
    for name, expected in group.theory().items():
        values = np.array([one[name] for one in found])
        z = (values.mean() - expected) / (values.std(ddof=1) / math.sqrt(draws))
        share = values.mean() / expected - 1
        within = abs(z) <= 4 and abs(share) <= 0.02
        beyond += not within
        print(
            f"| `{name}` | {values.mean():.5g} | {expected:.5g} | {z:+.1f} | {share:+.2%} |"
            f" {'yes' if within else 'no'} |",
            flush=True,
        )
    return beyond


if __name__ == "__main__":
    sys.exit(main())
