"""Learners on rows that are passed over give what they give in memory."""

from __future__ import annotations

import pickle

import pytest
import torch

from gradfeat.maths.activations import Tanh
from gradfeat.maths.blocks import Block, collect
from gradfeat.maths.statistics.combined import OnMapped
from gradfeat.maths.statistics.moments import Affine
from gradfeat.maths.statistics.value_counts import ValueCounts
from gradfeat.models.base import Learner
from gradfeat.models.gradient_step import GradientStep, Whitened
from gradfeat.models.head import RidgeHead
from gradfeat.models.predictors import TwoLayer
from gradfeat.models.random_features import LinearRidge, RandomFeatures
from gradfeat.rows.engine import Engine
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.rows import HashPart, RowHashes, Rows, in_memory, of_block
from gradfeat.rows.sources.tables import ArrayRows

HEAD = RidgeHead(penalty=0.5)
LEARNERS: list[Learner[TwoLayer]] = [
    LinearRidge(HEAD),
    LinearRidge(),
    RandomFeatures(24, head=HEAD),
    RandomFeatures(24, Tanh(), rows="sphere", head=RidgeHead(select="gcv")),
    GradientStep(24, head=RidgeHead(0.5, intercept=False)),
    GradientStep(24, linear="ridge", head=RidgeHead()),
    GradientStep(24, n_steps=0, head=HEAD),
    GradientStep(24, n_steps=3, linear="none", head=HEAD),
    GradientStep(24, n_steps=2, update="gradient", head=HEAD),
    Whitened(GradientStep(24, head=HEAD), shrinkage=0.1),
    Whitened(GradientStep(24, head=HEAD)),
]


def data(n=120, d=4, outputs=2, seed=0):
    G = torch.Generator().manual_seed(seed)
    X = torch.randn(n, d, generator=G).double()
    y = torch.stack([X[:, 0] ** 2 - X[:, 1], X[:, 2].sin()][:outputs], dim=1)
    y = y + 0.2 * torch.randn(n, outputs, generator=G).double()
    return Block(X, y, torch.rand(n, generator=G).double() + 0.5)


