"""The parts under the estimators: rows, scaling, search, calibration, checks, data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.base import clone

from gradfeat.estimators import (
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    RandomFeaturesClassifier,
    RFMClassifier,
)
from gradfeat.estimators.checks import (
    check_choice,
    check_count,
    check_positive,
    count_or_none,
    placement,
    positive_or_none,
    to_numpy,
    warn_ill_scaled,
)
from gradfeat.estimators.scaled import Standardiser
from gradfeat.estimators.training import distinct_rows, in_memory_training, ranks, row_hashes
from gradfeat.maths.blocks import Block
from gradfeat.models.search.calibration import (
    Calibration,
    calibrated_loss,
    fit_calibration,
    logit_share,
    two_sided,
)
from gradfeat.models.search.search import (
    FAST,
    Effort,
    GridSpace,
    MethodSetting,
    Stages,
    evaluate,
    folds,
)
from gradfeat.rows import from_arrays


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((50, 3)), rng.standard_normal((50, 2))


# rows


def test_equal_rows_are_merged_and_their_weights_summed(table: Any) -> None:
    X, y = table
    copies = np.random.default_rng(1).integers(0, 4, len(X))
    once = distinct_rows(X, y, copies.astype(float), 0)
    repeated = distinct_rows(X.repeat(copies, 0), y.repeat(copies, 0), np.ones(copies.sum()), 0)
    assert len(once[0]) == (copies > 0).sum()
    assert once[2].sum() == copies.sum()
    assert all(np.array_equal(a, b) for a, b in zip(once, repeated, strict=True))


def test_equal_inputs_with_other_targets_stay_apart() -> None:
    X, y = np.ones((4, 1)), np.array([[0.0], [1.0], [0.0], [2.0]])
    kept, targets, w, _ = distinct_rows(X, y, np.ones(4), 0)
    assert len(kept) == 3
    assert dict(zip(targets[:, 0], w, strict=True)) == {0.0: 2.0, 1.0: 1.0, 2.0: 1.0}


def test_the_order_of_rows_is_their_content_and_the_seed(table: Any) -> None:
    X, y = table
    order = np.random.default_rng(2).permutation(len(X))
    w = np.ones(len(X))
    first = distinct_rows(X, y, w, 0)[0]
    assert np.array_equal(first, distinct_rows(X[order], y[order], w, 0)[0])
    other = distinct_rows(X, y, w, 1)[0]
    assert not np.array_equal(first, other)
    assert np.array_equal(np.sort(first, axis=0), np.sort(other, axis=0))


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-6), (5.0, 3.0)])
def test_units_change_no_order(table: Any, shift: float, scale: float) -> None:
    X, y = table
    w = np.ones(len(X))
    expected = distinct_rows(X, y, w, 0)
    moved = distinct_rows(X * [scale, 1.0, 1.0], shift + scale * y, w, 0)
    assert np.array_equal(moved[0][:, 1:], expected[0][:, 1:])


def test_hash_order_is_a_random_sample_of_sorted_rows() -> None:
    """The mean of the first half is that of all to 4 standard errors, .5 / sqrt(3 * 4 * 500)."""
    X = np.linspace(0, 1, 1000)[:, None]
    half = distinct_rows(X, X, np.ones(1000), 0)[0][:500]
    assert abs(half.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 1000)


def test_hashes_differ_by_column_and_ignore_the_sign_of_zero() -> None:
    h = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]), 0)
    assert h[0] == h[2] != h[1]
    many = row_hashes(np.random.default_rng(0).integers(0, 9, (1000, 6)).astype(float), 0)
    distinct = len(np.unique(np.random.default_rng(0).integers(0, 9, (1000, 6)), axis=0))
    assert len(np.unique(many)) == distinct


def test_no_row_of_positive_weight_is_an_empty_table(table: Any) -> None:
    X, y = table
    assert [len(a) for a in distinct_rows(X, y, np.zeros(50), 0)] == [0, 0, 0, 0]


CUBE = 5


def noisy(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 32 contents and classes that are right in four of five: a coin, or remembered."""
    rng, cells = np.random.default_rng(seed), np.random.default_rng(9).integers(0, 2, 2**CUBE)
    X = rng.integers(0, 2, (n, CUBE)).astype(float)
    right = cells[(X @ 2.0 ** np.arange(CUBE)).astype(int)]
    share = {"coin": 0.5, "memory": 0.8}[kind]
    return X, np.where(rng.random(n) < share, right, 1 - right)


