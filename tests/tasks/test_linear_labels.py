"""Linear labels: both kinds, noise, flips, refusals."""

from __future__ import annotations

import math

import pytest
import torch
from contracts_of_tasks import Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.linear_labels import LinearLabels

N = 50_000


def draw(n=N, **options):
    return LinearLabels(**{"d": 4, "seed": 1} | options).sample(n, stream(0, "x"))


def test_signs_are_those_of_the_real_labels():
    real, sign = draw(kind="real"), draw(kind="sign")
    assert torch.equal(real.X, sign.X)
    assert torch.equal(real.y.sign(), sign.y)
    assert errors(real.y.square(), 1.0) < Z


def test_flips_have_their_share_and_noise_its_size():
    assert errors((draw(flip=0.2).y != draw().y).double(), 0.2) < Z
    added = draw(kind="real", noise=0.5).y - draw(kind="real").y
    assert errors(added) < Z
    assert errors(added.square(), 0.25) < Z


def test_a_point_on_the_boundary_has_a_label():
    one = LinearLabels(4)
    assert one.target(torch.zeros(1, 4)).tolist() == [[1.0]]


def test_half_flipped_says_nothing():
    assert float(LinearLabels(4, flip=0.5).target(draw().X).abs().max()) == 0


@pytest.mark.parametrize(
    "change", [{"d": 5}, {"kind": "real"}, {"flip": 0.3}, {"seed": 2}], ids=str
)
def test_each_option_changes_the_sample(change):
    a, b = draw(20), draw(20, **change)
    assert not (torch.equal(a.X, b.X) and torch.equal(a.y, b.y))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"d": 0}, "d is 0"),
        ({"kind": "cosine"}, "kind is 'cosine': give one of 'sign', 'real'"),
        ({"flip": 0.6}, "flip is 0.6: give a number from 0 to 0.5"),
        ({"noise": -1.0, "kind": "real"}, "noise is -1.0"),
        ({"noise": math.nan, "kind": "real"}, "noise is nan"),
        ({"noise": 0.1}, "noise is 0.1 with signs as labels: give flip"),
        ({"flip": 0.1, "kind": "real"}, "flip is 0.1 with real labels: give noise"),
    ],
)
def test_refuses(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw(5, **change)