def passed(block: Block, piece_rows: int, order=None) -> Rows:
    i = torch.arange(len(block.X)) if order is None else order
    return Rows(ArrayRows(block.X[i], block.y[i], block.w[i], piece_rows=piece_rows))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_passes_give_the_fit_in_memory(learner, outputs):
    block = data(outputs=outputs)
    whole = learner.fit(in_memory(block.X, block.y, block.w), seed=3)
    shuffled = torch.randperm(120, generator=torch.Generator().manual_seed(0))
    for rows in (passed(block, 120), passed(block, 17, shuffled)):
        found = learner.fit(rows, seed=3)
        for name, values in whole.tensors().items():
            # Rounding of sums of 120 terms times the condition of the heads, up to 1e4 here.
            torch.testing.assert_close(found.tensors()[name], values, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_integer_weights_are_repeated_rows(learner):
    block = data()
    times = torch.arange(120) % 3
    again = torch.repeat_interleave(torch.arange(120), times)
    weighted = passed(Block(block.X, block.y, times.double()), 50)
    repeated = passed(Block(block.X[again], block.y[again], torch.ones(len(again)).double()), 50)
    if learner in LEARNERS[1:2] + LEARNERS[3:4] + LEARNERS[5:6]:
        pytest.skip("a penalty that is chosen counts rows, not weights")
    if learner == LEARNERS[10]:
        pytest.skip("the shrinkage d/n counts rows")
    one, two = (learner.fit(rows, seed=1) for rows in (weighted, repeated))
    torch.testing.assert_close(one(block.X), two(block.X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("select", ["loo", "gcv"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_penalty_chosen_is_that_chosen_in_memory(select, intercept):
    block = data(n=60, d=12)
    head = RidgeHead(select=select, intercept=intercept)
    _, _, lam = head.fit(of_block(block))
    _, _, found = head.fit(passed(block, 25))
    assert found == pytest.approx(lam, rel=1e-9)


def test_validation_holds_out_a_fifth_of_the_rows_and_fits_all():
    block = data(n=60, d=40)
    rows = passed(block, 25)
    a, offset, lam = RidgeHead(select="validation").fit(rows)
    refitted = RidgeHead(lam).fit(in_memory(block.X, block.y, block.w))
    torch.testing.assert_close(a, refitted[0], rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(offset, refitted[1], rtol=1e-9, atol=1e-10)
    held, kept = _parts_of([block.at(slice(i, i + 25)) for i in range(0, 60, 25)])

    def loss(penalty):
        b, c, _ = RidgeHead(penalty).fit(in_memory(kept.X, kept.y, kept.w))
        return float((held.w @ (held.y - held.X @ b - c).square()).sum())

    assert loss(lam) < min(loss(lam * 4), loss(lam / 4))


def _parts_of(pieces):
    """The fifth of rows that is held out and the others, of whole rows and shares of copies."""
    counts = collect(OnMapped(ValueCounts(), RowHashes(0)), pieces)
    parts = [[part(piece) for piece in pieces] for part in HashPart.both(counts, 0)]
    return [Block(*(torch.cat([getattr(r, k) for r in found]) for k in "Xyw")) for found in parts]


@pytest.mark.parametrize("size", [20, 1000])
def test_copies_of_a_row_are_held_out_one_by_one_whether_rows_are_in_memory_or_stream(size):
    """Of 25 contents a fifth would be held out whole: 40 rows of one and none of another."""
    block = data(n=25, d=4)
    block = Block(block.X, block.y, torch.ones(25).double())
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(1)) % 25
    held, kept = _parts_of([block.at(order[i : i + size]) for i in range(0, 1000, size)])
    of_each = ((held.X[:, None] == block.X).all(-1) * held.w[:, None]).sum(0)
    # Binomial of 40 draws at .2, standard deviation 2.5: five of these in 25 contents are p = 1e-5.
    assert float(kept.w.sum() + held.w.sum()) == pytest.approx(1000)
    assert ((of_each > 0) & (of_each < 8 + 5 * 2.53)).all()


@pytest.mark.parametrize("copies", [1, 7])
def test_the_rows_held_out_are_the_same_however_rows_are_cut(copies):
    """Also after maps whose numbers come of sums over other pieces."""
    block = data(n=60, d=12)
    again = Block(*(torch.cat([t] * copies) for t in (block.X, block.y, block.w)))
    at = torch.randperm(60 * copies, generator=torch.Generator().manual_seed(0))
    found = []
    for size in (7, 25, 1000):
        rows = passed(again.at(at), size)
        m = rows.moments()
        scale = (m.xx.diagonal() / m.weight).sqrt()
        rows = rows.mapped(Affine(m.mean_x, 1 / scale, m.mean_y, torch.ones(2).double()))
        found.append(RidgeHead(select="validation").fit(rows))
    for a, offset, lam in found[1:]:
        assert lam == pytest.approx(found[0][2], rel=1e-9)
        torch.testing.assert_close(a, found[0][0], rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(offset, found[0][1], rtol=1e-9, atol=1e-10)


def test_of_too_few_rows_for_a_fifth_each_is_left_out_whether_in_memory_or_streamed():
    block = data(n=3, d=3)
    one, two = (RidgeHead(select="validation").fit(r) for r in (of_block(block), passed(block, 2)))
    torch.testing.assert_close(one[0], two[0], rtol=1e-6, atol=1e-7)  # a penalty of 1e-10


def test_float32_rows_are_fitted_in_float32_from_float64_sums():
    block = data(n=3000)
    narrow = Block(block.X.float(), block.y.float(), block.w.float())
    exact = LEARNERS[4].fit(in_memory(block.X, block.y, block.w))
    rows = Rows(ArrayRows(narrow.X, narrow.y, narrow.w, piece_rows=500, dtype=torch.float32))
    found = LEARNERS[4].fit(rows)
    assert found.W.dtype == torch.float32
    # Features are rounded to 6e-8; the head's condition is of order 1e3.
    torch.testing.assert_close(found(narrow.X).double(), exact(block.X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_what_passes_compute_can_be_sent(learner):
    """Every statistic of a fit survives plain pickle."""
    seen = []

    class Sent(Rows):
        """Statistics and maps as other processes get them."""

        def collect(self, statistic, label="pass"):
            seen.append(label)
            return super().collect(pickle.loads(pickle.dumps(statistic)), label)

        def mapped(self, map):
            return sent(super().mapped(pickle.loads(pickle.dumps(map))))

    def sent(rows):
        return Sent(**{name: getattr(rows, name) for name in Rows.__dataclass_fields__})

    net = learner.fit(sent(passed(data(), 50)))
    assert seen
    assert net.W.isfinite().all()


class Counting(Engine):
    """Counts passes."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "labels", [])

    def folds(self, work):
        raise NotImplementedError

    def state(self, statistic, source, label="pass"):
        self.labels.append(label)
        return InProcess().state(statistic, source, label)


@pytest.mark.parametrize(
    ("learner", "labels"),
    [
        (LinearRidge(RidgeHead(select="gcv")), []),
        (LinearRidge(), ["normal equations, left out"]),
        (RandomFeatures(24, head=HEAD), ["normal equations"]),
        (GradientStep(24, head=HEAD), ["gradient", "normal equations"]),
        (
            Whitened(GradientStep(24, linear="ridge", head=RidgeHead(select="gcv"))),
            ["gradient", "normal equations"],
        ),
        (GradientStep(24), ["gradient", "normal equations", "normal equations, left out"]),
        (
            GradientStep(24, n_steps=2, head=HEAD),
            ["gradient", "normal equations", "gradients after step 1", "normal equations"],
        ),
    ],
    ids=str,
)
def test_moments_that_are_known_save_a_pass(learner, labels):
    block, engine = data(), Counting()
    rows = passed(block, 50).on(engine)
    plain = learner.fit(rows)
    known = rows.knowing(rows.moments())
    engine.labels.clear()
    again = learner.fit(known)
    assert engine.labels == labels
    # The same moments by another road: rounding times the head's condition.
    torch.testing.assert_close(again(block.X), plain(block.X), rtol=1e-9, atol=1e-9)
