"""The target, the network and the checks that the experiments on adaptivity share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue.shared.adapt_training import (
    gaussian_risk,
    network,
    shifted_sines,
    steeper,
    tuned_gaussian,
)
from gradfeat.maths.multi_hermite import MultiHermite
from gradfeat.maths.streams import stream


@pytest.mark.parametrize("r", [1, 2])
def test_the_series_of_the_target_is_its_projection(r):
    g = shifted_sines(r, 1.5)
    projected = MultiHermite.from_function(g, r, 4, 60)
    for k in range(1, 5):
        np.testing.assert_allclose(g.series.tensor(k), projected.tensor(k), atol=1e-9)
    assert g.series.norm_squared() == pytest.approx(1.0, abs=1e-6)
    assert np.linalg.matrix_rank(g.series.tensor(2)) == r


def test_bad_targets_are_named():
    with pytest.raises(ValueError, match="r is 0: give 1 or more"):
        shifted_sines(0, 1.0)
    with pytest.raises(ValueError, match="frequency is 0"):
        shifted_sines(1, 0.0)


def test_the_kernel_and_the_network_learn_one_smooth_input():
    X = torch.randn(300, 1, generator=stream(0, "train"), dtype=torch.float64)
    g = shifted_sines(1, 1.0)
    y = torch.from_numpy(g(X.numpy()))[:, None]
    for f in (tuned_gaussian(1.0, X, y, 0), network(64, 1, X, y, 0), network(64, 3, X, y, 0)):
        inner = X.abs()[:, 0] < 2
        assert float((f(X) - y)[inner].square().mean()) < 1e-2


def test_the_curse_is_in_the_number_of_inputs_with_spread():
    g = shifted_sines(1, 1.5)
    near, far = (gaussian_risk(g.single, 1, d, 300, d**0.5, 0.1) for d in (4, 32))
    flat = [gaussian_risk(g.single, 1, d, 300, 1.0, 0.1, 0.0) for d in (4, 32)]
    assert far > 3 * near
    assert flat[0] == pytest.approx(flat[1])


def slopes_table(fast: float, slow: float, jitter: float, seeds: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"s": s, "n": n, "seed": seed, "loss": n ** (-power + jitter * rng.standard_normal())}
        for seed in range(seeds)
        for s, power in ((0, slow), (1, fast))
        for n in (10.0, 100.0, 1000.0)
    )


@pytest.mark.parametrize(
    ("fast", "slow", "jitter", "outcome"),
    [
        (1.0, 0.5, 0.01, "holds"),
        (0.5, 1.0, 0.01, "fails"),
        (0.6, 0.5, 0.01, "fails"),
        (0.8, 0.5, 0.3, "not enough evidence"),
    ],
)
def test_steeper_compares_slopes_of_a_seed(fast, slow, jitter, outcome):
    check = steeper("loss", "n", {"s": 1}, {"s": 0}, 0.2)
    assert check(slopes_table(fast, slow, jitter)).outcome == outcome


def test_steeper_needs_rows_and_seeds():
    check = steeper("loss", "n", {"s": 1}, {"s": 0})
    assert "no such cells in this run" in check(slopes_table(1, 1, 0).query("s == 0")).words
    assert "1 seed" in check(slopes_table(1, 1, 0, seeds=1)).words
