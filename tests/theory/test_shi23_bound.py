"""The guarantee's terms: the formula, its limits and its refusals."""

from __future__ import annotations

import math

import pytest

from gradfeat.theory.bounds import loss_bound

KEYS = {"r": 3, "B_a1": 0.2, "B_x1": 2.0, "B_x2": 5.0, "width": 0.1, "B_G": 0.3, "n": 1000}


def test_bound_is_the_formula():
    bound = loss_bound(0.25, **KEYS, slope=0.5, C=2.0, eps=0.01)
    sampling = 2 * math.sqrt(5 * math.log(1000)) / (0.3 * 0.5 * math.sqrt(1000))
    assert bound.cone == 0.2
    assert bound.sampling == pytest.approx(sampling, rel=1e-14)
    assert bound.features == pytest.approx(3 * 0.2 * 2 * math.sqrt(0.2 + sampling), rel=1e-14)
    assert bound.total == pytest.approx(0.25 + bound.features + 0.01, rel=1e-14)


def test_many_rows_leave_the_cone():
    bound = loss_bound(0.0, **KEYS | {"n": 10**18})
    assert bound.sampling < 1e-7
    assert bound.features == pytest.approx(1.2 * math.sqrt(0.2), rel=1e-6)


def test_sampling_term_halves_with_four_times_the_rows_up_to_the_logarithm():
    one, four = (loss_bound(0.0, **KEYS | {"n": n}).sampling for n in (1000, 4000))
    assert one / four == pytest.approx(2 * math.sqrt(math.log(1000) / math.log(4000)), rel=1e-12)


@pytest.mark.parametrize("name", ["r", "B_a1", "B_x1", "B_x2", "width"])
def test_larger_numbers_loosen_the_bound(name):
    assert loss_bound(0.1, **KEYS | {name: 2 * KEYS[name]}).total > loss_bound(0.1, **KEYS).total


@pytest.mark.parametrize("name", ["B_G", "n"])
def test_larger_norms_and_samples_tighten_it(name):
    assert loss_bound(0.1, **KEYS | {name: 2 * KEYS[name]}).total < loss_bound(0.1, **KEYS).total


def test_gradients_of_norm_zero_say_nothing():
    assert loss_bound(0.1, **KEYS | {"B_G": 0.0}).total == math.inf


@pytest.mark.parametrize(
    "change",
    [{"B_G": -1.0}, {"width": 2.0}, {"n": 0}, {"r": 0}, {"slope": 0.0}, {"B_x1": math.nan}],
    ids=str,
)
def test_numbers_outside_their_range_are_refused(change):
    with pytest.raises(ValueError, match="give"):
        loss_bound(0.1, **KEYS | change)
