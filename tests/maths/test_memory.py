"""What does not fit is refused with its bytes."""

from __future__ import annotations

import pytest

from gradfeat.maths.memory import available_memory, readable, refuse_beyond, rows_per_block


def test_refusal_names_both_amounts_and_the_alternative():
    with pytest.raises(MemoryError, match=r"the matrix needs 2 MB and 1 MB are allowed: shrink"):
        refuse_beyond(2_000_000, 1_000_000, "the matrix", "shrink it")


def test_exactly_the_limit_is_allowed():
    refuse_beyond(1000, 1000, "it", "that")


def test_default_limit_is_the_free_memory():
    refuse_beyond(available_memory() // 2, None, "half", "nothing")
    with pytest.raises(MemoryError):
        refuse_beyond(2 * available_memory(), None, "twice", "nothing")


def test_units_and_rows():
    assert [readable(x) for x in (12, 3.2e4, 5e9)] == ["12 bytes", "32 kB", "5 GB"]
    assert rows_per_block(8, 4) == 1
