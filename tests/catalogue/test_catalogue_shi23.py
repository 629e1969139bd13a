"""Experiments of Shi23 on cases and lottery tickets: claims that can fail, parts that agree."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue import shi23_cases, shi23_lottery
from gradfeat.catalogue.shared.gradient_feature_masses import even_gradient, exact_masses
from gradfeat.catalogue.shared.gradient_feature_training import (
    ODD,
    case_study,
    expected,
    first_step,
    found_features,
    odd_labels,
    path,
    radius_labels,
    rows_of,
    start_of,
)
from gradfeat.lab import judge
from gradfeat.lab.loading import experiment
from gradfeat.models.descent.phases import Phase

SMALL_CASE: dict[str, Any] = {
    "n": 600,
    "neurons": 1_100,
    "m": 20,
    "steps": 5,
    "n_test": 200,
    "n_opt": 100,
}
SMALL_LOTTERY: dict[str, Any] = {"n": 400, "neurons": 1_100, "m": 16, "steps": 5, "n_test": 200}


def made_up(name: str, seeds: int = 3) -> pd.DataFrame:
    """The quick grid of an experiment without its metrics."""
    points = experiment(name).points("quick", seeds)
    return pd.DataFrame([{**point.cell, "seed": point.seed} for point in points])


def outcomes(name: str, table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(experiment(name), table)]


@pytest.fixture(scope="module")
def as_it_should_be() -> pd.DataFrame:
    table = made_up("shi23-cases")
    little = 1e-4 * table["seed"].to_numpy(float)
    names = ["case", "structure", "r", "d", "bias", "B_G", "width"]
    exact = [shi23_cases.theory(**dict(zip(names, row, strict=True))) for row in
             table[names].itertuples(index=False)]  # fmt: skip
    found = table["structure"] == "yes"
    numbers = {
        "missed": np.where(found, 0.0, 1.0), "others": 0.0, "features": np.where(found, 2.0, 0.0),
        "mass_plus": np.nan_to_num([one["mass_plus"] for one in exact]) + little,
        "loss_network": 0.01, "error_network": 0.001, "loss_features": 0.5 + little,
        "error_features": 0.2 + little, "loss_ntk": 0.3 + little, "error_ntk": 0.1 + little,
        "gap": 0.01 + little, "bound": 20.0 + little, "slack": 19.0 + little,
    }  # fmt: skip
    return table.assign(**numbers)


def test_case_claims_hold_where_all_is_as_planted(as_it_should_be):
    assert outcomes("shi23-cases", as_it_should_be) == ["holds"] * 7


@pytest.mark.parametrize(
    ("claim", "metric", "wrong"),
    [
        (0, "missed", 1.0),
        (1, "others", 1.0),
        (2, "features", 1.0),
        (3, "mass_plus", 0.9),
        (4, "slack", -0.1),
        (4, "bound", 0.5),
        (5, "gap", 0.3),
        (6, "loss_network", 0.4),
        (6, "error_network", 0.15),
    ],
)
def test_a_case_claim_fails_where_one_case_is_wrong(claim, metric, wrong, as_it_should_be):
    case = "linear" if claim < 6 else "single-index"
    there = as_it_should_be["case"] == case
    if claim < 2 or claim > 2:
        there &= as_it_should_be["structure"] == "yes"
    little = 1e-4 * as_it_should_be["seed"]
    table = as_it_should_be.assign(
        **{metric: as_it_should_be[metric].where(~there, wrong + little)}
    )
    assert experiment("shi23-cases").claims[claim].check(table).outcome == "fails"


@pytest.mark.parametrize(
    ("claim", "metric", "structure"),
    [(0, "missed", "yes"), (1, "others", "yes"), (2, "features", "no")],
)
def test_a_claim_on_every_seed_fails_at_one_seed_of_one_case(
    claim, metric, structure, as_it_should_be
):
    table = as_it_should_be
    bad = (table["case"] == "parity") & (table["structure"] == structure) & (table["r"] == 3)
    bad &= table["seed"] == 1
    assert bad.sum() == 1
    for wrong, outcome in ((1.0, "fails"), (math.nan, "not enough evidence")):
        one = table.assign(**{metric: table[metric].where(~bad, wrong)})
        assert experiment("shi23-cases").claims[claim].check(one).outcome == outcome


def test_linear_labels_are_no_part_of_the_claim_on_fixed_features(as_it_should_be):
    linear = as_it_should_be["case"] == "linear"
    table = as_it_should_be.assign(loss_ntk=as_it_should_be["loss_ntk"].where(~linear, 0.0))
    assert experiment("shi23-cases").claims[6].check(table).outcome == "holds"


def test_lottery_claims_hold_and_fail():
    table = made_up("shi23-lottery")
    little = 1e-4 * table["seed"].to_numpy(float)
    head = (table["trains"] == "head").to_numpy()
    table = table.assign(
        lost_gradient=little, lost_magnitude=little, lost_random=np.where(head, 0.1, 0) + little,
        accuracy_gradient=1 - little, accuracy_random=np.where(head, 0.9, 1) - little,
    )  # fmt: skip
    assert outcomes("shi23-lottery", table) == ["holds"] * 4
    lost = {f"lost_{rule}": 0.05 + little for rule in shi23_lottery.RULES}
    reverse = table.assign(**lost, accuracy_random=1 - little)
    assert outcomes("shi23-lottery", reverse) == ["fails"] * 4
    other_shares = table.assign(**{name: table[name].where(table["share"] == 0.1, 1.0)
                                   for name in lost})  # fmt: skip
    assert outcomes("shi23-lottery", other_shares) == ["holds"] * 4


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("shi23-cases", {"case": "nope"}, "case is 'nope'"),
        ("shi23-cases", {"case": "linear", "structure": "maybe"}, "structure is 'maybe'"),
        ("shi23-cases", {"case": "linear", "r": 2}, "r is 2: the case 'linear' has one direction"),
        ("shi23-cases", {"case": "parity", "r": 2}, "k, r are 5, 2: give odd numbers"),
        ("shi23-cases", {"case": "linear", "steps": 3}, "steps is 3: give 5 or more."),
        ("shi23-cases", {"case": "linear", "m": 7}, "m is 7: neurons start in pairs"),
        ("shi23-cases", {"case": "linear", "neurons": 90}, "neurons cannot show a mass"),
        ("shi23-cases", {"case": "linear", "n_opt": 0}, "n_opt is 0: give 1 or more."),
        ("shi23-lottery", {"case": "parity", "share": 1.5}, "share is 1.5: give 1 or less."),
        ("shi23-lottery", {"case": "parity", "trains": "body"}, "trains is 'body'"),
        ("shi23-lottery", {"case": "parity", "rewind": 6}, "rewind is 6: give 5 or less."),
        ("shi23-lottery", {"case": "parity", "trains": "head", "rewind": 1}, "rewind is 1"),
        ("shi23-lottery", {"case": "parity", "n_batch": 0}, "n_batch is 0: give 1 or more."),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(name, settings, said):
    if name == "shi23-cases":
        with pytest.raises(ValueError, match=said):
            shi23_cases.trial(**{**SMALL_CASE, **settings}, seed=0)
        return
    given = {**SMALL_LOTTERY, "trains": "all layers", "share": 0.5, **settings}
    with pytest.raises(ValueError, match=said):
        shi23_lottery.batch(**{**given, "share": [given["share"]]}, seeds=[0])


def test_the_terms_of_a_cell_add_up():
    seen = shi23_cases.trial("parity", **SMALL_CASE, seed=0)
    assert seen["opt_lower"] <= seen["opt_upper"]
    assert seen["slack"] == pytest.approx(seen["bound"] - seen["loss_network"], rel=1e-12)
    assert seen["gap"] == pytest.approx(seen["loss_network"] - seen["opt_upper"], rel=1e-12)
    assert seen["cone"] == pytest.approx(0.1)
    untrained = shi23_cases.trial("parity", "no", **SMALL_CASE, seed=0)
    assert untrained.keys() == seen.keys()
    assert math.isnan(untrained["bound"])


def test_no_class_no_bound_where_nothing_is_found():
    seen = shi23_cases.trial("parity", B_G=50.0, **SMALL_CASE, seed=0)
    assert seen["missed"] == 1
    assert math.isfinite(seen["loss_network"])
    assert math.isnan(seen["bound"])


def test_three_blocks_are_found_for_b_above_0_and_their_sum_below():
    task = case_study("parity", "yes", 30, 3, 7)
    found = found_features(
        "parity", task.directions, rows_of(task, 10_000, 7, "train"), p=0.015, width=0.05,
        B_G=0.1, bias=1.6, neurons=4_000, seed=7,
    )  # fmt: skip
    assert (found.missed, found.others, len(found.features)) == (0, 0, 4)
    (below,) = [feature for feature in found.features if feature.sign < 0]
    total = expected("parity", task.directions, -1)[:, 0]
    assert abs(float(below.direction.double() @ total)) > 0.99
    assert found.mass_minus == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("case", "bias", "B_G"), [("linear", 0.5, 0.15), ("linear", 1.0, 0.12)])
def test_masses_are_those_of_exact_gradients(case, bias, B_G):
    """Rows: 20,000; half of 4,000 neurons measure, 20,000 predict: 5 standard errors of both."""
    task = case_study(case, "yes", 20, 1, 3)
    found = found_features(
        case, task.directions, rows_of(task, 20_000, 3, "train"), p=0.015, width=0.05, B_G=B_G,
        bias=bias, neurons=4_000, seed=3,
    )  # fmt: skip
    exact = exact_masses(case, 1, 20, bias, B_G, 0.05)
    p = exact["mass_plus"]
    error = math.sqrt(p * (1 - p) * (1 / 2_000 + 1 / 20_000))
    # |G| is off by the rows' noise, (1/n)^{1/2} = .007 along D; .01 of the share is allowed for it.
    assert abs(found.mass_plus - p) < 5 * error + 0.01
    assert found.mass_minus == pytest.approx(exact["mass_minus"], abs=0.01)


def test_the_exact_gradient_of_even_labels_is_that_of_a_sample():
    rng = np.random.default_rng(1)
    u, W, b = np.eye(4)[0], rng.standard_normal((3, 4)), np.array([0.7, -0.4, 0.0])
    x = rng.standard_normal((200_000, 4))
    y = np.where(np.abs(x @ u) > 0.6744897501960817, 1.0, -1.0)
    terms = (y[:, None] * (x @ W.T > b))[:, :, None] * x[:, None, :]
    error = terms.std(0) / math.sqrt(len(x))
    assert np.abs((terms.mean(0) - even_gradient(u, W, b)) / error).max() < 4.5  # of 12


def test_odd_labels_have_no_part_of_degree_1():
    z = np.linspace(-9, 9, 1_800_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    assert abs(float((odd_labels(z) * z) @ density)) < 1e-4  # jumps on a grid of 1e-5
    assert pytest.approx(2 * math.log(2)) == ODD**2


def test_the_first_step_of_the_head_is_one_that_erases_the_start():
    task = case_study("mixture", "yes", 12, 2, 0)
    train, start = rows_of(task, 300, 0, "train"), start_of(8, 12, 1.0, 0)
    eta = float(1 / start.a.abs()[0, 0, 0])
    ((_, stepped),) = path(start, "all", train, (Phase(1, eta, decay_W="erase"),), 0)
    # float32: sums of 300 numbers of size 4.
    torch.testing.assert_close(first_step(start, train).W, stepped.W, rtol=1e-4, atol=1e-4)


def test_all_neurons_kept_are_the_full_network_and_random_few_are_not():
    settings = {**SMALL_LOTTERY, "m": 40, "steps": 20}
    ((whole, few),) = shi23_lottery.batch(
        "parity", "all layers", [1.0, 0.05], seeds=[0], **settings
    )
    for rule in shi23_lottery.RULES:
        # The order of neurons changes the rounding of float32; 4 rows of 200 are allowed.
        assert abs(whole[f"lost_{rule}"]) <= 0.02
    assert few["accuracy_random"] != whole["accuracy_random"]


#: Small enough for a fifth of a second a cell, large enough for the parity to be found.
TINY: dict[str, dict[str, Any]] = {
    "shi23-cases": {
        "case": "parity", "d": 12, "n": 500, "B_G": 0.3, "p": 0.05, "neurons": 400, "m": 10,
        "steps": 5, "n_batch": 100, "units": 2, "B_a1": 0.2, "B_b": 1.0, "n_test": 100, "n_opt": 20,
    },
    "shi23-lottery": {
        "case": "parity", "trains": "all layers", "share": 0.2, "d": 12, "n": 300, "B_G": 0.3,
        "p": 0.15, "neurons": 400, "m": 60, "steps": 10, "n_batch": 100, "n_test": 200,
    },
}  # fmt: skip


@functools.cache
def tiny(name: str, *changes: tuple[str, Any]) -> dict[str, float]:
    """The numbers of a small cell with some settings changed."""
    cell = {**TINY[name], **dict(changes)}
    if name == "shi23-cases":
        return shi23_cases.trial(**cell, seed=0)
    ((numbers,),) = shi23_lottery.batch(**{**cell, "share": [cell["share"]]}, seeds=[0])
    return numbers


@pytest.mark.parametrize(
    ("setting", "value", "metric"),
    [
        ("case", "linear", "mass_plus"),
        ("structure", "no", "features"),
        ("r", 3, "mass_plus"),
        ("d", 13, "mass_plus"),
        ("n", 1_000, "mass_plus"),
        ("bias", 0.5, "mass_plus"),
        ("B_G", 0.5, "mass_plus"),
        ("p", 0.3, "features"),
        ("width", 0.02, "mass_plus"),
        ("neurons", 600, "mass_plus"),
    ],
)
def test_every_setting_of_the_features_changes_them(setting, value, metric):
    untrained = (("steps", 0), ("d", 21)) if setting == "r" else (("steps", 0),)
    one = tiny("shi23-cases", *untrained)
    assert tiny("shi23-cases", *untrained, (setting, value))[metric] != one[metric]


@pytest.mark.parametrize(
    ("setting", "value", "metric"),
    [
        ("m", 20, "loss_network"),
        ("steps", 6, "loss_network"),
        ("step_size", 0.2, "loss_network"),
        ("n_batch", 50, "loss_network"),
        ("n_test", 150, "loss_network"),
        ("units", 1, "opt_upper"),
        ("B_a1", 0.1, "opt_upper"),
        ("B_b", 0.1, "opt_upper"),
        ("n_opt", 30, "opt_upper"),
    ],
)
def test_every_setting_of_training_and_class_changes_a_loss(setting, value, metric):
    changed = tiny("shi23-cases", (setting, value))[metric]
    assert math.isfinite(changed)
    assert abs(changed / tiny("shi23-cases")[metric] - 1) > 0.01  # fits are within 1 % of f = 0


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("case", "linear"),
        ("trains", "head"),
        ("share", 0.4),
        ("rewind", 5),
        ("r", 3),
        ("d", 13),
        ("n", 350),
        ("bias", 0.5),
        ("B_G", 0.1),
        ("p", 0.05),
        ("width", 0.2),
        ("neurons", 1_000),
        ("m", 80),
        ("steps", 12),
        ("step_size", 0.2),
        ("n_batch", 50),
        ("n_test", 150),
    ],
)
def test_every_setting_of_the_lottery_changes_which_tickets_win(setting, value):
    base = (("d", 21),) if setting == "r" else ()
    one, two = tiny("shi23-lottery", *base), tiny("shi23-lottery", *base, (setting, value))
    assert one["accuracy_gradient"] != two["accuracy_gradient"]


def test_pairs_nearest_features_come_first_each_feature_in_turn():
    task = case_study("mixture", "yes", 30, 2, 0)
    train, start = rows_of(task, 4_000, 0, "train"), start_of(200, 30, 1.7, 0)
    U = task.directions
    found = found_features(
        "mixture", U, train, p=0.015, width=0.05, B_G=0.25, bias=1.7, neurons=2_000, seed=0
    )
    order = shi23_lottery.nearest(start, train, found.features, 0.25)
    assert sorted(order.tolist()) == list(range(100))
    first = first_step(start, train).W[0, order[: len(found.features)]].double()
    cosines = (first @ U / first.norm(dim=1, keepdim=True)).abs()
    assert float(cosines.amax(1).min()) > 0.95
    assert {*cosines.argmax(1).tolist()} == {0, 1}


def test_rewinding_to_a_later_step_changes_the_result():
    settings = {**SMALL_LOTTERY, "m": 40, "steps": 20}
    early, late = (
        shi23_lottery.batch("parity", "all layers", [0.2], rewind, seeds=[0], **settings)[0][0]
        for rewind in (0, 15)
    )
    assert early["accuracy_full"] == late["accuracy_full"]
    assert early["accuracy_random"] != late["accuracy_random"]


def test_a_diverged_network_is_a_failed_cell():
    settings = {"case": "linear", "d": 6, "n": 200, "neurons": 1_100, "m": 8, "steps": 10}
    with pytest.raises(ValueError, match="training diverged"):
        shi23_cases.trial(**settings, step_size=1e9, n_test=50, n_opt=40, units=1, seed=0)


def test_features_of_a_multi_index_lie_in_the_plane_of_its_directions_and_cover_it():
    task = case_study("single-index", "yes", 15, 2, 7)
    sizes = {"p": 0.015, "width": 0.05, "B_G": 0.09, "bias": 0.5, "neurons": 2_000, "seed": 7}
    train = rows_of(task, 20_000, 7, "train")
    found = found_features("single-index", task.directions, train, **sizes)
    assert (found.missed, found.others) == (0, 0)
    assert len(found.features) > 2  # all over the plane, not two of them
    # A plane that is not theirs: everything is outside of it.
    wrong = found_features("single-index", torch.eye(15)[:, :2].double(), train, **sizes)
    assert (wrong.missed, wrong.others) == (2, len(wrong.features))


def test_labels_of_a_multi_index_are_balanced_and_their_series_is_that_of_a_sample():
    for r in (2, 3):
        link = radius_labels(r, planted=True)
        Z = np.random.default_rng(0).standard_normal((200_000, r))
        y = link(Z)
        assert abs(y.mean()) < 5 / 200_000**0.5
        second = (y[:, None] * (Z**2 - 1) / 2).mean(0)
        (degrees, values) = link.series.degrees, link.series.coefficients
        assert len(degrees) == r
        np.testing.assert_allclose(second, values, atol=5 * 0.71 / 200_000**0.5)
        assert abs(radius_labels(r, planted=False)(Z).mean()) < 5 / 200_000**0.5
