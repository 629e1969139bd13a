"""Experiments of time scales and of the lazy limit: claims that fail, numbers that agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gradfeat.catalogue import abbe23_leaps, benarous21_times, chizat19_dial, saad95_committee
from gradfeat.lab import judge
from gradfeat.lab.loading import experiment


def made_up(name: str, seeds: int = 6) -> pd.DataFrame:
    """The quick grid of an experiment without its metrics."""
    points = experiment(name).points("quick", seeds)
    return pd.DataFrame([{**point.cell, "seed": point.seed} for point in points])


def outcomes(name: str, table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(experiment(name), table)]


def jitter(table: pd.DataFrame) -> np.ndarray:
    """A factor that differs a little by seed."""
    return 1 + 1e-3 * table["seed"].to_numpy(float)


def said(table: pd.DataFrame, theory) -> pd.DataFrame:
    """What theory says of each row."""
    names = theory.__code__.co_varnames[: theory.__code__.co_argcount]
    known = table[list(names)].drop_duplicates()
    values = {row: theory(*row) for row in known.itertuples(index=False, name=None)}
    rows = table[list(names)].itertuples(index=False, name=None)
    return pd.DataFrame([values[row] for row in rows], index=table.index)


def test_times_claims_hold_for_theory_and_fail_for_other_powers():
    table = made_up("benarous21-times")
    times = said(table, benarous21_times.theory).mul(jitter(table), axis=0)
    table = table.assign(**times, off=table["d"] ** -0.5 * jitter(table))
    assert outcomes("benarous21-times", table) == ["holds"] * 7
    d, kept = table["d"].astype(float), table["inputs"] == "projected"
    slower = np.where(kept, (d / 256) ** 0.3, 1.4)
    wrong = table.assign(
        time=table["time"] * slower,
        per_d_log_d=table["per_d_log_d"] * slower,
        off=0.3 * jitter(table),
    )
    assert outcomes("benarous21-times", wrong) == ["fails"] * 7


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("power", [0.0, 0.25])
def test_projected_and_whole_inputs_move_the_overlap_alike(k, power):
    """300 networks of each from one overlap: Kolmogorov and Smirnov's test at 1 in 10,000."""
    cell = {"k": k, "d": 12, "c": 0.3, "power": power, "start": 0.5}
    ends = [
        np.array(
            [o["path"][-1] for o in benarous21_times.batch(**cell, inputs=kind, seeds=range(300))]
        )
        for kind in ("projected", "whole")
    ]
    assert stats.ks_2samp(*ends).pvalue > 1e-4


def test_stacked_seeds_have_the_numbers_of_single_ones():
    for module, cell in (
        (benarous21_times, {"k": 2, "d": 20}),
        (saad95_committee, {"d": 8, "horizon": 3.0}),
    ):
        both = module.batch(**cell, seeds=[0, 1])
        alone = [module.batch(**cell, seeds=[seed])[0] for seed in (0, 1)]
        for one, other in zip(both, alone, strict=True):
            for name, value in one.items():
                np.testing.assert_allclose(value, other[name], rtol=1e-9, err_msg=name)


def test_committee_claims_fail_where_the_equations_are_left():
    table = made_up("saad95-committee")
    errors = said(table, saad95_committee.theory).mul(jitter(table), axis=0)
    table = table.assign(**errors, off=table["d"] ** -0.5 * jitter(table))
    assert outcomes("saad95-committee", table) == ["holds"] * 3
    wrong = table.assign(
        plateau=2 * table["plateau"], late=2 * table["late"], off=0.2 * jitter(table)
    )
    assert outcomes("saad95-committee", wrong) == ["fails"] * 3


def test_a_small_committee_is_near_the_equations():
    found = saad95_committee.batch(48, horizon=10.0, seeds=range(6))
    # Of the order of d^{-1/2} = .14: .089 at these seeds, and overlaps reach .8.
    assert np.mean([one["off"] for one in found]) < 0.13


def test_leap_claims_fail_for_other_powers():
    table = made_up("abbe23-leaps")
    d, leap = table["d"].to_numpy(float), table["leap"].to_numpy()
    law = np.select([leap == 1, leap == 2], [d, 5 * d * np.log(d)], d**2) * jitter(table)
    table = table.assign(needed=law, waited=law, per_d_log_d=law / (d * np.log(d)))
    assert outcomes("abbe23-leaps", table) == ["holds"] * 4
    same = 100 * d**1.5 * jitter(table)
    wrong = table.assign(needed=same * leap**-1.0, waited=same, per_d_log_d=same / (d * np.log(d)))
    assert outcomes("abbe23-leaps", wrong) == ["fails"] * 4


def test_dial_claims_fail_where_the_scale_does_nothing():
    table = made_up("chizat19-dial")
    alpha, m, few = table["alpha"], table["m"], jitter(table)
    lazy = said(table, chizat19_dial.theory)["loss"]
    fall = 5 * alpha**-0.9 * (m / 128) ** np.where(table["gamma"] < 1, -0.5, 0.0)
    good = {"loss": np.where(alpha > 2, lazy, 0.05) * few, "share": np.where(alpha > 2, 0.05, 0.7)}
    table = table.assign(**good, moved=fall * few, growth=5 / alpha * few, above_bound=0.1 * few)
    assert outcomes("chizat19-dial", table) == ["holds"] * 6
    same = {"loss": 0.6 * few, "share": 0.05 * few, "moved": 0.1 * few * m**0.3 * alpha**0.1}
    wrong = table.assign(**same, growth=few, above_bound=-0.1 * few)
    assert outcomes("chizat19-dial", wrong) == ["fails"] * 6


def test_scale_and_width_act_alike():
    """alpha m^{1-gamma} decides: the same network by three ways to say its scale."""
    small = {"m": 16, "n": 20, "d": 4, "steps": 30, "n_test": 50, "seeds": [0]}
    ways = [(0.5, 1.0), (0.125, 0.5), (0.25, 0.75)]
    found = [chizat19_dial.batch(alpha, gamma=gamma, **small)[0] for alpha, gamma in ways]
    for one in found[1:]:
        assert found[0] == pytest.approx(one, rel=1e-4)
    other = chizat19_dial.batch(1.0, gamma=1.0, **small)[0]
    assert other["moved"] != pytest.approx(found[0]["moved"], rel=0.1)


def test_a_network_finds_both_directions_of_a_staircase():
    found = abbe23_leaps.batch(1, 16, m=10, most=8_000, seeds=[0, 1])
    for one in found:
        assert 0 < one["needed_first"] < one["needed"] < 8_000
        assert one["share_1"][-1] + one["share_2"][-1] > 0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: benarous21_times.batch(7, 20, seeds=[0]), "k is 7"),
        (lambda: benarous21_times.batch(2, 20, inputs="half", seeds=[0]), "inputs is 'half'"),
        (lambda: benarous21_times.batch(2, 20, level=1.0, seeds=[0]), "level is 1.0"),
        (lambda: saad95_committee.batch(3, seeds=[0]), "d is 3"),
        (lambda: saad95_committee.batch(8, start=0.9, seeds=[0]), "start is 0.9"),
        (lambda: chizat19_dial.batch(0.0, seeds=[0]), "alpha is 0"),
        (lambda: chizat19_dial.batch(1.0, m=3, seeds=[0]), "m is 3"),
        (lambda: abbe23_leaps.batch(7, 20, seeds=[0]), "leap is 7"),
    ],
)
def test_settings_that_cannot_be_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
