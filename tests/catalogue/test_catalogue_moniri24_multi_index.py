"""A target of two directions under one step: claims that can fail, shares that are exact."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue.moniri24_multi_index import EXPERIMENT, PARTS, batch, theory
from gradfeat.lab import judge


@pytest.fixture(scope="module")
def predicted() -> pd.DataFrame:
    """The quick grid with 5 seeds, nearly as theory has it."""
    exact = EXPERIMENT.theory_table(EXPERIMENT.cells("quick"))
    assert exact is not None
    table = exact.merge(pd.DataFrame({"seed": range(5)}), how="cross")
    names = ["test", *PARTS]
    table[names] = (
        table[names].mul(1 + 1e-4 * table["seed"], axis=0).add(1e-6 * table["seed"], axis=0)
    )
    return table.loc[:, [*EXPERIMENT.factors, "seed", *names]]


def outcomes(table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(EXPERIMENT, table)]


def test_claims_hold_of_theory_and_fail_on_the_reverse(predicted):
    assert outcomes(predicted) == ["holds"] * 4
    both = predicted.assign(beside_share=predicted["along_share"])
    assert outcomes(both)[0] == "fails"
    for name in ("along_share", "linear_share"):
        assert outcomes(predicted.assign(**{name: predicted[name] + 0.05}))[2] == "fails"
    falling = predicted.assign(along_share=-predicted["along_share"])
    assert outcomes(falling)[1] == "fails"
    assert outcomes(predicted.assign(test=0.9 * predicted["test"]))[3] == "fails"


def test_shares_of_small_networks_are_near_theory():
    found = [one[0] for one in batch([0.36], 200, seeds=range(8))]
    expected = theory(0.36, 200, 0.5, 2 / 3, 0.01)
    # Four standard errors: .041 of the linear share, .018 of that along b_1.
    for name, bound in (("linear_share", 0.16), ("along_share", 0.07)):
        assert np.mean([one[name] for one in found]) == pytest.approx(expected[name], abs=bound)


def test_shares_are_those_of_many_rows():
    # With one neuron count and a step: E f p over rows of the network that batch fits.
    n, seeds = 100, [0, 1]
    found = batch([0.3], n, seeds=seeds)
    assert all(set(PARTS) <= set(one[0]) for one in found)
    assert [one[0] for one in found] == [batch([0.1, 0.3], n, seeds=[s])[0][1] for s in seeds]


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.2])
def test_a_relu_has_a_square_of_another_direction_as_the_formula_says(angle):
    # E relu(w.x) He_2(b.x) = 2 c_2 (w.b)^2/|w|, c_2 = 1/(2 sqrt(2 pi)), by a fine grid of 2 inputs.
    z = torch.linspace(-8, 8, 1601, dtype=torch.float64)
    density = torch.exp(-(z**2) / 2) / (2 * torch.pi) ** 0.5 * 0.01
    w = 1.3 * torch.tensor([angle, 0.0]).cos().double()
    w[1] = 1.3 * torch.tensor(angle).sin().double()
    pre = w[0] * z[:, None] + w[1] * z
    mean = (density[:, None] * density * pre.relu() * (z[:, None] ** 2 - 1)).sum()
    expected = w[0] ** 2 / w.norm() / (2 * torch.pi) ** 0.5
    assert float(mean) == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize(
    ("setting", "words"), [({"phi": 0.0}, "phi is 0.0"), ({"n": 1}, "n is 1: give 4 or more.")]
)
def test_a_setting_that_cannot_be_fails_by_its_name(setting, words):
    with pytest.raises(ValueError, match=words):
        batch([0.1], **{"n": 60, **setting}, seeds=[0])
