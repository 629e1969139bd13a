"""Small cases that must come out right: options, repeatability, limits."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from small_fits import FINE, binary, classifiers, named, regression, regressors, transformer

from gradfeat.estimators import (
    GradientFeatureRegressor,
    InducedNetworkRegressor,
    KernelClassifier,
    KernelRegressor,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMRegressor,
)
from gradfeat.maths.blocks import Block
from gradfeat.models.gradient_step import first_gradient_test
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Laplace
from gradfeat.models.rfm import RFM
from gradfeat.models.search.rfm_space import RFMSetting
from gradfeat.models.solvers.direct import Direct
from gradfeat.rows.rows import in_memory


def _outputs(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def test_case_09_a_diagonal_metric_changes_every_iteration() -> None:
    """Row 9: RFM with diagonal M, three iterations: M changes each time, and is not full M."""
    X, f = regression(150)
    Z, y = torch.tensor(X), torch.tensor(f)[:, None]
    path = [m.M for m in RFM(Laplace(3.0), 1e-2, n_iter=3, diagonal=True).fit_path(in_memory(Z, y))]
    full = RFM(Laplace(3.0), 1e-2, n_iter=3).fit(in_memory(Z, y)).M
    assert len(path) == 4
    # An update moves M by percents; 1e-3 of its trace is far above rounding.
    moves = [(b - a).abs().max() for a, b in pairwise(path)]
    assert min(moves) > 1e-3
    assert all(torch.equal(M, M.diagonal().diag()) for M in path)
    assert (full - full.diagonal().diag()).abs().max() > 1e-3


RFM_BASE = RFMRegressor(search=None, n_iter=3)
NET_BASE = GradientFeatureRegressor(width=64, n_steps=2)
INDUCED_BASE = InducedNetworkRegressor(**FINE)
OPTIONS = [
    (RFM_BASE, {"agop_power": 0.25}, {"agop_power": 0.5}),
    (RFM_BASE, {"agop_power": 0.5}, {"agop_power": 1.0}),
    (RFM_BASE, {"kernel": "laplace"}, {"kernel": "gaussian"}),
    (RFM_BASE, {"kernel": "matern32"}, {"kernel": "matern52"}),
    (RFM_BASE, {"bandwidth": 2.0}, {"bandwidth": 4.0}),
    (RFM_BASE, {"alpha": 1e-3}, {"alpha": 1.0}),
    (RFM_BASE, {"n_iter": 0}, {"n_iter": 1}),
    (RFM_BASE, {"n_iter": 1}, {"n_iter": 2}),
    (RFM_BASE, {"diagonal": False}, {"diagonal": True}),
    (RFM_BASE, {"centre_gradients": False}, {"centre_gradients": True}),
    (RFM_BASE, {"normalisation": "trace"}, {"normalisation": "max"}),
    (RFM_BASE, {"agop_rows": None}, {"agop_rows": 20}),
    (RFM_BASE, {"standardise": True}, {"standardise": False}),
    (RFM_BASE, {"search": None}, {"search": "fast"}),
    (RFM_BASE, {"dtype": "float64"}, {"dtype": "float32"}),
    (RFM_BASE.set_params(agop_rows=None), {"agop_rows": 20}, {"agop_rows": 20, "random_state": 1}),
    (KernelRegressor(), {"search": None}, {"search": "fast"}),
    (KernelRegressor(search=None), {"bandwidth": 2.0}, {"bandwidth": 4.0}),
    (KernelRegressor(search=None), {"alpha": 1e-3}, {"alpha": 1.0}),
    (KernelRegressor(search=None), {"kernel": "laplace"}, {"kernel": "matern32"}),
    (KernelRegressor(search=None), {"standardise": True}, {"standardise": False}),
    (NET_BASE, {"width": 32}, {"width": 64}),
    (NET_BASE, {"activation": "relu"}, {"activation": "tanh"}),
    (NET_BASE, {"n_steps": 0}, {"n_steps": 1}),
    (NET_BASE, {"n_steps": 1}, {"n_steps": 2}),
    (NET_BASE, {"n_steps": None}, {"n_steps": None, "search": None}),
    (NET_BASE, {"step_size": 0.5}, {"step_size": 5.0}),
    (NET_BASE, {"update": "agop"}, {"update": "gradient"}),
    (NET_BASE, {"alpha": 1e-2}, {"alpha": 10.0}),
    (NET_BASE, {"penalty_by": "loo"}, {"penalty_by": "gcv"}),
    (NET_BASE, {"penalty_by": "loo"}, {"penalty_by": "validation"}),
    (NET_BASE, {"whiten": True}, {"whiten": False}),
    (NET_BASE, {"standardise": True, "whiten": False}, {"standardise": False, "whiten": False}),
    (NET_BASE, {"dtype": "float64"}, {"dtype": "float32"}),
    (NET_BASE, {"random_state": 0}, {"random_state": 1}),
    (RandomFeaturesRegressor(), {"width": 32}, {"width": 64}),
    (RandomFeaturesRegressor(width=64), {"activation": "relu"}, {"activation": "erf"}),
    (RandomFeaturesRegressor(width=64), {"alpha": 1e-2}, {"alpha": 10.0}),
    (RandomFeaturesRegressor(width=64), {"random_state": 0}, {"random_state": 1}),
    (RandomFeaturesRegressor(width=64), {"penalty_by": "loo"}, {"penalty_by": "gcv"}),
    (RandomFeaturesRegressor(width=64), {"standardise": True}, {"standardise": False}),
    (LinearRegressor(), {"alpha": 1e-2}, {"alpha": 10.0}),
    (LinearRegressor(), {"penalty_by": "loo"}, {"penalty_by": "gcv"}),
    (LinearRegressor(), {"standardise": True}, {"standardise": False}),
    (INDUCED_BASE, {"p": 0.02}, {"p": 0.2}),
    (INDUCED_BASE, {"width": 0.05}, {"width": 0.2}),
    (INDUCED_BASE, {"bias_scale": 0.5}, {"bias_scale": 1.5}),
    (INDUCED_BASE, {"least_norm": 1e-3}, {"least_norm": None}),
    (INDUCED_BASE, {"neurons": 400}, {"neurons": 600}),
    (INDUCED_BASE, {"feature_rows": 50}, {"feature_rows": 150}),
    (INDUCED_BASE, {"biases": 4}, {"biases": 16}),
    (INDUCED_BASE, {"linear": "ridge"}, {"linear": "none"}),
    (INDUCED_BASE, {"linear": "ridge"}, {"linear": "moment"}),
    (INDUCED_BASE, {"whiten": True}, {"whiten": False}),
    (INDUCED_BASE, {"alpha": 1e-2}, {"alpha": 10.0}),
    (InducedNetworkRegressor(search=None), {"penalty_by": "loo"}, {"penalty_by": "validation"}),
    (INDUCED_BASE, {"B_a1": None}, {"B_a1": 0.1}),
    (INDUCED_BASE, {"B_a2": 0.5}, {"B_a2": 1.0}),
    (INDUCED_BASE, {"B_b": None}, {"B_b": 1.0}),
    (INDUCED_BASE, {"standardise": True, "whiten": False}, {"standardise": False, "whiten": False}),
    (INDUCED_BASE, {"search": None}, {"search": "fast"}),
    (INDUCED_BASE, {"dtype": "float64"}, {"dtype": "float32"}),
    (INDUCED_BASE, {"random_state": 0}, {"random_state": 1}),
]


#: By the parameters of a model: many options are compared with the same one.
_PREDICTIONS: dict[str, Any] = {}


def predictions(model: Any) -> Any:
    """Of the rows that the model is fitted to."""
    named = f"{type(model).__name__} {sorted(model.get_params().items())}"
    if named not in _PREDICTIONS:
        X, f = regression(150)
        X = X * np.array([1.0, 3.0, 1.0, 0.3])
        y = f + 0.05 * np.random.default_rng(3).standard_normal(150)
        _PREDICTIONS[named] = model.fit(X, y).predict(X)
    return _PREDICTIONS[named]


@pytest.mark.parametrize(
    ("model", "first", "second"),
    OPTIONS,
    ids=[f"{type(m).__name__}-{a}-{b}" for m, a, b in OPTIONS],
)
def test_case_10_every_option_changes_the_result(model: Any, first: Any, second: Any) -> None:
    """Row 10: agop_power .25, .5, 1; every other option at two values: each changes the result."""
    one, two = (predictions(clone(model).set_params(**p)) for p in (first, second))
    # Two runs of one setting agree bit for bit (row 11); float32 rounds at 1e-7.
    assert np.abs(one - two).max() > 1e-9


def test_a_full_search_tries_powers_of_the_agop_unless_one_is_given() -> None:
    """The powers stand in the axes of a full search alone."""
    X, y = regression(30)
    block = Block(torch.as_tensor(X), torch.as_tensor(y)[:, None], torch.ones(30).double())
    for search, power, tried in (("full", None, True), ("full", 0.5, False), ("fast", None, False)):
        space = RFMRegressor(search=search, agop_power=power)._rounds(block)
        assert ("agop_power" in space.axes) is tried
        assert space.start.rounds.agop_power == (power or 1.0)
        rounds = replace(space.start.rounds, agop_power=0.25)
        assert space.learner(RFMSetting(rounds)).agop_power == 0.25


def test_case_10_full_search_uses_more_rows_than_fast() -> None:
    """Row 10: search "fast" holds out a part of 1,600 rows, "full" all: other probabilities."""
    X, y = binary(1600, d=2)
    fast, full = (RandomFeaturesClassifier(width=16, search=how) for how in ("fast", "full"))
    change = fast.fit(X, y).predict_proba(X) - full.fit(X, y).predict_proba(X)
    assert np.abs(change).max() > 1e-6


BAD_PARAMETERS = [
    (KernelRegressor(alpha=-1.0), "alpha is -1.0: give a non-negative number or None."),
    (KernelRegressor(bandwidth=0), "bandwidth is 0"),
    (KernelRegressor(bandwidth="wide"), "bandwidth is 'wide': give a positive number or None."),
    (KernelRegressor(kernel="cubic"), "kernel is 'cubic': allowed are"),
    (KernelRegressor(search="slow"), "search is 'slow': allowed are"),
    (KernelRegressor(dtype="float16"), "dtype is 'float16': allowed are"),
    (KernelRegressor(device="abacus"), "device is 'abacus': give a torch device such as 'cpu'."),
    (KernelRegressor(random_state=-1), "random_state is -1: give None, an integer from 0"),
    (RFMRegressor(n_iter=-1), "n_iter is -1: give an integer of at least 0."),
    (RFMRegressor(n_iter=1.5), "n_iter is 1.5"),
    (RFMRegressor(agop_power=0), "agop_power is 0: give a positive number or None."),
    (RFMRegressor(agop_rows=0), "agop_rows is 0: give an integer of at least 1 or None."),
    (RFMRegressor(normalisation="sum"), "normalisation is 'sum': allowed are 'trace', 'max'."),
    (GradientFeatureRegressor(width=0), "width is 0: give an integer of at least 1."),
    (GradientFeatureRegressor(activation="step"), "'step'"),
    (GradientFeatureRegressor(n_steps=-1), "n_steps is -1"),
    (GradientFeatureRegressor(step_size=np.nan), "step_size is nan"),
    (GradientFeatureRegressor(update="newton"), "update is 'newton': allowed are"),
    (GradientFeatureRegressor(penalty_by="aic"), "penalty_by is 'aic': allowed are"),
    (GradientFeatureRegressor(whiten="yes"), "whiten is 'yes': allowed are True, False, None."),
    (InducedNetworkRegressor(p=2), "p is 2.0"),
    (InducedNetworkRegressor(p=None), "p is None: give a positive number."),
    (InducedNetworkRegressor(width=1.5, search=None), "width 1.5: give both between 0 and 1."),
    (InducedNetworkRegressor(bias_scale=0), "bias_scale is 0: give a positive number or None."),
    (InducedNetworkRegressor(neurons=10), "10 neurons cannot show a mass of 0.02: give at least"),
    (InducedNetworkRegressor(feature_rows=1), "feature_rows is 1: give an integer of at least 2."),
    (InducedNetworkRegressor(biases=1), "biases is 1: give an integer of at least 2."),
    (InducedNetworkRegressor(linear="cubic"), "linear is 'cubic': allowed are"),
    (InducedNetworkRegressor(whiten="yes"), "whiten is 'yes': allowed are True, False, None."),
    (InducedNetworkRegressor(B_a2=-1.0), "B_a2 is -1.0: give a positive number or None."),
    (transformer().set_params(n_components=5), "n_components is 5 and X has 4 columns"),
    (transformer().set_params(n_components=0), "n_components is 0"),
    (transformer().set_params(n_components=1.5), "n_components is 1.5"),
    (KernelRegressor(standardise="yes"), "standardise is 'yes': allowed are True, False."),
    (KernelRegressor(standardise=np.ones(2)), "allowed are True, False."),
    (KernelRegressor(search=np.ones(2)), "allowed are 'fast', 'full', None."),
    (RFMRegressor(trees=torch.ones(2)), "allowed are True, False."),
    (InducedNetworkRegressor(p=1e-320), "neurons cannot show a mass of 1e-320"),
    (KernelRegressor(dtype=np.ones(2)), "allowed are None, 'float32', 'float64'."),
    (KernelRegressor(device=2**200), "give a torch device such as 'cpu'."),
    (KernelRegressor(device="hpu"), "device is 'hpu', which computes nothing"),
    (KernelRegressor(random_state=2**200), "give None, an integer from 0 to 2**64 - 1, or a"),
    (RFMRegressor(n_iter=1e308), "n_iter is 1e+308: give an integer from 0 to 1,000,000."),
    (RFMRegressor(agop_rows=10**30), "from 1 to 1,000,000,000,000 or None."),
    (RandomFeaturesRegressor(width=2**63), "give an integer from 1 to 1,000,000."),
    (GradientFeatureRegressor(activation=""), "activation is '': give one of relu"),
    (GradientFeatureRegressor(n_steps=10**9), "give an integer from 0 to 1,000,000 or None."),
    (transformer().set_params(task="ranking"), "task is 'ranking': allowed are"),
]


@pytest.mark.parametrize(("model", "says"), BAD_PARAMETERS, ids=[s for _, s in BAD_PARAMETERS])
def test_case_10_a_value_that_is_not_allowed_is_one_sentence(model: Any, says: str) -> None:
    """Row 10: what came, what is allowed, what to do: in one line that ends with a full stop."""
    X, y = regression(30)
    with pytest.raises(ValueError, match=r"^[^\n]+\.$") as caught:
        model.fit(X, y)
    assert says in str(caught.value)


def test_case_10_a_whole_number_of_any_type_is_a_number_of_directions() -> None:
    """Row 10: n_components of NumPy's floats, such as a grid gives."""
    X, y = regression(30)
    fitted = transformer().set_params(n_components=np.float64(1)).fit(X, y)
    assert fitted.transform(X).shape == (30, 1)


