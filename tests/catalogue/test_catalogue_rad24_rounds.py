"""Sample sizes by round: claims that fail on other exponents, one small ladder, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from catalogue.test_catalogue_damian22 import jitter, made_up, outcomes
from gradfeat.catalogue import rad24_lowrank, rad24_rounds


def test_claims_fail_on_the_exponent_of_kernel_ridge_and_where_updates_do_nothing():
    table = made_up("rad24-rounds")
    table["needed_1"] = 900 * (table["d"] / 96) ** 1.2 * (1 + jitter(table))
    table["needed_3"] = 650 * (table["d"] / 96) ** 1.15 * (1 + jitter(table))
    assert outcomes("rad24-rounds", table) == ["holds"] * 3
    table["needed_1"] = table["needed_3"] = table["d"] ** 2.0 * (1 + jitter(table))
    assert outcomes("rad24-rounds", table) == ["fails"] * 3


def test_an_update_needs_fewer_rows_than_none():
    """d = 16: kernel ridge leaves more than half at the n that one update needs."""
    found = rad24_rounds.trial(16, sizes=5, n_test=1_000, seed=0)
    where = np.searchsorted(found["rows"], found["needed_1"])
    assert (found["errors"][:where, 0] > 0.5).all()
    assert found["needed_3"] <= found["needed_1"] < found["rows"][-1]


def test_theory_of_the_product_is_for_centred_gradients():
    known = {"round": 0, "d": 100, "n": 2_000, "bandwidth": 30.0, "penalty": 1e-3}
    centred = rad24_lowrank.theory(target="product", gradients="centred", **known)
    assert centred["r2"] == pytest.approx(0.104, abs=0.01)
    assert np.isnan(rad24_lowrank.theory(target="product", gradients="plain", **known)["r2"])


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"d": 8}, "d is 8: give 9 or more"),
        ({"d": 9, "sizes": 1}, "sizes is 1: give 2"),
        ({"d": 9, "least": 0.0}, "least is 0.0"),
        ({"d": 900}, "the largest n is"),
    ],
)
def test_settings_that_cannot_be_are_refused(cell, words):
    with pytest.raises(ValueError, match=words):
        rad24_rounds.trial(**cell, seed=0)
