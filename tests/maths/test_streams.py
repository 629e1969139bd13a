"""Named streams repeat, differ by name and seed, and leave global generators alone."""

from __future__ import annotations

import numpy as np
import torch

from gradfeat.maths.streams import numpy_stream, stream


def test_same_name_repeats_whatever_else_was_drawn():
    first = torch.rand(5, generator=stream(3, "test"))
    torch.rand(100, generator=stream(3, "train"))
    assert torch.equal(first, torch.rand(5, generator=stream(3, "test")))
    one, two = (numpy_stream(3, "test").random(5) for _ in range(2))
    assert np.array_equal(one, two)


def test_names_and_seeds_are_independent():
    draws = [torch.randn(4000, generator=stream(s, name)) for s in (0, 1) for name in ("a", "b")]
    correlation = torch.corrcoef(torch.stack(draws)) - torch.eye(4)
    assert float(correlation.abs().max()) < 4 / 4000**0.5  # 4 standard errors, 6 pairs


def test_global_state_is_untouched():
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    torch.rand(3, generator=stream(0, "x"))
    numpy_stream(0, "x").random(3)
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(numpy_before, np.random.get_state()[1])
