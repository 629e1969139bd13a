"""Rows for gradient features: within limits, fewer for less time and more outputs."""

from __future__ import annotations

import pytest

from gradfeat.table import budgets as module
from gradfeat.table.budgets import gradient_rows


@pytest.fixture
def _clock(monkeypatch):
    """Every timing takes a tenth of a second."""
    now = iter(range(100))
    monkeypatch.setattr(module.time, "perf_counter", lambda: 0.1 * next(now))


@pytest.mark.usefixtures("_clock")
def test_rows_follow_from_time_and_outputs():
    # A row costs 1.5 x .1 s / 100, and is paid for four times an output.
    assert gradient_rows(12.0, 3, 1) == pytest.approx(2000, abs=1)
    assert gradient_rows(12.0, 3, 2) == pytest.approx(1000, abs=1)
    assert gradient_rows(6.0, 3, 1) == pytest.approx(1000, abs=1)


@pytest.mark.usefixtures("_clock")
def test_never_fewer_than_500_or_more_than_5000():
    assert gradient_rows(0.0, 3, 1) == 500
    assert gradient_rows(1e9, 3, 10) == 5000
