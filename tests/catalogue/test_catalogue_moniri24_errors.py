"""moniri24-errors: claims that fail on the reverse, settings that cannot be, numbers of a seed."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from gradfeat.catalogue import moniri24_errors
from gradfeat.catalogue.moniri24_errors import EXPERIMENT, batch, limit, theory
from gradfeat.catalogue.shared import step_training
from gradfeat.catalogue.shared.comparisons import differs, near, nearer
from gradfeat.catalogue.shared.step_training import METRICS, StepSetup
from gradfeat.lab import judge
from gradfeat.lab.intervals import over
from gradfeat.maths.activations import CentredReLU, Polynomial
from gradfeat.maths.streams import stream
from gradfeat.models.head import RidgeHead, with_head
from gradfeat.models.step_sizes import first_step
from gradfeat.rows.rows import in_memory
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.targets import he1_he2
from gradfeat.theory.ridge_errors import random_feature_errors
from gradfeat.theory.teacher import Teacher

SMALL = {"n": 60, "phi": 0.5, "psi": 0.5}


@pytest.fixture(scope="module")
def predicted() -> pd.DataFrame:
    """The quick grid with 6 seeds, every metric what theory predicts, but for a little by seed."""
    exact = EXPERIMENT.theory_table(EXPERIMENT.cells("quick"))
    assert exact is not None
    factors = list(EXPERIMENT.factors)
    table = exact.merge(pd.DataFrame({"seed": range(6)}), how="cross")
    metrics = [name for name in exact if name not in factors]
    table[metrics] = table[metrics].mul(1 + 1e-4 * (table["seed"] - 2.5), axis=0)
    return table.loc[:, [*factors, "seed", *metrics]]


def outcomes(table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(EXPERIMENT, table)]


def test_claims_hold_on_what_theory_predicts(predicted):
    assert outcomes(predicted) == ["holds"] * 14


def test_claims_on_columns_and_predictions_fail_a_fifth_away(predicted):
    wrong = predicted.copy()
    names = [name for name in wrong if name.endswith(("_gain", "_share"))]
    wrong[names] *= 1.2
    found = outcomes(wrong)
    assert [found[i] for i in (0, 1, 2, 5, 8, 9)] == ["fails"] * 6


def test_claims_on_n_fail_where_the_network_has_the_limit_at_once(predicted):
    wrong = predicted.copy()
    one = (wrong["setting"] == 1) & (wrong["alpha"] < 0.25)
    wrong.loc[one, "loss_share"] = 1.0 - 1e-4 * wrong["seed"] - 1e-5 * wrong["n"]
    found = outcomes(wrong)
    assert [found[i] for i in (2, 3, 4)] == ["fails"] * 3


def test_claims_on_settings_fail_where_the_difference_comes_early_or_never(predicted):
    early, never = predicted.copy(), predicted.copy()
    early.loc[early["setting"] == 2, "loss_gain"] += 0.03
    never["loss_gain"] = 0.06 + 1e-5 * never["seed"] * never["setting"]
    assert (outcomes(early)[6], outcomes(never)[7]) == ("fails", "fails")


def test_the_claim_on_reused_rows_fails_where_they_change_nothing(predicted):
    wrong = predicted.copy()
    wrong.loc[wrong["sample"] == "reused", ["loss_gain", "test_gain"]] = 0.03
    found = outcomes(wrong)
    assert (found[9], found[10]) == ("fails", "fails")


def test_the_claim_on_gaussian_rows_fails_where_they_are_as_those_on_the_sphere(predicted):
    wrong = predicted.copy()
    theirs = wrong["rows"] == "gaussian"
    wrong.loc[theirs, "column_loss_gain"] *= 0.1216 / 0.1297
    assert outcomes(wrong)[11] == "fails"


def test_the_claim_on_linear_models_fails_on_the_other_side_of_their_errors(predicted):
    suited, test = predicted["lam"] == 0.3, predicted["test"]
    for wrong in (test.where(suited, test - 0.8), test - 0.4 * suited, test + 0.2 * suited):
        assert outcomes(predicted.assign(test=wrong))[12] == "fails"


def test_ridge_on_the_inputs_at_its_best_penalty_has_the_error_of_the_claim():
    """It is that on very many linear neurons, of N/d times the penalty."""
    lams, linear = np.geomspace(0.3, 0.8, 101), Polynomial((0.0, 1.0))
    teacher = Teacher.single((0.0, 1.0), 1.0)
    found = random_feature_errors(0.5, 1e-7, 1e7 * lams, linear, teacher).test_error
    assert found.min() == pytest.approx(moniri24_errors.BEST_RIDGE, abs=1e-4)


def test_the_claim_on_the_second_columns_constant_fails_for_a_gradient_of_rank_one(predicted):
    assert outcomes(predicted.assign(own_to_shared=1e-4 * predicted["seed"]))[13] == "fails"


def test_comparisons_fail_on_the_other_side():
    table = pd.DataFrame({"n": [1, 1, 1], "seed": range(3), "a": [1.0, 1.01, 0.99]})
    one, two = (lambda n: {"a": n * 1.0}), (lambda n: {"a": n * 2.0})
    assert near("a", two, 0.1)(table).outcome == "fails"
    assert nearer("a", two, one)(table).outcome == "fails"
    assert nearer("a", one, two)(table).outcome == "holds"
    assert near("a", one, 0.1, {"n": 3})(table).outcome == "not enough evidence"


def test_the_p_of_a_difference_is_that_of_scipy():
    values = np.random.default_rng(0).standard_normal((2, 7))
    table = pd.DataFrame({"m": [1] * 7 + [2] * 7, "seed": [*range(7)] * 2, "a": values.ravel()})
    words = differs("a", {"m": 1}, {"m": 2}, over(0.0), "bound 0")(table).words
    assert words.endswith(f"p = {stats.ttest_rel(*values)[1]:.2g} of none")
    assert "p =" not in differs("a", {"m": 1}, {"m": 3}, over(0.0), "bound 0")(table).words


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": [0.1, 0.6]}, "alpha is 0.6: give 0.5 or less."),
        ({"setting": 4}, "setting is '4': give one of '1', '2', '3'."),
        ({"residual": "f0"}, "residual is 'f0': give one of 'y', 'y - f0', 'ba22'."),
        ({"rows": "unit"}, "rows is 'unit': give one of 'gaussian', 'sphere'."),
        ({"sample": "new"}, "sample is 'new': give one of 'fresh', 'reused'."),
        ({"n": 0}, "n is 0: give 1 or more."),
        ({"n": 10**9}, "n is 1,000,000,000: give 50,000 or less."),
        ({"phi": 0.001}, "d is 0: give 1 or more."),
        ({"psi": 1e-7}, "N is 300,000,000: give 50,000 or less."),
        ({"lam": 0.0}, "lam is 0.0: give a number from 1e-08 to 1,000,000."),
        ({"lam": float("nan")}, "lam is nan: give a number"),
    ],
)
def test_a_setting_that_cannot_be_fails_by_its_name(settings, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        batch(**{"alpha": [0.1], **SMALL, **settings}, seeds=[0])


def test_values_of_alpha_and_seeds_do_not_depend_on_each_other():
    together = batch([0.1, 0.3], **SMALL, seeds=[0, 1])
    alone = [[batch([a], **SMALL, seeds=[s])[0][0] for a in (0.1, 0.3)] for s in (0, 1)]
    for ours, theirs in zip(chain(*together), chain(*alone), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)  # rounding of sums of another shape


#: Rounding of float32, 6e-8, times a condition of some hundreds: n lam = .6 beside n N c_1^2.
SINGLE = 1e-4


@pytest.mark.parametrize("residual", ["y", "y - f0"])
@pytest.mark.parametrize("sample", ["fresh", "reused"])
def test_errors_are_those_of_the_learner(residual, sample):
    """Against a network with a ridge head, at eta and, where the start is mirrored, -eta."""
    setup = StepSetup(2, 60, residual, sample, 0.5, 0.5, 0.01)
    seed, etas = setup.seed(3, "cpu"), [0.0, 2.0, -2.0]
    plain, plus, minus = (_errors_of_learner(setup, eta) for eta in etas)
    expected = (plus + minus) / 2 if residual == "y" else plus
    ours = [list(errors.values()) for errors in seed.networks(etas[:2])]
    np.testing.assert_allclose(ours, [plain, expected], rtol=SINGLE)
    np.testing.assert_allclose(list(seed.columns(0)[0].values()), plain, rtol=SINGLE)


def _errors_of_learner(setup: StepSetup, eta: float) -> np.ndarray:
    """Loss with the penalty, training and test error."""
    gradient, head, test = _rows(setup, 3)
    options = {"width": setup.N, "activation": CentredReLU(), "residual": setup.weighting}
    step = first_step(in_memory(*gradient), **options, seed=3)
    ridge = RidgeHead(0.01 * len(head[0]), intercept=False)
    net = with_head(step.network(eta), in_memory(*head), ridge)
    training, error = (float((y - net(X)).square().mean()) for X, y in (head, test))
    return np.array([training + 0.01 * float(net.a.square().sum()), training, error])


def _rows(setup: StepSetup, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Gradient, head and test rows as drawn by hand."""
    task = MultiIndex(setup.d, he1_he2(), 0.0, seed=seed)
    names = ("gradient", "head" if setup.sample == "fresh" else "gradient", "test")
    samples = [task.sample(setup.n, stream(seed, name)) for name in names]
    return [(sample.X.float(), sample.y.float()) for sample in samples]