def _global_state() -> tuple[Any, ...]:
    numbers, torch_state = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    return numbers, torch_state, torch.get_num_threads(), torch.get_default_dtype()


EVERY = [*regressors(), *classifiers(), KernelRegressor(), GradientFeatureRegressor(width=32)]


@pytest.mark.parametrize(**named(EVERY))
def test_case_11_fits_repeat_and_leave_global_state_alone(model: Any) -> None:
    """Row 11: fitted twice, two equal estimators: same numbers; global state untouched."""
    X, y = binary()
    before, mine = _global_state(), clone(model)
    first = _outputs(mine.fit(X, y), X)
    again = _outputs(mine.fit(X, y), X)
    other = _outputs(clone(model).fit(X, y), X)
    assert np.array_equal(first, again)
    assert np.array_equal(first, other)
    assert _global_state() == before


@pytest.mark.parametrize(**named([*regressors(), *classifiers()]))
def test_case_11_one_and_two_threads_agree(model: Any) -> None:
    """Row 11: 1 and 2 threads: the same numbers to rounding."""
    X, y = binary(150)
    threads, out = torch.get_num_threads(), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            out.append(_outputs(clone(model).fit(X, y), binary(50, seed=1)[0]))
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_allclose(*out, atol=1e-8)  # rounding times condition


