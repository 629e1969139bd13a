"""Gaussian inputs with parity labels: the rule of the blocks, no structure, refusals."""

from __future__ import annotations

import pytest
import torch
from contracts_of_tasks import Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.linear_labels import GaussianParity
from gradfeat.tasks.parity_blocks import ParityBlocks


@pytest.mark.parametrize("p_uniform", [0.0, 0.5, 1.0])
def test_the_rule_is_that_of_the_blocks(p_uniform):
    blocks = ParityBlocks(9, 7, 3, 1, p_uniform, seed=4)
    sample = blocks.sample(2_000, stream(0, "x"))
    assert torch.equal(GaussianParity(9, 7, 3, seed=4).target(sample.X), sample.y)


def test_inputs_are_standard_normal_and_labels_fair():
    sample = GaussianParity(5, 4, 3).sample(50_000, stream(0, "x"))
    i, j = torch.triu_indices(5, 5)
    pairs = sample.X[:, i] * sample.X[:, j]
    assert errors(pairs, (i == j).double()) < Z
    assert errors(sample.y) < Z


def test_labels_are_uncorrelated_with_inputs_and_pairs_but_not_with_the_product():
    task = GaussianParity(5, 4, 3)
    sample = task.sample(50_000, stream(0, "x"))
    i, j = torch.triu_indices(5, 5)
    pairs = sample.X[:, i] * sample.X[:, j]
    assert errors(sample.y * torch.cat([sample.X, pairs], 1)) < Z
    # E|z|^3 for three independent z ~ N(0, 1) of mean (2/pi)^{1/2} each.
    product = (sample.X @ task.directions).prod(1, keepdim=True)
    assert errors(sample.y * product, (2 / torch.pi) ** 1.5) < Z


@pytest.mark.parametrize("change", [{"d": 6}, {"D": 5}, {"k": 2}, {"seed": 1}], ids=str)
def test_each_option_changes_the_sample(change):
    given = {"d": 5, "D": 4, "k": 3, "seed": 0}
    tasks = (GaussianParity(**given), GaussianParity(**given | change))
    a, b = (task.sample(30, stream(0, "train")) for task in tasks)
    assert not torch.equal(a.y, b.y)


@pytest.mark.parametrize(
    ("d", "D", "k", "sentence"),
    [
        (0, 0, 0, "d is 0"),
        (4, 5, 3, "k, D, d are 3, 5, 4: 1 <= k <= D <= d is needed"),
        (4, 3, 4, "k, D, d are 4, 3, 4"),
        (4, 3, 0, "k, D, d are 0, 3, 4"),
    ],
)
def test_refuses(d, D, k, sentence):
    with pytest.raises(ValueError, match=sentence):
        GaussianParity(d, D, k)
