"""Simulations of `formulas.py`: gradients of patterns, kernels' laws, second steps, online SGD.

Each group is (a draw, the theory, how many draws), both of which return numbers by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import erf, ndtr

from gradfeat.maths.activations import CentredReLU, Polynomial, Tanh
from gradfeat.maths.hermite import HermiteSeries
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory.committee import committee_flow, committee_path
from gradfeat.theory.finite_step_errors import finite_step_share
from gradfeat.theory.generative_exponent import label_strengths
from gradfeat.theory.input_spectra import gaussian_law, interval_law
from gradfeat.theory.kernel_flow import flow_risk
from gradfeat.theory.label_gradients import BlockLaw, parity_gradient
from gradfeat.theory.online_sgd import SphereSGD
from gradfeat.theory.patterns import PatternLaw
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.rfm_rounds import rfm_rounds
from gradfeat.theory.second_step import second_gradient
from gradfeat.theory.shi22_moments import gradient_moments, leading_signal, population_step
from gradfeat.theory.teacher import Teacher
from gradfeat.theory.zonal_spectrum import zonal_spectrum

Numbers = dict[str, float]

# Gradients of patterns ---------------------------------------------------------------------------

ROWS, S = 200_000, 0.2
LAW = PatternLaw.hard_instance(D=30, k=3, p_o=0.5)
Q = np.r_[0.5, 0.3, 0.4, 0.3 * np.cos(np.arange(27.0))]
BLOCKS = BlockLaw(D=8, k=3, r=1, p_uniform=0.5, p_o=0.25)
W = np.r_[0.6, 0.5, 0.7, 0.4 * np.sin(np.arange(1.0, 6.0))]


def gradients(rng: np.random.Generator) -> Numbers:
    s = rng.choice(4, size=ROWS, p=LAW.probabilities)
    inside = rng.random((ROWS, 3)).argsort(1) < s[:, None]
    code = (np.hstack([inside, rng.random((ROWS, 27)) < LAW.p_o]) - LAW.means) / LAW.sigma
    y = np.array(LAW.labels)[s]

    def slope(z: np.ndarray) -> np.ndarray:
        return ndtr((1 - z) / S) - ndtr(-z / S)

    X = (y * slope(code @ Q + 0.1))[:, None] * code
    after = X.mean(0)
    outside = LAW.gamma / LAW.sigma * slope(code[:, 3:] @ Q[3:] + 0.1)
    uniform = rng.random(ROWS) < BLOCKS.p_uniform
    signs = rng.choice([-1.0, 1.0], (ROWS, 3))
    signs = np.where(uniform[:, None], signs, signs[:, :1])
    other = rng.choice([-1.0, 0.0, 1.0], (ROWS, 5), p=[0.25, 0.5, 0.25])
    phi = np.hstack([signs, other])
    met = np.sign(signs.prod(1)) * (phi @ W > 0.3)
    return {
        "gradient_moments: T in A": after[0],
        "gradient_moments: variance": X[:, 0].var(),
        "population_step: weight": 5.0 * after[1],
        "leading_signal": outside.mean(),
        "parity_gradient": np.mean(met * phi[:, 0]),
    }


def gradients_theory() -> Numbers:
    neuron = (LAW, Q[None], np.array([0.1]))
    moments = gradient_moments(*neuron, S)
    step = population_step(*neuron, np.ones(1), S, 5.0)[0]
    return {
        "gradient_moments: T in A": moments.T[0, 0],
        "gradient_moments: variance": moments.variance[0, 0],
        "population_step: weight": step[0, 1],
        "leading_signal": leading_signal(*neuron, S)[0],
        "parity_gradient": parity_gradient(BLOCKS, np.eye(8), W[None], 0.3, scale=1.0)[0, 0],
    }


# Kernels -----------------------------------------------------------------------------------------


def ridge(K: np.ndarray, n: int, y: np.ndarray, penalty: float) -> np.ndarray:
    """Fitted at all rows from the first n."""
    return K[:, :n] @ np.linalg.solve(K[:n, :n] + penalty * np.eye(n), y[:n])


def gaussian_risk(rng: np.random.Generator, d: int, new: int = 1_000) -> float:
    """Of 400 rows of d Gaussian inputs, bandwidth 3 sqrt(d/8)."""
    X = rng.standard_normal((400 + new, d))
    f = np.sin(X[:, :2]).sum(1) / 2**0.5
    y = f + 0.3 * rng.standard_normal(400 + new)
    return float(np.mean((ridge(np.exp(-4 * apart(X, 400) / 9 / d), 400, y, 0.1) - f)[400:] ** 2))


def gaussian_theory(d: int) -> float:
    return float(gaussian_law(np.sin, 2, d, 3 * (d / 8) ** 0.5).risk(400, 0.1, 0.3))


def apart(X: np.ndarray, n: int) -> np.ndarray:
    """Squared distances of all rows from the first n."""
    square = (X**2).sum(1)
    return np.maximum(square[:, None] + square[:n] - 2 * X @ X[:n].T, 0)


def laws(rng: np.random.Generator) -> Numbers:
    n, new = 200, 1_000
    x = rng.uniform(-1, 1, n + new)
    line = np.sign(x) + 0.3 * rng.standard_normal(n + new)
    fit_line = ridge(np.exp(-np.abs(x[:, None] - x[:n])), n, line, 1.0)
    Z = rng.standard_normal((150 + new, 6))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    K = np.exp(Z @ Z[:150].T)
    g = 6**0.5 * Z[:, 0]
    e, U = np.linalg.eigh(K[:150])
    noisy = g[:150] + 0.5 * rng.standard_normal(150)
    flow = K @ (U @ (-np.expm1(-2 * 5.0 * e / 150) / e * (U.T @ noisy)))
    return {
        "gaussian_law: risk at d = 32": gaussian_risk(rng, 32),
        "interval_law: risk": np.mean((fit_line - np.sign(x))[n:] ** 2),
        "flow_risk": np.mean((flow - g)[150:] ** 2),
    }


def laws_theory() -> Numbers:
    sphere = zonal_spectrum(np.exp, 6, 12)
    line = interval_law(lambda t: np.exp(-t), np.sign)
    return {
        "gaussian_law: risk at d = 32": gaussian_theory(32),
        "interval_law: risk": float(line.risk(200, 1.0, 0.3)),
        "flow_risk": flow_risk(sphere, (0.0, 1.0), 150, time=5.0, noise=0.5),
    }


# The second step ---------------------------------------------------------------------------------

CURVED = HermiteSeries((0.0, 0.8, 0.5))


def second(rng: np.random.Generator) -> Numbers:
    whole, half = (gradient_of_two_steps(rng, d) for d in (400, 200))
    along, own, square = 2 * whole - half  # without what is of order 1/d
    z = rng.standard_normal(ROWS)
    label = np.where(np.abs(z - 0.2) < 1, 1.0, -1.0)
    strength = sum(
        np.mean(label == side) * np.mean((z * z - 1)[label == side]) ** 2 / 2 for side in (-1, 1)
    )
    return {
        "second_gradient: along u": along,
        "second_gradient: along w": own,
        "second_gradient: squared length": square,
        "label_strengths: degree 2": float(strength),
    }


def gradient_of_two_steps(rng: np.random.Generator, d: int) -> np.ndarray:
    """Means of G_2.u, G_2.w and |G_2|^2 over 60 neurons across u, on the same 4 d rows twice."""
    X, V = rng.standard_normal((4 * d, d)), rng.standard_normal((60, d))
    y, slope = CURVED(X[:, 0]), Tanh().derivative_values
    V[:, 0] = 0.0
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    moved = V + 2.0 * (y[:, None] * slope(X @ V.T)).T @ X / (4 * d)
    G = (y[:, None] * slope(X @ moved.T)).T @ X / (4 * d)
    return np.array([G[:, 0].mean(), (G * V).sum(1).mean(), np.square(G).sum(1).mean()])


def second_theory() -> Numbers:
    found = second_gradient(CURVED, Tanh(), 0.25, 2.0)
    strengths = label_strengths(lambda z: np.where(np.abs(z - 0.2) < 1, 1.0, -1.0), 2)
    return {
        "second_gradient: along u": found.signal,
        "second_gradient: along w": found.own,
        "second_gradient: squared length": found.norm_squared,
        "label_strengths: degree 2": float(strengths[1]),
    }


# Online SGD --------------------------------------------------------------------------------------

SGD = SphereSGD(2, 128, 0.05 / 128)
LARGE = SphereSGD(2, 2_048, 0.2 / 2_048)  # a path is the limit of many inputs


def online(rng: np.random.Generator) -> Numbers:
    m = np.full(ROWS, 0.4)
    steps = chain(rng, m) - m
    far, time, runs = np.full(100, 0.3), 0, rng.standard_normal((300, 128))
    for _ in range(7_200):
        far = chain(rng, far, LARGE)
    start = runs[:, 0] / np.linalg.norm(runs, axis=1)
    alive, total = np.ones(300, bool), np.zeros(300)
    while alive.any() and time < 100_000:
        start[alive] = chain(rng, start[alive])
        time += 1
        total[alive] = time
        alive &= np.abs(start) < 0.6
    return {
        "SphereSGD.moments: variance": np.mean(steps**2),
        "SphereSGD.moments: drift": steps.mean(),
        "SphereSGD.path": far.mean(),
        "SphereSGD.mean_time": total.mean(),
    }


def chain(rng: np.random.Generator, m: np.ndarray, sgd: SphereSGD = SGD) -> np.ndarray:
    """One step of m = u.w: w.x, the part of x along u across w, and the rest's squared length."""
    p, v = rng.standard_normal((2, len(m)))
    rest = v**2 + rng.chisquare(sgd.d - 2, len(m))
    across = np.sqrt(1 - m**2)
    y = ((m * p + across * v) ** 2 - 1) / 2**0.5
    g = sgd.eta * y * 2**0.5 * p
    return (m + g * across * v) / np.sqrt(1 + g**2 * rest)