@pytest.mark.parametrize(**named([*regressors(), *classifiers()]))
def test_case_11_the_order_of_the_rows_does_not_matter(model: Any) -> None:
    """Row 11: the same rows in another order are the same fit, bit for bit."""
    X, y = binary()
    order = np.random.default_rng(5).permutation(len(X))
    shuffled = _outputs(clone(model).fit(X[order], y[order]), X)
    assert np.array_equal(shuffled, _outputs(clone(model).fit(X, y), X))


def test_case_16_a_direct_solver_on_a_million_rows_is_refused() -> None:
    """Row 16: n = 1,250,000: refused before allocating, with bytes and what to use."""
    X = torch.zeros(1, 2, dtype=torch.float64).expand(1_250_000, 2)
    for learner in (KernelRidge(Laplace(1.0), 1.0), RFM(Laplace(1.0), 1.0, 0, solver=Direct())):
        with pytest.raises(MemoryError, match=r"needs [\d.]+ TB .*random features") as caught:
            learner.fit(in_memory(X, X[:, :1]))
        assert "1,250,000 rows" in str(caught.value)


@pytest.mark.parametrize(
    **named([KernelRegressor(), KernelClassifier(search=None), RFMRegressor(search=None)])
)
def test_case_16_estimators_keep_to_the_memory_limit(model: Any) -> None:
    """Row 16: the estimators pass the limit on: 100 rows do not fit in 1,000 bytes."""
    X, y = binary()
    with pytest.raises(MemoryError, match=r"1 kB are allowed: fit on fewer rows"):
        clone(model).set_params(memory_limit=1000).fit(X, y)


