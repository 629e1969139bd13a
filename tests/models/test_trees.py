"""Boosted trees: those of scikit-learn, and when they join a method."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.grower import TreeGrower

from gradfeat import RFMClassifier, RFMRegressor, compare, load, save
from gradfeat.maths.blocks import Block
from gradfeat.maths.limits import Deadline, within
from gradfeat.models import trees
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.restore import predictor_from
from gradfeat.models.search import with_trees
from gradfeat.models.search.calibration import two_sided
from gradfeat.models.search.kernel_space import kernel
from gradfeat.models.search.rfm_space import RFMSetting
from gradfeat.models.search.rounds import Rounds, splits
from gradfeat.models.search.search import FAST, Effort, FinishedFit, Space, Trial
from gradfeat.models.search.with_trees import GLANCE, TreesSetting, WithTrees
from gradfeat.models.solvers.nystrom_direct import NystromDirect
from gradfeat.models.trees import (
    ALL,
    BINS,
    FEW_ROWS,
    LEAVES,
    LEVELS,
    RATES,
    BinnedColumns,
    Boosting,
    Trees,
)
from gradfeat.rows import from_arrays, in_memory
from gradfeat.rows.rows import Rows, of_block

ROUNDS = 6
LIKE = {"max_iter": ROUNDS, "max_depth": LEVELS, "early_stopping": False}
LIKE |= {"max_leaf_nodes": LEAVES[0], "learning_rate": RATES[0]}


def rows(n: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    gen = torch.Generator().manual_seed(0)
    X = torch.randn(n, 4, generator=gen).double()
    return X, (X[:, 0] > 0.3).double() + X[:, 1] * X[:, 2]


def codes(y: torch.Tensor, cuts: list[float]) -> torch.Tensor:
    """+-1, a column a class, or the second's of two."""
    hot = torch.eye(len(cuts) + 1).double()[torch.bucketize(y, torch.tensor(cuts).double())]
    return (2 * hot - 1)[:, -1:] if len(cuts) == 1 else 2 * hot - 1


def test_numbers_as_scikit_learn_predicts_them():
    X, y = rows()
    Y = torch.stack([y, X[:, 3].square()], 1)
    f = Boosting(ROUNDS).fit(in_memory(X, Y))
    for k in range(2):
        model = HistGradientBoostingRegressor(**LIKE).fit(X.numpy(), Y[:, k].numpy())
        assert f(X)[:, k].numpy() == pytest.approx(model.predict(X.numpy()), abs=1e-12)
    assert torch.allclose(f.staged(X, 2)[-1], f(X), atol=1e-12)
    assert len(f.staged(X, 2)) == ROUNDS // 2
    again = predictor_from(f.spec(), f.tensors())
    assert torch.equal(again(X), f(X))
    assert float(f.gradient(X).abs().max()) == 0