def online_theory() -> Numbers:
    drift, variance = SGD.moments(0.4)
    return {
        "SphereSGD.moments: variance": float(variance),
        "SphereSGD.moments: drift": float(drift),
        "SphereSGD.path": float(LARGE.path(0.3, [0, 7_200])[-1]),
        "SphereSGD.mean_time": SGD.mean_time(0.6),
    }


STUDENT = np.array([[0.8, 0.0], [0.3, 0.6]])
TEACHER = np.eye(2)
OVERLAPS = (STUDENT @ STUDENT.T, STUDENT @ TEACHER.T, TEACHER @ TEACHER.T)


def committee(rng: np.random.Generator) -> Numbers:
    x = rng.standard_normal((ROWS, 2))
    delta = deltas(x @ STUDENT.T, x @ TEACHER.T)
    met = delta.T @ (x @ TEACHER.T) / ROWS
    own = delta.T @ (x @ STUDENT.T) / ROWS
    d = 400
    w = np.zeros((2, d))
    w[:, :2] = STUDENT
    u = np.eye(2, d)
    for _ in range(5 * d):
        row = rng.standard_normal(d)
        w += np.outer(deltas(w @ row, u @ row), row) / d
    return {
        "committee_flow: dR": met[0, 0],
        "committee_flow: dQ": 2 * own[0, 0] + np.mean(delta[:, 0] ** 2),
        "committee_path: R": w[0, 0],
    }


