"""shi22-bounds: the bound is that of the weights, and these minimise the penalised loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from gradfeat.catalogue.shi22_bounds import METHODS, _features, trial
from gradfeat.maths.streams import stream
from gradfeat.tasks.sparse_coding import SparseCoding

SIZES = {"k": 5, "p_o": 0.5, "m": 6, "n": 60, "n_test": 40}


def least_weights(F: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """argmin |w|^2/2 + C sum hinge by its dual: w = sum_i c_i y_i F_i, 0 <= c_i <= C."""
    G = y[:, None] * F

    def dual(c: np.ndarray) -> tuple[float, np.ndarray]:
        w = G.T @ c
        return float(w @ w / 2 - c.sum()), G @ w - 1

    start, box = np.full(len(y), C / 2), [(0.0, C)] * len(y)
    found = minimize(dual, start, jac=True, bounds=box, tol=1e-14, options={"maxiter": 5_000})
    return G.T @ found.x


@pytest.mark.parametrize("C", [0.01, 0.3])
@pytest.mark.parametrize("method", METHODS)
def test_bound_and_loss_are_those_of_the_weights_that_minimise_the_penalised_hinge_loss(method, C):
    """2 %: the solver's tolerance."""
    found = trial(method, C, **SIZES, seed=0)
    task = SparseCoding.hard(80, 80, 5, 0.5, seed=0)
    sizes = {"train": SIZES["n"], "test": SIZES["n_test"]}
    train, test = (task.sample(int(n), stream(0, name)) for name, n in sizes.items())
    F, new = _features(method, task, SIZES["m"], 0, train.X.numpy(), test.X.numpy())
    w = least_weights(F, train.y[:, 0].numpy(), C)
    B, N = float(np.linalg.norm(w)), F.shape[1]
    assert (found["N"], found["B"]) == (N, pytest.approx(B, rel=0.02))
    assert 1 - found["bound"] / 0.5 == pytest.approx(math.sqrt(2 * N) * B / 2**5, rel=0.02)
    loss = np.maximum(0, 1 - test.y[:, 0].numpy() * (new @ w)).mean()
    assert found["loss"] == pytest.approx(loss, rel=0.02)
    assert found["excess"] == pytest.approx(found["loss"] - max(found["bound"], 0.0), abs=1e-12)
