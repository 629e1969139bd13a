"""Statistics of blocks merge to the statistic of the whole."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import pytest
import torch

from gradfeat.maths.activations import ReLU, Tanh
from gradfeat.maths.blocks import Block, accumulated, collect
from gradfeat.maths.statistics.combined import Joint, OnMapped
from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient, GradientOuterProducts
from gradfeat.maths.statistics.moments import Moments
from gradfeat.maths.statistics.sample import RowSample
from gradfeat.maths.statistics.score_sums import Residuals, scores_of

G = torch.Generator().manual_seed(0)
X, y = torch.randn(50, 3, generator=G).double() + 1e3, torch.randn(50, 2, generator=G).double()
w = torch.rand(50, generator=G).double() + 0.1
W, b, a = (torch.randn(*s, generator=G).double() for s in ((6, 3), (6,), (6, 2)))


def state_of(statistic, blocks):
    """State of all blocks, one after the other."""
    state = statistic.init(blocks[0])
    for block in blocks:
        state = statistic.update(state, block)
    return state


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, whichever others ran before it."""
    G.manual_seed(0)


@dataclass(frozen=True)
class Squares:
    """Inputs less 1000, squared."""

    def __call__(self, block: Block) -> Block:
        return Block((block.X - 1e3).square(), block.y, block.w)


def predict(X):
    return (X - 1e3) @ W[:2].T


def slopes(X):
    return torch.stack([(X - 1e3).sin(), (X - 1e3).cos()], dim=1)


STATISTICS = [
    Moments(),
    Moments(Squares()),
    Moments(Squares(), row_bytes=2**20),
    FirstLayerGradient(W, b, a, ReLU()),
    FirstLayerGradient(W, b, a[:, :1], Tanh(), lambda rows: Block(rows.X, rows.y[:, :1], rows.w)),
    GradientOuterProducts(slopes, 8),
    GradientOuterProducts(slopes, 2**20, centre=True),
    Moments(Residuals(predict), 8),
    RowSample(20, seed=3),
    Joint((Moments(), RowSample(100))),
]


def numbers(result):
    match result:
        case list():
            return [t for part in result for t in numbers(part)]
        case torch.Tensor():
            return [result]
        case Block():
            return [result.X, result.y, result.w]
    return [torch.as_tensor(value) for value in astuple(result)]


@pytest.mark.parametrize("pieces", [1, 3, 7, 50])
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: type(s).__name__)
def test_pieces_in_any_order_and_grouping_give_the_whole(statistic, pieces):
    whole = numbers(collect(statistic, [Block(X, y, w)]))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(pieces))
    rows = [Block(X[i], y[i], w[i]) for i in order.tensor_split(pieces)]
    half = len(rows) // 2
    by_halves = state_of(statistic, rows[half:])
    if half:
        by_halves = statistic.merge(by_halves, state_of(statistic, rows[:half]))
    for found in (collect(statistic, rows), statistic.finish(by_halves)):
        for one, other in zip(whole, numbers(found), strict=True):
            # Offset 1e3 leaves 1e-13 of the unit spread; sums of 50 such terms.
            torch.testing.assert_close(other, one, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: type(s).__name__)
def test_packed_states_are_the_states(statistic):
    one, other = (Block(X[part], y[part], w[part]) for part in (slice(0, 20), slice(20, 50)))
    plain = statistic.merge(state_of(statistic, [one]), state_of(statistic, [other]))
    packed = [statistic.pack(state_of(statistic, [part])) for part in (one, other)]
    sent = statistic.merge(*(statistic.unpack(p) for p in packed))
    for a_, b_ in zip(
        numbers(statistic.finish(plain)), numbers(statistic.finish(sent)), strict=True
    ):
        assert torch.equal(a_, b_)


@pytest.mark.parametrize(
    "statistic", STATISTICS[:3] + STATISTICS[5:7], ids=lambda s: type(s).__name__
)
def test_half_of_a_symmetric_matrix_is_sent(statistic):
    packed = statistic.pack(state_of(statistic, [Block(X, y, w)]))
    assert any(t.shape == (6,) for t in packed.values())
    assert not any(t.shape == (3, 3) for t in packed.values())


@pytest.mark.parametrize("statistic", STATISTICS[:5], ids=lambda s: type(s).__name__)
def test_float32_rows_are_summed_in_float64(statistic):
    """2^24 + 1 is no float32: adding ones there would stand still."""
    ones = Block(*(torch.ones(4, k, dtype=torch.float32) for k in (3, 2)), torch.ones(4))
    state = statistic.update(statistic.init(ones), ones)
    state.weight.fill_(2.0**24)
    state = statistic.update(state, Block(ones.X[:1], ones.y[:1], ones.w[:1]))
    assert float(state.weight) == 2**24 + 1


def test_no_rows_between_rows_change_nothing():
    none = Block(X[:0], y[:0], w[:0])
    zero = Block(X[:5], y[:5], 0 * w[:5])
    for statistic in STATISTICS:
        plain = numbers(collect(statistic, [Block(X, y, w)]))
        with_none = numbers(collect(statistic, [none, zero, Block(X, y, w), none]))
        for one, other in zip(plain, with_none, strict=True):
            torch.testing.assert_close(other, one, rtol=1e-14, atol=1e-13)


