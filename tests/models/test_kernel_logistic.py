"""Kernel logistic regression: stationarity, scikit-learn, special cases, degenerate inputs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import contracts
from contracts import PREDICTOR_CHECKS, close, data
from gradfeat.models.kernel_logistic import KernelLogistic, logistic_coefficients
from gradfeat.models.kernels.radial import Gaussian, Laplace
from gradfeat.rows.rows import in_memory

CLASSES = [2, 3, 6]
#: Newton converges quadratically: what is left is rounding of K c (|c| about 1 / alpha).
EXACT = 1e-11


def labelled(classes, n=60, seed=0):
    """Inputs, labels that follow them with noise, +-1 codes as the classifier makes them."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 4, generator=g).double()
    scores = X @ torch.randn(4, classes, generator=g).double()
    noisy = scores + torch.randn(n, classes, generator=g).double()
    labels = noisy.argmax(1)
    labels[:classes] = torch.arange(classes)
    return X, labels, codes_of(labels, classes)


def codes_of(labels, classes):
    codes = 2.0 * torch.nn.functional.one_hot(labels, classes).double() - 1
    return codes[:, 1:] if classes == 2 else codes


def objective(K, codes, alpha, w, c, offset):
    """The definition, in the simplest words."""
    f = offset + K @ c
    if codes.shape[1] == 1:
        losses = torch.log1p(torch.exp(-codes * f))[:, 0]
    else:
        losses = torch.logsumexp(f, 1) - f[codes > 0]
    return w @ losses + alpha / 2 * torch.trace(c.T @ K @ c)


