"""Named streams repeat and leave global generators alone; hashes of copies lie apart."""

from __future__ import annotations

import numpy as np
import torch

from gradfeat.maths.streams import copies_apart, numpy_stream, stream, unit_draws


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


def test_units_change_places_with_units_of_like_size():
    unit = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4, 4])
    drawn = unit_draws(unit, None, 200, 0)
    for k in range(5):
        came = unit[drawn.orders[unit == k].numpy()]
        assert (came == came[0]).all(), "rows of one unit stay together"
        assert set(came[0]) == ({0, 1, 4} if k in (0, 1, 4) else {k})
        assert (drawn.signs[unit == k] == drawn.signs[unit == k][0]).all()
    turned = drawn.orders[unit == 1].numpy()
    assert {len({*column}) for column in turned.T if unit[column[0]] == 1} == {3}
    assert set(drawn.signs.unique().tolist()) == {-1.0, 1.0}


def test_rows_in_time_are_all_moved_along():
    time = np.array([3.0, 1.0, 2.0, 0.0, 9.0])
    drawn = unit_draws(np.arange(5), time, 50, 0)
    moved = drawn.orders[torch.tensor(time).argsort()]
    rows = torch.tensor(time).argsort().tolist()
    assert {tuple(c) for c in moved.T.tolist()} == {tuple(rows[k:] + rows[:k]) for k in range(1, 5)}


def test_copies_of_a_row_have_hashes_of_their_own_that_lie_apart():
    """25 rows of 40 copies: a quarter of all hashes has a quarter of each row's.

    Hypergeometric, standard deviation 2.7: five of these in 25 rows are p = 1e-5.
    """
    h = np.random.default_rng(0).integers(0, 2**63, 25)
    row = np.random.default_rng(1).permutation(1_000) % 25
    found = copies_apart(h[row])
    assert len(np.unique(found)) == 1_000
    first = np.unique(row, return_index=True)[1]
    assert (found[first] == h).all()
    of_each = np.bincount(row[np.argsort(found)[:250]], minlength=25)
    assert (np.abs(of_each - 10) < 5 * 2.7).all()
    assert (of_each > 0).all()
