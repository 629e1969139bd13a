"""Deadlines by a clock of the test's own."""

from __future__ import annotations

import pytest

from gradfeat.maths.deadline import NEVER, Deadline, deadline_passed, tell, within


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
