"""Weighted means of fits: their weights, their sums, and where an RFM takes them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradfeat import RFMRegressor
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.restore import predictor_from
from gradfeat.models.search.kernel_space import kernel
from gradfeat.models.stacked import Stack, stacking_weights
from gradfeat.rows import in_memory


def errors(k: int = 6) -> torch.Tensor:
    gen = torch.Generator().manual_seed(0)
    common = torch.randn(80, 1, generator=gen).double()
    return common + torch.randn(80, k, generator=gen).double() * torch.arange(1, k + 1) / 2


def test_weights_are_the_optimum():
    """On the simplex: the slope of |E v|^2 is the same where v > 0, and no smaller elsewhere."""
    E = errors()
    v = stacking_weights(E, most=6)
    slope = E.T @ E @ v
    assert v.min() >= 0
    assert float(v.sum()) == pytest.approx(1)
    least = float(slope[v > 0].mean())
    assert slope[v > 0].numpy() == pytest.approx(least, rel=1e-8)
    assert bool((slope >= least * (1 - 1e-8)).all())


def test_few_weights_and_none_that_is_small():
    v = stacking_weights(errors(), most=2)
    assert int((v > 0).sum()) == 2
    v = stacking_weights(errors(), most=6, least=0.3)
    assert float(v[v > 0].min()) >= 0.3


def test_the_mean_of_fits_and_of_their_gradients():
    gen = torch.Generator().manual_seed(1)
    X, y = torch.randn(30, 2, generator=gen).double(), torch.randn(30, 2, generator=gen).double()
    one, two = (KernelRidge(kernel(name, 2.0), 0.1) for name in ("gaussian", "polynomial1"))
    f, g, h = (k.fit(in_memory(X, y)) for k in (one, two, Stack((one, two), (0.3, 0.7))))
    assert torch.allclose(h(X), 0.3 * f(X) + 0.7 * g(X), atol=1e-14)
    assert torch.allclose(h.gradient(X), 0.3 * f.gradient(X) + 0.7 * g.gradient(X), atol=1e-14)
    again = predictor_from(h.spec(), h.tensors())
    assert torch.equal(again(X), h(X))


@pytest.mark.parametrize("weights", [[1.0], [0.3, 0.3], [0.5, 0.4, 0.1], [1.5, -0.5]])
def test_weights_that_are_no_shares_of_the_parts_are_refused(weights):
    gen = torch.Generator().manual_seed(2)
    X, y = torch.randn(9, 2, generator=gen).double(), torch.randn(9, 1, generator=gen).double()
    one = KernelRidge(kernel("gaussian", 2.0), 0.1)
    h = Stack((one, one), (0.3, 0.7)).fit(in_memory(X, y))
    with pytest.raises(ValueError, match="no shares of 2 fits"):
        predictor_from(h.spec(), h.tensors() | {"weights": torch.tensor(weights).double()})


def noisy(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, X[:, 0] + np.abs(X[:, 1]) + np.sign(X[:, 2]) + rng.standard_normal(n)


def test_an_rfm_of_few_rows_is_a_mean_of_fits():
    """Only where the number of directions is not asked for, and within the points allowed."""
    X, y = noisy(150)
    model = RFMRegressor().fit(X, y)
    members = model.settings_["stack"].split(" + ")
    assert 2 <= len(members) <= 4
    assert model.settings_["points"] == 150 * len(members)
    assert "stack" not in RFMRegressor(directions=2).fit(X, y).settings_
