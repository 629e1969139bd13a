"""Experiments of Damian22: claims that fail on the reverse, settings that cannot be, numbers."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue import (
    damian22_degenerate,
    damian22_gradient,
    damian22_head,
    damian22_phases,
    damian22_samples,
    damian22_tensors,
    damian22_transfer,
)
from gradfeat.lab import judge, run
from gradfeat.lab.loading import experiment
from gradfeat.maths.streams import stream


def made_up(name: str, seeds: int = 6) -> pd.DataFrame:
    """The quick grid of an experiment without its metrics."""
    found = experiment(name)
    points = found.points("quick", seeds)
    return pd.DataFrame([{**point.cell, "seed": point.seed} for point in points])


def outcomes(name: str, table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(experiment(name), table)]


def jitter(table: pd.DataFrame) -> np.ndarray:
    """A little that differs by seed."""
    return 1e-4 * table["seed"].to_numpy(float)


def test_samples_claims_hold_where_features_are_learned_and_fail_where_not():
    table = made_up("damian22-samples")
    kernel = [
        damian22_samples.theory(m, n, d, p, noise, ridge)["loss"]
        for m, n, d, p, noise, ridge in table[["method", "n", "d", "p", "noise", "ridge"]].values
    ]
    level = {"gradient step": 0.03, "ntk": 0.3, "random features": 0.5, "both layers": 0.1}
    values = np.where(np.isnan(kernel), [level.get(m, 0.0) for m in table["method"]], kernel)
    table["loss"] = values + jitter(table)
    assert outcomes("damian22-samples", table) == ["holds"] * 5
    table["loss"] = 0.9 + jitter(table)
    assert outcomes("damian22-samples", table)[:2] == ["fails"] * 2
    table["loss"] = 1.0 - values + jitter(table)
    assert outcomes("damian22-samples", table)[2:] == ["fails"] * 3


def test_transfer_claims_fail_where_pretraining_does_nothing():
    table = made_up("damian22-transfer")
    good = {-1: 1.0, 0: 1.0, 1: 1.0, 2: 0.5, 3: 0.2, 4: 0.03}
    late = np.where((table["N"] == 3_000) & (table["power"] > 1), 0.7, 1.0)
    table["loss"] = [good[power] for power in table["power"]] * late + jitter(table)
    table.loc[(table["N"] <= 30) & (table["power"] == 2), "loss"] += 0.5
    table["excess"] = table["m"] ** -0.5 + jitter(table)
    assert outcomes("damian22-transfer", table) == ["holds"] * 7
    table["excess"] = 0.1 + jitter(table)  # as if neurons did not matter
    table["loss"] = 0.6 + 0.2 * (table["d"] == 20) + jitter(table)  # worse with more inputs
    found = outcomes("damian22-transfer", table)
    assert [found[i] for i in (0, 2, 3, 5, 6)] == ["fails"] * 5
    table["loss"] = 0.3 + 0.1 * table["power"] + jitter(table)
    assert outcomes("damian22-transfer", table)[4] == "fails"


def test_gradient_claims_fail_on_another_slope_and_on_a_wrong_series():
    table = made_up("damian22-gradient")
    right = [
        damian22_gradient.theory(int(d), float(bias), int(r), int(p))
        for d, bias, r, p in table[["d", "bias", "r", "p"]].values
    ]
    for name in ("leading_error", "measured_error", "noise_ratio"):
        table[name] = [one[name] for one in right] * (1 + jitter(table) - 1.5e-4)
    table["noise_ratio_leading"] = 4 + jitter(table)
    assert outcomes("damian22-gradient", table) == ["holds"] * 4
    table["leading_error"] = 2.0 / table["d"] * (1 + jitter(table))
    table["noise_ratio"], table["noise_ratio_leading"] = 1.5 + jitter(table), 1.5
    assert outcomes("damian22-gradient", table) == ["fails"] * 4


def test_degenerate_claims_fail_where_both_targets_are_found():
    table = made_up("damian22-degenerate")
    plain = table["target"] == "quadratic part"
    table["loss"] = np.where(plain, 0.1, 0.9) + jitter(table)
    table["cosine"] = np.where(plain, 0.9, 2.0 / table["d"]) + jitter(table)
    assert outcomes("damian22-degenerate", table) == ["holds"] * 4
    table["loss"], table["cosine"] = 0.6 + jitter(table), 0.5 + 0.01 * table["d"] + jitter(table)
    assert outcomes("damian22-degenerate", table) == ["fails"] * 4


@pytest.mark.parametrize(
    ("name", "cell", "words"),
    [
        ("damian22-samples", {"method": "net", "n": 10}, "method is 'net': give one of"),
        ("damian22-samples", {"method": "ntk", "n": 0}, "n is 0: give 1 or more"),
        ("damian22-samples", {"method": "ntk", "n": 10, "m": 3}, "m is 3: neurons start in pairs"),
        ("damian22-samples", {"method": "ntk", "n": 9, "p": 2}, "p is 2: give 3 or more"),
        ("damian22-transfer", {"power": -2, "N": 10}, "power is -2: give -1 or more"),
        ("damian22-transfer", {"power": 1, "N": 1}, "N is 1: give 2 or more"),
        ("damian22-gradient", {"d": 20, "n": 100}, "n is 100: give 200 or more"),
        ("damian22-gradient", {"d": 2, "r": 3, "n": 50}, "r"),
        ("damian22-degenerate", {"target": "x", "d": 4, "ratio": 1.0}, "target is 'x'"),
        ("damian22-degenerate", {"target": "degenerate", "d": 4, "ratio": 0.01}, "ratio d^2 is 0"),
        ("damian22-samples", {"method": "ntk", "n": 9, "p": 41}, "p is 41: give 20 or less"),
        ("damian22-samples", {"method": "ntk", "n": 9, "ridge": -1.0}, "ridge is -1.0: give 0 or"),
        ("damian22-samples", {"method": "ntk", "n": 9, "noise": 1e300}, "noise is about 10^300"),
        ("damian22-samples", {"method": "ntk", "n": 9, "noise": math.nan}, "noise is nan"),
        ("damian22-samples", {"method": "ntk", "n": 10**9}, "n is 1,000,000,000: give 10,000,000"),
        ("damian22-transfer", {"power": 10, "N": 10}, "d^power is 10,000,000,000: give"),
        ("damian22-transfer", {"power": 10**9, "N": 10}, "power is 1,000,000,000: give 12"),
        ("damian22-transfer", {"power": 1, "N": 10, "d": 0}, "d is 0: give 1 or more"),
        ("damian22-gradient", {"d": 5, "n": 100, "bias": 1e9}, "|bias| is 1,000,000,000.0: give 4"),
        (
            "damian22-degenerate",
            {"target": "degenerate", "d": 4, "ratio": 1e300},
            "ratio d^2 is ab",
        ),
        ("damian22-degenerate", {"target": "degenerate", "d": 4, "ratio": math.nan}, "ratio d^2"),
        ("adapt-latent", {"method": "rfm", "d": 4, "frequency": 1e300}, "frequency is about"),
        ("adapt-smooth", {"method": "kernel", "s": 1, "n": 9, "noise": 1e300}, "noise is about"),
        ("adapt-smooth", {"method": "kernel", "s": 41, "n": 9}, "s is 41: give 20 or less"),
        (
            "adapt-support",
            {"method": "kernel", "support": "near", "d": 4, "ambient": -1.0},
            "ambient is -1.0: give 0 or more",
        ),
    ],
)
def test_a_setting_that_cannot_be_fails_by_its_name(name, cell, words):
    trial = experiment(name).trial
    assert trial is not None
    with pytest.raises(ValueError, match=re.escape(words)):
        trial(**cell, seed=0)


def test_no_pretraining_and_pretraining_share_their_rows_and_differ():
    one, other = (damian22_transfer.trial(k, 40, d=4, m=20, n_test=200, seed=0) for k in (-1, 3))
    assert one["loss"] != other["loss"]
    assert other["cosine"] > one["cosine"]


def test_measured_gradients_meet_their_series_with_a_bias():
    """|G_n - G|^2 is its expectation within 4 standard errors over 30 seeds."""
    found = experiment("damian22-gradient")
    table = run(found, seeds=30, d=6, bias=0.5, r=2, m=20, n=4_000)
    gap = table["noise_ratio"].to_numpy(float) - 1
    assert abs(gap.mean()) < 4 * gap.std(ddof=1) / math.sqrt(len(gap))
    assert np.isnan(table["leading_error"].to_numpy(float)).all()


def test_the_curve_of_the_kernel_falls_to_what_it_cannot_express():
    loss = damian22_samples.kernel_loss(np.array([1e3, 1e4, 1e7]), 10, 4, 0.0, 1e-3)
    assert loss[0] > loss[1] > loss[2] > 0.44


def test_one_input_has_no_spectrum_and_the_figure_is_drawn_without_it():
    cell = {"method": "ntk without bias", "n": 20, "d": 1, "m": 4, "n_test": 20}
    found = experiment("damian22-samples")
    table = run(found, seeds=1, **cell)
    assert not table.attrs["failures"]
    theory = found.theory_table([point.cell for point in found.points("quick", 1, cell)])
    assert theory is not None
    assert np.isnan(theory["loss"].to_numpy(float)).all()
    assert found.figure is not None
    assert found.figure(table, theory).axes


def test_phases_claims_fail_where_the_exponents_are_those_of_a_kernel_and_the_reverse():
    table = made_up("damian22-phases")
    step = table["method"] == "gradient step"
    d, r, little = table["d"].to_numpy(float), table["r"].to_numpy(float), 1 + jitter(table)
    table["needed"] = np.where(step, d**1.9 * r, d**3) * little
    found = {32: damian22_phases.theory("gradient step", 32, 1, 3)["aligned"]}
    table["aligned"] = np.where(step, d**2 * found[32] / 32**2, np.nan) * little
    assert outcomes("damian22-phases", table) == ["holds"] * 5
    table["aligned"] = d**3 * little
    table["needed"] = np.where(step, d**3 * r**3, d**2) * little
    assert outcomes("damian22-phases", table) == ["fails"] * 5


def test_tensors_claims_fail_where_each_derivative_costs_the_same():
    table = made_up("damian22-tensors")
    right = [
        damian22_tensors.theory(int(k), int(d), ratio, bias)
        for k, d, ratio, bias in table[["k", "d", "ratio", "bias"]].values
    ]
    for name in ("alignment", "rows_needed"):
        table[name] = [one[name] for one in right] * (1 + jitter(table) - 1.5e-4)
    assert outcomes("damian22-tensors", table) == ["holds"] * 3
    table["rows_needed"] = table["d"] ** (6.0 - table["k"]) * (1 + jitter(table))
    table["alignment"] = 0.2 + jitter(table)
    assert outcomes("damian22-tensors", table) == ["fails"] * 3


def test_head_claims_fail_where_neurons_do_not_help():
    table = made_up("damian22-head")
    m, r, little = table["m"].to_numpy(float), table["r"].to_numpy(float), 1 + jitter(table)
    table["excess"], table["excess_within"] = (r**3 / m) ** 0.5 * little, 0.2 * little
    table["norm_star"], table["share"] = r**2 * m**-0.5 * little, 0.05 * little
    table["gap"] = 20 / table["n"] * little
    assert outcomes("damian22-head", table) == ["holds"] * 7
    table["excess"], table["excess_within"] = (
        (1 - 0.2 * (table["d"] == 10)) / r + r * (table["m"] > 64) * little,
        0.3 * little,
    )
    table["excess"] += 2.0 * (table["d"] == 20)
    table["norm_star"], table["share"] = m * r**-1.0 * little, 0.2 * little
    assert outcomes("damian22-head", table) == ["fails"] * 7
    for gap in (-20 / table["n"], 1e-5 * table["n"]):  # none at n = 250; one that grows
        table["gap"], table["share"] = gap * little, 0.05 * little
        assert outcomes("damian22-head", table)[6] == "fails"


def test_heads_of_a_given_loss_and_of_a_given_norm_are_those_of_ridge():
    F = torch.randn(60, 8, generator=stream(0, "F"), dtype=torch.float64)
    y = F[:, :1] - 0.5 * F[:, 1:2] + 0.1 * F[:, 2:3] ** 2
    star = damian22_head._smallest(F, y, 0.2)
    assert float((F @ star - y).abs().mean()) == pytest.approx(0.2, abs=1e-4)
    again = damian22_head._of_norm(F, y, float(star.norm()))
    torch.testing.assert_close(again, star, rtol=1e-4, atol=1e-6)
    assert damian22_head._smallest(F, y, 1e-6) is None


def test_the_alignment_of_a_degenerate_target_is_measured_against_a_random_direction():
    w = torch.randn(20_000, 7, generator=stream(0, "w"), dtype=torch.float64)
    found = float((w[:, 0].abs() / w.norm(dim=1)).median())
    # The density of |cos| at its median is above 1: 4 standard errors are 4/(2 sqrt(20,000)).
    assert damian22_degenerate.random_cosine(7) == pytest.approx(found, abs=0.0142)