@pytest.mark.parametrize("model", [KernelClassifier, LinearClassifier, RandomFeaturesClassifier])
@pytest.mark.parametrize("kind", ["coin", "memory"])
def test_few_contents_with_several_targets_are_searched_row_by_row(model: Any, kind: str) -> None:
    """A row whose copies are all held out is foretold by the other targets of its inputs.

    The log loss of the best classifier is that of a share of .8 and .5; of a linear model it is
    that of its least squares, .663 (.689 of the mean, which was found).
    """
    widths = {"width": 128} if model is RandomFeaturesClassifier else {}
    found = model(random_state=0, **widths).fit(*noisy(kind, 4000, 1))
    X, y = noisy(kind, 20_000, 2)
    p = found.predict_proba(X)[np.arange(len(y)), y]
    best = 0.6931 if kind == "coin" else 0.664 if model is LinearClassifier else 0.5004
    assert -np.log(p).mean() < best + 0.006  # 32 means of 4,000 rows cost 32 / 8000


def test_copies_are_rows_where_inputs_have_several_targets_alone() -> None:
    X, y = noisy("memory", 400, 3)
    block = _training(X, y[:, None].astype(float)).block
    assert len(block.X) == 400
    assert float(block.w.sum()) == 400
    one_target = _training(X, X[:, :1]).block
    assert len(one_target.X) == 2**CUBE
    w = np.where(np.arange(400) < 200, 999.0, 1000.0)
    many = _training(X, y[:, None].astype(float), w).block
    assert 20_000 < len(many.X) < 24_000
    np.testing.assert_allclose(float(many.w.sum()), len(many.X))


@pytest.mark.parametrize("scale", [1e-6, 1 / 400, 50.0])
def test_the_scale_of_weights_changes_no_copies(scale: float) -> None:
    X, y = noisy("memory", 400, 3)
    for w in (np.ones(400), np.random.default_rng(5).integers(0, 5, 400).astype(float)):
        a, b = (_training(X, y[:, None].astype(float), k * w) for k in (1.0, scale))
        torch.testing.assert_close(a.block.X, b.block.X, rtol=0, atol=1e-12)
        np.testing.assert_allclose(a.block.w, b.block.w, rtol=1e-12)
        np.testing.assert_allclose(a.rows.held.w, b.rows.held.w, rtol=1e-12)


def test_few_contents_that_stream_are_searched_row_by_row_too() -> None:
    """Each row has a share of a row as its weight, as the rows of a table of which some are tested
    on; the sum of its copies is a whole number."""
    X, y = noisy("memory", 4000, 1)
    content = X @ 2.0 ** np.arange(CUBE) + 64 * y
    _, at, count = np.unique(content, return_inverse=True, return_counts=True)
    w = (count - count // 4)[at] / count[at]
    assert not (w % 1 == 0).any()
    found = LinearClassifier(random_state=0).fit(from_arrays(X, y.astype(float), w))
    T, t = noisy("memory", 20_000, 2)
    p = found.predict_proba(T)[np.arange(len(t)), t]
    assert -np.log(p).mean() < 0.67  # .689 of the mean


def test_whole_weights_of_few_contents_are_repeated_rows() -> None:
    X, y = noisy("memory", 300, 4)
    w = np.random.default_rng(5).integers(0, 4, 300)
    one = LinearClassifier(random_state=0).fit(X, y, sample_weight=w)
    other = LinearClassifier(random_state=0).fit(X.repeat(w, 0), y.repeat(w))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)


def _training(X: np.ndarray, y: np.ndarray, w: np.ndarray | None = None) -> Any:
    weights, where = np.ones(len(X)) if w is None else w, placement(None, "cpu", "float64")
    return in_memory_training(X, y, weights, where, 0, inputs=None, scale_targets=True)


def test_ranks_are_of_distinct_values() -> None:
    y = np.array([[3.0, 1.0], [-1.0, 1.0], [3.0, 0.0]])
    assert ranks(y).tolist() == [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]


# scaling


def test_standardised_columns_have_weighted_mean_zero_and_spread_one(table: Any) -> None:
    X, w = table[0] * [1.0, 1e-9, 1e9] + 5, np.random.default_rng(3).random(50)
    s = Standardiser.fit(X, w)
    # 5 + 1e-9 x holds x to 1e-7, and the mean of 1e9 x to 1e-16 of itself.
    np.testing.assert_allclose(w @ s(X) / w.sum(), 0, atol=1e-6)
    np.testing.assert_allclose(w @ s(X) ** 2 / w.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(s.inverse(s(X)), X, rtol=1e-14)


def test_integer_weights_scale_as_repeated_rows(table: Any) -> None:
    X, w = table[0], np.random.default_rng(4).integers(1, 4, 50)
    a, b = Standardiser.fit(X, w.astype(float)), Standardiser.fit(X.repeat(w, 0), np.ones(w.sum()))
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-14)
    np.testing.assert_allclose(a.scale, b.scale, rtol=1e-14)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e300, 1e-300])