def weights_of(n, seed=1):
    return torch.randint(0, 4, (n,), generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize("alpha", [1.0, 1e-3])
@pytest.mark.parametrize("classes", CLASSES)
def test_gradient_of_the_objective_vanishes(classes, alpha):
    X, _, codes = labelled(classes)
    K, w = Laplace(3.0)(X, X), weights_of(60)
    fit = logistic_coefficients(K, codes, alpha, weights=w, tolerance=EXACT)
    assert fit.converged
    variables = fit.c.clone().requires_grad_(), fit.offset.clone().requires_grad_()
    slopes = torch.autograd.grad(objective(K, codes, alpha, w, *variables), variables)
    # At c = 0 the gradient is of the size of |K w|; 1e3 EXACT for the sums over rows.
    for slope in slopes:
        assert float(slope.abs().max()) < 1e3 * EXACT * float((K @ w).max())
    assert float(fit.c[w == 0].abs().max()) == 0.0


@pytest.mark.parametrize("classes", [3, 6])
def test_gauge_of_the_softmax(classes):
    X, _, codes = labelled(classes)
    fit = logistic_coefficients(Laplace(3.0)(X, X), codes, 0.1)
    assert float(fit.c.sum(1).abs().max()) < 1e-10
    assert abs(float(fit.offset.sum())) < 1e-10


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", CLASSES)
def test_a_linear_kernel_agrees_with_scikit_learn(classes, weighted):
    X, labels, codes = labelled(classes)
    w = weights_of(60) if weighted else torch.ones(60).double()
    fit = logistic_coefficients(X @ X.T, codes, 0.5, weights=w, tolerance=EXACT)
    other = LogisticRegression(C=1 / 0.5, tol=1e-12, solver="newton-cholesky", max_iter=1000)
    other.fit(X.numpy(), labels.numpy(), sample_weight=w.numpy())
    expected = torch.from_numpy(other.decision_function(X.numpy())).reshape(60, -1)
    # scikit-learn stops at its own tolerance on the gradient.
    close(fit.offset + X @ (X.T @ fit.c), expected - gauge(expected), 1e-6)


def gauge(f):
    """What softmax leaves undecided; nothing for one column."""
    return f.mean(1, keepdim=True) if f.shape[1] > 1 else 0.0


@pytest.mark.parametrize("classes", CLASSES)
def test_integer_weights_repeat_rows(classes):
    X, _, codes = labelled(classes)
    w = weights_of(60)
    learner = KernelLogistic(Gaussian(2.0), 0.1, tolerance=EXACT)
    weighted = learner.fit(in_memory(X, codes, w))
    times = w.long()
    repeated = learner.fit(
        in_memory(X.repeat_interleave(times, 0), codes.repeat_interleave(times, 0))
    )
    close(weighted(X), repeated(X), 1e-8)


@pytest.mark.parametrize("classes", CLASSES)
def test_weights_and_penalty_scale_together(classes):
    X, _, codes = labelled(classes)
    K = Laplace(3.0)(X, X)
    one = logistic_coefficients(K, codes, 0.1, tolerance=EXACT)
    other = logistic_coefficients(
        K, codes, 10.0, weights=torch.full((60,), 100.0).double(), tolerance=EXACT
    )
    close(other.c, one.c, 1e-8)
    close(other.offset, one.offset, 1e-8)


def test_two_columns_of_softmax_are_one_of_logistic():
    X, labels, codes = labelled(2)
    K, alpha = Laplace(3.0)(X, X), 0.2
    both = torch.hstack([-codes, codes])
    one = logistic_coefficients(K, codes, alpha, tolerance=EXACT)
    # With f = f_2 - f_1 the penalty of two columns of opposite sign is half that of one.
    two = logistic_coefficients(K, both, 2 * alpha, tolerance=EXACT)
    close(two.c[:, 1:] - two.c[:, :1], one.c, 1e-8)
    close(two.offset[1:] - two.offset[:1], one.offset, 1e-8)
    del labels


@pytest.mark.parametrize("classes", CLASSES)
def test_float32_finds_the_minimum_of_float64(classes):
    X, _, codes = labelled(classes)
    K = Laplace(30.0)(X, X)
    narrow = logistic_coefficients(K.float(), codes.float(), 1e-4)
    assert narrow.converged
    assert narrow.c.dtype == torch.float32
    # The same matrix in float64: only the rounding of c to float32 is between them.
    wide = logistic_coefficients(K.float().double(), codes, 1e-4)
    close(narrow.c.double(), wide.c, 1e-4)


def test_steps_in_float64_take_over_where_float32_stops():
    X = torch.linspace(0, 1, 300)[:, None]
    K = Gaussian(1.0)(X, X)
    # Rounding of float32 products is ten times this penalty; steps in float32 stop at 1e-2.
    fit = logistic_coefficients(K, (X > 0.5).float() * 2 - 1, 1e-5, tolerance=1e-4)
    assert fit.converged
    f = fit.offset + K @ fit.c
    assert bool(((f > 0) == (X > 0.5)).float().mean() > 0.98)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("alpha", [1e-2, 1e-8])
def test_separated_classes_stay_finite_and_separated(classes, alpha):
    labels = torch.arange(60) % classes
    X = 10.0 * torch.nn.functional.one_hot(labels, classes).double()
    X = X + torch.linspace(0, 1, 60)[:, None]
    K = Laplace(5.0)(X, X)
    fit = logistic_coefficients(K, codes_of(labels, classes), alpha)
    assert fit.converged
    f = fit.offset + K @ fit.c
    found = (f[:, 0] > 0).long() if classes == 2 else f.argmax(1)
    assert torch.equal(found, labels)


def test_a_class_without_weight_has_a_constant_unlikely_logit():
    X, labels, codes = labelled(4)
    w = (labels != 2).double()
    K = Laplace(3.0)(X, X)
    fit = logistic_coefficients(K, codes, 0.1, weights=w, tolerance=EXACT)
    kept = [0, 1, 3]
    rest = logistic_coefficients(K, codes[:, kept], 0.1, weights=w, tolerance=EXACT)
    close(fit.c[:, kept], rest.c)
    close(fit.offset[kept], rest.offset)
    assert float(fit.c[:, 2].abs().max()) == 0
    p = (fit.offset + K @ fit.c).softmax(1)[:, 2]
    assert float(p.max()) <= 1 / (1 + float(w.sum()))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_class_alone(sign):
    K = torch.eye(5).double()
    fit = logistic_coefficients(K, torch.full((5, 1), sign).double(), 1.0)
    assert float(fit.c.abs().max()) == 0
    close(fit.offset, torch.tensor([sign * math.log(6.0)], dtype=torch.float64))
    codes = torch.tensor([[-1.0, 1.0, -1.0]]).double().expand(5, 3)
    many = logistic_coefficients(K, codes, 1.0)
    close(many.offset, -torch.tensor([math.log(6.0), 0.0, math.log(6.0)], dtype=torch.float64))


@pytest.mark.parametrize("classes", CLASSES)
def test_a_start_gives_the_same_minimum_in_fewer_steps(classes):
    X, _, codes = labelled(classes)
    before = logistic_coefficients(Laplace(3.0)(X, X), codes, 0.01)
    K = Laplace(3.02)(X, X)
    start = before.c, before.offset
    cold = logistic_coefficients(K, codes, 0.01, max_iter=2)
    warm = logistic_coefficients(K, codes, 0.01, start=start, max_iter=2)
    assert warm.residual < 0.1 * cold.residual
    exact = logistic_coefficients(K, codes, 0.01, tolerance=EXACT)
    again = logistic_coefficients(K, codes, 0.01, start=start, tolerance=EXACT)
    close(again.c, exact.c, 1e-7)


def test_a_useless_start_is_not_taken():
    X, _, codes = labelled(3)
    K = Laplace(3.0)(X, X)
    start = 1e6 * codes, torch.full((3,), 1e6).double()
    plain = logistic_coefficients(K, codes, 0.1)
    assert torch.equal(logistic_coefficients(K, codes, 0.1, start=start).c, plain.c)


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan])
def test_a_penalty_is_needed(alpha):
    with pytest.raises(ValueError, match="needs one above 0"):
        logistic_coefficients(torch.eye(2), torch.tensor([[1.0], [-1.0]]), alpha)