def counted(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each tree that is grown from now on."""
    grown, grow = [], TreeGrower.grow
    monkeypatch.setattr(TreeGrower, "grow", lambda self: grown.append(grow(self)))
    return grown


@pytest.mark.parametrize("logistic", [False, True])
def test_stages_of_a_path_are_fits_of_so_many_rounds(logistic: bool):
    X, y = rows()
    block = in_memory(X, codes(y, [0.0]) if logistic else y[:, None])
    path = Boosting(6, logistic, glance=4).fit_path(block)
    for one, rounds in zip(path, (4, 6), strict=True):
        other = Boosting(rounds, logistic).fit(block)
        assert torch.allclose(one(X), other(X), atol=1e-12)


def test_trees_of_many_rows_have_more_leaves_and_smaller_steps():
    X, y = rows(FEW_ROWS + 1)
    f = Boosting(1).fit(in_memory(X, y[:, None]))
    how = LIKE | {"max_iter": 1, "max_leaf_nodes": LEAVES[1], "learning_rate": RATES[1]}
    binned = BinnedColumns.of(X).codes
    model = HistGradientBoostingRegressor(**how).fit(binned, y.numpy())
    assert f(X)[:, 0].numpy() == pytest.approx(model.predict(binned), abs=1e-12)


def test_rows_that_weigh_more_do_not_move_the_cuts():
    """They would cost scikit-learn seconds; leaves and gains are weighted."""
    X, y = rows()
    w = 1.0 + (torch.arange(400) % 3).double()
    assert len(np.unique(X[:, 0])) > BINS
    f = Boosting(ROUNDS).fit(in_memory(X, y[:, None], w))
    binned = BinnedColumns.of(X)
    every = np.concatenate([*binned.cuts, [ALL]])
    assert np.isin(f.thresholds, every).all()
    few = X.mul(10).round()
    f = Boosting(ROUNDS).fit(in_memory(few, y[:, None], w))
    model = HistGradientBoostingRegressor(**LIKE).fit(few.numpy(), y.numpy(), w.numpy())
    assert f(few)[:, 0].numpy() == pytest.approx(model.predict(few.numpy()), abs=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
def test_groups_of_trees_and_blocks_of_rows_are_as_one(
    outputs: int, monkeypatch: pytest.MonkeyPatch
):
    X, y = rows(40)
    Y = torch.stack([y, X[:, 3]], 1)[:, :outputs]
    f = Boosting(5).fit(in_memory(X, Y))
    one, staged = f(X), f.staged(X, 2)
    monkeypatch.setattr(trees, "GROUP", 3)
    monkeypatch.setattr(trees, "ROWS", 7)
    few = f.first(5)
    assert torch.allclose(few(X), one, atol=1e-12)
    assert torch.allclose(few.staged(X, 2), staged, atol=1e-12)
    assert few(X[:0]).shape == (0, outputs)


def test_more_leaves_than_bits_are_refused():
    at = torch.zeros(1, 63)
    f = Trees(at.long(), at.double(), torch.zeros(1, 64).double(), torch.ones(1, 1), torch.ones(1))
    with pytest.raises(ValueError, match="a tree has 64 leaves: at most 31"):
        f(torch.zeros(1, 1))


@pytest.mark.parametrize("cuts", [[0.3], [0.0, 0.7]])
def test_probabilities_as_scikit_learn_has_them(cuts: list[float]):
    X, y = rows()
    Y = codes(y, cuts)
    shift = Y.mean(0)
    f = Boosting(ROUNDS, logistic=True).fit(in_memory(X, Y - shift))
    logits = torch.as_tensor(two_sided((f(X) + shift).numpy()))
    labels = torch.bucketize(y, torch.tensor(cuts).double()).numpy()
    model = HistGradientBoostingClassifier(**LIKE).fit(X.numpy(), labels)
    assert logits.softmax(1).numpy() == pytest.approx(model.predict_proba(X.numpy()), abs=1e-12)


@pytest.mark.parametrize("cuts", [[9.0], [0.3, 9.0], [8.0, 9.0]])
def test_classes_without_rows_are_improbable(cuts: list[float]):
    X, y = rows(60)
    Y = codes(y, cuts)
    f = Boosting(ROUNDS, logistic=True).fit(in_memory(X, Y))
    p = torch.as_tensor(two_sided(f(X).numpy())).softmax(1)
    assert float(p[:, -1].max()) < 0.05


#: Rows of each fit of a :class:`Flat`.
SEEN: list[int] = []


class Flat(Space[RFMSetting]):
    """A method that says what a line through the rows does."""

    start = RFMSetting(Rounds("laplace", 1.0, 1.0, False, 1.0, 0))
    open = True

    def learner(self, setting: RFMSetting) -> KernelRidge:
        del setting
        return KernelRidge(kernel("polynomial1", 1.0), 1.0, NystromDirect())

    def fit(self, setting: RFMSetting, rows: Rows, seed: int) -> FinishedFit:
        SEEN.append(len(rows.block("a line").X))
        return FinishedFit(self.learner(setting).fit(rows, seed=seed))

    def best(self, data: Block, seed: int, effort: Effort) -> Trial[RFMSetting]:
        parts = splits(data, effort)
        fits = [self.learner(self.start).fit(of_block(train), seed=seed) for train, _ in parts]
        said = [f(held.X) for f, (_, held) in zip(fits, parts, strict=True)]
        y, w = (torch.cat([getattr(held, name) for _, held in parts]) for name in "yw")
        return Trial(self.start, 1.0, torch.cat(said), y, w)


@pytest.mark.parametrize("logistic", [False, True])
def test_trees_join_where_they_gain(logistic: bool, monkeypatch: pytest.MonkeyPatch):
    """A line and a step; not for a line alone, of squared loss."""
    monkeypatch.setattr(with_trees, "ROUNDS", 30)
    X, _ = rows(240)
    line = X[:, 1] + 0.1 * X[:, 3]
    space = WithTrees(TreesSetting(Flat.start), Flat(), logistic)
    for target, joined in ((line, False), (line + 2 * (X[:, 0] > 0.3), True)):
        Y = torch.where(target > 0.5, 1.0, -1.0).double() if logistic else target
        found = space.best(Block(X, Y[:, None], torch.ones(240).double()), 0, FAST)
        assert (found.setting.rounds > 0) == (joined or logistic)
    finished = space.fit(found.setting, in_memory(X, Y[:, None]), 0)
    assert finished.used["trees"].endswith("30 rounds of boosted trees")
    fitted = finished.predictor
    again = space.learner(found.setting).fit(in_memory(X, Y[:, None]))
    assert torch.equal(fitted(X), again(X))
    assert fitted.tensors()["weights"].tolist()[1] == pytest.approx(found.setting.share)


def test_few_trees_that_gain_nothing_are_all_and_others_go_on(monkeypatch: pytest.MonkeyPatch):
    """On the first split alone; where they gain, no round of it is grown again."""
    monkeypatch.setattr(with_trees, "ROUNDS", 45)
    grown = counted(monkeypatch)
    X, _ = rows(240)
    space = WithTrees(TreesSetting(Flat.start), Flat(), logistic=False)
    for target, expected in ((X[:, 1], GLANCE), (X[:, 1] + 2 * (X[:, 0] > 0.3), 3 * 45)):
        grown.clear()
        space.best(Block(X, target[:, None], torch.ones(240).double()), 0, FAST)
        assert len(grown) == expected


@pytest.mark.parametrize(
    ("n", "logistic", "taught"),
    [(4000, False, 1500), (4000, True, 2100), (12_000, False, 2000), (30_000, True, 2500)],
)
def test_more_rows_and_calibrated_classes_teach_the_searched_fits_more(
    n: int, logistic: bool, taught: int, monkeypatch: pytest.MonkeyPatch
):
    seen = []

    def parts(data: Block, effort: Effort) -> Any:
        seen.append(splits(data, effort))
        return seen[-1]

    monkeypatch.setattr(with_trees, "splits", parts)
    y = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0)[:, None].double()
    data = Block(y.clone(), y, torch.ones(n).double())
    WithTrees(TreesSetting(Flat.start), Flat(), logistic).best(data, 0, FAST)
    assert {len(train) for train, _ in seen[0]} == {taught}


def steps(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """A target of steps, in which trees gain."""
    X, _ = rows(n)
    a, b, c, d = (X[:, j] > cut for j, cut in enumerate((0.3, 0.0, -0.5, 1.0)))
    return X.numpy(), (2.0 * a + 1.5 * (b & c) + 1.0 * d).numpy()


@functools.cache
def fitted(**how: Any) -> RFMRegressor:
    """A fit to the steps, which tests read and do not change."""
    return RFMRegressor(**how).fit(*steps())


@pytest.mark.parametrize("how", [{"directions": None}, {"trees": False}, {}])
def test_trees_join_a_chosen_last_fit_only_and_may_be_left_out(how: dict[str, Any]):
    assert ("trees" in fitted(**how).settings_) == (how == {})


def test_the_kernel_machines_of_a_fit_with_trees_stand_alone():
    with_trees, plain, X = fitted(), fitted(trees=False), steps()[0]
    alone = with_trees.without_trees()
    assert np.array_equal(alone.predict(X), plain.predict(X))
    assert "trees" in with_trees.settings_
    assert "trees" not in alone.settings_
    assert plain.without_trees() is plain


def test_the_verdict_is_on_features_without_trees():
    """It said that learned features beat kernel ridge by what boosted trees add."""
    r = np.random.default_rng(0)
    X = r.standard_normal((250, 3))
    y = np.sign(X[:, 0] + 0.4) + np.sign(X[:, 1]) + 0.1 * r.standard_normal(250)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    found = compare(frame, "y", methods=["kernel", "rfm"], time=20)
    test = dict(zip(found.table["method"], found.table["R2"], strict=True))
    assert found.results.verdict is not None
    assert "machine without its boosted trees" in found.results.verdict.sentence
    assert found.results.verdict.difference.estimate < test["rfm"] - test["kernel"]


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_many_rows_judge_the_fits_themselves(
    logistic: bool, streamed: bool, monkeypatch: pytest.MonkeyPatch
):
    """Of 300 rows 60 are kept out; the share is theirs, not that of the search."""
    for name, value in {"ONE_MACHINE": 200, "FEWEST_KEPT_OUT": 20, "MOST_KEPT_OUT": 60}.items():
        monkeypatch.setattr(with_trees, name, value)
    monkeypatch.setattr(with_trees, "MORE_ROUNDS", 30)
    X, y = rows(300)
    Y = torch.where(y > 0.5, 1.0, -1.0).double()[:, None] if logistic else y[:, None]
    data = from_arrays(X.numpy(), Y.numpy()) if streamed else in_memory(X, Y)
    searched = TreesSetting(Flat.start, 15, 0.123, judged=True)
    found = WithTrees(searched, Flat(), logistic).fit(searched, data, 0)
    assert SEEN[-1] == 240
    assert found.held is not None
    predictions, target, w = found.held
    assert len(predictions) == len(target) == len(w) == 60
    v = float(found.predictor.weights[1])
    assert v != pytest.approx(0.123)
    assert f"a weight of {v:.2f} on " in found.used["trees"]
    assert (predictions - target).square().mean() < target.var()


def test_no_trees_after_the_deadline_of_many_rows_either(monkeypatch: pytest.MonkeyPatch):
    for name, value in {"ONE_MACHINE": 200, "FEWEST_KEPT_OUT": 20}.items():
        monkeypatch.setattr(with_trees, name, value)
    X, y = rows(300)
    space = WithTrees(TreesSetting(Flat.start), Flat(), logistic=False)
    data = Block(X, y[:, None], torch.ones(300).double())
    with within(Deadline(0.0, clock=lambda: 1.0)):
        found = space.fit(space.best(data, 0, FAST).setting, of_block(data), 0)
    assert SEEN[-1] == 300
    assert "trees" not in found.used


def test_trees_join_a_fit_in_float32():
    """It stopped: weights of one float type, errors of the other."""
    X, y = steps()
    model = RFMRegressor(dtype="float32").fit(X, y)
    assert "trees" in model.settings_
    assert float(model.score(X, y)) > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_with_trees_is_loaded_as_saved(classes: int, tmp_path: Path):
    X = np.random.default_rng(0).standard_normal((400, 4))
    y = (X[:, 0] > 0.3) + (classes - 2) * (X[:, 1] > 0)
    model = RFMClassifier().fit(X, y)
    assert "trees" in model.settings_
    save(model, tmp_path / "model.gradfeat")
    again = load(tmp_path / "model.gradfeat")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