def deltas(z: np.ndarray, t: np.ndarray) -> np.ndarray:
    """g'(w.x) (y - f) of each unit."""
    left = (erf(t / 2**0.5) - erf(z / 2**0.5)).sum(-1, keepdims=True)
    return (2 / math.pi) ** 0.5 * np.exp(-(z**2) / 2) * left


def committee_theory() -> Numbers:
    flow = committee_flow(*OVERLAPS, 1.0)
    return {
        "committee_flow: dR": flow.R[0, 0],
        "committee_flow: dQ": flow.Q[0, 0],
        "committee_path: R": committee_path(*OVERLAPS, 1.0, [0, 5]).R[-1, 0, 0],
    }


# Rounds of an RFM --------------------------------------------------------------------------------


def first_error(rng: np.random.Generator, n: int, d: int, new: int = 2_000) -> float:
    """Of kernel ridge on y = x_1 x_2, bandwidth 10 sqrt(d/30)."""
    X = rng.standard_normal((n + new, d))
    y = X[:, 0] * X[:, 1]
    fit = ridge(np.exp(-0.15 * apart(X, n) / d), n, y, 1e-3)
    return float(np.mean((fit - y)[n:] ** 2) / np.mean(y[n:] ** 2))


def first_theory(n: int, d: int) -> float:
    said = (lambda u: u[:, 0] * u[:, 1], 2, d, n, 10 * (d / 30) ** 0.5)
    return rfm_rounds(*said, rounds=0, kernel="gaussian")[0].error