def test_a_constant_column_becomes_exact_zeros(value: float) -> None:
    s = Standardiser.fit(np.full((7, 1), value), np.ones(7))
    assert s(np.full((3, 1), value)).tolist() == [[0.0]] * 3
    assert s.scale.tolist() == [1.0]


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e300])
def test_columns_of_any_magnitude_scale_without_overflow(size: float) -> None:
    X = size * np.array([[-1.0], [1.0], [0.5]])
    np.testing.assert_allclose(
        Standardiser.fit(X, np.ones(3))(X), Standardiser.fit(X / size, np.ones(3))(X / size)
    )


# search


@dataclasses.dataclass(frozen=True)
class _Constant:
    """Predicts `value` at its one stage, or 0, 1, ..., `value` at successive stages."""

    value: int
    staged: bool = False

    def fit_path(self, rows: Any, *, seed: int = 0) -> Iterator[Any]:
        del rows, seed
        for value in range(self.value + 1) if self.staged else [self.value]:
            yield lambda Z, value=value: torch.full((len(Z), 1), float(value))


def _targets(value: float, n: int = 20) -> Block:
    return Block(torch.zeros(n, 1), torch.full((n, 1), value), torch.ones(n))


@pytest.mark.parametrize(
    ("n", "rows", "k"), [(2, 1500, 2), (4, 1500, 4), (5, 1500, 5), (600, 1500, 5), (601, 1500, 3)]
)
def test_folds_hold_every_row_out_once(n: int, rows: int, k: int) -> None:
    parts = folds(n, rows)
    held = [i for _, part in parts for i in range(n)[part]]
    assert len(parts) == k
    assert held == list(range(n))
    for train, part in parts:
        assert sorted([*train, *range(n)[part]]) == list(range(n))  # type: ignore[misc]


@pytest.mark.parametrize("n", [1501, 6000, 10**7])
def test_folds_beyond_the_limit_are_one_split_of_bounded_size(n: int) -> None:
    ((train, held),) = folds(n, 1500)
    assert isinstance(train, slice)
    assert held.stop - held.start <= 1500
    assert train.stop - train.start <= 1500
    assert train.start == held.stop
    assert train.stop <= n


