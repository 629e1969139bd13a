"""What does not fit is refused with its bytes; deadlines by a clock of the test's own."""

from __future__ import annotations

import pytest

from gradfeat.maths.limits import (
    NEVER,
    Deadline,
    available_memory,
    deadline_passed,
    readable,
    refuse_beyond,
    rows_per_block,
    tell,
    within,
)


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


class Clock:
    """Moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_shares_are_of_what_is_left():
    clock = Clock()
    deadline = Deadline.after(10.0, clock)
    clock.now += 4.0
    assert deadline.left == pytest.approx(6.0)
    assert deadline.part(0.5).left == pytest.approx(3.0)
    assert deadline.before(2.0).left == pytest.approx(4.0)
    clock.now += 7.0
    assert deadline.passed
    assert deadline.left == 0.0
    assert deadline.part(0.5).passed


def test_no_deadline_never_passes():
    assert not NEVER.passed
    assert NEVER.part(0.1) is NEVER


def test_the_inner_deadline_counts_and_words_reach_who_asked():
    clock, said = Clock(), []
    with within(Deadline.after(5.0, clock), said.append):
        assert not deadline_passed()
        with within(Deadline.after(1.0, clock)):
            clock.now += 2.0
            tell("inside")
            assert deadline_passed()
        assert not deadline_passed()
    assert said == ["inside"]
    assert not deadline_passed()
