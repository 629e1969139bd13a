"""Simplified gradients from samples against a loop, and what they must not depend on."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gradfeat.maths.simplified_gradients import simplified_gradients


def drawn(n=40, d=3, c=2, m=7, seed=0):
    g = torch.Generator().manual_seed(seed)
    X, y, W = (torch.randn(*s, generator=g).double() for s in ((n, d), (n, c), (m, d)))
    return X, y, W, torch.randn(m, generator=g).double(), torch.rand(n, generator=g).double()


def looped(X, y, W, b, v):
    G = torch.zeros(y.shape[1], len(W), X.shape[1]).double()
    for i in range(len(X)):
        for j in range(len(W)):
            if W[j] @ X[i] > b[j]:
                G[:, j] += v[i] / v.sum() * y[i][:, None] * X[i]
    return G


# Sums of 40 numbers of order 1 in another order: some 40 x 2e-16.
CLOSE = {"rtol": 0.0, "atol": 1e-14}


@pytest.mark.parametrize("block_bytes", [1, 500, 2**22])
def test_equals_the_loop_whatever_the_blocks(block_bytes):
    X, y, W, b, v = drawn()
    G = simplified_gradients(X, y, W, b, weights=v, block_bytes=block_bytes)
    torch.testing.assert_close(G, looped(X, y, W, b, v), **CLOSE)


def test_without_weights_every_row_counts_one_nth():
    X, y, W, b, _ = drawn()
    v = torch.ones(len(X)).double()
    torch.testing.assert_close(simplified_gradients(X, y, W, b), looped(X, y, W, b, v), **CLOSE)


def test_integer_weights_are_repeated_rows_and_zero_weights_dropped_rows():
    X, y, W, b, _ = drawn()
    v = torch.arange(len(X)) % 3
    repeated = simplified_gradients(X.repeat_interleave(v, 0), y.repeat_interleave(v, 0), W, b)
    weighted = simplified_gradients(X, y, W, b, weights=v.double())
    torch.testing.assert_close(weighted, repeated, **CLOSE)


def test_the_scale_of_the_weights_and_of_a_neuron_do_not_matter():
    X, y, W, b, v = drawn()
    one = simplified_gradients(X, y, W, b, weights=v)
    other = simplified_gradients(X, y, 3 * W, 3 * b, weights=7 * v)
    torch.testing.assert_close(one, other, **CLOSE)


def test_zero_rows_and_columns_of_the_inputs_stay_zero():
    X, y, W, b, _ = drawn()
    X[:5], X[:, 1] = 0, 0
    G = simplified_gradients(X, y, W, b)
    assert not G[:, :, 1].any()
    rest = simplified_gradients(X[5:], y[5:], W, b)
    torch.testing.assert_close(G * len(X), rest * (len(X) - 5), **CLOSE)


def test_a_neuron_that_always_or_never_fires():
    X, y, W, b, _ = drawn()
    G = simplified_gradients(X, y, W, b * 0 + torch.tensor([-1e9, 1e9, 0, 0, 0, 0, 0]))
    torch.testing.assert_close(G[:, 0], y.T @ X / len(X), **CLOSE)
    assert not G[:, 1].any()


def test_float32_stays_float32():
    X, y, W, b, _ = drawn()
    G = simplified_gradients(X.float(), y, W, b)
    assert G.dtype == torch.float32
    # Single precision: sums of 40 numbers of order 1, 40 x 6e-8; no w.x is that near its b.
    torch.testing.assert_close(G.double(), simplified_gradients(X, y, W, b), rtol=0, atol=3e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": torch.zeros(3, 1)}, "same rows"),
        ({"X": torch.zeros(0, 3), "y": torch.zeros(0, 1)}, "at least one"),
        ({"W": torch.zeros(7, 2)}, r"give \(m, 3\)"),
        ({"weights": -torch.ones(40)}, "not negative"),
        ({"weights": torch.zeros(40)}, "all 0"),
    ],
)
def test_refusals_say_what_to_give(change, message):
    """Past the check of shapes that only tests have (``__wrapped__``)."""
    X, y, W, b, _ = drawn()
    given = {"X": X, "y": y, "W": W, "b": b, "weights": None} | change
    with pytest.raises(ValueError, match=message):
        simplified_gradients.__wrapped__(**given)


class Largest(TorchDispatchMode):
    """The most bytes of any one tensor that an operation returns."""

    bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if torch.is_tensor(out):
            self.bytes = max(self.bytes, out.numel() * out.element_size())
        return out


def test_neurons_times_rows_are_never_formed_beyond_the_block():
    X, y, W, b, _ = drawn(n=5000, d=2, c=1, m=300)
    with Largest() as largest:
        simplified_gradients(X, y, W, b, block_bytes=100_000)
    # X itself has 80,000 bytes; all neurons at all rows would be 12 MB.
    assert largest.bytes <= 100_000