def test_the_mirrored_start_has_the_step_minus_eta():
    """-G is the gradient at the head -a where the residual is y."""
    setup = StepSetup(2, 40, "y", "fresh", 0.5, 0.5, 0.01)
    step, (X, y) = setup.seed(0, "cpu").step, _rows(setup, 0)[0]
    other = ((-step.a @ y.mT) * step.activation.derivative(step.W0 @ X.mT)) @ X / 40
    torch.testing.assert_close(other, -step.G)


def test_errors_in_float32_are_those_in_float64(monkeypatch):
    """At n = 400, all three metrics at eta = 0 and n^.3: within `SINGLE`."""
    setup = StepSetup(2, 400, "y", "fresh", 0.5, 2 / 3, 0.01)
    single = setup.seed(0, "cpu").networks([0.0, 6.0])
    monkeypatch.setattr(step_training, "single", lambda rows, _: rows)
    double = setup.seed(0, "cpu").networks([0.0, 6.0])
    for one, other in zip(single, double, strict=True):
        assert one == pytest.approx(other, rel=SINGLE)


def test_noise_of_test_rows_counts_by_its_variance():
    """With features that predict 0 (lam huge) the test error is E y^2 over rows, noise exact."""
    seed = StepSetup(1, 50, "y", "fresh", 0.5, 0.5, 1e6).seed(0, "cpu")
    clean = float(seed.test.y.square().mean())
    assert seed.columns(0)[0]["test"] == pytest.approx(clean + 1.0, rel=1e-4)


