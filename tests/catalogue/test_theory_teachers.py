"""Settings drawn at random: all kinds are among them, and claims that can fail."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from gradfeat.catalogue.theory_teachers import EXPERIMENT, DrawnSetting, batch, theory
from gradfeat.lab import judge

NUMBERS = list(range(40))


@pytest.fixture(scope="module")
def predicted() -> pd.DataFrame:
    """Some settings with 5 seeds, nearly as theory has them."""
    exact = EXPERIMENT.theory_table(EXPERIMENT.cells("quick", {"setting": NUMBERS}))
    assert exact is not None
    names = list(exact.columns.difference([*EXPERIMENT.factors]))
    table = exact.merge(pd.DataFrame({"seed": range(5)}), how="cross")
    table[names] = table[names].mul(1 + 1e-3 * (table["seed"] - 2), axis=0)
    return table.loc[:, [*EXPERIMENT.factors, "seed", *names]]


def outcomes(table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(EXPERIMENT, table)]


def test_claims_hold_of_theory_and_fail_of_other_numbers(predicted):
    assert outcomes(predicted) == ["holds"] * 4
    one = predicted["setting"] == 7
    away = predicted["test"].where(~one, 1.06 * predicted["test"])
    assert outcomes(predicted.assign(test=away))[0] == "fails"
    assert outcomes(predicted.assign(plain_loss=0.95 * predicted["plain_loss"]))[1] == "fails"
    assert outcomes(predicted.assign(test=1.025 * predicted["test"]))[2] == "fails"
    assert outcomes(predicted.assign(test_gain=0.88 * predicted["test_gain"]))[3] == "fails"


def test_settings_have_all_kinds_and_stay_as_they_are():
    drawn = [DrawnSetting.of(k) for k in range(120)]
    for name, kinds in (("rows", 2), ("head", 3), ("residual", 3), ("sample", 2), ("sigma", 5)):
        assert len({asdict(one)[name] for one in drawn}) == kinds
    assert {one.target.r for one in drawn} == {1, 2, 3}
    assert sum(one.teacher.mean != 0 for one in drawn) > 30
    assert DrawnSetting.of(5) == drawn[5]


def test_a_step_gains_what_theory_says_at_small_sizes():
    found, expected = batch(4, 200, seeds=range(8)), theory(4, 200)
    # 8 seeds know the gain to 16 %, the error to 3 %.
    assert np.mean([one["test_gain"] for one in found]) == pytest.approx(
        expected["test_gain"], rel=0.5
    )
    assert np.mean([one["test"] for one in found]) == pytest.approx(expected["test"], rel=0.1)


def test_a_setting_is_simulated_alike_alone_and_in_a_batch():
    both = batch(1, 60, seeds=[0, 1])
    assert both[1] == batch(1, 60, seeds=[1])[0]
    assert both[0] != both[1]
