"""The loss of the last fit and class weights of the RFM classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss

from gradfeat import RFMClassifier
from gradfeat.estimators.class_codes import with_class_weights
from gradfeat.models.kernel_logistic import KernelLogistic
from gradfeat.models.kernels.radial import Laplace
from gradfeat.models.rfm import RFM
from gradfeat.models.search.calibration import codes_of
from gradfeat.models.search.rfm_losses import (
    CHOICE_ROWS,
    LogisticLastRound,
    ShiftedLogistic,
    allowed_losses,
)
from gradfeat.rows.rows import in_memory


def noisy(n: int, seed: int, d: int = 5, classes: int = 2) -> tuple[Any, Any, Any]:
    """X (n, d), labels, and their probabilities: logits of a smooth function of two inputs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.stack([2 * X[:, 0], X[:, 1] ** 2 + X[:, 0], 0 * X[:, 0]], axis=1)[:, -classes:]
    p = np.exp(f) / np.exp(f).sum(1, keepdims=True)
    y = (rng.random(n)[:, None] > p.cumsum(1)).sum(1)
    return X, y, p


#: Quick fits of either kind: a last fit in two directions, and in the rounds' own metric.
QUICK: list[dict[str, Any]] = [
    {"kernel": "gaussian", "alpha": 0.1, "n_iter": 1, "diagonal": False, "directions": 2},
    {"kernel": "laplace", "alpha": 0.1, "n_iter": 1, "diagonal": False, "directions": None},
]


def quick(loss: str | None, **others: Any) -> RFMClassifier:
    return RFMClassifier(**{**QUICK[1], "bandwidth": 2.0, "loss": loss, **others})


@pytest.mark.parametrize("options", QUICK, ids=["directions", "own metric"])
@pytest.mark.parametrize("search", ["fast", None])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_changes_the_fit_and_is_told(options: Any, search: Any, classes: int) -> None:
    X, y, _ = noisy(120, 0, classes=classes)
    fits = [
        RFMClassifier(loss=loss, search=search, **options).fit(X, y)
        for loss in ("squared", "logistic")
    ]
    assert [fit.settings_["head_loss"] for fit in fits] == ["squared", "logistic"]
    P, Q = (fit.predict_proba(X) for fit in fits)
    assert P.shape == Q.shape == (120, classes)
    assert np.abs(P - Q).max() > 1e-3  # far above rounding
    assert log_loss(y, Q) < log_loss(y, np.full_like(Q, 1 / classes))
    assert fits[1].settings_.get("directions") == options["directions"]


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_loss_is_at_least_as_good_on_logits(classes: int) -> None:
    """Against the true probabilities, by 2 standard errors of the paired differences of log p."""
    X, y, _ = noisy(300, 1, classes=classes)
    X_test, _, p_true = noisy(4000, 2, classes=classes)
    logp = {
        loss: np.log(quick(loss).fit(X, y).predict_proba(X_test))
        for loss in ("squared", "logistic")
    }
    gain = (p_true * (logp["logistic"] - logp["squared"])).sum(1)
    assert gain.mean() > -2 * gain.std() / len(gain) ** 0.5
    # The log loss of the truth is the least there is; a good fit of 300 rows is within .1 of it.
    excess = (p_true * (np.log(p_true) - logp["logistic"])).sum(1).mean()
    assert 0 < excess < 0.1


def test_none_takes_the_loss_of_less_held_out_log_loss() -> None:
    X, y, _ = noisy(150, 3)
    chosen = quick(None).fit(X, y)
    same = quick(chosen.settings_["head_loss"]).fit(X, y)
    assert np.array_equal(chosen.predict_proba(X), same.predict_proba(X))
    assert chosen.settings_ == same.settings_
    searched_nothing = quick(None, search=None).fit(X, y)
    assert searched_nothing.settings_["head_loss"] == "squared"
    assert allowed_losses(None, CHOICE_ROWS) == ("squared", "logistic")
    assert allowed_losses(None, CHOICE_ROWS + 1) == ("squared",)


def test_each_loss_is_chosen_somewhere() -> None:
    """Logits of noisy labels (nine draws in ten); labels that a smooth function fits."""
    X, y, _ = noisy(200, 1)
    assert quick(None).fit(X, y).settings_["head_loss"] == "logistic"
    X = np.random.default_rng(2).standard_normal((250, 1))
    model = quick(None, kernel="gaussian", bandwidth=1.0, alpha=1e-3)
    assert model.fit(X, np.sin(3 * X[:, 0]) > 0).settings_["head_loss"] == "squared"


def test_the_penalty_is_one_of_the_path_and_changes_with_the_noise() -> None:
    X, _, _ = noisy(200, 5)
    noise = np.random.default_rng(1).integers(0, 2, 200)
    assert quick("logistic").fit(X, noise).settings_["head_alpha"] == 1.0
    clear = (X[:, 0] > 0).astype(int)
    assert quick("logistic").fit(X, clear).settings_["head_alpha"] < 1.0


def test_probabilities_are_those_of_logits() -> None:
    """With centred codes, two classes: f plus its constant are half the logits of the codes."""
    X, y, _ = noisy(60, 6)
    X, y = torch.from_numpy(X), torch.from_numpy(2.0 * y[:, None] - 1)
    logistic = KernelLogistic(Laplace(2.0), 0.1)
    shifted = ShiftedLogistic(logistic).fit(in_memory(X, y - 0.4))
    torch.testing.assert_close(2 * (shifted(X) + 0.4), logistic.fit(in_memory(X, y))(X))
    codes, shift = codes_of(y - 0.4)
    assert torch.equal(codes, y)
    torch.testing.assert_close(shift, torch.tensor([0.4]).double())


