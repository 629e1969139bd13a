"""Ridge on random features and on their Gaussian equivalent: errors, what is learned, theory."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from gradfeat.lab import lazy
from gradfeat.maths.ranges import LARGEST, MOST_ROWS, at_least, at_most, one_of, positive

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.maths.activations import Activation

ACTIVATIONS = {"relu": "ReLU", "centred_relu": "centred ReLU", "tanh": "tanh", "erf": "erf"}
ERRORS = {
    "training_loss": "training loss",
    "training_error": "training error",
    "test_error": "test error",
}
#: Before the name of a metric: that of the Gaussian equivalent.
EQUIVALENT = "equivalent_"
METRICS = (*ERRORS, *(EQUIVALENT + name for name in ERRORS))
#: Parts of the target of which a share is learned.
SHARES = {"linear_share": "linear part", "quadratic_share": "quadratic part"}
#: What theory takes.
KEYS = ["activation", "phi", "psi", "lam", "n", "noise"]
#: c_{*k} of f* = He_1 + He_2/sqrt(2), setting 2 of the talk.
TARGET = (0.0, 1.0, math.sqrt(0.5))


def trial(
    activation: str,
    phi: float,
    psi: float,
    lam: float,
    n: int = 1_500,
    noise: float = 0.5,
    targets: int = 50,
    n_test: int = 1_500,
    *,
    seed: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Errors of ridge on F_0 = sigma(X W0^T) and on c_0 + c_1 X W0^T + c_{>1} Z, Z ~ N(0, 1).

    d = phi n inputs, N = d/psi neurons; both have the same X, W0 and labels. Labels are
    y_j = He_1(x_j) + He_2(x_j)/sqrt(2) + noise, j = 1, ..., `targets`: one direction each (X and W0
    are rotation-invariant), so that one factorisation averages over targets and their noise.

    Most variance of an error is that of the labels' own mean square. So with q = E y^2/mean y^2
    over the training rows and h the quadratic part of f*, given are q times the training errors and
    q mean((f* - f)^2 - h^2) + E h^2 + noise^2; the bias of q is of order 1/(n targets).

    linear_share and quadratic_share are E[f p]/E p^2 of the parts p = He_1 and He_2/sqrt(2) of f*:
    how much of each the fit has. training_loss, training_error and test_error are those of F_0, and
    `equivalent_*` the same numbers of the Gaussian equivalent.
    """
    from torch import Tensor

    one_of(ACTIVATIONS, activation=activation)
    at_least(1, n=n, n_test=n_test, targets=targets)
    at_least(0, noise=noise)
    at_most(MOST_ROWS, n=n, n_test=n_test)
    at_most(LARGEST, noise=noise, phi=phi, psi=psi, lam=lam)
    positive(phi=phi, psi=psi, lam=lam)
    d, N = sizes(n, phi, psi)
    at_most(MOST_ROWS, **{"phi n": d, "phi n/psi": N})
    at_most(d, targets=targets)
    device_of = Tensor().double().to(device)
    X, T = (
        lazy.draw(device_of, seed, name, rows, d) for name, rows in (("X", n), ("test", n_test))
    )
    W0 = lazy.draw_first_layer(X, N, "sphere", seed)
    y = sum(_parts(X, targets), noise * lazy.draw(X, seed, "noise", n, targets))
    new, P, Q = _parts(T, targets), X @ W0.mT, T @ W0.mT
    sigma = lazy.activation(activation)
    found = _errors(sigma(P), y, sigma(Q), new, lam, noise)
    F, G = (_equivalent(sigma, *rows, seed) for rows in ((P, "Z"), (Q, "Z test")))
    other = _errors(F, y, G, new, lam, noise)
    return found | {EQUIVALENT + name: value for name, value in other.items()}


def sizes(n: int, phi: float, psi: float) -> tuple[int, int]:
    """d = phi n and N = d/psi, in whole numbers."""
    d = max(1, round(phi * n))
    return d, max(1, round(d / psi))


def _parts(X: Tensor, targets: int) -> tuple[Tensor, Tensor]:
    """The linear and the quadratic part of f* in the first directions."""
    z = X[:, :targets]
    return TARGET[1] * z, TARGET[2] * (z.square() - 1)


def _equivalent(sigma: Activation, P: Tensor, name: str, seed: int) -> Tensor:
    """c_0 + c_1 P + c_{>1} Z."""
    mean, slope = (float(c) for c in sigma.hermite_coefficients(1))
    return mean + slope * P + math.sqrt(lazy.moments(sigma)[2]) * lazy.draw(P, seed, name, *P.shape)


def _errors(
    F: Tensor, y: Tensor, G: Tensor, new: tuple[Tensor, Tensor], lam: float, noise: float
) -> dict[str, float]:
    """Averages over targets of the errors of ridge on F; G, `new` are of new rows."""
    fit = lazy.ridge_fit(F, y, lam)
    linear, quadratic = new
    share = float(lazy.Teacher.single(TARGET, noise).power) / float(y.square().mean())
    beside = (linear + quadratic - G @ fit.a).square() - quadratic.square()
    test = share * beside.mean() + 2 * TARGET[2] ** 2 + noise**2
    values = (share * fit.loss.mean(), share * fit.error.mean(), test)
    learned = [(G @ fit.a * part).mean() / part.square().mean() for part in new]
    names, found = (*ERRORS, *SHARES), (*values, *learned)
    return {name: float(value) for name, value in zip(names, found, strict=True)}


@lru_cache(maxsize=4_096)
def theory(
    activation: str, phi: float, psi: float, lam: float, n: int, noise: float
) -> dict[str, float]:
    """Of neurons at n rows, and of their Gaussian equivalent, at the whole numbers d and N.

    The equivalent has nothing of degree 2, which neurons learn a little of at n rows: it has the
    limit at any n.
    """
    d, N = sizes(n, phi, psi)
    sigma, teacher = lazy.activation(activation), lazy.Teacher.single(TARGET, noise)
    said = {}
    for before, rows in (("", float(n)), (EQUIVALENT, math.inf)):
        setting = d / n, d / N, lam, sigma
        found = lazy.random_feature_errors(*setting, teacher, n=rows)
        learned = lazy.learned_shares(*setting, rows)
        errors = found.training_loss, found.training_error, found.test_error
        named = zip((*ERRORS, *SHARES), (*errors, *learned), strict=True)
        said |= {before + name: float(value) for name, value in named}
    return said