def test_a_kernel_that_is_none_is_told():
    y = torch.tensor([[1.0], [-1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="not positive semi-definite"):
        logistic_coefficients(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), y, 1e-3)


def test_a_tolerance_not_reached_is_told():
    X, _, codes = labelled(3)
    with pytest.warns(UserWarning, match=r"residual of .* above the tolerance 1e-06: raise"):
        KernelLogistic(Laplace(3.0), 1e-3, max_iter=1).fit(in_memory(X, codes))


def test_what_does_not_fit_is_refused():
    X, y = torch.zeros(1, 94).expand(1_250_000, 94), torch.zeros(1, 1).expand(1_250_000, 1)
    with pytest.raises(MemoryError, match=r"18\.8 TB"):
        KernelLogistic(Laplace(1.0), 1.0).fit(in_memory(X, y))


@pytest.mark.parametrize("check", PREDICTOR_CHECKS)
def test_the_machine_keeps_the_contract_of_predictors(check, monkeypatch):
    X, _, codes = labelled(2)
    monkeypatch.setattr(contracts, "data", partial(data, c=1))
    check(KernelLogistic(Laplace(3.0), 0.1).fit(in_memory(X, codes)))


def test_gradient_of_the_logits():
    X, _, codes = labelled(3)
    f = KernelLogistic(Laplace(3.0), 0.1).fit(in_memory(X, codes))
    at, h = X[:5] + 0.1, 1e-6
    for j, step in enumerate(h * torch.eye(4).double()):
        # Central differences: h^2 of truncation and 1e-16 / h of rounding.
        close(f.gradient(at)[:, :, j], (f(at + step) - f(at - step)) / (2 * h), 1e-8)


def test_penalty_and_kernel_change_the_fit():
    X, _, codes = labelled(3)
    fits = [
        KernelLogistic(Laplace(s), alpha).fit(in_memory(X, codes))(X)
        for s, alpha in ((3.0, 0.1), (2.0, 0.1), (3.0, 0.2))
    ]
    assert not torch.allclose(fits[0], fits[1], atol=1e-2)
    assert not torch.allclose(fits[0], fits[2], atol=1e-2)
