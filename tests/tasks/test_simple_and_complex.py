"""A sign and slabs in one input: their laws, sizes, independence, options, refusals."""

from __future__ import annotations

import math

import pytest
import torch
from contracts_of_tasks import Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.simple_and_complex import SimpleAndComplex

N = 20_000


def task(**changes):
    given = {"d": 6, "slabs": 3, "predictive": 0.8, "jitter": 0.3, "noise": 0.7, "seed": 1}
    return SimpleAndComplex(**given | changes)


def along(one, n=N):
    sample = one.sample(n, stream(0, "x"))
    return sample, (sample.X @ one.directions).T


@pytest.mark.parametrize("slabs", [2, 3, 4, 5])
def test_places_belong_to_the_labels_in_turn_and_the_last_to_plus(slabs):
    one = task(slabs=slabs, jitter=0.0)
    sample, (_, v) = along(one)
    place = v / one.spacing + (slabs - 1) / 2
    # Places are whole numbers up to the rounding of sums of six products.
    assert float((place - place.round()).abs().max()) < 1e-12
    turns = slabs - 1 - place.round()
    assert torch.equal(sample.y[:, 0], 1 - 2 * (turns % 2))
    assert set(place.round().tolist()) == set(range(slabs))


@pytest.mark.parametrize("slabs", [2, 3, 4, 5])
def test_both_features_have_size_one_and_the_rest_is_noise(slabs):
    one = task(slabs=slabs, jitter=0.0)
    sample, (u, v) = along(one)
    assert errors(torch.stack([u.square(), v.square()], 1), 1.0) < Z
    rest = sample.X - (sample.X @ one.directions) @ one.directions.T
    assert errors(rest.square().sum(1, keepdim=True), 4 * 0.49) < Z


def test_the_simple_sign_is_right_as_often_as_asked():
    for share in (0.5, 0.8, 1.0):
        one = task(predictive=share)
        sample, (u, _) = along(one)
        assert errors((one.simple_signs(sample.X) == sample.y).double(), share) < Z
        assert torch.equal(one.simple_signs(sample.X)[:, 0], u.sign())


def test_features_are_independent_at_one_half():
    one = task(predictive=0.5)
    sample, (u, v) = along(one)
    products = torch.stack([u * v, u * sample.y[:, 0], u * v.square()], 1)
    assert errors(products) < Z


@pytest.mark.parametrize("slabs", [3, 5])
def test_no_linear_function_reads_an_odd_number_of_slabs_but_two_are_linear(slabs):
    sample, (_, v) = along(task(slabs=slabs))
    assert errors(sample.y * v[:, None]) < Z
    sample, (_, v) = along(task(slabs=2))
    assert torch.equal(v.sign(), sample.y[:, 0])


def test_jitter_stays_within_places_and_spreads():
    one = task(jitter=0.9)
    sample, (u, v) = along(one)
    place = v / one.spacing
    assert 0.44 < float((place - place.round()).abs().max()) <= 0.45 + 1e-12
    assert 0.0 < float((u.abs() - 1).abs().max()) <= 0.9 + 1e-12
    assert torch.equal(one.target(sample.X), sample.y)


@pytest.mark.parametrize(
    "change",
    [
        {"d": 7},
        {"slabs": 5},
        {"predictive": 0.6},
        {"jitter": 0.1},
        {"noise": 0.1},
        {"seed": 2},
    ],
    ids=str,
)
def test_each_option_changes_the_sample(change):
    a, b = (t.sample(30, stream(0, "train")) for t in (task(), task(**change)))
    assert not torch.equal(a.X, b.X)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"d": 1}, "give 1 to d = 1 directions"),
        ({"slabs": 1}, "slabs is 1: give 2 or more"),
        ({"predictive": 0.4}, "predictive is 0.4: give a number from 0.5 to 1"),
        ({"predictive": 1.1}, "predictive is 1.1"),
        ({"predictive": math.nan}, "predictive is nan"),
        ({"jitter": 1.0}, "jitter is 1.0: give a number from 0 to below 1"),
        ({"noise": -1.0}, "noise is -1.0"),
    ],
)
def test_refuses(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        task(**change)
