"""Simplified gradients of parity blocks: full enumeration, Monte Carlo, what is planted."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from gradfeat.maths.streams import stream
from gradfeat.tasks.parity_blocks import ParityBlocks
from gradfeat.theory.label_gradients import BlockLaw, parity_gradient

LAWS = [
    BlockLaw(D=8, k=3, r=1, p_uniform=0.6, p_o=0.2),
    BlockLaw(D=7, k=5, r=1, p_uniform=1.0, p_o=0.5),
    BlockLaw(D=9, k=3, r=3, p_uniform=0.5, p_o=0.3),
    BlockLaw(D=6, k=1, r=3, p_uniform=0.0, p_o=0.1),
]


def probability(law: BlockLaw, phi: tuple[int, ...]) -> float:
    """By the definition of the law, one pattern at a time."""
    n = law.r * law.k
    inside, outside = phi[:n], phi[n:]
    p = 0.5**n * law.p_uniform * all(inside)
    for j, sign in product(range(law.r), (-1, 1)):
        planted = [sign * (i // law.k == j) for i in range(n)]
        p += (1 - law.p_uniform) / (2 * law.r) * (list(inside) == planted)
    return p * math.prod(law.p_o if v else 1 - 2 * law.p_o for v in outside)


def label(law: BlockLaw, phi: tuple[int, ...]) -> float:
    blocks = [math.prod(phi[j * law.k : (j + 1) * law.k]) for j in range(law.r)]
    return float(np.sign(sum(blocks)))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_it_is_the_sum_over_all_patterns(law):
    rng = np.random.default_rng(0)
    M = np.linalg.qr(rng.standard_normal((10, law.D)))[0]
    W, b = rng.standard_normal((8, 10)) / 3, rng.standard_normal(8)
    patterns = list(product((-1, 0, 1), repeat=law.D))
    p = np.array([probability(law, phi) for phi in patterns])
    y = np.array([label(law, phi) for phi in patterns])
    kept = p > 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    x = np.array(patterns)[kept] @ M.T * math.sqrt(10 / law.second_moment)
    assert p[kept] @ (x**2).sum(1) == pytest.approx(10, rel=1e-12)
    fires = x @ W.T > b
    expected = (fires * (p * y)[kept, None]).T @ x
    # Sums of at most 20,000 terms that add to 1: rounding.
    np.testing.assert_allclose(parity_gradient(law, M, W, b), expected, rtol=0, atol=1e-13)


def test_a_neuron_at_its_threshold_does_not_fire():
    """Whole weights and thresholds: w.x = b happens and is computed without rounding."""
    law, M = BlockLaw(D=5, k=3, r=1, p_uniform=0.5, p_o=0.25), np.eye(5)
    W, b = np.array([[1.0, 2.0, -1.0, 1.0, 2.0]] * 4), np.array([-2.0, 0.0, 1.0, 2.0])
    above = parity_gradient(law, M, W, b + 0.5, scale=1.0)
    np.testing.assert_allclose(parity_gradient(law, M, W, b, scale=1.0), above, atol=1e-15)
    assert np.abs(parity_gradient(law, M, W, b - 0.5, scale=1.0) - above).max(1).min() > 1e-3


@pytest.mark.parametrize(("r", "D"), [(1, 13), (3, 15)])
def test_it_is_the_monte_carlo_mean_of_the_task(r, D):
    task, N = ParityBlocks(20, D, 3, r, 0.5, 0.2), 200_000
    law = BlockLaw(D, 3, r, 0.5, 0.2)
    rng = np.random.default_rng(1)
    W, b = rng.standard_normal((5, 20)) / math.sqrt(20), rng.standard_normal(5)
    sample = task.sample(N, stream(0, "x"))
    X, y = sample.X.numpy(), sample.y.numpy()
    fires = (b < X @ W.T).astype(float)
    mean, square = fires.T @ (y * X) / N, fires.T @ (y * X) ** 2 / N
    found = parity_gradient(law, task.dictionary.numpy(), W, b)
    z = (mean - found) / np.sqrt((square - mean**2) / N)
    assert np.abs(z).max() < 4.5  # 200 entries over both


def test_a_low_threshold_leaves_the_planted_directions_alike():
    law, M = LAWS[2], np.eye(9)
    W = np.random.default_rng(2).standard_normal((3, 9))
    G = parity_gradient(law, M, W, -100.0, scale=1.0)
    np.testing.assert_allclose(G, np.full((3, 9), 0.5 / 3), rtol=0, atol=1e-14)
    assert np.abs(parity_gradient(law, M, W, 100.0)).max() == 0


def test_a_neuron_at_one_block_finds_this_block():
    """Outside the reach of the others, b keeps the planted all-plus and all-minus rows of it."""
    law = BlockLaw(D=9, k=3, r=3, p_uniform=0.0, p_o=0.0)
    W = np.r_[np.full(3, 0.1), np.ones(3), np.full(3, -0.2)][None]
    G = parity_gradient(law, np.eye(9), W, 1.0, scale=1.0)[0]
    np.testing.assert_allclose(G, np.r_[np.zeros(3), np.full(3, 1 / 6), np.zeros(3)], atol=1e-15)


def test_the_uniform_law_leaves_little():
    """|G| is the weight of a half-space at products of k - 1 or more entries: a few per cent."""
    rng = np.random.default_rng(3)
    W, b = rng.standard_normal((50, 9)) / 3, rng.standard_normal(50)
    norms = [
        np.linalg.norm(parity_gradient(BlockLaw(9, 5, 1, p, 0.25), np.eye(9), W, b), axis=1)
        for p in (1.0, 0.5)
    ]
    assert np.median(norms[0]) < 0.2 * np.median(norms[1])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((9, 2, 1, 0.5, 0.2), "k, r, D are 2, 1, 9: give odd"),
        ((9, 3, 2, 0.5, 0.2), "k, r, D are 3, 2, 9"),
        ((8, 3, 3, 0.5, 0.2), "k, r, D are 3, 3, 8"),
        ((9, 3, 3, 1.5, 0.2), "p_uniform, p_o are 1.5, 0.2"),
        ((9, 3, 3, 0.5, 0.7), "p_uniform, p_o are 0.5, 0.7"),
        ((21, 7, 3, 0.5, 0.2), "r k, D - r k are 21, 0: .*at most 15 and 10"),
        ((20, 3, 3, 0.5, 0.2), "r k, D - r k are 9, 11"),
    ],
)
def test_bad_laws_are_named(values, words):
    with pytest.raises(ValueError, match=words):
        BlockLaw(*values)


@pytest.mark.parametrize(("M", "W"), [(np.eye(8), np.eye(8)), (np.eye(9), np.eye(8))])
def test_bad_shapes_are_named(M, W):
    with pytest.raises(ValueError, match=r"give M \(d, 9\) and W \(m, d\)"):
        parity_gradient(LAWS[2], M, W)