def update_error(rng: np.random.Generator, n: int, d: int) -> float:
    """After one update on fresh rows: Laplace kernel of bandwidth 3 sqrt(d), centred gradients."""
    M, error = np.eye(d), math.nan
    for _ in range(2):
        X, points, new = (rng.standard_normal((rows, d)) for rows in (n, n, 2_000))
        y, wanted = (Z[:, 0] * Z[:, 1] for Z in (X, new))
        own, far, near = (_lengths(Z, X, M) for Z in (X, new, points))
        width = 3 * d**0.5
        c = np.linalg.solve(np.exp(-own / width) + 1e-3 * np.eye(n), y)
        error = float(np.mean((np.exp(-far / width) @ c - wanted) ** 2))
        w = np.exp(-near / width) * c / near
        A = np.cov(((w @ X - w.sum(1)[:, None] * points) @ M).T)
        M = A * d / np.trace(A)
    return error


def _lengths(Z: np.ndarray, X: np.ndarray, M: np.ndarray) -> np.ndarray:
    squares = ((Z @ M) * Z).sum(1)[:, None] + ((X @ M) * X).sum(1) - 2 * Z @ M @ X.T
    return np.sqrt(np.maximum(squares, 1e-18))


def update_theory(n: int, d: int) -> float:
    return rfm_rounds(lambda u: u[:, 0] * u[:, 1], 2, d, n, 3 * d**0.5, rounds=1)[1].error


def rounds(rng: np.random.Generator) -> Numbers:
    return {"rfm_rounds: first error at d = 100": first_error(rng, 1_000, 100)}


def rounds_theory() -> Numbers:
    return {"rfm_rounds: first error at d = 100": first_theory(1_000, 100)}


def sizes() -> None:
    """Print how two equivalents, which take features as Gaussian, come true as d grows."""
    print("\n| formula | n | d | simulated | theory | difference |\n|---|---|---|---|---|---|")
    for d, draws in ((4, 100), (8, 100), (16, 100), (32, 100)):
        _size(
            "gaussian_law",
            400,
            d,
            draws,
            lambda rng, d=d: gaussian_risk(rng, d),
            gaussian_theory(d),
        )
    for d, draws in ((15, 300), (30, 150), (60, 40)):
        n = 5 * d * d // 9
        draw = lambda rng, n=n, d=d: first_error(rng, n, d)  # noqa: E731
        _size("rfm_rounds", n, d, draws, draw, first_theory(n, d))
    update = lambda rng: update_error(rng, 500, 40)  # noqa: E731
    _size("rfm_rounds, one update", 500, 40, 12, update, update_theory(500, 40))
    shares()
    bends()


def _size(
    name: str,
    n: int,
    d: int,
    draws: int,
    draw: Callable[[np.random.Generator], float],
    theory: float,
) -> None:
    seen = np.array([draw(np.random.default_rng([22, seed])) for seed in range(draws)])
    share, error = seen.mean() / theory - 1, seen.std(ddof=1) / math.sqrt(draws) / theory
    print(
        f"| `{name}` | {n:,} | {d} | {seen.mean():.4g} | {theory:.4g} | {share:+.1%} ±"
        f" {error:.1%} |",
        flush=True,
    )


SQUARE, BEND = MultiHermite(((2, 0),), (0.5,)), 1 / math.sqrt(2 * math.pi)


def shares() -> None:
    """Print what a step has of He_2(x_1)/2 in x_1 + [He_2(x_1) + He_2(x_2)]/2, centred ReLU."""
    print("\n| alpha | n | simulated | theory |\n|---|---|---|---|")
    target = Teacher(MultiHermite(((1, 0), (2, 0), (0, 2)), (1.0, 0.5, 0.5)))
    setting, alphas = (0.5, 2 / 3, 0.01, CentredReLU()), (0.1, 0.2, 0.3, 0.36, 0.42)
    for n, draws in ((500, 400), (1_000, 150), (2_000, 40)):
        found = [_shares(np.random.default_rng([2, n, k]), n, alphas) for k in range(draws)]
        mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / math.sqrt(draws)
        etas = n ** np.array(alphas)
        theory = finite_step_share(*setting, target, part=SQUARE, eta=etas, n=n)
        for row in zip(alphas, mean, error, theory, strict=True):
            print(
                "| {:g} | {:,} | {:.4f} ± {:.4f} | {:.4f} |".format(row[0], n, *row[1:]), flush=True
            )


