"""Networks fitted on the rows of their gradient, in settings drawn at random, beside theory.

    python benchmarks/reused_settings.py [--settings 24] [--draws 20]

Steps are chosen by `label_share`: how far a row's own label moves its features, in units of their
variance. Differences are (mean - theory)/theory with one standard error, less what the mean of y^2
on the rows explains of them (a regression over draws). Plain NumPy, no network of the package.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from gradfeat.maths.activations import activation
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.theory import reused_features
from gradfeat.theory.gradient_direction import gradient_direction
from gradfeat.theory.reused_features import label_share
from gradfeat.theory.reused_rows import ReusedRows
from gradfeat.theory.reused_sample_errors import reused_sample_errors
from gradfeat.theory.teacher import Teacher

#: Values and slope of each activation.
SIGMAS = {
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "erf": (erf, lambda z: 2 / math.sqrt(math.pi) * np.exp(-z * z)),
    "centred_relu": (lambda z: np.maximum(z, 0) - (2 * math.pi) ** -0.5, lambda z: (z > 0) * 1.0),
    "sine": (lambda z: np.sin(z) - np.cos(z) + math.exp(-0.5), lambda z: np.cos(z) + np.sin(z)),
}


@dataclass(frozen=True)
class Setting:
    teacher: Teacher
    sigma: str
    n: int
    d: int
    N: int
    lam: float
    eta: float
    share: float
    true: bool  #: Whether f_0 is in the residual.

    @staticmethod
    def of(number: int) -> Setting:
        rng = np.random.default_rng([77, number])
        r, degree = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        part = MultiHermite.random(r, degree, rng, lowest=int(rng.integers(0, 2)))
        first = MultiHermite((tuple(int(i == 0) for i in range(r)),), (0.7,))
        teacher = Teacher((part + first).normalised(), float(rng.choice([0.0, 0.5, 1.0])))
        sigma = list(SIGMAS)[number % 4]
        phi, psi, lam = rng.uniform(0.3, 0.8), rng.uniform(0.5, 1.2), rng.choice([0.01, 0.03, 0.1])
        share, true = float(rng.choice([0.1, 0.25, 0.5, 1.0, 2.0])), bool(rng.integers(2))
        n = int(rng.choice([400, 600]))
        d = round(phi * n)
        N = round(d / psi)
        law = activation(sigma)
        direction = gradient_direction(d / n, law, teacher, "y - f0" if true else "y")
        rows = ReusedRows.drawn(d / n, law, teacher, direction)
        eta = min(math.sqrt(share / label_share(1.0, N, rows, law)), n**0.47)
        share = label_share(eta, N, rows, law)
        return Setting(teacher, sigma, n, d, N, float(lam), eta, share, true)

    def theory(self) -> np.ndarray:
        found = reused_sample_errors(
            self.d / self.n, self.d / self.N, self.lam, activation(self.sigma), self.teacher,
            eta=self.eta, n=self.n, residual="y - f0" if self.true else "y",
        )  # fmt: skip
        return np.array([float(found.training_error), float(found.test_error)])

    def drawn(self, rng: np.random.Generator) -> list[float]:
        """Training error, test error, and E y^2 of the rows and of the new ones."""
        (f, slope), target, noise = SIGMAS[self.sigma], self.teacher.target, self.teacher.noise
        X, new = rng.standard_normal((2, self.n, self.d))
        W, a = rng.standard_normal((self.N, self.d)), rng.standard_normal(self.N)
        W, a = W / np.linalg.norm(W, axis=1, keepdims=True), a / math.sqrt(self.N)
        y = target(X[:, : target.r]) + noise * rng.standard_normal(self.n)
        wanted, P = target(new[:, : target.r]), X @ W.T
        residual = y - f(P) @ a if self.true else y
        G = (slope(P) * residual[:, None] * a).T @ X / self.n
        found = []
        for sign in (1,) if self.true else (1, -1):
            V = W + sign * self.eta * G
            F = f(X @ V.T)
            dual = np.linalg.solve(F @ F.T / self.n + self.lam * np.eye(self.n), y)
            left = wanted - f(new @ V.T) @ (F.T @ dual) / self.n
            found.append([np.mean((self.lam * dual) ** 2), np.mean(left**2) + noise**2])
        return [*np.mean(found, 0), np.mean(y**2), np.mean(wanted**2) + noise**2]


def compared(setting: Setting, draws: int) -> list[str]:
    """Differences of both errors in percent, with their standard errors."""
    found = np.array([setting.drawn(np.random.default_rng([5, k])) for k in range(draws)])
    away = found[:, 2:] - float(setting.teacher.power)
    words = []
    for column, expected in enumerate(setting.theory()):
        A = np.column_stack([np.ones(draws), away[:, : column + 1]])
        fit = np.linalg.lstsq(A, found[:, column], rcond=None)[0]
        spread = np.square(found[:, column] - A @ fit).sum() / (draws - A.shape[1])
        error = math.sqrt(spread * np.linalg.inv(A.T @ A)[0, 0])
        words.append(f"{100 * (fit[0] / expected - 1):+.1f} ± {100 * error / expected:.1f} %")
    return words


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--settings", type=int, default=24)
    options.add_argument("--draws", type=int, default=20)
    asked = options.parse_args()
    for bound in ("MOST_LABELS", "MOST_SPREAD", "MOST_TURN"):  # beyond, the formula gives nan
        setattr(reused_features, bound, math.inf)
    print("| share | sigma | target | noise | n | alpha | training | test |\n" + "|---" * 8 + "|")
    for one in sorted(map(Setting.of, range(asked.settings)), key=lambda one: one.share):
        target, alpha = one.teacher.target, math.log(one.eta) / math.log(one.n)
        training, test = compared(one, asked.draws)
        print(
            f"| {one.share:.2f} | {one.sigma} | degree {target.degree}, {target.r} directions |"
            f" {float(one.teacher.noise):g} | {one.n} | {alpha:.2f} | {training} | {test} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
