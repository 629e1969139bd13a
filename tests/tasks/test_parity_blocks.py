"""Parity blocks: the law of the patterns, the label, what is planted, options, refusals."""

from __future__ import annotations

import math

import pytest
import torch
from contracts_of_tasks import Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.parity_blocks import ParityBlocks

N = 50_000


def task(**changes):
    given = {"d": 14, "D": 12, "k": 3, "r": 3, "p_uniform": 0.4, "p_o": 0.2, "seed": 1}
    return ParityBlocks(**given | changes)


def blocks(one, n=N):
    phi = one.patterns(n, stream(0, "x"))
    return phi[:, : one.r * one.k].reshape(n, one.r, one.k), phi[:, one.r * one.k :]


def test_the_planted_part_is_one_constant_block_and_zeros():
    inside, _ = blocks(task(p_uniform=0.0))
    assert bool((inside == inside[:, :, :1]).all())
    assert bool((inside[:, :, 0].abs().sum(1) == 1).all())
    both = torch.cat([inside[:, :, 0] == 1, inside[:, :, 0] == -1], 1).double()
    assert errors(both, 1 / 6) < Z


def test_the_uniform_part_has_its_share_and_fair_independent_entries():
    inside, _ = blocks(task())
    whole = (inside != 0).all(2).all(1)
    assert errors(whole.double()[:, None], 0.4) < Z
    signs = inside[whole].flatten(1)
    assert errors(signs) < Z
    pairs = (signs[:, :, None] * signs[:, None, :]).flatten(1)
    assert errors(pairs, torch.eye(9).flatten()) < Z


def test_entries_outside_are_signs_with_probability_p_o_each():
    _, outside = blocks(task())
    assert set(outside.unique().tolist()) == {-1.0, 0.0, 1.0}
    assert errors((outside == 1).double(), 0.2) < Z
    assert errors((outside == -1).double(), 0.2) < Z
    assert bool((blocks(task(p_o=0.5))[1] != 0).all())
    assert bool((blocks(task(p_o=0.0))[1] == 0).all())


def test_the_label_is_the_majority_of_the_parities():
    one = task()
    sample, phi = one.sample(500, stream(0, "x")), one.patterns(500, stream(0, "x"))
    for row, y in zip(phi.tolist(), sample.y[:, 0].tolist(), strict=True):
        total = sum(math.prod(row[3 * j : 3 * j + 3]) for j in range(3))
        assert y == (1.0 if total > 0 else -1.0)
    torch.testing.assert_close(
        sample.X @ one.dictionary * one.sigma / math.sqrt(14), phi, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize(("k", "r"), [(1, 1), (1, 3), (3, 1), (5, 1), (3, 3)])
@pytest.mark.parametrize("p_uniform", [0.0, 0.5, 1.0])
def test_the_target_is_the_label(k, r, p_uniform):
    one = task(k=k, r=r, p_uniform=p_uniform)
    sample = one.sample(2000, stream(0, "x"))
    assert torch.equal(one.target(sample.X), sample.y)
    assert one.bayes_error == 0


def test_length_and_mean_are_as_stated():
    for one in (task(), task(p_uniform=1.0), task(r=1, p_uniform=0.0)):
        X = one.sample(N, stream(0, "x")).X
        assert errors(X) < Z
        assert errors(X.square().sum(1, keepdim=True), 14.0) < Z


def test_y_x_has_the_mean_that_is_planted():
    """E[y phi_i] = (1 - p_uniform)/r in every block, 0 outside."""
    one = task()
    sample, phi = one.sample(N, stream(0, "x")), one.patterns(N, stream(0, "x"))
    expected = torch.tensor([0.2] * 9 + [0.0] * 3, dtype=torch.float64)
    assert errors(sample.y * phi, expected) < Z


def test_without_structure_y_is_uncorrelated_with_single_entries_and_pairs():
    one = ParityBlocks.uniform(14, 12, 3, 3, p_o=0.2)
    sample, phi = one.sample(N, stream(0, "x")), one.patterns(N, stream(0, "x"))
    i, j = torch.triu_indices(12, 12, 1)
    assert one == task(p_uniform=1.0, seed=0)
    assert errors(sample.y * torch.cat([phi, phi[:, i] * phi[:, j]], 1)) < Z


@pytest.mark.parametrize(
    "change",
    [
        {"d": 15},
        {"D": 13},
        {"k": 1},
        {"r": 1},
        {"p_uniform": 0.9},
        {"p_o": 0.4},
        {"seed": 2},
    ],
    ids=str,
)
def test_each_option_changes_the_sample(change):
    a, b = (t.sample(30, stream(0, "train")) for t in (task(), task(**change)))
    assert not (torch.equal(a.X, b.X) and torch.equal(a.y, b.y))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"k": 2}, "k, r are 2, 3: give odd numbers"),
        ({"r": 2}, "k, r are 3, 2: give odd numbers"),
        ({"r": -1}, "k, r are 3, -1: give odd numbers"),
        ({"D": 8}, "r k, D, d are 9, 8, 14: r k <= D <= d"),
        ({"d": 11}, "r k, D, d are 9, 12, 11"),
        ({"p_uniform": 1.1}, "p_uniform is 1.1: give a number from 0 to 1"),
        ({"p_o": 0.6}, "p_o is 0.6: give a number from 0 to 0.5"),
        ({"p_o": math.nan}, "p_o is nan: give a number"),
    ],
)
def test_refuses(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        task(**change)
