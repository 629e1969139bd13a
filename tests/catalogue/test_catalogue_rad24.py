"""rad24-lowrank: claims that fail on the reverse, settings that cannot be, numbers of a seed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from gradfeat.catalogue.rad24_lowrank import EXPERIMENT, batch
from gradfeat.lab import judge
from gradfeat.maths.streams import stream
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Laplace
from gradfeat.rows.rows import in_memory
from gradfeat.tasks.multi_index import MultiIndex
from gradfeat.tasks.targets import GatedProduct

SMALL = {"target": "gated", "d": 5, "n": 80, "bandwidth": 5.0, "n_test": 200}


def made_up() -> pd.DataFrame:
    """The quick grid with errors that fall as in the source: every claim holds."""
    table = pd.DataFrame([{**p.cell, "seed": p.seed} for p in EXPERIMENT.points("quick")])
    gated, plain = table["target"] == "gated", table["gradients"] == "plain"
    mse = np.array([0.0123, 0.0063, 0.0032, 0.0024, 0.0021, 0.002])[table["round"]]
    product = np.array([0.9, 0.2, 0.12, 0.1, 0.09, 0.09])[table["round"]] + 0.02 * plain
    scale = 1 + 1e-4 * table["seed"]
    table["mse"] = np.where(gated, mse, product) * scale
    table["r2"] = 1 - table["mse"] / np.where(gated, 1 / 32, 1.0)
    table["alignment"] = np.where(table["round"] > 0, 0.99 / scale, np.nan)
    return table


def outcomes(table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(EXPERIMENT, table)]


def test_claims_hold_on_errors_that_fall():
    assert outcomes(made_up()) == ["holds"] * 6


def test_claims_fail_where_no_update_helps():
    table = made_up()
    first = table.groupby(["target", "gradients", "seed"])["mse"].transform("max")
    table["mse"] = first * (1 + 0.01 * table["round"])
    table["r2"] = 0.2 + 1e-4 * table["seed"]
    table["alignment"] = table["alignment"] / 2
    found = outcomes(table)
    assert [found[i] for i in (0, 1, 2, 4, 5)] == ["fails"] * 5


@pytest.mark.parametrize(("target", "last"), [("gated", 5), ("product", 3)])
def test_one_update_that_harms_is_enough_to_fail(target, last):
    table = made_up()
    table.loc[(table["target"] == target) & (table["round"] == last), "mse"] *= 1.5
    assert outcomes(table)[0] == "fails"


@pytest.mark.parametrize("update", [0, 5])
def test_the_claim_on_first_and_last_error_fails_at_twice_one_of_them(update):
    table = made_up()
    table.loc[(table["target"] == "gated") & (table["round"] == update), "mse"] *= 2
    assert outcomes(table)[1] == "fails"


def test_the_claim_on_centring_fails_where_plain_gradients_do_better():
    table = made_up()
    table.loc[(table["target"] == "product") & (table["gradients"] == "plain"), "mse"] /= 2
    assert outcomes(table)[3] == "fails"


def test_one_direction_lost_of_three_is_not_found():
    table = made_up()
    table.loc[table["target"] == "gated", "alignment"] *= 0.9
    assert outcomes(table)[4] == "fails"


def test_round_0_is_kernel_ridge_and_rounds_do_not_depend_on_which_are_asked():
    [several] = batch([0, 1, 3], **SMALL, seeds=[4])
    [[alone]] = batch([1], **SMALL, seeds=[4])
    assert several[1] == alone
    task = MultiIndex(5, GatedProduct(0.5), scale=0.5, aligned=True)
    train, test = task.sample(80, stream(4, "train")), task.sample(200, stream(4, "test"))
    f = KernelRidge(Laplace(5.0), 1e-3).fit(in_memory(train.X, train.y))
    mse = float((f(test.X) - test.y).square().mean())
    # The same system, distances summed in another order: rounding of float64 alone.
    assert several[0]["mse"] == pytest.approx(mse, rel=1e-6)
    assert several[0]["r2"] == pytest.approx(1 - mse / float(test.y.var(correction=0)), rel=1e-6)
    assert np.isnan(several[0]["alignment"])


def test_updates_learn_the_product_and_its_directions():
    cell = {"target": "product", "d": 8, "n": 400, "n_test": 1_000}
    for gradients in ("plain", "centred"):
        [[first, last]] = batch([0, 4], **cell, gradients=gradients, seeds=[0])
        assert last["mse"] < first["mse"] / 2
        assert last["alignment"] > 0.95


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"target": "sum"}, "target is 'sum': give one of 'gated', 'product'."),
        ({"gradients": "raw"}, "gradients is 'raw': give one of 'plain', 'centred'."),
        ({"round": [-1, 2]}, "round is -1: give 0 or more."),
        ({"round": [101]}, "round is 101: give 100 or less."),
        ({"n": 0}, "n is 0: give 1 or more."),
        ({"n_test": 1}, "n_test is 1: give 2 or more."),
        ({"penalty": -1.0}, "penalty is -1.0: give 0 or more."),
        ({"bandwidth": 0.0}, "bandwidth is 0.0: give a finite number above 0."),
        ({"d": 2}, "d"),
    ],
)
def test_a_setting_that_cannot_be_fails_by_its_name(setting, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        batch(**{"round": [0], **SMALL, **setting}, seeds=[0])