def test_moments_are_the_weighted_covariances():
    m = collect(Moments(), [Block(X, y, w)])
    p = w / w.sum()
    Xc, yc = X - p @ X, y - p @ y
    torch.testing.assert_close(m.xy, Xc.T @ (w[:, None] * yc), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(m.xx, Xc.T @ (w[:, None] * Xc), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(m.yy, w @ yc.square(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
def test_first_layer_gradient_is_minus_half_the_autograd_gradient(outputs):
    Z, t, head = X - 1e3, y[:, :outputs], a[:, :outputs]
    V, v = W.clone().requires_grad_(True), b.clone().requires_grad_(True)
    (w[:, None] * (torch.relu(Z @ V.T + v) @ head - t).square()).sum().backward()

    def residual(rows):
        return Block(rows.X, rows.y - torch.relu(rows.X @ W.T + b) @ head, rows.w)

    found = collect(FirstLayerGradient(W, b, head, ReLU(), residual), [Block(Z, t, w)])
    assert V.grad is not None
    assert v.grad is not None
    torch.testing.assert_close(found.WT.T, -V.grad / 2, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found.b, -v.grad / 2, rtol=1e-12, atol=1e-12)


def test_outer_products_are_the_mean_of_the_gradients():
    J, p = slopes(X), w / w.sum()
    plain = torch.einsum("n,ncd,nce->de", p, J, J)
    mean = torch.einsum("n,ncd->cd", p, J)
    rows = [Block(X, y, w)]
    torch.testing.assert_close(collect(GradientOuterProducts(slopes, 8), rows), plain)
    centred = collect(GradientOuterProducts(slopes, 8, centre=True), rows)
    torch.testing.assert_close(centred, plain - mean.T @ mean)


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import mean_squared_error, r2_score

    found = scores_of(collect(Moments(Residuals(predict), 8), [Block(X, y, w)]))
    for of, value in ((mean_squared_error, found.mse), (r2_score, found.r2)):
        expected = of(y, predict(X), sample_weight=w, multioutput="raw_values")
        torch.testing.assert_close(value, torch.as_tensor(expected), rtol=1e-10, atol=1e-10)


def test_a_sample_is_fair():
    """Means over 200 seeds of samples of 10 of 50 rows: within 4.5 standard errors."""
    x = torch.arange(50.0).double()[:, None]
    ones = torch.ones(50).double()
    means = [
        float(collect(RowSample(10, seed), [Block(x, x, ones)]).X.mean()) for seed in range(200)
    ]
    spread = float(x.std()) / 10**0.5 * (1 - 10 / 50) ** 0.5
    assert abs(sum(means) / 200 - float(x.mean())) < 4.5 * spread / 200**0.5
    assert len(set(means)) > 100


def test_a_sample_holds_equal_rows_once_with_their_weight():
    x = torch.tensor([[1.0], [2.0], [1.0], [-0.0], [0.0]]).double()
    sample = collect(RowSample(10), [Block(x, x, torch.tensor([1.0, 2, 3, 4, 5]).double())])
    assert dict(zip(sample.X[:, 0].tolist(), sample.w.tolist(), strict=True)) == {1: 4, 2: 2, 0: 9}


def test_no_rows_is_refused():
    with pytest.raises(ValueError, match="at least one block"):
        collect(Moments(), [])


def test_float32_rows_far_from_zero_keep_their_moments():
    """Means of 100,000 and a spread of 1: sums in float32 would be off by the spread itself."""
    x = torch.randn(200_000, 1, generator=torch.Generator().manual_seed(0)) + 1e5
    ones = torch.ones(len(x))
    m = collect(Moments(), [Block(x, x, ones)])
    exact = collect(Moments(), [Block(x.double(), x.double(), ones.double())])
    torch.testing.assert_close(m.mean_x, exact.mean_x, rtol=1e-12, atol=0)
    # Deviations are rounded to float32 near 1e5: 0.008 at most in each.
    torch.testing.assert_close(m.xx, exact.xx, rtol=1e-3, atol=0)


def test_a_map_sees_every_row_once():
    seen = []

    def counted(rows: Block) -> Block:
        seen.append(len(rows.X))
        return rows

    parts = [Block(X[r], y[r], w[r]) for r in (slice(0, 30), slice(30, 50))]
    for statistic in (OnMapped(Moments(), counted), OnMapped(Joint((Moments(),)), counted)):
        seen.clear()
        collect(statistic, parts)
        assert sum(seen) == len(X)


@pytest.mark.parametrize("values", [torch.zeros(2), torch.zeros(3, dtype=torch.float64)])
def test_an_accumulator_of_another_shape_or_type_is_refused(values):
    with pytest.raises(ValueError, match=r"'sums' is torch\.float"):
        accumulated({"sums": values}, sums=(2,))