def _shares(rng: np.random.Generator, n: int, alphas: Sequence[float]) -> list[float]:
    """Of one network, the mean over a and -a; float32."""
    d, N, real = n // 2, 3 * n // 4, np.float32
    X, new = (rng.standard_normal((n, d), dtype=real) for _ in range(2))
    W = rng.standard_normal((N, d), dtype=real)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = (rng.standard_normal(N) / math.sqrt(N)).astype(real)
    y, y_new = (x[:, 0] + ((x[:, :2] ** 2).sum(1) - 2) / 2 for x in (X, new))
    G = (a[:, None] * y * (W @ X.T > 0)) @ X / n
    found = []
    for eta in (sign * n**alpha for alpha in alphas for sign in (1, -1)):
        V = W + real(eta) * G
        F = np.maximum(new @ V.T, 0) - real(BEND)
        head = np.linalg.solve(F.T @ F + real(0.01 * n) * np.eye(N, dtype=real), F.T @ y_new)
        found.append(float(head @ (V[:, 0] ** 2 / np.linalg.norm(V, axis=1))) * BEND)
    return np.reshape(found, (-1, 2)).mean(1).tolist()


def bends() -> None:
    """Print errors on reused rows beside the share of E sigma'^2 in 4 c_2^2."""
    print(
        "\n| share | alpha | training loss | training error | test error |\n|---|---|---|---|---|"
    )
    n, target = 400, Teacher.single((0.0, 1.0), 1.0)
    for share in (0.0, 0.2, 0.35, 0.5):
        slope, bend = math.sqrt(1 - share), math.sqrt(share)
        sigma = Polynomial((-bend / 2, slope, bend / 2))
        for alpha in (0.2, 0.35):
            seen = np.array([_reused(np.random.default_rng([23, k]), n, alpha, slope, bend)
                             for k in range(24)])  # fmt: skip
            found = reused_sample_errors(0.5, 2 / 3, 0.01, sigma, target, eta=n**alpha, n=n)
            theory = [found.training_loss, found.training_error, found.test_error]
            parts = zip(seen.mean(0) / theory - 1, seen.std(0, ddof=1) / theory, strict=True)
            cells = (f"{part:+.1%} ± {spread / math.sqrt(24):.1%}" for part, spread in parts)
            print(f"| {share:g} | {alpha:g} | {' | '.join(cells)} |", flush=True)


def _reused(
    rng: np.random.Generator, n: int, alpha: float, slope: float, bend: float
) -> list[float]:
    """Training loss and error, and test error, of slope z + bend (z^2 - 1)/2 on its own rows."""
    d, N = n // 2, 3 * n // 4
    W, X, new = (rng.standard_normal((rows, d)) for rows in (N, n, 3 * n))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    a = rng.standard_normal(N) / math.sqrt(N)
    y, y_new = (x[:, 0] + rng.standard_normal(len(x)) for x in (X, new))
    V = W + n**alpha * (a[:, None] * y * (slope + bend * W @ X.T)) @ X / n
    F, later = (slope * z + bend * (z * z - 1) / 2 for z in (X @ V.T, new @ V.T))
    head = np.linalg.solve(F.T @ F / n + 0.01 * np.eye(N), F.T @ y / n)
    left = float(np.mean((y - F @ head) ** 2))
    return [left + 0.01 * float(head @ head), left, float(np.mean((y_new - later @ head) ** 2))]


GROUPS: dict[str, tuple[Callable[[np.random.Generator], Numbers], Callable[[], Numbers], int]] = {
    "gradients": (gradients, gradients_theory, 30),
    "laws": (laws, laws_theory, 200),
    "second": (second, second_theory, 200),
    "online": (online, online_theory, 40),
    "committee": (committee, committee_theory, 40),
    "rounds": (rounds, rounds_theory, 60),
}