@dataclasses.dataclass(frozen=True)
class _Sum(MethodSetting):
    a: int = 0
    b: int = 0
    stage: int | None = None

    def named(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def test_search_finds_the_best_value_of_each_axis() -> None:
    make = lambda at: _Constant(at.a + at.b)  # noqa: E731
    space = GridSpace(make, _Sum(), {"a": [10, 20], "b": [1, 2, 3]})  # type: ignore[arg-type]
    trial = space.best(_targets(22.0), 0, FAST)
    assert trial.setting == _Sum(20, 2)
    assert trial.loss == 0.0
    assert trial.predictions.shape == trial.y.shape == (20, 1)


def test_search_keeps_the_start_on_ties_and_tries_nothing_twice() -> None:
    tried = []

    def make(at: _Sum) -> Any:
        tried.append(at.a)
        return _Constant(1)

    space = GridSpace(make, _Sum(), {"a": [0, 1, 2]})
    assert space.best(_targets(3.0), 0, Effort(1500, 3)).setting == _Sum()
    assert tried == [0, 1, 2]


def test_the_best_stage_is_named_in_the_setting() -> None:
    space = GridSpace(lambda _: _Constant(5, staged=True), _Sum(), {}, Stages("stage", 0))  # type: ignore[arg-type]
    trial = evaluate(space, _Sum(), _targets(3.0), 0, 1500)
    assert (trial.setting, trial.loss) == (_Sum(stage=3), 0.0)
    from_one = GridSpace(space.make, _Sum(), {}, Stages("stage", 1))
    assert evaluate(from_one, _Sum(), _targets(3.0), 0, 1500).setting == _Sum(stage=4)
    last = GridSpace(space.make, _Sum())
    assert evaluate(last, _Sum(), _targets(3.0), 0, 1500).loss == 4.0


def test_held_out_loss_is_weighted() -> None:
    y = torch.tensor([[0.0], [1.0]]).repeat(10, 1)
    block = Block(torch.zeros(20, 1), y, torch.tensor([3.0, 1.0]).repeat(10))
    space = GridSpace(lambda _: _Constant(0), _Sum())  # type: ignore[arg-type]
    assert evaluate(space, _Sum(), block, 0, 1500).loss == 0.25


# calibration


def _loss(c: Calibration, f: Any, labels: Any, w: Any) -> float:
    logp = c(f)[np.arange(len(f)), labels]
    return float(-(w * logp).sum() + (np.log(c.scale) - 1) ** 2 / 2 + np.square(c.shift).sum() / 2)


def test_calibration_is_a_minimum_of_its_loss() -> None:
    rng = np.random.default_rng(0)
    f, labels, w = rng.standard_normal((200, 3)), rng.integers(0, 3, 200), rng.random(200)
    best = fit_calibration(f, labels, w)
    least = _loss(best, f, labels, w)
    for _ in range(20):
        near = Calibration(
            best.scale * np.exp(0.05 * rng.standard_normal()),
            tuple(np.array(best.shift) + 0.05 * rng.standard_normal(3)),
        )
        assert _loss(near, f, labels, w) > least


def test_calibration_recovers_the_scale_that_made_the_labels() -> None:
    rng = np.random.default_rng(1)
    f = rng.standard_normal((20_000, 2))
    p = np.exp(log_softmax(3.0 * f, axis=1))
    labels = (rng.random(20_000) > p[:, 0]).astype(int)
    # The standard error of log s is about 1 / sqrt(n E[p q (s df)^2]) = .012 here.
    assert np.log(fit_calibration(f, labels, np.ones(20_000)).scale / 3) == pytest.approx(
        0, abs=0.05
    )


def test_a_decision_of_two_classes_is_for_the_second_one() -> None:
    """f is the log of the odds: calibrated on itself, (-f, f)/2 has the loss of these odds."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=(20_000, 1)) * 2
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-f[:, 0]))).astype(int)
    odds = np.log1p(np.exp(np.where(labels == 1, -f[:, 0], f[:, 0]))).mean()
    loss, scale = calibrated_loss(two_sided(f), labels, np.ones(20_000))
    assert loss == pytest.approx(odds, abs=1e-3)  # three parameters of 20,000 rows
    assert scale == pytest.approx(logit_share(1), rel=0.06)  # its standard error is .01
    three = rng.normal(size=(3, 3))
    assert (two_sided(three) == three).all()


def test_calibration_of_separated_classes_stays_finite() -> None:
    f = np.array([[1.0, -1.0], [-1.0, 1.0]] * 20)
    c = fit_calibration(f, np.array([0, 1] * 20), np.ones(40))
    assert np.isfinite(c.scale)
    assert c.scale > 1
    assert np.exp(c(f)).min() > 0


def test_weights_calibrate_as_repeated_rows() -> None:
    rng = np.random.default_rng(2)
    f, labels, w = rng.standard_normal((40, 3)), rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    a = fit_calibration(f, labels, w.astype(float))
    b = fit_calibration(f.repeat(w, 0), labels.repeat(w), np.ones(w.sum()))
    np.testing.assert_allclose([a.scale, *a.shift], [b.scale, *b.shift], rtol=1e-5)  # stop rule


def test_probabilities_of_huge_decisions_are_finite() -> None:
    p = np.exp(Calibration(10.0, (0.0, 0.0))(np.array([[1e6, -1e6]])))
    assert p.tolist() == [[1.0, 0.0]]
    p = np.exp(Calibration(10.0, (0.0, 0.0))(np.array([[1e308, -1e308], [1.0, -1e307]])))
    assert np.isnan(p[0]).any()
    assert p[1].tolist() == [1.0, 0.0]


# checks


@pytest.mark.parametrize("value", [1, 1e-9, np.float32(2), np.int64(3), torch.tensor(1.0)])
def test_positive_numbers_of_every_type_pass(value: Any) -> None:
    check_positive("alpha", value)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1e", [1, 2], {}])
def test_what_is_not_a_positive_number_is_one_sentence(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^alpha is .*: give a positive number or None\.$"):
        positive_or_none("alpha", value)


def test_zero_and_none_pass_where_they_are_allowed() -> None:
    check_positive("alpha", 0, zero=True)
    assert positive_or_none("alpha", None) is None
    assert count_or_none("n", None) is None
    with pytest.raises(ValueError, match=r"^alpha is None: give a positive number\.$"):
        check_positive("alpha", None)
    with pytest.raises(ValueError, match=r"^n is None: give an integer of at least 1\.$"):
        check_count("n", None)


@pytest.mark.parametrize("value", [0, 1.5, "many", np.nan, np.inf, [3], {}])
def test_what_is_not_a_count_is_one_sentence(value: Any) -> None:
    with pytest.raises(
        ValueError,
        match=r"^n is .*: give an integer (of at least 1|from 1 to .*000)\.$",
    ):
        check_count("n", value)


def test_a_choice_lists_what_is_allowed() -> None:
    check_choice("u", "a", ("a", "b"))
    with pytest.raises(ValueError, match=r"^u is 'c': allowed are 'a', 'b'\.$"):
        check_choice("u", "c", ("a", "b"))


@pytest.mark.parametrize("value", [np.array(["a", "b"]), [], np.arange(3)])
def test_an_array_is_no_choice(value: Any) -> None:
    with pytest.raises(ValueError, match=r"allowed are 'a', 'b'\.$"):
        check_choice("u", value, ("a", "b"))


# data


def test_placement_is_what_was_asked_or_what_came() -> None:
    assert placement(np.ones(2), None, "float32").dtype == torch.float32
    assert placement(torch.ones(2, device="meta"), None, None).device.type == "meta"
    assert placement(torch.ones(2, device="meta"), "cpu", None).device.type == "cpu"


@pytest.mark.parametrize("device", ["abacus", 1.5, "cuda"])
def test_a_device_that_is_not_here_is_one_sentence(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"^device is [^\n]*'cpu'\.$"):
        placement(None, device, None)


def test_a_tensor_that_needs_gradients_becomes_an_array() -> None:
    assert to_numpy(torch.ones(2, requires_grad=True)).tolist() == [1.0, 1.0]


def test_training_data_is_standardised_and_leads_back(table: Any) -> None:
    X, y = table
    where, w = placement(None, None, None), np.ones(len(X))
    data = in_memory_training(X, y, w, where, 0, inputs=None, scale_targets=True)
    assert data.block.X.dtype == torch.float64
    np.testing.assert_allclose(data.block.X.mean(0), 0, atol=1e-14)
    back = data.outputs.inverse(data.block.y.numpy())
    np.testing.assert_allclose(np.sort(back, axis=0), np.sort(y, axis=0), atol=1e-14)
    as_is = Standardiser.identity(X.shape[1])
    raw = in_memory_training(X, y, w, where, 0, inputs=as_is, scale_targets=False)
    assert np.array_equal(np.sort(raw.block.X.numpy(), axis=0), np.sort(X, axis=0))
    assert raw.outputs.scale.tolist() == [1.0, 1.0]


def test_the_warning_of_scale_speaks_only_where_it_matters(table: Any) -> None:
    X, _ = table
    names = ["a", "b", "c"]
    warn_ill_scaled(X * [1, 1, 1e6], names, standardise=True)
    warn_ill_scaled(X * [1, 1, 100], names, standardise=False)
    warn_ill_scaled(X[:, :1], ["a"], standardise=False)
    warn_ill_scaled(np.zeros((5, 3)), names, standardise=False)
    with pytest.warns(UserWarning, match=r"^c spreads over 10,000 times"):
        warn_ill_scaled(X * [1, 1, 1e6], names, standardise=False)


def test_one_weight_for_all_rows_is_none():
    X = np.random.default_rng(0).standard_normal((40, 2))
    fits = [KernelRegressor(search=None).fit(X, X[:, 0], sample_weight=w) for w in (None, 1.0)]
    assert np.array_equal(fits[0].predict(X), fits[1].predict(X))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("estimator", [KernelClassifier(), LinearClassifier()])
def test_a_class_of_weight_0_has_probability_0(estimator, K):
    y = np.repeat(np.arange(3), 40) % K
    X = np.random.default_rng(0).normal(size=(120, 2)) + y[:, None]
    model = clone(estimator).fit(X, y, sample_weight=np.where(y == K - 1, 0.0, 1.0))
    P = model.predict_proba(X)
    assert (P[:, K - 1] == 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P[:, :-1].max(axis=0) > 0.5).all()


@pytest.mark.parametrize("streamed", [False, True])
def test_so_has_one_of_class_weight_0(streamed):
    y = np.repeat(np.arange(3.0), 40)
    X = np.random.default_rng(0).normal(size=(120, 2)) + y[:, None]
    model = RFMClassifier(class_weight={2: 0.0})
    model = model.fit(from_arrays(X, y)) if streamed else model.fit(X, y)
    assert (model.predict_proba(X)[:, 2] == 0).all()