def test_theory_has_the_printed_gains_and_the_limit_its_shares():
    cell = {"setting": 2, "n": 1_000, "residual": "y", "sample": "fresh", "phi": 0.5, "psi": 2 / 3}
    for alpha, loss, test in ((0.1, 0.0629, 0.361), (0.3, 0.1216, 0.744)):
        found = theory(alpha, lam=0.01, **cell)
        assert found["column_loss_gain"] == pytest.approx(loss, abs=5e-5)
        assert found["column_test_gain"] == pytest.approx(test, abs=5e-4)
        shares = limit(alpha, lam=0.01, **cell)
        found = [shares[f"{name}_share"] for name in METRICS]
        # The second column of a network has a constant beside it, so it gains less than (X beta)^2.
        expected = [1.0] * 3 if alpha == 0.1 else [0.1044 / 0.1216, 0.849, 0.849]
        assert found == pytest.approx(expected, abs=1e-3)
    assert np.isnan(theory(0.25, lam=0.01, **cell)["column_loss_gain"])
    # Of 60 networks at n = 500: .2954 +- .0048 and 1.096 +- .032.
    reused = theory(0.3, lam=0.01, **{**cell, "n": 500, "sample": "reused"})
    assert reused["loss_gain"] == pytest.approx(0.2954, abs=0.0096)
    assert reused["test_gain"] == pytest.approx(1.096, abs=0.064)


def test_gains_agree_with_theory_on_a_small_run():
    """30 seeds at n = 300: gains of the column within 4 standard errors, the network's within 5 %
    of itself besides (terms of order 1/sqrt(n) that theory leaves out)."""
    found = [rows[0] for rows in batch([0.15], 1, 300, seeds=range(30))]
    predicted = theory(0.15, 1, 300, "y", "fresh", 0.5, 2 / 3, 0.01)
    for name, slack in (("column_loss_gain", 0.0), ("loss_gain", 0.05), ("test_gain", 0.05)):
        gap = np.array([row[name] for row in found]) - predicted[name]
        allowed = 4 * gap.std(ddof=1) / np.sqrt(len(gap)) + slack * predicted[name]
        assert abs(gap.mean()) < allowed, name


def test_the_levels_of_the_staircase_lie_between_their_edges():
    edges = [moniri24_errors._edges(degree) for degree in range(4)]
    assert [edge[1] for edge in edges] == pytest.approx([0, 1 / 4, 1 / 3, 3 / 8])
    assert [edge[0] for edge in edges[1:]] == pytest.approx([edge[1] for edge in edges[:-1]])