def test_the_last_round_is_in_the_metric_of_the_rounds() -> None:
    """Stationary: alpha c + loss'(f) = 0 with f = the machine's outputs in its metric A."""
    X, y, _ = noisy(60, 7)
    X, y = torch.from_numpy(X), torch.from_numpy(2.0 * y[:, None] - 1)
    rfm = RFM(Laplace(2.0), alpha=0.1, n_iter=2)
    f = LogisticLastRound(rfm, KernelLogistic(Laplace(2.0), 0.3, tolerance=1e-9)).fit(
        in_memory(X, y)
    )
    *_, A = rfm.metrics(in_memory(X, y))
    assert torch.equal(f.A, A)
    slope = -y * torch.sigmoid(-y * f(X))
    # Residual 1e-9 of |loss'| at the constant, about sqrt(60) / 2.
    torch.testing.assert_close(0.3 * f.c, -slope, rtol=0, atol=1e-8)


# class weights


def test_class_weights_are_sample_weights() -> None:
    X, y, _ = noisy(120, 8)
    labels = np.array(["no", "yes"])[y]
    counts = np.bincount(y)
    balanced = (120 / (2 * counts))[y]
    for loss in ("squared", "logistic"):
        by_class = quick(loss, class_weight="balanced").fit(X, labels)
        by_row = quick(loss).fit(X, labels, balanced)
        assert np.array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    given = quick("squared", class_weight={"yes": 5.0}).fit(X, labels)
    by_row = quick("squared").fit(X, labels, np.where(y == 1, 5.0, 1.0))
    assert np.array_equal(given.predict_proba(X), by_row.predict_proba(X))
    plain = quick("squared").fit(X, labels)
    assert given.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1


def test_class_weights_multiply_sample_weights_and_balance_them() -> None:
    labels = np.array([0, 0, 1, 1])
    w = np.array([1.0, 3.0, 2.0, 0.0])
    assert with_class_weights(None, labels, w).tolist() == w.tolist()
    assert with_class_weights({1: 10.0}, labels, w).tolist() == [1.0, 3.0, 20.0, 0.0]
    # Weight 6 over 2 classes that have 4 and 2: 3/4 and 3/2.
    assert with_class_weights("balanced", labels, w).tolist() == [0.75, 2.25, 3.0, 0.0]
    only = with_class_weights("balanced", labels, np.array([1.0, 3.0, 0.0, 0.0]))
    assert only.tolist() == [1.0, 3.0, 0.0, 0.0]
    assert with_class_weights("balanced", labels, np.zeros(4)).tolist() == [0.0] * 4


def test_integer_weights_are_repeated_rows_with_balanced_classes() -> None:
    X, y, _ = noisy(40, 9)
    w = np.random.default_rng(0).integers(0, 3, 40)
    model = quick("logistic", class_weight="balanced", search=None)
    P = model.fit(X, y, w).predict_proba(X)
    Q = model.fit(X.repeat(w, 0), y.repeat(w)).predict_proba(X)
    np.testing.assert_allclose(P, Q, atol=1e-9)  # sums in another order


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hinge"}, r"^loss is 'hinge': allowed are 'squared', 'logistic', None\.$"),
        ({"class_weight": "even"}, r"^class_weight is 'even': give None, 'balanced' or a dict"),
        ({"class_weight": {7: 1.0}}, "not in class_weight"),
    ],
)
def test_what_is_not_allowed_is_one_sentence(options: Any, words: str) -> None:
    X, y, _ = noisy(20, 10)
    with pytest.raises(ValueError, match=words):
        RFMClassifier(**options).fit(X, y)


# saving


@pytest.mark.parametrize("options", QUICK, ids=["directions", "own metric"])
def test_a_saved_model_is_the_same(options: Any) -> None:
    X, y, _ = noisy(60, 11)
    weights = {0: 1.0, 1: 3.0}
    model = RFMClassifier(**options, loss="logistic", class_weight=weights, search=None).fit(X, y)
    back = RFMClassifier.from_state(*model.to_state())
    assert back.get_params() == model.get_params()
    assert back.settings_ == model.settings_
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))


# degenerate data


@pytest.mark.parametrize(
    ("counts", "loss"),
    [
        *((counts, "logistic") for counts in [(30, 30, 2), (30, 1), (3, 3), (1, 1), (2, 2, 2)]),
        *((counts, None) for counts in [(30, 1), (1, 1), (2, 2, 2), (5,)]),
    ],
)
def test_few_rows_of_a_class_give_finite_probabilities(loss: Any, counts: Any) -> None:
    """Folds lack a class of one row (of two, where they fall into one fold)."""
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.random.default_rng(12).standard_normal((len(y), 3)) + 2 * y[:, None]
    P = quick(loss, directions="auto").fit(X, y).predict_proba(X)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(1), 1, rtol=1e-12)
    assert P.shape == (len(y), len(counts))


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_are_told_apart_with_confidence(classes: int) -> None:
    y = np.arange(60) % classes
    X = np.random.default_rng(13).standard_normal((60, 3)) + 20 * y[:, None]
    P = quick("logistic").fit(X, y).predict_proba(X)
    assert np.isfinite(P).all()
    assert (P.argmax(1) == y).all()
    assert P.max(1).min() > 0.9
