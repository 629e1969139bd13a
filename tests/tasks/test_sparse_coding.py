"""Sparse coding: exact moments against Monte Carlo and an independent law, edges, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from contracts_of_tasks import Z, errors

from gradfeat.maths.streams import stream
from gradfeat.tasks.sparse_coding import SparseCoding
from gradfeat.theory.patterns import PatternLaw

N = 200_000
TASKS = {
    "hard": SparseCoding.hard(20, 12, 3, 0.4),
    "hard, flipped": SparseCoding.hard(20, 12, 5, 0.5, flip=0.2),
    "majority": SparseCoding.majority(12, 12, 4, 0.3),
    "parity": SparseCoding.parity(15, 10, 4, flip=0.1),
    "parity of one": SparseCoding.parity(6, 4, 1),
    "custom": SparseCoding(10, 7, 3, (0, 2), (0.1, 0.2, 0.3, 0.4), 0.2, flip=0.3),
    "nothing outside": SparseCoding(5, 3, 3, (1, 3), (0.4, 0.1, 0.1, 0.4)),
    "background off": SparseCoding.hard(8, 6, 3, 0.0),
    "background on": SparseCoding.majority(8, 6, 3, 1.0),
    "no label +1": SparseCoding(8, 6, 2, (), (0.25, 0.5, 0.25)),
    "every label +1": SparseCoding(8, 6, 2, (2, 0, 1), (0.25, 0.5, 0.25)),
}
every = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())


@every
def test_moments_are_those_of_a_sample(task):
    """y of `sample` belongs to the phi of `patterns`: both from the same stream."""
    phi = task.patterns(N, stream(0, "moments"))
    sample = task.sample(N, stream(0, "moments"))
    means = torch.from_numpy(task.means)
    assert errors(phi, means) < Z
    inside = (sample.y * (phi - means))[:, : task.k]
    outside = (sample.y - sample.y.mean()) * (phi - means)[:, task.k :]
    assert errors(inside, task.gamma) < Z
    assert outside.shape[1] == 0 or errors(outside) < Z
    assert errors((sample.y > 0).double(), task.balance) < Z
    assert errors((phi - means).square().sum(1, keepdim=True), task.sigma**2) < Z


@every
def test_inputs_are_centred_with_unit_mean_square(task):
    X = task.sample(N, stream(1, "inputs")).X
    assert errors(X) < Z
    assert errors(X.square().sum(1, keepdim=True), 1.0) < Z


@every
def test_inputs_are_the_patterns(task):
    phi = task.patterns(500, stream(0, "x"))
    back = task.sample(500, stream(0, "x")).X @ task.dictionary * task.sigma
    # M^T M = I to rounding.
    torch.testing.assert_close(back + torch.from_numpy(task.means), phi, rtol=0, atol=1e-13)


@every
def test_target_recovers_the_label_exactly(task):
    clean = replace(task, flip=0.0)
    sample = clean.sample(5_000, stream(0, "labels"))
    assert torch.equal(clean.target(sample.X), sample.y)
    assert torch.equal(task.target(sample.X), (1 - 2 * task.flip) * sample.y)
    assert torch.equal(clean.target(sample.X.float()), sample.y.float())


@every
def test_labels_are_turned_over_at_the_rate_and_inputs_stay(task):
    noisy = replace(task, flip=0.25)
    clean = replace(task, flip=0.0).sample(20_000, stream(0, "flips"))
    turned = noisy.sample(20_000, stream(0, "flips"))
    assert torch.equal(clean.X, turned.X)
    assert errors((turned.y != clean.y).double(), 0.25) < Z
    assert noisy.bayes_error == 0.25


@every
def test_exact_moments_are_those_of_an_independent_law(task):
    """PatternLaw has p_o within (0, 1) and no flips; its sums are written on their own."""
    inner = replace(task, p_o=min(max(task.p_o, 0.1), 0.9), flip=0.0)
    labels = tuple(1 if s in task.P else -1 for s in range(task.k + 1))
    law = PatternLaw(task.D, task.k, inner.p_o, task.counts, labels)
    # The same few products in another order.
    assert inner.gamma == pytest.approx(law.gamma, abs=1e-15)
    assert inner.sigma == pytest.approx(law.sigma, rel=1e-14)
    assert inner.balance == pytest.approx(law.balance, abs=1e-15)
    np.testing.assert_allclose(inner.means, law.means, rtol=1e-14)


def test_named_laws_are_those_of_the_theory():
    pairs = [
        (SparseCoding.hard(20, 16, 5, 0.3), PatternLaw.hard_instance(16, 5, 0.3)),
        (SparseCoding.majority(20, 16, 4, 0.3), PatternLaw.majority(16, 4, 0.3)),
        (SparseCoding.parity(20, 16, 4), PatternLaw.uniform(16, 4, [1, 3])),
    ]
    for task, law in pairs:
        np.testing.assert_allclose(task.counts, law.probabilities, atol=1e-16)
        assert tuple(task.labels) == law.labels
        assert task.p_o == law.p_o


def test_patterns_are_uniform_given_their_count():
    task = SparseCoding(8, 6, 4, (1, 3), (0.1, 0.2, 0.4, 0.2, 0.1), 0.3)
    phi = task.patterns(N, stream(0, "patterns"))[:, :4]
    for s, p in enumerate(task.counts):
        assert errors((phi.sum(1) == s).double(), p) < Z
        rows = phi[phi.sum(1) == s]
        for chosen in combinations(range(4), s):
            wanted = torch.zeros(4).double()
            wanted[list(chosen)] = 1
            share = (rows == wanted).all(1).double()
            assert errors(share, 1 / math.comb(4, s)) < Z


def test_background_is_independent_of_all_else():
    task = SparseCoding.hard(10, 7, 3, 0.3)
    phi = task.patterns(N, stream(0, "background"))
    y = task.sample(N, stream(0, "background")).y
    background = phi[:, 3:] - 0.3
    assert errors(background) < Z
    others = torch.cat([y, phi[:, :3]], 1)
    for i in range(4):
        beside = torch.cat([others - others.mean(0), background[:, :i]], 1)
        assert errors(background[:, i : i + 1] * beside) < Z


def test_gamma_of_the_hard_instance():
    for p_o in (0.0, 0.25, 1.0):
        assert SparseCoding.hard(9, 9, 5, p_o).gamma == pytest.approx((1 - p_o) / 2, abs=1e-15)


def test_structure():
    assert SparseCoding.hard(9, 9, 5, 0.5).structured
    assert SparseCoding.majority(9, 9, 5, 0.5).structured
    assert not SparseCoding.majority(9, 9, 4, 0.5).structured  # ties: Pr[y = 1] = 5/16
    assert not SparseCoding.parity(9, 9, 3).structured  # gamma = 0
    assert not SparseCoding.hard(9, 9, 5, 1.0).structured  # gamma = 0
    assert not SparseCoding.majority(9, 9, 5, 0.6).structured  # p_o above 1/2
    assert not SparseCoding.hard(9, 9, 5, 0.5, flip=0.5).structured  # labels are noise


def test_constant_labels():
    for name, sign in (("no label +1", -1.0), ("every label +1", 1.0)):
        task = TASKS[name]
        assert set(task.sample(50, stream(0, "t")).y[:, 0].tolist()) == {sign}
        assert task.gamma == pytest.approx(0, abs=1e-16)
        assert task.balance == (sign > 0)


def test_dictionary_is_orthonormal_and_follows_the_seed_alone():
    task = SparseCoding.hard(30, 12, 3)
    M = task.dictionary
    torch.testing.assert_close(M.T @ M, torch.eye(12).double(), rtol=0, atol=1e-14)
    assert torch.equal(M, SparseCoding.parity(30, 12, 4, 0.2, flip=0.1).dictionary)
    assert not torch.equal(M, replace(task, seed=1).dictionary)
    square = SparseCoding.hard(12, 12, 3).dictionary
    torch.testing.assert_close(square @ square.T, torch.eye(12).double(), rtol=0, atol=1e-14)


def test_dictionary_has_no_preferred_sign():
    """Haar columns: QR alone would leave a sign pattern behind."""
    first = torch.stack([
        SparseCoding.parity(4, 4, 2, seed=seed).dictionary.diagonal() for seed in range(400)
    ])  # fmt: skip
    assert errors(first) < Z


@pytest.mark.parametrize(
    "change", [{"d": 21}, {"D": 11}, {"k": 4, "counts": (0.2,) * 5}, {"P": (0, 2)},
               {"counts": (0.25,) * 4}, {"p_o": 0.1}, {"flip": 0.4}, {"seed": 1}], ids=str
)  # fmt: skip
def test_each_option_changes_the_sample(change):
    task = SparseCoding(20, 12, 3, (1, 3), (0.4, 0.1, 0.1, 0.4))
    a, b = (t.sample(200, stream(0, "train")) for t in (task, replace(task, **change)))
    assert not (torch.equal(a.X, b.X) and torch.equal(a.y, b.y))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"k": 0}, "k, D, d are 0, 6, 8: 1 <= k <= D <= d is needed"),
        ({"k": 7}, "k, D, d are 7, 6, 8"),
        ({"D": 9}, "k, D, d are 2, 9, 8"),
        ({"P": (3,)}, r"P is \(3,\): give different counts from 0 to k = 2"),
        ({"P": (1, 1)}, r"P is \(1, 1\): give different"),
        ({"counts": (0.5, 0.5)}, r"counts are \(0.5, 0.5\): give 3 probabilities that add to 1"),
        ({"counts": (0.5, 0.5, 0.5)}, "give 3 probabilities that add to 1"),
        ({"counts": (1.5, -0.5, 0.0)}, "give 3 probabilities that add to 1"),
        ({"counts": (math.nan, 0.5, 0.5)}, "give 3 probabilities that add to 1"),
        ({"p_o": 1.1}, "p_o is 1.1: give a number from 0 to 1"),
        ({"p_o": math.nan}, "p_o is nan: give a number"),
        ({"flip": 0.6}, "flip is 0.6: give a number from 0 to 0.5"),
        ({"p_o": 0.0, "counts": (0.0, 0.0, 1.0)}, "every pattern is constant: give p_o or counts"),
    ],
)
def test_refuses(change, sentence):
    settings = {"d": 8, "D": 6, "k": 2, "P": (1,), "counts": (0.25, 0.5, 0.25)} | change
    with pytest.raises(ValueError, match=sentence):
        SparseCoding(**settings)


def test_the_hard_instance_refuses_even_numbers():
    with pytest.raises(ValueError, match="k is 4: the hard instance needs an odd number"):
        SparseCoding.hard(9, 9, 4)