def _in_batches(call: Any, X: Any, size: int) -> np.ndarray:
    return np.concatenate([call(X[i : i + size]) for i in range(0, len(X), size)])


@pytest.mark.parametrize(**named([*regressors(), *classifiers(), transformer()]))
def test_case_21_predictions_in_batches(model: Any) -> None:
    """Row 21: predictions in batches of 1, 7, all: equal to 1e-10."""
    X, y = binary()
    new = binary(seed=1)[0]
    fitted = clone(model).fit(X, y)
    transforms = type(model) is type(transformer())
    call = fitted.transform if transforms else partial(_outputs, fitted)
    for size in (1, 7):
        np.testing.assert_allclose(_in_batches(call, new, size), call(new), atol=1e-10)


@pytest.mark.parametrize(**named([KernelRegressor(search=None), RFMRegressor(search=None)]))
def test_case_21_training_rows_in_batches(model: Any) -> None:
    """Row 21: the same for the rows that the machine was fitted to."""
    X, y = binary()
    call = clone(model).fit(X, y).predict
    np.testing.assert_allclose(_in_batches(call, X, 1), call(X), atol=1e-10)


SCRIPT = """
import random
import numpy as np
import gradfeat.estimators
state = random.getstate()
X = np.random.default_rng(0).standard_normal((20, 2))
y = (X[:, 0] > 0).astype(int)
for name in gradfeat.estimators.__all__:
    if name.endswith(("Regressor", "Classifier", "Transformer")):
        getattr(gradfeat.estimators, name)().fit(X, y)
if random.getstate() != state:
    raise SystemExit("Python's own generator was used")
"""


def test_case_22_a_fit_is_silent() -> None:
    """Row 22: a fit at default settings in a script: not one byte on stdout or stderr.

    Row 11: Python's random state is untouched.
    """
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_case_24_a_cubic_direction_is_not_claimed() -> None:
    """Row 24: f* = He_3(u.x), no linear or quadratic part: no crash, reported not informative."""
    X = torch.tensor(np.random.default_rng(0).standard_normal((2000, 20)))
    cubic = (X[:, :1] ** 3 - 3 * X[:, :1]) / 6**0.5
    test = first_gradient_test(X, cubic - X @ torch.linalg.lstsq(X, cubic).solution)
    assert not test.informative
    assert first_gradient_test(X, X[:, :1] ** 2 - 1).informative
    fitted = GradientFeatureRegressor(width=64).fit(X.numpy(), cubic.numpy()[:, 0])
    assert np.isfinite(fitted.importances_).all()
